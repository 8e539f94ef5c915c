r"""CSI calls as drivers and sidecars log them: one RPC on one, three or four lines.

    I1120 21:00:07.278767   16866 server.go:101] GRPC call: /csi.v1.Node/NodeUnpublishVolume

`read_piece` tells what one line says of a call; `grpc.pair` joins the pieces. Of a request only the names that
identify the volume, the pod and the paths are kept, never `secrets`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from kvdiag.formats.goquote import encodable

# A piece is the method alone, the payload alone, both, the answer, a failure, or the whole call at once.
CALL, REQUEST, CALLED, RESPONSE, ERROR, WHOLE = "call", "request", "called", "response", "error", "whole"

_METHOD_NAMES = """
    NodeStageVolume NodeUnstageVolume NodePublishVolume NodeUnpublishVolume NodeGetVolumeStats NodeExpandVolume
    NodeGetCapabilities NodeGetInfo CreateVolume DeleteVolume ControllerPublishVolume ControllerUnpublishVolume
    ValidateVolumeCapabilities ListVolumes GetCapacity ControllerGetCapabilities CreateSnapshot DeleteSnapshot
    ListSnapshots ControllerExpandVolume ControllerGetVolume ControllerModifyVolume GetPluginInfo
    GetPluginCapabilities Probe
"""
_METHODS = {name.lower(): name for name in _METHOD_NAMES.split()}
# Methods by the first key of their answer; `{}` answers those that have nothing to tell.
_ANSWERS = {
    "name": ("GetPluginInfo",),
    "vendor_version": ("GetPluginInfo",),
    "capabilities": ("NodeGetCapabilities", "ControllerGetCapabilities", "GetPluginCapabilities"),
    "ready": ("Probe",),
    "volume": ("CreateVolume", "ControllerGetVolume"),
    "publish_context": ("ControllerPublishVolume",),
    "snapshot": ("CreateSnapshot",),
    "usage": ("NodeGetVolumeStats",),
    "volume_condition": ("NodeGetVolumeStats",),
    "node_id": ("NodeGetInfo",),
    "max_volumes_per_node": ("NodeGetInfo",),
    "entries": ("ListVolumes", "ListSnapshots"),
    "available_capacity": ("GetCapacity",),
    "capacity_bytes": ("ControllerExpandVolume", "NodeExpandVolume"),
    "node_expansion_required": ("ControllerExpandVolume",),
    "confirmed": ("ValidateVolumeCapabilities",),
}
_SILENT_NAMES = """
    NodeStageVolume NodeUnstageVolume NodePublishVolume NodeUnpublishVolume DeleteVolume ControllerPublishVolume
    ControllerUnpublishVolume DeleteSnapshot Probe NodeExpandVolume ControllerModifyVolume
