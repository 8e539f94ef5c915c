"""Convert gRPC lines of a CSI driver or sidecar to events: the call, and its result.

    I1120 20:39:21.778554    7063 server.go:101] GRPC call: /csi.v1.Node/NodeUnpublishVolume
    I1120 20:39:21.779387    7063 server.go:114] GRPC response: {}

becomes `csi.nodeunpublish.called` and `csi.nodeunpublish.succeeded`, each with the volume's handle and paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from kvdiag.events.names import mounts_in, refs_of, staged_in
from kvdiag.events.raw_events import EventMatch, RawEvent, RpcLine
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.formats.rpc.calls import Call, CallAssembler
from kvdiag.formats.rpc.fragments import kind_prefix
from kvdiag.model.event import Ref

REFS = {
    "volume_id": "volume_handle",
    "target_path": "target_path",
    "volume_path": "target_path",
    "staging_target_path": "staging_path",
    "node_id": "node",
    "pod_uid": "pod_uid",
    "pod_name": "pod_name",
}


def calls(rpc_lines: Iterable[RpcLine], vocabulary: Vocabulary) -> Iterator[RawEvent]:
    """Yield the raw events of the gRPC lines of one source, unordered."""
    pairing = CallPairing(vocabulary)
    yield from pairing.add(rpc_lines)
    yield from pairing.flush()


class CallPairing:
    """Pairs the gRPC lines of one source as they are read, within each process."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """`vocabulary` has the kinds of calls that are of interest."""
        self._vocabulary = vocabulary
        self._assemblers: dict[tuple[str, str, int | None], CallAssembler[RpcLine]] = {}

    def add(self, rpc_lines: Iterable[RpcLine]) -> Iterator[RawEvent]:
        """Add the next lines; yield the events of calls that no later line can correct."""
        for line in rpc_lines:
            assembler = self._assemblers.get(line.process[:3])
            if assembler is None:
                assembler = self._assemblers[line.process[:3]] = CallAssembler()
            assembler.add(line, line.piece)
            for call in assembler.pop_finished():
                yield from self._events(call)

    def flush(self) -> Iterator[RawEvent]:
        """Yield the events of the other calls, at the end of the source."""
        for call in chain.from_iterable(assembler.flush() for assembler in self._assemblers.values()):
            yield from self._events(call)

    def _events(self, call: Call[RpcLine]) -> Iterator[RawEvent]:
        prefix = kind_prefix(call.method)
        refs = _refs(call)
        yield from _raw_event(f"{prefix}.called", call.requested or call.begins, refs, {}, self._vocabulary)
        if call.outcome != "open" and call.ends is not None:
            error_attrs = {"error": call.error} if call.error else {}
            refs = refs or mounts_in(call.error.encode()) or staged_in(call.error.encode())
            attrs = _attrs(call) | error_attrs
            yield from _raw_event(f"{prefix}.{call.outcome}", call.ends, refs, attrs, self._vocabulary)


def _refs(call: Call[RpcLine]) -> tuple[Ref, ...]:
    found = dict.fromkeys(
        ref for name, kind in REFS.items() if name in call.request for ref in refs_of(kind, call.request[name].encode())
    )
    pod, namespace = call.request.get("pod_name"), call.request.get("pod_namespace")
    if pod and namespace:
        found[Ref("pod", f"{namespace}/{pod}")] = None
    if call.method == "GetPluginInfo" and "name" in call.request:
        found[Ref("driver", call.request["name"])] = None
    return tuple(found)


def _attrs(call: Call[RpcLine]) -> dict[str, str]:
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
        yield RawEvent(line.stamp, EventMatch.known(entry, refs, attrs), line.line, line.text_at, line.process)
