"""Find in a flat text what failed and why: operations, gRPC codes, component, and the innermost primitive."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import pairwise
from typing import NamedTuple

from kvdiag.anatomy.data import errnos
from kvdiag.anatomy.entries import ANY, Operation, Part, Primitive, Tables
from kvdiag.base.regex import lazy_regex
from kvdiag.model.error_anatomy import PLAIN, WEAK
from kvdiag.model.values import code_name

UNLESS = 120  # characters in front of a text in which words take away its meaning
BEHIND = 400  # characters behind a text in which words do: an AVC record says at its end whether it was enforced
MOST_CODES = 6
FEW = 2  # other characters around the words of a cause, as in ": eof"
EXIT_CODE = "EXIT_CODE"
_CODE = lazy_regex(r"rpc error: code = (\w{1,24}) desc = ?")
_CNI = (
    lazy_regex(r"plugin type=\"([\w.-]{1,60})\""),
    lazy_regex(r"to CNI network \"([\w.-]{1,60})\""),
    lazy_regex(r"to network ([\w.-]{2,60})/"),
)
_DELEGATE = lazy_regex(r"error adding container to network \"([\w.-]{1,60})\": (?!plugin type=)")
"""A network of Multus whose plug-in failed; which plug-in that is stands in its definition."""
MULTUS = ("multus", "multus-shim")
_CSI = lazy_regex(
    r"kubernetes\.io/csi/([\w.-]{3,80}\.[\w.-]{2,40})|volume with driver ([\w.-]{3,80})"
    r"|CSI driver[ :]{1,3}\"?([\w-]{2,40}\.[\w.-]{3,60})|unix://\S{0,80}/plugins/([\w.-]{3,80})/"
)
_NUMBERED = lazy_regex(
    r"\(os error (\d{1,3})\)|mount error[ =(]{1,3}(\d{1,3})\b|\b[Ee]rror(?: |=| = )-(\d{1,3})\b"
    r"|\berrno[ =:]{1,3}-?(\d{1,3})\b|\bret(?:urned|val)?[ =:]{1,3}-(\d{1,3})\b|\berr=-(\d{1,3})\b"
)
# What a text with an errno as a number has: a word, and what follows it. The word alone is found 15 times faster.
_MARKS = (
    ("rror", lazy_regex(r"[Ee]rror[ =(]{1,3}-?\d")),
    ("errno", lazy_regex(r"errno[ =:]")),
    ("ret", lazy_regex(r"ret(?:urned|val)?[ =:]{1,3}-")),
    ("err=-", lazy_regex(r"err=-")),
)
_LIST = lazy_regex(r"(?:^|[\s:=\"])\[(?=[a-zA-Z/])")
_MEMBER = lazy_regex(
    r", (?=(?:failed|error|could not|cannot|unable|open|stat|mkdir|read|write|remove|unlinkat|rpc error|invalid|"
    r"writing|getting|dial|Get|Post)\b)"
)
_EXIT = lazy_regex(r"exit(?:ed)?(?: with)?(?: status| code)?[:=]? ?(\d{1,3})\b|\brc=(\d{1,3})\b")
_PROGRAM = lazy_regex(
    r"\b(iscsiadm|iSCSI discovery|sendtargets|iscsi: error|run ISCSI login|e2fsck|fsck"
    r"|xfs_repair|modprobe|cryptsetup|lvcreate|nsenter|umount|mount|bash|sh)\b|\b(?:runc|crun)(?= did not terminate)"
)
_RUNNING = lazy_regex(r"\) occurred while running (ceph|rbd) args")  # as ceph-csi prints it

_ISCSI_CALLS = ("iSCSI discovery", "sendtargets", "iscsi: error", "run ISCSI login")  # drivers' words for iscsiadm


class Hit(NamedTuple):
    """A text of a primitive, and where it is."""

    begin: int
    end: int
    primitive: Primitive


class ErrorReading(NamedTuple):
    """What was found in a text: the operations outer to inner, the codes, the component, the cause if there is one.

    `clean` is where the errors of a clean-up begin, the length of the text if there is none.
    """

    text: str
    operations: tuple[Operation, ...]
    codes: tuple[str, ...]
    component: str
    is_cni: bool
    hit: Hit | None
    clean: int
    is_optional: bool


def read(text: str, context: str, known: Tables, outer: Collection[str] = ()) -> ErrorReading:
    """Return what a flat text says; callers may be named in the `context` around it, or be the `outer` operations."""
    low = text.lower()
    operations = _operations(context.lower(), known, outer)
    component, is_cni = _component(context, {one.id for one in operations})
    hits, clean = _statements(_hits(text, low, known, {one.id for one in operations}), low, known)
    return ErrorReading(
        text=text,
        operations=operations,
        codes=tuple(map(code_name, _CODE.findall(context)[:MOST_CODES])),
        component=component,
        is_cni=is_cni,
        hit=_innermost(hits, text),
        clean=clean,
        is_optional=any(words in low for words in known.guards["optional"]),
    )


def places(low: str, parts: Sequence[Part]) -> Iterator[tuple[int, int]]:
    """Yield where a text begins and ends in a lower-case text; each part within its room after the one before."""
    first = parts[0].literal
    at = low.find(first)
    while at >= 0:
        end = at + len(first)
        for before, part in pairwise(parts):
            room = end + part.room + len(part.literal)
            next_at = low.find(part.literal, end, room) if before.ends(low, end) else -1
            if next_at < 0 or (part.is_near and (": " in low[end:next_at] or "\n" in low[end:next_at])):
                end = -1
                break
            end = next_at + len(part.literal)
        if end >= 0:
            yield at, end
        at = low.find(first, at + 1)


def _operations(low: str, known: Tables, outer: Collection[str]) -> tuple[Operation, ...]:
    """Return the outer operations, and the others in the order of their first words."""
    found = [(-1, one) for one in known.operations if one.id in outer]
    for operation in known.operations:
        if operation.id in outer:
            continue
        first = min(
            (place[0] for parts in operation.texts if parts[0].literal in low for place in places(low, parts)),
            default=None,
        )
        if first is not None:
            found.append((first, operation))
    return tuple(operation for _, operation in sorted(found, key=lambda one: (one[0], one[1].id)))


def _component(text: str, operations: AbstractSet[str]) -> tuple[str, bool]:
    """Return the CNI plug-in or CSI driver that a text names, and whether it is a CNI plug-in."""
    for pattern in _CNI:
        named = pattern.findall(text)
        if named:
            delegate = _DELEGATE.search(text) if named[-1] in MULTUS else None
            return f"{named[-1]} (network {delegate[1]})" if delegate else named[-1], True
    found = _CSI.search(text)
    name = next((group for group in found.groups() if group), "") if found else ""
    return name, bool(operations & {"cni_add", "cni_del"}) and not name


def _hits(text: str, low: str, known: Tables, operations: AbstractSet[str]) -> list[Hit]:
    """Return the texts of all primitives of the operations by their place; of those at one place the longest."""
    found = [
        Hit(begin, end, primitive)
        for primitive in known.primitives
        if not primitive.where or not operations.isdisjoint(primitive.where)
        for parts in primitive.texts
        if parts[0].literal in low  # most are not: half of the time of a generator for each
        for begin, end in places(low, parts)
    ]
    for one in _numbers(text):
        number = int(next(group for group in one.groups() if group))
        if number in errnos():
            found.append(Hit(one.start(), one.end(), errnos()[number]))
    found += _exit_codes(text, known)
    shown: list[Hit] = []
    last = -1
    for hit in sorted(found, key=lambda one: (one.begin, -one.end, one.primitive.number, one.primitive.id)):
        if hit.end > last:
            shown.append(hit)
            last = hit.end
    return shown


def _exit_codes(text: str, known: Tables) -> Iterator[Hit]:
    """Yield exit codes: with a meaning of their own for the programs of the table, else weak."""
    exits = [*_exits(text)]
    named = _PROGRAM.search(text) if exits else None
    program = "iscsiadm" if named and named[0] in _ISCSI_CALLS else named[0] if named else ""
    for one in exits:
        code = one[1] or one[2]
        behind = _RUNNING.match(text, one.end())
        caller = behind[1] if behind else program
        meaning = {**known.programs[""], **known.programs.get(caller, {})}.get(code, "")
        yield Hit(one.start(), one.end(), _exit_code(caller, meaning))


def _exit_code(program: str, meaning: str) -> Primitive:
    """Return the primitive of an exit code; without a meaning it says no cause."""
    return Primitive(
        id=EXIT_CODE,
        strength=PLAIN if meaning else WEAK,
        texts=(),
        objects=(),
        owner=program,
        says={ANY: meaning},
        check={},
        where=(),
        unless_before=(),
        unless_after=(),
        gone=False,
        quotes=False,
        number=0,
    )


def has_number(text: str) -> bool:
    """Return whether a text has an errno as a number."""
    return any(True for _ in _numbers(text))


def _numbers(text: str) -> Iterator[re.Match[str]]:
    return _NUMBERED.finditer(text) if any(word in text and mark.search(text) for word, mark in _MARKS) else iter(())


def has_exit_code(text: str) -> bool:
    """Return whether a text has an exit code."""
    return any(True for _ in _exits(text))


def _exits(text: str) -> Iterator[re.Match[str]]:
    return _EXIT.finditer(text) if "exit" in text or "rc=" in text else iter(())


def causes_in(words: str, known: Tables) -> str:
    """Return the id of the last cause that these words name; a weak one only if they have no other words."""
    named = _hits(words, words.lower(), known, {one.id for one in known.operations})
    return next(
        (
            hit.primitive.id
            for hit in reversed(named)
            if hit.primitive.strength > WEAK or hit.end - hit.begin >= len(words) - FEW
        ),
        "",
    )


def _statements(hits: Sequence[Hit], low: str, known: Tables) -> tuple[list[Hit], int]:
    """Return the hits that are statements, before a clean-up if one is there, and where that begins."""
    silent = [
        place
        for name in ("nothing", "guesses")
        for words in known.guards[name]
        for place in places(low, (Part(words),))
    ]
    left = [hit for hit in hits if not any(begin <= hit.begin < end for begin, end in silent)]
    left = [hit for hit in left if not _is_refused(hit, low) and not _is_harmless(hit, low, known)]
    clean = min(
        (begin for words in known.guards["cleanup"] for begin, _ in places(low, (Part(words),))), default=len(low)
    )
    before = [hit for hit in left if hit.begin < clean]
    return (before, clean) if before else (left, len(low))


def _is_harmless(hit: Hit, low: str, known: Tables) -> bool:
    """Return whether words next to an error say that it does not matter: `…, ignoring`, `…, ignoring: …`."""
    words = known.guards["harmless"]
    return low.startswith(words, hit.end) or low.endswith(tuple(f"{one}: " for one in words), 0, hit.begin)


def _is_refused(hit: Hit, low: str) -> bool:
    before = low[max(0, hit.begin - UNLESS) : hit.end]
    after = low[hit.end : hit.end + BEHIND]
    return any(words in before for words in hit.primitive.unless_before) or any(
        words in after for words in hit.primitive.unless_after
    )


def _innermost(hits: Sequence[Hit], text: str) -> Hit | None:
    """Return the last hit of the highest strength; in a list of errors the last one of its first member."""
    best = max((hit.primitive.strength for hit in hits), default=0)
    strongest = [hit for hit in hits if hit.primitive.strength == best]
    if len(strongest) < 2:
        return strongest[0] if strongest else None
    opened = _LIST.search(text, 0, strongest[0].begin + 1)
    if opened is None:
        return strongest[-1]
    ends = _MEMBER.search(text, strongest[0].end)
    first = [hit for hit in strongest if ends is None or hit.begin < ends.start()]
    return (first or strongest)[-1]