"""
_SILENT = tuple(_SILENT_NAMES.split())
_KEPT = ("volume_id", "target_path", "staging_target_path", "node_id", "name", "volume_path", "vendor_version")
_CONTEXT = {
    "csi.storage.k8s.io/ephemeral": "ephemeral",
    "csi.storage.k8s.io/pod.uid": "pod_uid",
    "csi.storage.k8s.io/pod.name": "pod_name",
    "csi.storage.k8s.io/pod.namespace": "pod_namespace",
}
_NAMES = {name.replace("_", ""): name for name in _KEPT}
# Where it cannot be seen where the secrets end, all that follows is taken for secret.
_SECRETS = re.compile(
    r'(?<![A-Za-z_])"?(?:[a-z_]{0,40}secrets|[A-Za-z]{0,40}Secrets)"?\s?[:=]\s?(?:map)?'
    r'(?:\{[^{}\[\]]*\}|\[[^{}\[\]]*\]|[{\[].*|"(?:[^"\\]|\\.)*"?|\S+)',
    re.DOTALL,
)
_PAIR = re.compile(
    r'\b"?(volume_?id|(?:staging_?)?target_?path|node_?id|volume_?path|name|vendor_?version)"?\s?[:=]\s?'
    r'(?:"((?:[^"\\]|\\.){0,4096})"|([^\s",{}\[\]]{1,1024}+)(?=[\s,}\]]))',
    re.IGNORECASE,
)
_POD = re.compile(r'(csi\.storage\.k8s\.io/(?:ephemeral|pod\.uid|pod\.name|pod\.namespace))"?[:=]\s?"?([^\s",}\]]+)')
_LIKELY = re.compile(r"GRPC|gRPCCall|: (?:called|successfully|req|rsp|err)\b|\b(?:called|returned) with|: RE[QP] \d")
_LINE = re.compile(r"(?:ID: (\d+) (?:Req-ID: (\S+) )?)?GRPC (call|request|response|error):? ?(.*)", re.DOTALL)
_WORDED = re.compile(
    r"(?:/csi\.v\d\.\w+/)?(\w+):? (?:(called)(?: with (?:args|request))?:?|(returned with response|successfully|rsp):?"
    r"|(returned with error|err):|(req):|(REQ|REP) (\d+):) ?(.*)",
    re.DOTALL,
)
_NOTHING = frozenset(("", "<nil>", "null", "nil"))


class Piece(NamedTuple):
    """What one line says of a call.

    `answers` are the methods a response can belong to, empty when that is open; `succeeded` is None when the line
    says nothing about the end.
    """

    part: str
    method: str = ""
    request: Mapping[str, str] = {}
    error: str = ""
    call_id: str = ""
    succeeded: bool | None = None
    answers: tuple[str, ...] = ()


def read_piece(message: str, fields: Mapping[str, str]) -> Piece | None:
    """Read the unescaped message and the fields of one record; None when it is about no CSI call."""
    if not _LIKELY.search(message):
        return None
    if message.startswith("gRPCCall: "):
        return _whole(message[10:])
    found = _LINE.match(message)
    if found:
        call_id, _, kind, rest = found.groups()
        return _line(kind, rest, fields, call_id or fields.get("TraceId", ""))
    return _worded(message, fields)


def method_of(text: str) -> str:
    """`/csi.v1.Node/NodeUnStageVolume` → `NodeUnstageVolume`; empty when it is no CSI method."""
    return _METHODS.get(text.strip().rpartition("/")[2].lower(), "")


def request_of(text: str) -> dict[str, str]:
    """Read the names in a payload: JSON, also when it is cut off, proto text, or a Go dump."""
    try:
        payload = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        payload = None
    return _from_json(payload) if isinstance(payload, dict) else _from_text(text)


def _line(kind: str, rest: str, fields: Mapping[str, str], call_id: str) -> Piece | None:
    """Read `GRPC call: …` as well as the structured `"GRPC call" method=… request=…`."""
    method = method_of(fields.get("method", rest if kind == "call" else ""))
    if kind == "call" and "request" in fields:
        return Piece(CALLED, method, request_of(fields["request"]), call_id=call_id)
    if kind == "call":
        return Piece(CALL, method, call_id=call_id) if method else None
    if kind == "request":
        return Piece(REQUEST, method, request_of(fields.get("request", rest)), call_id=call_id)
    error = fields.get("err", fields.get("error", rest if kind == "error" else "")).strip()
    if error not in _NOTHING:
        return Piece(ERROR, method, error=error, call_id=call_id, succeeded=False)
    if kind == "error":
        return Piece(ERROR, call_id=call_id, succeeded=True)
    return _response(method, fields.get("response", rest), call_id)


def _worded(message: str, fields: Mapping[str, str]) -> Piece | None:
    """Read the lines that name the method: ebs, gcp-pd, Longhorn ≥ 1.3, vSphere."""
    found = _WORDED.match(message)
    method = method_of(found.group(1)) if found else ""
    if found is None or not method:
        return None
    _, called, response, failed, request, gocsi, number, rest = found.groups()
    call_id = number or fields.get("TraceId", "")
    if called or request or gocsi == "REQ":
        return Piece(CALLED, method, request_of(fields.get("args", rest)), call_id=call_id)
    if failed or (gocsi and "rpc error:" in rest):
        return Piece(ERROR, method, error=rest.strip(), call_id=call_id, succeeded=False)
    return _response(method, rest if response != "successfully" else "", call_id)


def _response(method: str, text: str, call_id: str) -> Piece:
    names = re.match(r'\{\s*"(\w+)"', text)
    if method:
        answers: tuple[str, ...] = (method,)
    elif names:
        answers = _ANSWERS.get(names.group(1), ())
    else:
        answers = _SILENT if text.strip() == "{}" else ()
    told = request_of(text) if answers == ("GetPluginInfo",) else {}
    return Piece(RESPONSE, method, told, call_id=call_id, succeeded=True, answers=answers)


def _whole(text: str) -> Piece | None:
    """Read the hostpath driver's `gRPCCall: {"Method":…,"Request":…,"Response":…,"Error":…}`."""
    try:
        call = json.loads(text)
    except (ValueError, RecursionError):
        return _cut_whole(text)
    if not isinstance(call, dict):
        return None
    request, response = call.get("Request"), call.get("Response")
    error = call.get("Error") or call.get("FullError")
    method = method_of(str(call.get("Method", "")))
    told = _from_json(request) if isinstance(request, dict) else {}
    if method == "GetPluginInfo" and isinstance(response, dict):
        told |= _from_json(response)
    return Piece(WHOLE, method, told, _error_text(error), succeeded=not error)


def _cut_whole(text: str) -> Piece | None:
    found = re.match(r'\{"Method":"([^"]{1,200})"', text)
    method = method_of(found.group(1)) if found else ""
    return Piece(CALLED, method, _from_text(text.partition(',"Response":')[0])) if method else None


def _error_text(error: object) -> str:
    return encodable(error) if isinstance(error, str) else json.dumps(error) if error else ""


def _from_json(payload: Mapping[str, object]) -> dict[str, str]:
    kept = {key: encodable(value) for key in _KEPT if isinstance(value := payload.get(key), str) and value}
    if payload.get("readonly") is True:
        kept["readonly"] = "true"
    context = payload.get("volume_context")
    if isinstance(context, dict):
        kept |= {short: encodable(str(context[key])) for key, short in _CONTEXT.items() if key in context}
    return kept


def _from_text(text: str) -> dict[str, str]:
    text = _SECRETS.sub("", text[:65536])
    kept: dict[str, str] = {}
    for key, quoted, bare in _PAIR.findall(text):
        kept.setdefault(_NAMES[key.lower().replace("_", "")], quoted or bare)
    # A dump may hold other names (secrets, pods); only CreateVolume and GetPluginInfo have one of their own.
    if "volume_id" in kept:
        kept.pop("name", None)
    return {k: v for k, v in kept.items() if v} | {_CONTEXT[key]: value for key, value in _POD.findall(text)}
