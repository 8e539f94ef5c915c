"""Log calls of Kubernetes by version, and which of them a wording of the vocabulary means.

tests/data/upstream-calls.tsv has, of each call that a wording means, what it prints and in which minor versions; text
that is put together at run time stands there as `…`. bench/upstream.py wrote it. `python -m tools.upstream`, which is
part of `make lint`, names each wording that has no row there.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.base.versions import Version, contains, read_range
from kvdiag.events.vocabulary import EVENTS, read_entries
from kvdiag.model.vocabulary import Entry, Wording

DATA = Path(__file__).parents[1] / "tests" / "data"
CALLS, UNKNOWN = DATA / "upstream-calls.tsv", DATA / "upstream-unknown.tsv"
COMPONENTS = {
    "kubelet": ("kubelet/", "volume/", "cri-client/", "util/"),
    "kube-controller-manager": ("controller/", "volume/", "kubelet/volumemanager/"),
}
_OPTIONAL = re.compile(r"\[\[.*?\]\]")
_FORMAT = re.compile(r"%[-+#]?\d*[a-zA-Z]|…|<expr>.*")
_PIECE = re.compile(r"\{\{|\}\}|\{[a-z_]*\}|\.\.\.|\[\[|\]\]|[^{}.\[\]]+|.", re.DOTALL)


class Call(NamedTuple):
    """A log call: `minors` are those of 1.x that print it so; `keys` are empty where it is no structured one."""

    file: str
    message: str
    severity: str
    verbosity: int
    structured: bool
    keys: frozenset[str]
    minors: frozenset[int]


def calls_of(rows: Iterable[dict[str, str]]) -> Iterator[Call]:
    """Read the rows of a table; those whose verbosity is known at run time alone are left out."""
    for row in rows:
        if row["verbosity"].isdigit():
            implied = ["err"] if row["severity"] == "E" else []
            yield Call(
                row["file"],
                row["message"],
                row["severity"],
                int(row["verbosity"]),
                row["structured"] == "y",
                frozenset([*row["keys"].split(), *implied] if row["structured"] == "y" else ()),
                frozenset(read_minors(row["minors"])),
            )


def read_minors(text: str) -> Iterator[int]:
    """`1.21,1.25-1.26` as 21, 25, 26."""
    for part in text.split(","):
        first, _, last = part.replace("1.", "").partition("-")
        yield from range(int(first), int(last or first) + 1)


def table(path: Path) -> list[dict[str, str]]:
    """The rows of a table, by the names of its columns; `#` begins a comment."""
    lines = [line for line in path.read_text("utf-8").splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@cache
def unknown() -> tuple[dict[str, str], ...]:
    """The rows of the table of wordings that no call is known of."""
    return tuple(table(UNKNOWN))


@cache
def calls() -> tuple[Call, ...]:
    """The calls of the project's table."""
    return tuple(calls_of(table(CALLS)))


def meant(wording: Wording, component: str, given: Iterable[Call]) -> list[Call]:
    """Give the calls that print the words of a wording, in the versions it names; of each version the likest."""
    span = wording.since.get(component)
    named = read_range(span) if span else None
    likeness: dict[Call, int] = {}
    best: dict[int, int] = {}
    for call in given:
        if not (call.file.startswith(COMPONENTS[component]) and (like := alike(call, wording))):
            continue
        minors = {m for m in call.minors if named is None or contains(named, Version((1, m, 0), ""))}
        if minors:
            likeness[call._replace(minors=frozenset(minors))] = like
            best |= {minor: max(like, best.get(minor, 0)) for minor in minors}
    likest = (call._replace(minors=frozenset(m for m in call.minors if best[m] == n)) for call, n in likeness.items())
    return [call for call in likest if call.minors]


def alike(call: Call, wording: Wording) -> int:
    """How many letters a call has in common with what a wording says; 0 where it cannot print that."""
    text = _spelled(call)
    if (wording.fields and not call.structured) or wording.anchor not in text:
        return 0
    before, _, after = _words(wording).partition(wording.anchor)
    ends = [found.end() for found in re.finditer(re.escape(wording.anchor), text)]
    sides = [(_alike(after, text[end:]), _alike(before[::-1], text[: end - len(wording.anchor)][::-1])) for end in ends]
    return max((len(wording.anchor) + sum(both) for both in sides if min(both) >= 0), default=0)


@cache
def _spelled(call: Call) -> str:
    """What a call prints, a NUL where a value stands."""
    text = call.message.replace('\\"', '"').replace("%q", '"%s"')
    if text.startswith("[vol] "):
        first, _, last = text[6:].partition(" …")
        text = f"{first} for volume %s{last}"
    text = _FORMAT.sub("\0", text)
    return f'] "{text}" \0' if call.structured else f"\0] {text}"


def _words(wording: Wording) -> str:
    """What a wording says, a NUL where a value stands; what is optional is left out."""
    text = _OPTIONAL.sub("", wording.message)
    return "".join(
        piece[0] if piece in {"{{", "}}"} else "\0" if piece == "..." or piece[0] == "{" else piece
        for piece in _PIECE.findall(text)
    )


@cache
def _alike(words: str, text: str) -> int:
    """How many letters of both are the same where some line begins as both say, a NUL being anything; -1 for none."""
    if not words:
        return 0
    if words[0] == "\0":
        return max(_alike(words[1:], text[at:]) for at in range(len(text) + 1))
    if not text:
        return -1
    if text[0] == "\0":
        return max(_alike(words, text[1:]), _alike(words[1:], text))
    rest = _alike(words[1:], text[1:]) if words[0] == text[0] else -1
    return rest + 1 if rest >= 0 else -1


def is_listed(row: dict[str, str], entry: Entry, wording: Wording | None) -> bool:
    """Whether a row of the list speaks of a wording; of a kind as a whole without one."""
    since = wording.since.get(entry.component, "") if wording else "*"
    message = wording.message if wording else "*"
    begins = row["message"] if row["message"] != "*" else ""
    return (
        row["component"] in {"*", entry.component}
        and row["kind"] in {"*", entry.kind}
        and row["since"] in {"*", since}
        and (message.startswith((begins, f"] {begins}")) if wording else row["message"] == "*")
    )


def listed(entry: Entry, wording: Wording | None, *, counts: bool) -> list[dict[str, str]]:
    """Rows about a wording that name a verbosity that counts, or those that name none."""
    return [row for row in unknown() if is_listed(row, entry, wording) and bool(row["verbosity"]) == counts]


def wordings_without_row(entries: Iterable[Entry]) -> Iterator[str]:
    """Yield what is wrong with each wording of Kubernetes' that neither table has a row for."""
    for entry in entries:
        for wording in entry.wordings if entry.component in COMPONENTS else ():
            if not meant(wording, entry.component, calls()) and not listed(entry, wording, counts=False):
                yield (
                    f"{wording.place}: {_name(CALLS)} has no call that prints {wording.message!r}; add its row, or a "
                    f"row to {_name(UNKNOWN)} that says why there is none"
                )


def _name(path: Path) -> str:
    return path.relative_to(DATA.parents[1]).as_posix()


if __name__ == "__main__":
    _missing = list(wordings_without_row(read_entries(builtin_patterns() / EVENTS)))
    sys.exit("\n".join(_missing) if _missing else 0)
