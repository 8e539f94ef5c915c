"""Read the lines of gRPC calls of one source.

    I1120 20:39:21.778554    7063 server.go:101] GRPC call: /csi.v1.Node/NodeGetCapabilities
    I1120 20:39:21.778559    7063 server.go:105] GRPC request: {}
    I1120 20:39:21.779387    7063 server.go:114] GRPC response: {"capabilities":[{"rpc":{"type":"GET_VOLUME_STATS"}}]}

Half of a driver's calls request its capabilities, with the same lines each time: these lines are parsed once, and the
call is dropped when it has its response and the next one begins, unless the vocabulary has a kind for it.
"""

from __future__ import annotations

from collections.abc import Container

from kvdiag.events.hit_lines import HitLines
from kvdiag.events.raw_events import HitLine, ParsedLine, RpcLine
from kvdiag.formats.bodies import klog
from kvdiag.formats.bodies.registry import read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.formats.rpc.fragments import (
    CALL,
    CALLED,
    REQUEST,
    RESPONSE,
    WHOLE,
    WITHOUT_ARGUMENTS,
    RpcFragment,
    kind_prefix,
)
from kvdiag.formats.rpc.lines import read_fragment

LONGEST_TEXT = 8_192  # bytes of a line that are kept as evidence
LONGEST_SITE = 80  # bytes from the end of klog's header to the bracket after file and line
MOST_PIECES = 1_024  # messages without names, whose fragments are cached
_OUTCOMES = ("called", "succeeded", "failed")


class RpcReader:
    """Reads lines of calls; `lines` are those that are kept."""

    def __init__(self, kinds: Container[str], source: HitLines) -> None:
        """`kinds` are those of the vocabulary; `source` has the lines that continue an error."""
        self.lines: list[RpcLine] = []
        self._source = source
        self._pieces: dict[bytes, RpcFragment | None] = {}
        self._idle = frozenset(
            method
            for method in WITHOUT_ARGUMENTS
            if not any(f"{kind_prefix(method)}.{end}" in kinds for end in _OUTCOMES)
        )

    def add(self, parsed: ParsedLine, stamp: int, place: HitLine, rest: int) -> None:
        """Add a line; klog's header ends at `rest`."""
        if self.lines and self.lines[-1].line == place.number:
            return  # another literal of the same line
        piece = self._fragment(parsed, place.line, rest)
        if piece is None:
            return
        if piece.error and (more := self._source.below(place.block, place.index)):
            piece = piece._replace(error="\n".join([piece.error, *(one.decode("utf-8", "replace") for one in more)]))
        line = RpcLine(stamp, piece, place.number, place.line[:LONGEST_TEXT], parsed[2])
        if piece.part in {CALL, CALLED}:
            self._forget_idle(line)
        self.lines.append(line)

    def _fragment(self, parsed: ParsedLine, line: bytes, rest: int) -> RpcFragment | None:
        """Return the fragment in a line; an unquoted klog message begins after the bracket."""
        site = line.find(b"] ", rest, rest + LONGEST_SITE) if parsed[3] is None else -1
        text = line[site + 2 :] if site >= 0 else b'"'
        if text[:1] == b'"':
            words = peel(line).body
            body = parsed[3] or read_body(words)
            message, fields = (
                (body.message, body.fields) if body else klog.read_message(words)[:2]
            )  # also without its header
            return read_fragment(message, fields)
        if text in self._pieces:
            return self._pieces[text]
        piece = read_fragment(text.decode("utf-8", "replace").rstrip(), {})
        if piece is None or not (piece.request or piece.error):
            if len(self._pieces) >= MOST_PIECES:
                self._pieces.clear()
            self._pieces[text] = piece
        return piece

    def _forget_idle(self, following: RpcLine) -> None:
        """Drop a complete call without interest if no other call is interleaved, now that another line follows."""
        end = len(self.lines)
        if end and self.lines[-1].piece.part == WHOLE and self.lines[-1].piece.method in self._idle:
            end -= 1
        last_lines = self.lines[max(0, end - 3) :]
        if [line.piece.part for line in last_lines[:3]] != [CALL, REQUEST, RESPONSE]:
            return
        method = last_lines[0].piece.method
        is_whole = method in last_lines[2].piece.answers and not last_lines[1].piece.request and method in self._idle
        alike = all(line.piece.succeeded is not False and line.piece.method in {"", method} for line in last_lines)
        if is_whole and alike and all(line.process == following.process for line in last_lines):
            del self.lines[max(0, end - 3) :]
