r"""Read the lines that drivers and sidecars print for a CSI call: one to four lines for each RPC.

    I1120 21:00:07.278767   16866 server.go:101] GRPC call: /csi.v1.Node/NodeUnpublishVolume
    level=debug ts=2026-11-20T21:00:07.278Z component=grpc-server msg="handling request" req="volume_id:\"v\" "

`read_piece` tells what one line says of a call; `grpc.pair` joins the pieces.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.rpc.fragments import (
    CALL,
    CALLED,
    ERROR,
    REQUEST,
    RESPONSE,
    WHOLE,
    RpcFragment,
    error_text,
    from_json,
    from_pairs,
    from_text,
    method_of,
    request_of,
)

# Methods by the first key of their response; `{}` is the response of _SILENT.
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
_LIKELY = lazy_regex(
    r"GRPC|gRPCCall|: (?:called|successfully|req|rsp|err)\b|\b(?:called|returned) with|: RE[QP] \d"
    r"|Volume successful |gRPC\[\d"
    r"|handling request$|volume (?:called|is finished)$|(?:handler|method) failed$| - driver: "
)
_LINE = lazy_regex(
    r"(?:\[?ID: ?(\d+)\]? (?:Req-ID: (\S+) )?)?GRPC (call(?! failed)|request|response|error|(?:call )?failed):? ?(.*)",
    re.DOTALL,
)
_WORDED = lazy_regex(
    r"(?:/csi\.v\d\.\w+/)?(\w+):? (?:(called)(?: with (?:args|req(?:uest)?))?:?"
    r"|(returned with response|successful(?:ly)?|rsp):?|(returned with error|err):|(req):|(REQ|REP) (\d+):) ?(.*)",
    re.DOTALL,
)
_DEMOCRATIC = lazy_regex(
    r"(?:\w{4,7}: )?(?:new |handler )(request|response|error)"
    r" - driver: \S+ method: (\w+) (?:call|response|error): ?(.*)",
    re.DOTALL,
)
# One line for a call that failed; what csi-sanlock-lvm prints.
_RETURNED = lazy_regex(r"gRPC\[(\d{1,20})\]: call (/csi\.v\d\.\w+/\w+)\((.*)\) returned error (.*)", re.DOTALL)
# Google's driver for Lustre names the method in each of its lines.
_NAMED = lazy_regex(
    r"(?:\[ID: ?(\d{1,20})\] )?GRPC call:? (/csi\.v\d\.\w+/\w+), (?:GRPC )?(request|response|error): ?(.*)", re.DOTALL
)
# Messages of DigitalOcean's driver and its derivatives when a call succeeded.
_FINISHED = {
    "formatting and mounting stage volume is finished": "NodeStageVolume",
    "unmounting stage volume is finished": "NodeUnstageVolume",
    "bind mounting the volume is finished": "NodePublishVolume",
    "unmounting volume is finished": "NodeUnpublishVolume",
}
_ASKS = lazy_regex(r"volume_?capability(?!_?ies)", re.IGNORECASE)
_NOTHING = frozenset(("", "<nil>", "null", "nil"))


def read_fragment(message: str, fields: Mapping[str, str]) -> RpcFragment | None:
    """Return the fragment of a CSI call in the unescaped message and fields of a record; None if there is none."""
    if message.startswith("gRPCCall: "):
        return _whole(message[10:])
    if not _LIKELY.search(message):
        return None
    returned = _RETURNED.match(message)
    if returned:
        call_id, method, request, error = returned.groups()
        return RpcFragment(WHOLE, method_of(method), request_of(request), error.strip(), call_id, succeeded=False)
    named = _NAMED.match(message)
    if named:
        return _named(*named.groups(default=""))
    found = _LINE.match(message)
    if found:
        call_id, _, kind, rest = found.groups()
        is_record = "GRPC.call" in fields
        call_id = call_id or fields.get("TraceId", "")
        return _recorded(kind, rest, fields) if is_record else _line(kind, rest, fields, call_id)
    return (
        _worded(message, fields) or _democratic(message) or _handled(message, fields) or _digitalocean(message, fields)
    )


def _line(kind: str, rest: str, fields: Mapping[str, str], call_id: str) -> RpcFragment | None:
    """Read `GRPC call: …` as well as the structured `"GRPC call" method=… request=…`."""
    method = method_of(fields.get("method", rest if kind == "call" else ""))
    if kind == "call" and "request" in fields:
        return RpcFragment(CALLED, method, request_of(fields["request"]), call_id=call_id)
    if kind == "call":
        return RpcFragment(CALL, method, call_id=call_id) if method else None
    if kind == "request":
        return RpcFragment(REQUEST, method, request_of(fields.get("request", rest)), call_id=call_id)
    kind = "error" if kind.endswith("failed") else kind
    error = fields.get("err", fields.get("error", rest if kind == "error" else "")).strip()
    if error not in _NOTHING:
        return RpcFragment(ERROR, method, error=error, call_id=call_id, succeeded=False)
    if kind == "error":
        return RpcFragment(ERROR, call_id=call_id, succeeded=True)
    return _response(method, fields.get("response", rest), call_id)


def _recorded(kind: str, rest: str, fields: Mapping[str, str]) -> RpcFragment | None:
    """Read csi-packet's record of a result, with the call and its request as fields; others have no result."""
    method = method_of(fields["GRPC.call"])
    if not method or kind not in {"response", "error"}:
        return None
    request = request_of(fields.get("GRPC.request", ""))
    if kind == "response":
        request |= request_of(rest) if method == "GetPluginInfo" else {}
        return RpcFragment(WHOLE, method, request, succeeded=True)
    return RpcFragment(WHOLE, method, request, rest.strip(), succeeded=False)


