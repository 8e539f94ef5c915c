r"""Fragments of a CSI call: its method, the names in its request, its result.

    I1120 21:00:07.278767   16866 server.go:105] GRPC request: {"target_path":"/var/lib/kubelet/pods/…","volume_id":"v"}

A request is JSON, proto text or a Go dump, and may be truncated. Only the names of the volume, the pod and the paths
are kept, never `secrets`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.goquote import encodable

# A fragment is the method, the payload, both, the response, an error, or the whole call.
CALL, REQUEST, CALLED, RESPONSE, ERROR, WHOLE = "call", "request", "called", "response", "error", "whole"

_METHOD_NAMES = """
    NodeStageVolume NodeUnstageVolume NodePublishVolume NodeUnpublishVolume NodeGetVolumeStats NodeExpandVolume
    NodeGetCapabilities NodeGetInfo CreateVolume DeleteVolume ControllerPublishVolume ControllerUnpublishVolume
    ValidateVolumeCapabilities ListVolumes GetCapacity ControllerGetCapabilities CreateSnapshot DeleteSnapshot
    ListSnapshots ControllerExpandVolume ControllerGetVolume ControllerModifyVolume GetPluginInfo
    GetPluginCapabilities Probe
"""
METHODS = {name.lower(): name for name in _METHOD_NAMES.split()}
WITHOUT_ARGUMENTS = frozenset(
    ("NodeGetCapabilities", "ControllerGetCapabilities", "GetPluginInfo", "GetPluginCapabilities", "Probe")
)
_REQUEST_FIELDS = (
    "volume_id",
    "target_path",
    "staging_target_path",
    "node_id",
    "name",
    "source_volume_id",
    "volume_path",
    "vendor_version",
)
_CONTEXT = {
    "csi.storage.k8s.io/ephemeral": "ephemeral",
    "csi.storage.k8s.io/pod.uid": "pod_uid",
    "csi.storage.k8s.io/pod.name": "pod_name",
    "csi.storage.k8s.io/pod.namespace": "pod_namespace",
}
LONGEST_PAYLOAD = 64 << 10  # characters of a request that are searched; the rest is ignored, to bound the time
_NAMES = {name.replace("_", ""): name for name in _REQUEST_FIELDS}
# If the end of the secrets is unclear, all following text counts as secret.
_SECRETS = lazy_regex(
    r'(?<![A-Za-z_])"?(?:[a-z_]{0,40}secrets|[A-Za-z]{0,40}Secrets)"?\s?[:=]\s?(?:map(?:\[string\]string)?)?'
    r'(?:\{[^{}\[\]]*\}|\[[^{}\[\]]*\]|[{\[].*|"(?:[^"\\]|\\.)*"?|\S+)',
    re.DOTALL,
)
_PAIR = lazy_regex(
    r'\b"?((?:source_?)?volume_?id|(?:staging_?)?target_?path|node_?id|volume_?path|name|vendor_?version)"?\s?[:=]\s?'
    r'(?:"((?:[^"\\]|\\.){0,4096})"|([^\s",{}\[\]]{1,1024}+)(?=[\s,}\]]))',
    re.IGNORECASE,
)
# {"access_mode":{"mode":5}} in JSON, access_mode:<mode:MULTI_NODE_MULTI_WRITER > and access_mode:{mode:…} as proto text
_MODE = lazy_regex(r'access_?mode"?\s?:\s?[<{]{1,2}\s?"?mode"?\s?:\s?"?(\w{1,40})', re.IGNORECASE)
_MODES = {"1": "SINGLE", "2": "SINGLE", "3": "MULTI", "4": "MULTI", "5": "MULTI", "6": "SINGLE", "7": "SINGLE"}
_POD = lazy_regex(r'(csi\.storage\.k8s\.io/(?:ephemeral|pod\.uid|pod\.name|pod\.namespace))"?[:=]\s?"?([^\s",}\]]+)')


class RpcFragment(NamedTuple):
    """The part of a call in one line.

    `answers` are the methods that a response can belong to, empty if any; `succeeded` is None if the line has no
    result.
    """

    part: str
    method: str = ""
    request: Mapping[str, str] = {}
    error: str = ""
    call_id: str = ""
    succeeded: bool | None = None
    answers: tuple[str, ...] = ()


def method_of(text: str) -> str:
    """Return `NodeUnstageVolume` for `/csi.v1.Node/NodeUnStageVolume`; empty if it is no CSI method."""
    return METHODS.get(text.strip().rpartition("/")[2].lower(), "")


def kind_prefix(method: str) -> str:
    """Return the prefix of event kinds: `csi.nodeunpublish` for `NodeUnpublishVolume`, `csi.call` without a method."""
    if not method:
        return "csi.call"
    name = method.lower()
    return "csi." + (name.removesuffix("volume") if name.startswith(("node", "controller")) else name)


def request_of(text: str, inside: str = "") -> dict[str, str]:
    """Return the names in a payload: JSON, also if truncated, proto text, or a Go dump.

    `inside` is the key of the request in an object with other members.
    """
    try:
        payload = json.loads(text) if text.startswith("{") else None
    except (ValueError, RecursionError):
        payload = None
    if inside and isinstance(payload, dict):
        payload = payload.get(inside)
    names = from_json(payload) if isinstance(payload, dict) else from_text(text)
    # Most payloads have no mode: 0.1 µs instead of 4.
    mode = _MODE.search(text, 0, LONGEST_PAYLOAD) if "ode" in text or "ODE" in text else None
    nodes = mode.group(1).upper() if mode else ""
    nodes = _MODES.get(nodes) or nodes.partition("_NODE_")[0]
    return names | {"access_mode": nodes} if nodes in {"SINGLE", "MULTI"} else names


def from_pairs(fields: Mapping[str, str], without: Collection[str] = ()) -> dict[str, str]:
    """Return the names in a line's key=value pairs."""
    return {name: fields[name] for name in _REQUEST_FIELDS if fields.get(name) and name not in without}


def error_text(error: object) -> str:
    """Return an error as text; it may be a text or an object."""
    return encodable(error) if isinstance(error, str) else json.dumps(error) if error else ""


def from_json(payload: Mapping[str, object]) -> dict[str, str]:
    """Return the names in a JSON request."""
    names = {key: encodable(value) for key in _REQUEST_FIELDS if isinstance(value := payload.get(key), str) and value}
    if payload.get("readonly") is True:
        names["readonly"] = "true"
    context = payload.get("volume_context")
    if isinstance(context, dict):
        names |= {short: encodable(str(context[key])) for key, short in _CONTEXT.items() if key in context}
    return names


def from_text(text: str) -> dict[str, str]:
    """Return the names in a request that is proto text, a Go dump, or truncated."""
    text = _SECRETS.sub("", text[:LONGEST_PAYLOAD])
    names: dict[str, str] = {}
    for key, quoted, bare in _PAIR.findall(text):
        names.setdefault(_NAMES[key.lower().replace("_", "")], quoted or bare)
    # A dump may contain other names (secrets, pods); only CreateVolume and GetPluginInfo have a `name`.
    if "volume_id" in names:
        names.pop("name", None)
    return {k: v for k, v in names.items() if v} | {_CONTEXT[key]: value for key, value in _POD.findall(text)}
