"""Render a call of a CSI driver as gRPC lines, as drivers print them at -v=5, for tests of rules.

I0312 08:00:00.000000       1 server.go:101] GRPC call: /csi.v1.Node/NodeStageVolume
I0312 08:00:00.000000       1 server.go:105] GRPC request: {"staging_target_path":"…","volume_id":"vol-1"}
I0312 08:00:00.000000       1 server.go:114] GRPC response: {}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from kvdiag.base.clock import to_datetime
from kvdiag.base.errors import PatternError
from kvdiag.events.fixture_pod import FixturePod
from kvdiag.formats.rpc.fragments import METHODS, kind_prefix
from kvdiag.model.vocabulary import Entry

_FIELDS = {
    "NodeStageVolume": ("volume_id", "staging_target_path"),
    "NodeUnstageVolume": ("volume_id", "staging_target_path"),
    "NodePublishVolume": ("volume_id", "staging_target_path", "target_path"),
    "NodeUnpublishVolume": ("volume_id", "target_path"),
    "NodeGetVolumeStats": ("volume_id", "volume_path"),
    "NodeExpandVolume": ("volume_id", "volume_path"),
    "ControllerPublishVolume": ("volume_id", "node_id"),
    "ControllerUnpublishVolume": ("volume_id", "node_id"),
    "DeleteVolume": ("volume_id",),
    "ControllerExpandVolume": ("volume_id",),
    "CreateVolume": ("name",),
    "CreateSnapshot": ("name",),
}
_NAMED = {
    "volume_id": "volume_handle",
    "target_path": "target_path",
    "volume_path": "target_path",
    "staging_target_path": "staging_path",
    "node_id": "node",
    "name": "spec_name",
}
NAMELESS = kind_prefix("")  # the kind prefix of a failed call without a method
_BY_THING = {NAMELESS: "", **{kind_prefix(method): method for method in METHODS.values()}}
FAILURE = "rpc error: code = Internal desc = failed"


def is_renderable(entry: Entry, names: Iterable[str] = ()) -> bool:
    """Return whether an event is a call or result of a known method, and can have values of these names."""
    prefix, _, outcome = entry.kind.rpartition(".")
    return entry.is_call and prefix in _BY_THING and set(names) <= ({"error"} if outcome == "failed" else set())


def render_call(
    entry: Entry, values: Mapping[str, str], pod: FixturePod, time: int, *, is_requested: bool
) -> list[str]:
    """Return the lines of an event, with those of the request unless `is_requested`."""
    prefix, _, outcome = entry.kind.rpartition(".")
    if not is_renderable(entry, values):
        problem = f"a call can only be given an error, and only one that failed, not {dict(values)}"
        raise PatternError(entry.place, problem)
    method = _BY_THING[prefix]
    begins = f"{to_datetime(time):%m%d %H:%M:%S.%f}       1 server.go"
    request = json.dumps(
        {field: pod.names[_NAMED[field]] for field in sorted(_FIELDS.get(method, ()))}, separators=(",", ":")
    )
    service = "Controller" if "csi.controller" in entry.kind or "Node" not in method else "Node"
    lines = [f"I{begins}:101] GRPC call: /csi.v1.{service}/{method}", f"I{begins}:105] GRPC request: {request}"]
    lines = [] if (is_requested and outcome != "called") or not method else lines
    if outcome == "succeeded":
        lines.append(f"I{begins}:114] GRPC response: {{}}")
    if outcome == "failed":
        lines.append(f"E{begins}:112] GRPC error: {values.get('error', FAILURE)}")
    return lines