def _named(call_id: str, path: str, kind: str, rest: str) -> RpcFragment | None:
    """Read `GRPC call: /csi.v1.Node/NodeStageVolume, GRPC error: …`."""
    method = method_of(path)
    if kind == "request":
        return RpcFragment(CALLED, method, request_of(rest), call_id=call_id)
    if kind == "error":
        return RpcFragment(ERROR, method, error=rest.strip(), call_id=call_id, succeeded=False)
    return _response(method, rest, call_id)


def _worded(message: str, fields: Mapping[str, str]) -> RpcFragment | None:
    """Read the lines that name the method: ebs, gcp-pd, Longhorn ≥ 1.3, vSphere."""
    found = _WORDED.match(message)
    method = method_of(found.group(1)) if found else ""
    if found is None or not method:
        return None
    _, called, response, failed, request, gocsi, number, rest = found.groups()
    call_id = number or fields.get("TraceId", "")
    if called or request or gocsi == "REQ":
        return RpcFragment(CALLED, method, request_of(fields.get("args", rest)), call_id=call_id)
    if failed or (gocsi and "rpc error:" in rest):
        return RpcFragment(ERROR, method, error=rest.strip(), call_id=call_id, succeeded=False)
    return _response(method, "" if response and response.startswith("successful") else rest, call_id)


def _democratic(message: str) -> RpcFragment | None:
    """Read democratic-csi's lines: the request is in an object with the metadata of its transport."""
    found = _DEMOCRATIC.match(message)
    method = method_of(found.group(2)) if found else ""
    if found is None or not method:
        return None
    part, _, rest = found.groups()
    if part == "request":
        return RpcFragment(CALLED, method, request_of(rest, inside="request"))
    if part == "error":
        return RpcFragment(ERROR, method, error=rest.strip(), succeeded=False)
    return _response(method, rest, "")


def _handled(message: str, fields: Mapping[str, str]) -> RpcFragment | None:
    """Read lines of a gRPC server with go-kit's or slog's logger: Hetzner's, without the method up to 2.0."""
    text = fields.get("req", "")
    method = method_of(fields.get("method", ""))
    match message:
        case "handling request" if "req" in fields:
            request = request_of(text)
            return RpcFragment(CALLED, method or _guess_method(request, text), request)
        case "finished handling request":
            return RpcFragment(RESPONSE, method, succeeded=True, answers=(method,) if method else ())
        case "handler failed" | "method failed" if fields.keys() & {"err", "error"}:
            error = fields.get("err") or fields.get("error", "")
            return RpcFragment(ERROR, method, request_of(text), error, succeeded=False)
    return None


def _digitalocean(message: str, fields: Mapping[str, str]) -> RpcFragment | None:
    """Read `node stage volume called` and `unmounting volume is finished`: of DigitalOcean's and its derivatives."""
    words, called, _ = message.partition(" called")
    method = _FINISHED.get(message) or method_of(words.replace(" ", "") if called else "")
    if not method:
        return None
    request = from_pairs(fields, ("node_id",) if method.startswith("Node") else ())
    if called:
        return RpcFragment(CALLED, method, request or request_of(fields.get("request", "")))
    return RpcFragment(RESPONSE, method, request, succeeded=True, answers=(method,))


def _guess_method(request: Mapping[str, str], text: str) -> str:
    """Return the method of a request: only those that stage, publish or create have a volume capability."""
    has_capability = bool(_ASKS.search(text))
    if "volume_path" in request:
        return ""
    if "target_path" in request:
        return "NodePublishVolume" if has_capability else "NodeUnpublishVolume"
    if "staging_target_path" in request:
        return "NodeStageVolume" if has_capability else "NodeUnstageVolume"
    if "node_id" in request and "volume_id" in request:
        return "ControllerPublishVolume" if has_capability else "ControllerUnpublishVolume"
    return "CreateVolume" if "name" in request and has_capability else ""


def _response(method: str, text: str, call_id: str) -> RpcFragment:
    names = re.match(r'\{\s*"(\w+)"', text)
    if method:
        answers: tuple[str, ...] = (method,)
    elif names:
        answers = _ANSWERS.get(names.group(1), ())
    else:
        answers = _SILENT if text.strip() == "{}" else ()
    request = request_of(text) if answers == ("GetPluginInfo",) else {}
    return RpcFragment(RESPONSE, method, request, call_id=call_id, succeeded=True, answers=answers)


def _whole(text: str) -> RpcFragment | None:
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
    names = from_json(request) if isinstance(request, dict) else {}
    if method == "GetPluginInfo" and isinstance(response, dict):
        names |= from_json(response)
    return RpcFragment(WHOLE, method, names, error_text(error), succeeded=not error)


def _cut_whole(text: str) -> RpcFragment | None:
    found = re.match(r'\{"Method":"([^"]{1,200})"', text)
    method = method_of(found.group(1)) if found else ""
    return RpcFragment(CALLED, method, from_text(text.partition(',"Response":')[0])) if method else None
