"""What the cluster knows of its nodes: `kubectl get nodes` as JSON or YAML, nodes.json of `kubectl cluster-info dump`.

"nodeInfo": {"containerRuntimeVersion": "containerd://1.7.13", "kubeletVersion": "v1.29.3", …
"""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.events.snapshots.fact import LineIndex, SnapshotFact, begins_yaml, inner, objects, pair, version, word

# An event of a node has an involvedObject of that kind, a static pod an owner.
_OPENING = lazy_regex(r'\s*\{(?s:(?!"(?:involvedObject|regarding|ownerReferences)").)*?"kind"\s*:\s*"Node(?:List)?"')


def opens(name: str, head: str) -> bool:
    """Whether a text begins as a node, or a list of nodes."""
    return _OPENING.match(head) is not None or begins_yaml("Node", name, head)


def read(text: str) -> Iterator[SnapshotFact]:
    """Give the versions on each node."""
    lines = LineIndex(text)
    for node in objects(text, "items"):
        name, info = word(inner(node, "metadata"), "name"), inner(node, "status", "nodeInfo")
        kubelet, runtime = word(info, "kubeletVersion"), word(info, "containerRuntimeVersion")
        component, version_text = runtime_version(runtime)
        if component:
            key = "containerRuntimeVersion"
            yield version(lines.line_of(runtime, key), component, version_text, pair(key, runtime), name)
        if kubelet:
            key = "kubeletVersion"
            yield version(lines.line_of(kubelet, key), "kubelet", kubelet, pair(key, kubelet), name)


def runtime_version(text: str) -> tuple[str, str]:
    """Give component and version of `containerd://1.7.13`; two empty words for a runtime that is not known."""
    scheme, _, number = text.partition("://")
    component = {"containerd": "containerd", "cri-o": "crio"}.get(scheme, "")
    return (component, number) if component and number else ("", "")
