r"""Blocks of lines to records: carriers off, continuation lines joined, bodies read; for all that show whole records.

    I1120 21:03:31.384269   20844 server.go:283] "KubeletConfiguration" configuration=<
    \tFileCheckFrequency: 20s
     > path="/var/lib/kubelet"

Under the journal each of these lines is an entry of its own and entries of other programs come between, so that
lines are joined per sender. Records leave in the order of their first lines.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies import gopanic, klog, plain
from kvdiag.formats.bodies.keyvalues import block_is_open
from kvdiag.formats.bodies.registry import is_head, read_body
from kvdiag.formats.carriers.peel import Peeled, chatter, peel
from kvdiag.inputs.lines import LineMap
from kvdiag.inputs.scan.blocks import Block
from kvdiag.model.record import Body
from kvdiag.model.values import Level

_MOST_LINES = 200
_MOST_BYTES = 65536
# How many lines of other senders may come between two lines of one record.
_PATIENCE = 64
_MOST_WAITING = 1024
_BLOCK_END = lazy_regex(rb"[ \t]*>(?:[ \t]|$)")
_PLAIN = "plain"


class RawRecord(NamedTuple):
    """One record: the number of its first line, how many lines it has, what carried it, what it says, its bytes.

    `peeled` has no body of its own. `raw` is cut at 64 KB, and of a record only 200 lines are kept; the rest is
    counted, and `body.truncated` says so. A body in no known format is `plain`; `chatter` is what journalctl and
    klog write between and above the lines of a log.
    """

    line: int
    lines: int
    peeled: Peeled
    body: Body
    raw: bytes


@dataclass(slots=True, kw_only=True)
class _Draft:
    """A record that may go on."""

    line: int
    peeled: Peeled
    format: str = ""
    bodies: list[bytes] = field(default_factory=list)
    raws: list[bytes] = field(default_factory=list)
    lines: int = 1
    size: int = 0
    last: int = 0
    block_open: bool = False
    closed: bool = False
    cut: bool = False

    def add(self, number: int, body: bytes, raw: bytes) -> None:
        """Add a continuation line, or only count it when the record is full."""
        self.lines += 1
        self.last = number
        if self.lines > _MOST_LINES or self.size + len(raw) > _MOST_BYTES:
            self.cut = True
            return
        self.size += len(raw)
        self.bodies.append(body)
        self.raws.append(raw)


_Sender = tuple[str, int | None, str]


def read_records(part: Iterable[Block], line_map: LineMap) -> Iterator[RawRecord]:
    """Read the blocks of one log, as `read_blocks` gives them with the `line_map` of their lines."""
    folder = _RecordAssembler()
    for number, line in _lines(part, line_map):
        folder.add(number, line)
        yield from folder.pop_finished(number)
    yield from folder.flush()


def _lines(part: Iterable[Block], line_map: LineMap) -> Iterator[tuple[int, bytes]]:
    """Each line with its number in the input."""
    for block in part:
        lines = block.data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for number, line in enumerate(lines, start=block.first_line + 1):
            yield line_map.input_line(number), line.rstrip(b"\r")
        line_map.forget(block.first_line + block.lines, ())


class _RecordAssembler:
    """The records of one source that may go on, and those waiting for an earlier one to leave."""

    def __init__(self) -> None:
        self._waiting: deque[_Draft] = deque()
        self._open: dict[_Sender, _Draft] = {}
        self._last: _Draft | None = None
        self._headed = False

    def add(self, number: int, raw: bytes) -> None:
        """Enter one line: it begins a record or is added to the one it continues."""
        if raw or not self._passes_blank():
            self._add_line(number, peel(raw), raw)

    def _passes_blank(self) -> bool:
        """Whether a blank line can belong to nothing; there may be millions."""
        draft = self._last
        return draft is None or not (draft.block_open or draft.format == "gopanic")

    def pop_finished(self, number: int) -> Iterator[RawRecord]:
        """Give the records that cannot go on any more, the oldest first."""
        waiting = self._waiting
        while waiting:
            first = waiting[0]
            if not first.closed and number - first.last < _PATIENCE and len(waiting) < _MOST_WAITING:
                return
            first.closed = True
            yield _finished(waiting.popleft())

    def flush(self) -> Iterator[RawRecord]:
        """Give what is left when the source ends."""
        yield from (_finished(draft) for draft in self._waiting)

    def _add_line(self, number: int, peeled: Peeled, raw: bytes) -> None:
        """Begin a record with the line, or add it to the one it continues."""
        sender = (peeled.ident, peeled.pid, peeled.stream)
        if is_head(peeled.body):
            self._headed = True
            self._begin(number, peeled, raw, sender, "head")
            return
        draft = self._last if peeled.carrier == _PLAIN else self._open.get(sender)
        if draft is not None and not draft.closed and self._continues(draft, peeled):
            draft.add(number, peeled.body, raw)
            if draft.block_open and _BLOCK_END.match(peeled.body):
                draft.block_open = block_is_open(peeled.body)
        elif peeled.body or peeled.carrier != _PLAIN:
            self._begin(number, peeled, raw, sender, _format_of(raw, peeled.body))

    def _continues(self, draft: _Draft, peeled: Peeled) -> bool:
        """Whether a line without a header belongs to the record before it."""
        body = peeled.body
        if draft.block_open:
            return True
        if draft.format == "gopanic":
            return not peeled.ident or not body or gopanic.is_part(body) or body[:1] in b"\t "
        if draft.format != "head" or gopanic.is_start(body) or chatter(body) or klog.preamble(body):
            return False
        if peeled.ident:
            return body[:1] in b"\t " or gopanic.is_part(body) or bool(_BLOCK_END.match(body))
        return self._headed and bool(body)

    def _begin(self, number: int, peeled: Peeled, raw: bytes, sender: _Sender, kind: str) -> None:
        before = self._open.get(sender)
        if before is not None:
            before.closed = True
        draft = _Draft(line=number, peeled=peeled, format=kind, bodies=[peeled.body], raws=[raw], last=number)
        draft.size = len(raw)
        draft.block_open = block_is_open(peeled.body)
        draft.closed = kind in (_PLAIN, "chatter")
        self._waiting.append(draft)
        self._last = self._open[sender] = draft
        if len(self._open) > _MOST_WAITING:
            self._open.pop(next(iter(self._open))).closed = True


def _format_of(raw: bytes, body: bytes) -> str:
    if gopanic.is_part(body):
        return "gopanic"
    return "chatter" if chatter(raw) or klog.preamble(body) else _PLAIN


def _finished(draft: _Draft) -> RawRecord:
    body = _body(draft)
    if draft.cut or draft.peeled.cut:
        body = body._replace(truncated=True)
    raw = b"\n".join(draft.raws)[:_MOST_BYTES]
    return RawRecord(line=draft.line, lines=draft.lines, peeled=draft.peeled._replace(body=b""), body=body, raw=raw)


def _body(draft: _Draft) -> Body:
    if draft.format == "gopanic":
        return gopanic.read(draft.bodies)._replace(pid=draft.peeled.pid)
    if draft.format == "head":
        parsed = _headed_body(draft.bodies)
        if parsed is not None:
            return parsed
    text = b"\n".join(draft.bodies)
    kind = draft.format if draft.format == "chatter" else _PLAIN
    level = plain.level(draft.peeled.ident, text) if kind == _PLAIN else None
    message = text.decode("utf-8", "replace")
    return Body(format=kind, level=level or Level.INFO, message=message, pid=draft.peeled.pid)


def _headed_body(bodies: list[bytes]) -> Body | None:
    """Read a body with its continuation lines; a goroutine dump below it goes to the fields, not into the message."""
    if len(bodies) == 1:
        return read_body(bodies[0])
    dump = next((at for at, line in enumerate(bodies) if at and gopanic.is_part(line)), None)
    parsed = read_body(b"\n".join(bodies[:dump]))
    if parsed is None or dump is None:
        return parsed
    return parsed._replace(fields={**parsed.fields, **gopanic.stack(bodies[dump:])})
