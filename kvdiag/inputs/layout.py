"""The path of an input → of which node and which container it is, where a known layout says so.

    kind export logs                 kind-worker2/kubelet.log, kind-worker2/pods/…
    must-gather                      host_service_logs/worker-1/kubelet_service.log, nodes/worker-1/…
    Harvester, Longhorn              nodes/worker-1.zip/worker-1/logs/kubelet.log
    talosctl support                 10.5.0.3/service-logs/kubelet.log, 10.5.0.3/kubernetes-logs/…
    Rancher's log collector          worker-1-2024-03-12_08_00_00/journald/rke2-agent
    sosreport                        sosreport-worker-1-2024-03-12-abcdefg/…   (its name is in the file etc/hostname)
    /var/log/pods                    shop_web-0_1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01/csi-attacher/0.log
    /var/log/containers              web-0_shop_csi-attacher-<64 digits>.log

A folder of another layout may be called after anything: no node is guessed from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from kvdiag.model.place import NOWHERE, Place

_LONGEST = 4096  # as paths are; an archive may have longer names
_NODE = r"(?P<node>[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)"
_KIND_FILES = r"(?:kubelet|containerd|journal|kubernetes-version|pods/.+|containers/.+)(?:\.(?:log|txt))?"
_KIND_NODE = r"(?P<group>(?:.*/)?(?P<node>[a-z0-9][-a-z0-9.]*-(?:control-plane|worker)\d*))"
_RANCHER = "journald|systemlogs|systeminfo|networking|etcd|kubeadm|rke2|k3s|rke"
# What must stand in a path, and how: most paths have none of these words, and their patterns are never compiled.
_NODES = (
    ("host_service_logs/", rf"(?P<group>(?:.*/)?host_service_logs/(?!masters/|workers/){_NODE})/.+"),
    ("nodes/", rf"(?P<group>(?:.*/)?nodes/{_NODE}\.zip)/.+"),
    ("nodes/", rf"(?P<group>(?:.*/)?nodes/{_NODE})/.+"),
    ("/service-logs/", rf"(?P<group>(?:.*/)?{_NODE})/service-logs/[^/]+"),
    ("/kubernetes-logs/", rf"(?P<group>(?:.*/)?{_NODE})/kubernetes-logs/.+"),
    ("_", rf"(?P<group>(?:.*/)?{_NODE}-\d{{4}}-\d\d-\d\d_\d\d_\d\d_\d\d)/(?:{_RANCHER})/.+"),
    ("-control-plane", rf"{_KIND_NODE}/{_KIND_FILES}"),
    ("-worker", rf"{_KIND_NODE}/{_KIND_FILES}"),
    ("sosreport-", r"(?P<group>(?:.*/)?sosreport-[^/]+)/.+"),
)
_CONTAINERS = (
    ("_", r"(?:.*/)?[a-z0-9.-]+_[a-z0-9.-]+_[0-9a-f-]{32,36}/(?P<container>[a-z0-9.-]+)/[^/]+"),
    ("_", r"(?:.*/)?[a-z0-9.-]+_[a-z0-9.-]+_(?P<container>[a-z0-9.-]+)-[0-9a-f]{64}\.log(?:\.[^/]+)?"),
    ("/logs/", r"(?:.*/)?pods/[^/]+/(?P<container>[a-z0-9.-]+)/(?:(?P=container)/)?logs/[^/]+"),
)


def place_of(name: str) -> Place:
    """Give what the path of an input says."""
    if len(name) > _LONGEST:
        return NOWHERE
    node, inside = _first(_NODES, name), _first(_CONTAINERS, name)
    return Place(node.get("group", ""), node.get("node", ""), inside.get("container", ""))


def _first(layouts: Iterable[tuple[str, str]], name: str) -> Mapping[str, str]:
    """Give what the first layout that fits says."""
    for word, layout in layouts:
        if word in name and (found := re.fullmatch(layout, name)):
            return found.groupdict()
    return {}
