"""Node and container of an input by its path, for known layouts of collected logs.

    kind export logs                 kind-worker2/kubelet.log, kind-worker2/pods/…
    must-gather                      host_service_logs/worker-1/kubelet_service.log, nodes/worker-1/…
    gkectl diagnose snapshot         nodes/worker-1/…
    Harvester, Longhorn              nodes/worker-1.zip/worker-1/logs/kubelet.log
    talosctl support                 10.5.0.3/service-logs/kubelet.log, 10.5.0.3/kubernetes-logs/…
    Rancher's log collector          worker-1-2024-03-12_08_00_00/journald/rke2-agent
    Troubleshoot                     host-collectors/worker-1/journald/kubelet.txt, …/logs/worker-1/archive.tar/…
    Sonobuoy                         plugins/systemd-logs/results/worker-1/systemd_logs
    AKS Periscope                    2024-03-12T08-00-00Z/worker-1/worker-1.zip/systemlogs/kubelet
    Cluster API's tests              clusters/c-1/machines/worker-1/kubelet.log, …/machine-pools/mp-0/worker-1/…
    Kubernetes' tests                artifacts/worker-1/kubelet.log
    sosreport                        sosreport-worker-1-2024-03-12-abcdefg/…   (its name is in the file etc/hostname)
    /var/log/pods                    shop_web-0_1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01/csi-attacher/0.log
    /var/log/containers              web-0_shop_csi-attacher-<64 digits>.log
    kubectl cluster-info dump        namespaces/shop/pods/web-0/csi-attacher   (a section, as kvdiag calls it)
    Troubleshoot                     cluster-resources/pods/logs/shop/web-0/csi-attacher.log
    Sonobuoy                         podlogs/shop/web-0/logs/csi-attacher.txt

In other layouts a folder may have any name, so no node is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kvdiag.model.record import NO_PROVENANCE, Provenance

_LONGEST = 4096  # characters, PATH_MAX of Linux; an archive may contain longer names
_NODE = r"(?P<node>[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?)"
_KIND_NODE = r"(?P<node>[a-z0-9][-a-z0-9.]*-(?:control-plane|worker)\d*)"
_KIND_FILES = r"(?:kubelet|containerd|journal|kubernetes-version|pods/.+|containers/.+)(?:\.(?:log|txt))?"
_RANCHER = r"(?:journald|systemlogs|systeminfo|networking|etcd|kubeadm|rke2|k3s|rke)/.+"
# Other folders beside those of nodes: of roles, and of the services of all Windows nodes.
_NO_SERVICES = r"(?!(?:masters|workers|kubelet|kube-proxy|hybrid-overlay|containerd|windows)/)"
_DUMPED = r"(?:kube[\w-]*|containerd|crio|docker|kern|journal|serial-1|etcd)\.log(?:[.-][^/]+)?"


class _Layout(NamedTuple):
    """A folder of a node: the pattern before and after the node's name in its path, and of the files in it.

    A path must contain `word`: most contain none of these words, so the patterns are never compiled.
    """

    word: str
    before: str = ""
    node: str = _NODE
    behind: str = ""
    files: str = ".+"

    @property
    def pattern(self) -> str:
        """Return the pattern of a whole path."""
        return f"(?P<group>(?:.*/)?{self.before}{self.node}{self.behind})/{self.files}"


_NODES = tuple(
    (layout.word, layout.pattern)
    for layout in (
        _Layout("host_service_logs/", before="host_service_logs/" + _NO_SERVICES),
        _Layout("nodes/", before="nodes/", behind=r"\.zip"),
        _Layout("nodes/", before="nodes/"),
        _Layout("/service-logs/", files="service-logs/[^/]+"),
        _Layout("/kubernetes-logs/", files="kubernetes-logs/.+"),
        _Layout("/dmesg.log", before=r"support[^/]*\.zip/", files=r"dmesg\.log"),
        _Layout("_", behind=r"-\d{4}-\d\d-\d\d_\d\d_\d\d_\d\d", files=_RANCHER),
        _Layout("host-collectors/", before="host-collectors/", files="(?:run-host|journald|system)/.+"),
        _Layout("/archive.tar/", before="support-bundle-[^/]+/(?:.*/)?", files=r"archive\.tar/.+"),
        _Layout("/results/", before="plugins/[^/]+/results/(?!global/)"),
        _Layout(".zip/systemlogs/", files=r"(?P=node)\.zip/.+"),
        _Layout(".zip/nodelogs/", files=r"(?P=node)\.zip/.+"),
        _Layout("/machines/", before="clusters/[^/]+/machines/"),
        _Layout("/machine-pools/", before="clusters/[^/]+/machine-pools/[^/]+/"),
        _Layout("-control-plane", node=_KIND_NODE, files=_KIND_FILES),
        _Layout("-worker", node=_KIND_NODE, files=_KIND_FILES),
        _Layout("artifacts/", before="_?artifacts/(?!logs?/)", files=_DUMPED),
        _Layout("sosreport-", node="sosreport-[^/]+"),
    )
)
_NAMESPACE, _POD = r"(?P<namespace>[a-z0-9.-]+)", r"(?P<pod>[a-z0-9.-]+)"
_CONTAINER = r"(?P<container>[a-z0-9.-]+)"
_CONTAINERS = (
    ("_", rf"(?:.*/)?{_NAMESPACE}_{_POD}_[0-9a-f-]{{32,36}}/{_CONTAINER}/[^/]+"),
    ("_", rf"(?:.*/)?{_POD}_{_NAMESPACE}_{_CONTAINER}-[0-9a-f]{{64}}\.log(?:\.[^/]+)?"),
    (
        "/logs/",
        rf"(?:(?:.*/)?namespaces/{_NAMESPACE}/|(?:.*/)?)pods/{_POD}/{_CONTAINER}/(?:(?P=container)/)?logs/[^/]+",
    ),
    ("namespaces/", rf"(?:.*/)?namespaces/{_NAMESPACE}/pods/{_POD}/(?P<container>[a-z0-9-]+)(?: \(\d+\))?"),
    ("/pods/logs/", rf"(?:.*/)?cluster-resources/pods/logs/{_NAMESPACE}/{_POD}/{_CONTAINER}\.log(?:\.[^/]+)?"),
    ("podlogs/", rf"(?:.*/)?podlogs/{_NAMESPACE}/{_POD}/logs/{_CONTAINER}\.txt"),
)


def provenance_of(name: str) -> Provenance:
    """Return node and container according to the path of an input."""
    if len(name) > _LONGEST:
        return NO_PROVENANCE
    node, container = _first(_NODES, name), _first(_CONTAINERS, name)
    return Provenance(
        node.get("group", ""),
        node.get("node", ""),
        container.get("container", ""),
        container.get("pod", ""),
        container.get("namespace") or "",
    )


def section_provenance(section: str, place: Provenance) -> Provenance:
    """Return the provenance of a section of an input; `place` is that of the input."""
    container = provenance_of(section)
    return container._replace(group=place.group, node=place.node) if container.container else place


def _first(layouts: Iterable[tuple[str, str]], name: str) -> Mapping[str, str]:
    """Return the groups of the first layout that matches."""
    for word, layout in layouts:
        if word in name and (found := re.fullmatch(layout, name)):
            return found.groupdict()
    return {}
