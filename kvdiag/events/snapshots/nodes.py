"""What the cluster knows of its nodes: `kubectl get nodes` as JSON or YAML, nodes.json of `kubectl cluster-info dump`.

"nodeInfo": {"containerRuntimeVersion": "containerd://1.7.13", "kubeletVersion": "v1.29.3", …

The image of the OS and the type of the machine are versions too: failures are compared with them.
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
        machine = word(inner(node, "metadata", "labels"), _TYPE)
        runtime = word(info, "containerRuntimeVersion")
        component, number = runtime_version(runtime)
        found = [("instance-type", _TYPE, machine, machine), (component, "containerRuntimeVersion", runtime, number)]
        found += [(named, key, word(info, key), word(info, key)) for key, named in _INFO]
        for named, key, value, version_text in found:
            if named and version_text:
                yield version(lines.line_of(value, key), named, version_text, pair(key, value), name)


# In their order in a file.
_INFO = (("kernelVersion", "kernel"), ("kubeletVersion", "kubelet"), ("osImage", "os-image"))
_TYPE = "node.kubernetes.io/instance-type"


def runtime_version(text: str) -> tuple[str, str]:
    """Give component and version of `containerd://1.7.13`; two empty words for a runtime that is not known."""
    scheme, _, number = text.partition("://")
    component = {"containerd": "containerd", "cri-o": "crio"}.get(scheme, "")
    return (component, number) if component and number else ("", "")
