"""Errors that no level marks: without a log around them, or in a short excerpt that is of level info alone.

    OCI runtime exec failed: exec failed: unable to start container process: exec: "bash": executable file not found …
    mount.nfs: access denied by server while mounting 192.0.2.5:/export
    I1022 12:28:45.780598       1 lvm.go:418] unable to list existing volumegroups:exit status 5

Only their words can say that they report a failure. Of level debug they count where a log begins with such lines alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import NamedTuple

from kvdiag.analysis.error_lines.suspects import reports_failure
from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies import eventtable
from kvdiag.formats.bodies.registry import read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.inputs.scan.blocks import Block
from kvdiag.model.error_anatomy import PLAIN, STRONG
from kvdiag.model.record import Body
from kvdiag.model.values import Level

SHORT_LOG = 32 << 10  # bytes; a longer text is a log, where a failure at level info mostly was retried
_LONGEST_LINE = 8 << 10
_FAILED = lazy_regex(
    r"(?!Unable to find image ')"  # docker says so before it pulls
    r"(?:(?:[^\n]{0,200}(?::|\S ) {1,8})?(?:[Ff]ailed|[Uu]nable|[Cc]annot|[Cc]an't|[Cc]ould(?: not|n't)) (?:to )?\w+ \S"
    r"|[A-Z]\w{2,40}\.[A-Z]\w{2,40} failed for volume \S"
    r"|[Ee]rror \w+ing \S|[Ee]rror response from daemon: \S|OCI runtime \w+ failed: "
    r"|(?:open|l?stat|mkdir|read|write|l?chown|chmod|rename|remove|unlinkat|readlink|fork/exec|dial \w+)"
    r" [\"/\d][^:\n]*: \w"
    r"|(?:Get|Post|Put|Patch|Head|Delete) \"?https?://\S{1,300}: \w|exec: \"[^\"\n]{1,300}\": \w"
    r"|[^\n]{0,400}?\bfailed(?: with \w[^:\n]{0,80})?: [A-Za-z\"'/\[({]|[^\n]{0,400}?[a-z\"'] failed with \w)"
)


def reported(line: bytes) -> Level | None:
    """Return the level of a failure that a line of level info reports; None if it reports none."""
    if not reports_failure(line):
        return None
    return Level.ERROR if b"rpc error" in line and b"Warning" not in line else Level.WARNING


class Unmarked(NamedTuple):
    """The levels of the lines of a block, and by level the begin and end of each that reports a failure by its words.

    A line of a program that prints no levels has the level None; `of_programs` are those in a journal, which names the
    program. Elsewhere such a line may be a part of the message before it.
    """

    levels: AbstractSet[Level | None]
    failures: Mapping[Level | None, Sequence[tuple[int, int]]]
    of_programs: Sequence[tuple[int, int]]


NONE_UNMARKED = Unmarked(frozenset(), MappingProxyType({}), ())


def unmarked(block: Block) -> Unmarked:
    """Read all lines of a block, which is slow."""
    begin, levels, found, of_programs = 0, set(), defaultdict(list), []
    for line in block.data.split(b"\n"):
        peeled = peel(line[:_LONGEST_LINE].strip())
        body = read_body(peeled.body)
        level = body.level if body is not None else None
        message = _message(peeled.body, body)
        if message:
            levels.add(level)
        if _is_failure(message):
            place = begin, begin + len(line)
            found[level].append(place)
            of_programs += [place] if body is None and peeled.ident else []
        begin += len(line) + 1
    return Unmarked(levels, found, of_programs)


def _message(text: bytes, body: Body | None) -> str:
    """Return the message of a line; empty for an event, which has a type of its own."""
    if body is None:
        return text.decode("utf-8", "replace")
    return "" if body.format in eventtable.FORMATS else body.message


def _is_failure(text: str) -> bool:
    """Return whether a message begins as errors do, or names a cause by itself."""
    return bool(text) and (_FAILED.match(text) is not None or _names_cause(text))


def _names_cause(text: str) -> bool:
    from kvdiag.anatomy.error import read_error  # a slow import that a log of a known format need not wait for

    anatomy = read_error(text, redact=False)
    return anatomy.strength >= (PLAIN if ": " in text else STRONG) and not anatomy.note
