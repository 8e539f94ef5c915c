"""Read the lines of gRPC calls of one source.

    I1120 20:39:21.778554    7063 server.go:101] GRPC call: /csi.v1.Node/NodeGetCapabilities
    I1120 20:39:21.778559    7063 server.go:105] GRPC request: {}
    I1120 20:39:21.779387    7063 server.go:114] GRPC response: {"capabilities":[{"rpc":{"type":"GET_VOLUME_STATS"}}]}

Half of a driver's calls request its capabilities, with the same lines each time: these lines are parsed once, and the
call is dropped when it has its response and the next one begins, unless the vocabulary has a kind for it. Where its
lines stand together they are left out from then on.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from kvdiag.events.hit_lines import Front, HitLines
from kvdiag.events.line_texts import LineTexts
from kvdiag.events.raw_events import HitLine, ParsedLine, RpcLine
from kvdiag.events.timestamp_reader import Process
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
Hit = tuple[int, bytes, tuple[int, ...]]  # the line's number in its block, the line, the literals in it
LINES_OF_CALL = (4, 3)  # the call, its request, its response; and the whole call, which some drivers add
_OUTCOMES = ("called", "succeeded", "failed")


class RpcReader:
    """Reads lines of calls; `lines` are those that are kept."""

    def __init__(self, kinds: Container[str], source: HitLines, texts: LineTexts) -> None:
        """`kinds` are those of the vocabulary; `source` has the lines that continue an error; `texts` get the lines."""
        self.lines: list[RpcLine] = []
        self._source, self._texts = source, texts
        self._pieces: dict[bytes, RpcFragment | None] = {}
        self._dropped: set[tuple[bytes, ...]] = set()  # the words of the lines of dropped calls
        self._beginnings: set[bytes] = set()  # the words of lines that begin a call
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
        text = place.line[:LONGEST_TEXT]
        if piece.part in {CALL, CALLED}:
            self._forget_idle(text, parsed[2])
        self.lines.append(RpcLine(stamp, piece, place.number, self._texts.add(text), parsed[2]))

    def without_idle(self, hits: Iterable[Hit], front: Front) -> tuple[Iterable[Hit], int]:
        """Return the hits of a block without the lines of calls that would be dropped, and the number of these.

        The lines of such a call stand together, have words that were met, and the next line begins a call: 1 µs a line
        instead of 12.
        """
        if not self._dropped:
            return hits, 0
        hits = tuple(hits)
        words = [line[front.words :] for _, line, _ in hits]
        kept: list[Hit] = []
        at = 0
        while at < len(hits):
            end = at + self._idle_lines(words, at)
            if end > at and self._is_unbroken(hits[at : end + 1], front):
                at = end
            else:
                kept.append(hits[at])
                at += 1
        return kept, len(hits) - len(kept)

    def _idle_lines(self, words: Sequence[bytes], at: int) -> int:
        """Return how many lines a call has that begins here and was dropped before; 0 if it is another one."""
        if words[at] in self._beginnings:
            for count in LINES_OF_CALL:
                following = words[at + count : at + count + 1]
                if following and following[0] in self._beginnings and tuple(words[at : at + count]) in self._dropped:
                    return count
        return 0

    def _is_unbroken(self, hits: Sequence[Hit], front: Front) -> bool:
        """Return whether the lines of a call follow each other, and one process wrote them and the one below."""
        if hits[-2][0] - hits[0][0] != len(hits) - 2:
            return False
        for _, line, _ in (hits[0], hits[-1]):
            if front.stamp(line) is None:
                self._source.stamper.read(line)  # the layout learns a minute that it has not met
        return all(front.stamp(line) is not None for _, line, _ in hits)

    def _fragment(self, parsed: ParsedLine, line: bytes, rest: int) -> RpcFragment | None:
        """Return the fragment in a line; an unquoted klog message begins after the bracket."""
        site = line.find(b"] ", rest, rest + LONGEST_SITE) if parsed[3] is None else -1
        text = line[site + 2 :] if site >= 0 else b'"'
        if text[:1] == b'"':
            words = peel(line).body
            body = parsed[3] or read_body(words)
            # Also without its header.
            message, fields = (body.message, body.fields) if body else klog.read_message(words)[:2]
            return read_fragment(message, fields)
        if text in self._pieces:
            return self._pieces[text]
        piece = read_fragment(text.decode("utf-8", "replace").rstrip(), {})
        if piece is None or not (piece.request or piece.error):
            if len(self._pieces) >= MOST_PIECES:
                self._pieces.clear()
            self._pieces[text] = piece
        return piece

    def _forget_idle(self, text: bytes, process: Process) -> None:
        """Drop a complete call without interest if no other call is interleaved, now that another line follows."""
        at, end = self._source.front().words, len(self.lines)
        if len(self._beginnings) >= MOST_PIECES:
            self._beginnings.clear()
        self._beginnings.add(text[at:])
        if end and self.lines[-1].piece.part == WHOLE and self.lines[-1].piece.method in self._idle:
            end -= 1
        last_lines = self.lines[max(0, end - 3) :]
        if [line.piece.part for line in last_lines[:3]] != [CALL, REQUEST, RESPONSE]:
            return
        method = last_lines[0].piece.method
        is_whole = method in last_lines[2].piece.answers and not last_lines[1].piece.request and method in self._idle
        alike = all(line.piece.succeeded is not False and line.piece.method in {"", method} for line in last_lines)
        if is_whole and alike and all(line.process == process for line in last_lines):
            if len(self._dropped) < MOST_PIECES:
                self._dropped.add(tuple(self._texts[line.text_at][at:] for line in last_lines))
            del self.lines[max(0, end - 3) :]
