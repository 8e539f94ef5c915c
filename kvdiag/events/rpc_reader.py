"""gRPC lines: which call a line begins or ends, and the calls as events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from itertools import chain

from kvdiag.events.hit_lines import HitLines
from kvdiag.events.names import mounts_in, refs_of, staged_in
from kvdiag.events.raw_events import EventMatch, HitLine, ParsedLine, RawEvent, RpcLine
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.formats.bodies import klog
from kvdiag.formats.bodies.registry import read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.formats.rpc.calls import Call, pair
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
from kvdiag.model.event import Ref

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


REFS = {
    "volume_id": "volume_handle",
    "target_path": "target_path",
    "volume_path": "target_path",
    "staging_target_path": "staging_path",
    "node_id": "node",
    "pod_uid": "pod_uid",
    "pod_name": "pod_name",
}


def calls(rpc_lines: Sequence[RpcLine], vocabulary: Vocabulary) -> Iterator[RawEvent]:
    """Yield the raw events of the gRPC lines of one source, unordered; calls are paired within each process."""
    by_process: dict[tuple[str, str, int | None], list[tuple[int, RpcFragment]]] = defaultdict(list)
    for index, line in enumerate(rpc_lines):
        by_process[line.process[:3]].append((index, line.piece))
    for call in chain.from_iterable(map(pair, by_process.values())):
        prefix = kind_prefix(call.method)
        refs = _refs(call)
        request_index = call.begins if call.requested is None else call.requested
        yield from _raw_event(f"{prefix}.called", rpc_lines[request_index], refs, {}, vocabulary)
        if call.outcome != "open" and call.ends is not None:
            error_attrs = {"error": call.error} if call.error else {}
            refs = refs or mounts_in(call.error.encode()) or staged_in(call.error.encode())
            yield from _raw_event(
                f"{prefix}.{call.outcome}", rpc_lines[call.ends], refs, _attrs(call) | error_attrs, vocabulary
            )


def _refs(call: Call[int]) -> tuple[Ref, ...]:
    found = dict.fromkeys(
        ref for name, kind in REFS.items() if name in call.request for ref in refs_of(kind, call.request[name].encode())
    )
    pod, namespace = call.request.get("pod_name"), call.request.get("pod_namespace")
    if pod and namespace:
        found[Ref("pod", f"{namespace}/{pod}")] = None
    if call.method == "GetPluginInfo" and "name" in call.request:
        found[Ref("driver", call.request["name"])] = None
    return tuple(found)


def _attrs(call: Call[int]) -> dict[str, str]:
    attrs = {name: call.request[name] for name in ("ephemeral", "access_mode") if name in call.request}
    if "vendor_version" in call.request:
        attrs["version"] = call.request["vendor_version"]
    if call.ambiguous and call.method:
        attrs["ambiguous"] = "true"
    return attrs


def _raw_event(
    kind: str, line: RpcLine, refs: tuple[Ref, ...], attrs: dict[str, str], vocabulary: Vocabulary
) -> Iterator[RawEvent]:
    entry = vocabulary.kinds.get(kind)
    if entry is not None:
        yield RawEvent(line.stamp, EventMatch.known(entry, refs, attrs), line.line, line.text, line.process)
