"""Errors that no level marks: without a log around them, or in a short excerpt that is of level info alone.

    OCI runtime exec failed: exec failed: unable to start container process: exec: "bash": executable file not found …
    mount.nfs: access denied by server while mounting 192.0.2.5:/export
    I1022 12:28:45.780598       1 lvm.go:418] unable to list existing volumegroups:exit status 5

Only their words can say that they report a failure. Of level debug they count where a log begins with such lines alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from kvdiag.analysis.error_lines.failure_words import is_failure
from kvdiag.analysis.error_lines.suspects import SHORT_LOG, reports_failure
from kvdiag.formats.bodies import eventtable
from kvdiag.formats.bodies.registry import CHATTER, UNREAD, classify, read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.inputs.scan.blocks import Block
from kvdiag.model.values import Level

Place: TypeAlias = tuple[int, int]  # begin and end of a line in its block

_LONGEST_LINE = 8 << 10
_WARNED = ("overlayfs: ", "overlay: ")  # whose errors the kernel's own words show; in these it mounts, or errors follow


def reported(line: bytes) -> Level | None:
    """Return the level of a failure that a line of level info reports; None if it reports none."""
    if not reports_failure(line):
        return None
    return Level.ERROR if b"rpc error" in line and b"Warning" not in line else Level.WARNING


class ShortText:
    """The failures in a short text: call `errors` for each block, and `others` if the text has no error by then.

    Of a log that is one of several, only the levels count.
    """

    def __init__(self, *, is_only: bool) -> None:
        self._is_only, self._is_log = is_only, False
        self._room = 0  # bytes that are left
        self._levels: set[Level | None] = set()
        self._lines: Sequence[_Line] = ()

    def errors(self, block: Block) -> Iterator[tuple[Place, Level]]:
        """Yield place and level of the failures in lines without a level: in a log only of some of them.

        There it is of a program that a journal names, or no record is before it in its paragraph: else it may be a part
        of that record.
        """
        self._room = (self._room if block.first_line else SHORT_LOG) - len(block.data)
        self._is_log = self._is_log or (self._room >= 0 and _is_log(block))
        self._lines = list(_lines(block)) if self._room >= 0 and (self._is_only or not self._is_log) else ()
        self._levels |= {line.level for line in self._lines if line.message}
        wanted = (line for line in self._lines if line.is_of_program or line.is_apart or not self._is_log)
        return ((line.place, self._level(line)) for line in wanted if is_failure(line.message))

    def _level(self, line: _Line) -> Level:
        """Return the level of a failure: what stands beside a log says less than an error of that log."""
        is_beside = self._is_log and not line.is_of_program
        return Level.WARNING if is_beside or line.message.startswith(_WARNED) else Level.ERROR

    def others(self) -> Iterator[Place]:
        """Yield the failures of the last block that no level marks; of level debug only where all lines are."""
        is_debug = self._levels - {None} == {Level.DEBUG}
        wanted = (line for line in self._lines if is_debug or line.level is not Level.DEBUG)
        return (line.place for line in wanted if self._is_only and is_failure(line.message))


def _is_log(block: Block) -> bool:
    """Return whether a block has a line of a known format."""
    return any(classify(line.strip()) not in {UNREAD, CHATTER} for line in block.data.split(b"\n"))


class _Line(NamedTuple):
    """A line; no message for an event, which has a type of its own.

    `is_of_program`: of a program that prints no levels, as etcd, or a klog line whose head was cut off.
    `is_apart`: without a format and a time, and without a record before it in its paragraph.
    """

    place: Place
    level: Level | None
    message: str
    is_of_program: bool
    is_apart: bool = False


def _lines(block: Block) -> Iterator[_Line]:
    begin, is_apart = 0, not block.first_line
    for line in block.data.split(b"\n"):
        peeled = peel(line[:_LONGEST_LINE].strip())
        body, place = read_body(peeled.body), (begin, begin + len(line))
        if body is None:
            is_apart = peeled.stamp is None and (is_apart or not peeled.body)
            yield _Line(place, None, peeled.body.decode("utf-8", "replace"), bool(peeled.ident), is_apart)
        else:
            is_apart = False
            message = "" if body.format in eventtable.FORMATS else body.message
            yield _Line(place, body.level, message, is_of_program=body.truncated and body.level is Level.INFO)
        begin += len(line) + 1
