"""What the cluster knows of its nodes: `kubectl get nodes -o json`, or nodes.json of `kubectl cluster-info dump`.

"nodeInfo": {"containerRuntimeVersion": "containerd://1.7.13", "kubeletVersion": "v1.29.3", …
"""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.evidence.fact import Fact, Lines, inner, objects, version, word
from kvdiag.regex import regex

# An event of a node has an involvedObject of that kind, a static pod an owner.
_OPENING = regex(r'\s*\{(?s:(?!"(?:involvedObject|regarding|ownerReferences)").)*?"kind"\s*:\s*"Node(?:List)?"')


def opens(_name: str, head: str) -> bool:
    """Whether a text begins as a node, or a list of nodes."""
    return _OPENING.match(head) is not None


def read(text: str) -> Iterator[Fact]:
    """Give the versions on each node."""
    lines = Lines(text)
    for node in objects(text, "items"):
        name, info = word(inner(node, "metadata"), "name"), inner(node, "status", "nodeInfo")
        kubelet, runtime = word(info, "kubeletVersion"), word(info, "containerRuntimeVersion")
        scheme, _, said = runtime.partition("://")
        component = {"containerd": "containerd", "cri-o": "crio"}.get(scheme, "")
        if said and component:
            yield version(
                lines.of("containerRuntimeVersion"), component, said, f'"containerRuntimeVersion": "{runtime}"', name
            )
        if kubelet:
            yield version(lines.of("kubeletVersion"), "kubelet", kubelet, f'"kubeletVersion": "{kubelet}"', name)
