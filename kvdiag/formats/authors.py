"""Which program wrote a line: by the process in a carrier, the source file in klog's header, or the log's name.

    Nov 20 20:39:21 worker-1 k3s[811]: I1120 20:39:21.779765     811 pod_workers.go:1251] "Pod worker has been …"
    Nov 20 20:39:21 master-1 kube-apiserver.daemon[902]: I1120 20:39:21.779765     902 server.go:565] external host …

k3s, RKE2, MicroK8s' kubelite and hyperkube are kubelet, controller manager, scheduler, proxy and API server in one
process, distinguished by the source file; k3s and RKE2 also write their own lines. Programs of Kubernetes share
messages: each of them ends with `"command failed"`. A line whose program is known never counts as another program's.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.model.record import NO_PROVENANCE, Provenance

HEADER = 300  # bytes of a line that may contain klog's header, with the carriers before it
# Names in a journal of processes with several programs.
COMBINED = frozenset(
    (
        "k3s",
        "k3s-agent",
        "rke2",
        "rke2-server",
        "rke2-agent",
        "kubelite",
        "microk8s.daemon-kubelite",
        "hyperkube",
        "k0s",
    )
)
_FILES: Mapping[str, str] = {
    "kubelet": """
        kubelet kubelet_pods kubelet_volumes kubelet_getters kubelet_node_status kubelet_node_status_others
        kubelet_network kubelet_network_linux kubelet_resources pod_workers pod_startup_latency_tracker
        pod_container_deletor pod_container_manager_linux kuberuntime_manager kuberuntime_container
        kuberuntime_container_linux kuberuntime_sandbox kuberuntime_gc kuberuntime_image kuberuntime_logs
        status_manager generic evented eviction_manager image_gc_manager container_log_manager cri_stats_provider
        container_manager_linux cgroup_manager_linux qos_container_manager_linux node_container_manager_linux
        cpu_manager memory_manager topology_manager prober prober_manager setters volume_manager reconciler_common
        reconstruct reconstruct_new desired_state_of_world_populator plugin_watcher csi_plugin csi_attacher
        csi_mounter csi_block csi_client csi_node_updater nodeshutdown_manager_linux remote_runtime remote_image
        operation_generator nestedpendingoperations atomic_writer subpath_linux docker_sandbox docker_service
        docker_container docker_image perfcounter_nodestats
    """,
    "kube-controller-manager": """
        controllermanager attach_detach_controller pv_controller pv_controller_base garbagecollector graph_builder
        replica_set deployment_controller node_lifecycle_controller namespace_controller daemon_controller
        stateful_set job_controller cronjob_controllerv2 disruption range_allocator taint_manager taint_eviction
        resource_quota_controller resource_quota_monitor certificate_controller endpointslice_controller
        serviceaccounts_controller horizontal
    """,
    "kube-scheduler": "schedule_one scheduler scheduling_queue default_preemption",
    "kube-proxy": "proxier conntrack server_linux node_linux",
    "external-attacher": "csi_handler",
    "csi-driver": "nodeserver controllerserver",
    "minikube": "cli_runner ssh_runner kic_runner exec_runner sshutil start_flags system_pods default_sa pod_ready",
}
# The code that attaches volumes is also in the controller manager.
_ATTACHING = frozenset(("operation_generator.go", "nestedpendingoperations.go", "csi_attacher.go", "csi_plugin.go"))
# File names that a driver may also have; in a process of several programs they are unambiguous.
_COMBINED_FILES: Mapping[str, str] = {
    "kube-apiserver": """
        instance cacher available_controller handler_proxy apf_controller storage_factory crd_finalizer
        priority-and-fairness wrap httplog
    """,
    "etcd": """
        etcd raft peer stream transport probing_status zap_raft kvstore kvstore_compaction index hash snapshot_sender
        v3_server serve lease lessor wal decoder periodic
    """,
}

# The types that kubelet's reflectors list: a failure to list another type is not kubelet's.
_WATCHED = frozenset(
    (
        *(b"", b"Pod", b"Node", b"Service", b"Secret", b"ConfigMap", b"CSIDriver", b"RuntimeClass"),
        *(b"ClusterTrustBundle", b"PodCertificateRequest", b"ResourceSlice"),
    )
)
_LISTED = lazy_regex(rb"ailed to (?:list|watch) \*(?:[a-z0-9]+\.)?([A-Za-z]+)")

DRIVER = "csi-driver"
SIDECARS = (
    *("external-attacher", "external-provisioner", "external-resizer", "node-driver-registrar"),
    "external-snapshotter",
)
# By a word in the name of a file, a container or a section; the first match decides.
_BY_NAME = (
    ("approver", ""),  # approves the certificates of kubelets
    ("kubelet", "kubelet"),
    ("containerd", "containerd"),
    ("attacher", SIDECARS[0]),
    ("provisioner", SIDECARS[1]),
    ("resizer", SIDECARS[2]),
    ("registrar", SIDECARS[3]),
    ("snapshotter", SIDECARS[4]),
    ("snapshot-controller", SIDECARS[4]),
    ("cloud-controller-manager", "cloud-controller-manager"),
    ("controller-manager", "kube-controller-manager"),
    ("kube-scheduler", "kube-scheduler"),
    ("kube-apiserver", "kube-apiserver"),
    ("kube-proxy", "kube-proxy"),
    ("coredns", "coredns"),
    ("csi", DRIVER),
    ("dmesg", "kernel"),
    ("kern.log", "kernel"),
    ("cri-o", "crio"),
    ("crio", "crio"),
    ("laststart", "minikube"),
)
_ETCD = lazy_regex(r"(?:^|[^a-z0-9])etcd(?:$|[^a-z0-9])")
# `kube-apiserver.daemon` and `kubelet.daemon` of Charmed Kubernetes, `microk8s.daemon-scheduler`.
_SNAP = lazy_regex(r"(?:snap\.)?(?:(?P<own>[a-z0-9-]+)\.daemon|microk8s\.daemon-(?P<part>[a-z-]+))(?:-\d+)?")
# Docker's name for a container of a static pod: `k8s_etcd_etcd-master-1_kube-system_2f0c…_0`.
_STATIC_POD = lazy_regex(r"k8s_(?P<container>[a-z-]+)_[a-z0-9.-]+_kube-system_[0-9a-f-]+_\d+")
_PARTS: Mapping[str, str] = {
    "apiserver": "kube-apiserver",
    "controller-manager": "kube-controller-manager",
    "scheduler": "kube-scheduler",
    "proxy": "kube-proxy",
    "kubelet": "kubelet",
    "etcd": "etcd",
    "containerd": "containerd",
}
CONTROL = frozenset((
    *("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy", "cloud-controller-manager"),
    *("etcd", "coredns", "minikube"),
))  # fmt: skip
_HOST = frozenset(("", "kernel", "systemd", "systemd-journald"))  # programs that may be in any journal
# Programs of the host: no container prints their messages.
HOST = frozenset((
    *("kubelet", "containerd", "crio", "dockerd", "cri-dockerd", "kernel", "systemd", "systemd-journald", "audit"),
))  # fmt: skip
CONTAINED = frozenset(("cri", "docker-json", "pod-prefix", "container-journal", "container-json"))  # carriers
# Identifiers in the journal of container output by docker, podman and CRI-O, and of a process that calls itself kernel.
_CONTAINERS_IDENT = lazy_regex(r"[0-9a-f]{12}(?:[0-9a-f]{52})?|k8s_.+|conmon|podman|logger")
# Namespaces in which only cluster administrators create pods, and words in names of drivers and network agents.
_SYSTEM = frozenset(("openebs", "portworx", "trident", "rook-ceph", "calico-apiserver", "cilium", "democratic-csi"))
_SYSTEM_NAMED = lazy_regex(r"(?:kube|openshift|cattle)-.+|.+-system")
_AGENTS = lazy_regex(
    r"csi|driver|provisioner|attacher|snapshotter|resizer|calico|cilium|flannel|weave|aws-node|multus|antrea|kindnet|whereabouts"
    r"|ebs-plugin|efs-plugin|azuredisk|azurefile|longhorn|trident|portworx|secrets-store"
)
_LAUNCHERS = frozenset(("docker", "podman", "nerdctl", "bash", "sh"))  # commands of units that run etcd
_PROCESSES = _HOST | frozenset(("containerd", "crio", "dockerd", "cri-dockerd", "audit"))
_ID = lazy_regex(r" \[[0-9a-f]{6,64}\](?: \(\d+\))?$")


# Programs of the host that run containers and mounts of their own, not kubelet's.
_OTHER_RUNTIMES = frozenset(
    ("podman", "buildah", "buildkitd", "systemd-nspawn", "systemd-machined", "lxd", "lxc", "incusd", "gitlab-runner")
)


class Rank(Enum):
    """Which components' messages a container may print. None is a program of the host."""

    SYSTEM = auto()  # in a system namespace: a driver, a network agent, the control plane
    NAMED = auto()  # in another namespace, but with the name of such a program
    APPLICATION = auto()  # any other: only its own


class Byline(NamedTuple):
    """The author of a log by its name: a program, or empty; `container` is the container that wrote all of it.

    `rank` is that of the container in its path: see `Rank`.
    """

    program: str = ""
    container: str = ""
    rank: Rank | None = None


def _by_file(table: Mapping[str, str]) -> Mapping[str, str]:
    return {f"{name}.go": author for author, names in table.items() for name in names.split()}


_AUTHORS, _COMBINED_AUTHORS = _by_file(_FILES), _by_file({**_COMBINED_FILES, **_FILES})


def program_in_name(source: str) -> str:
    """Return the program in an input's name; empty if there is none."""
    name = source.rsplit("/", 1)[-1].lower()
    known = next((program for word, program in _BY_NAME if word in name), None)
    return known if known is not None else "etcd" if _ETCD.search(name) else ""


def byline(source: str, place: Provenance = NO_PROVENANCE) -> Byline:
    """Return the author of a log by its name: a path, or a section such as `kube-apiserver [0e43ac4c291d]`."""
    name = source.rsplit("/", 1)[-1]
    section = _ID.search(name)
    container = place.container or (name[: section.start()] if section else "")
    return Byline(program_in_name(container or source), container, rank_of(place))


def rank_of(place: Provenance) -> Rank | None:
    """Return the rank of the container in a path; None if the path contains no container."""
    if not place.container:
        return None
    if not place.namespace or place.namespace in _SYSTEM or _SYSTEM_NAMED.fullmatch(place.namespace):
        return Rank.SYSTEM
    is_named = program_in_name(place.container) or _AGENTS.search(place.container) or _AGENTS.search(place.pod)
    return Rank.NAMED if is_named else Rank.APPLICATION


def author(ident: str, caller: str) -> str:
    """Return the program that wrote a line: the process in a carrier, or by file if that has several programs."""
    file = caller.partition(":")[0].rpartition("/")[2]
    if ident in COMBINED:
        return _COMBINED_AUTHORS.get(file, ident)
    return process(ident) if ident else _AUTHORS.get(file, "")


@lru_cache(1024)
def process(ident: str) -> str:
    """Return the program for an identifier in a journal; the identifier itself if it is no alias."""
    found, static = _SNAP.fullmatch(ident), _STATIC_POD.fullmatch(ident)
    if ident == "kubenswrapper":  # kubensenter of OpenShift starts the kubelet by this name
        return "kubelet"
    if static is not None and static["container"] in CONTROL:
        return static["container"]
    if found is None or ident in COMBINED:
        return ident
    return found["own"] or _PARTS.get(found["part"], ident)


class Attribution(NamedTuple):
    """Finds the author of each line of a log: `by` is its byline, `own` the component of most lines, if known."""

    by: Byline = Byline()
    own: str = ""

    def author_of_line(self, ident: str, caller: str) -> str:
        """Return the program that wrote a line: if line and name are ambiguous, that of most lines of the log."""
        return self._known(ident, caller, self.own) or self.own or self.by.program

    def author_of_words(self, component: str, ident: str, caller: str = "", *, is_call: bool = False) -> str:
        """Return the program that wrote a message of `component`, which is empty if several programs have the message.

        A driver's messages and calls in the log of a sidecar are the sidecar's. Lines of unknown programs in the log of
        a container are the container's.
        """
        if is_call or component == DRIVER:
            return self.own if self.own in SIDECARS else DRIVER
        return component or self.author_of_line(ident, caller) or self._unknown_container()

    def may_print(self, component: str, ident: str, line: bytes, carrier: str = "") -> bool:
        """Return whether the component may have printed the line: not if another program is known to have written it.

        Output of a container is never of a program of the host.
        """
        if self.is_contained(carrier, ident):
            is_allowed = component not in HOST or (component == "kubelet" and self._is_kubelets())
            is_allowed &= bool(component) or ident not in _OTHER_RUNTIMES
            return is_allowed and self.by.rank is not Rank.APPLICATION and self._may_print(component, "", line)
        if component in _HOST:
            return not ident or ident in _HOST or (not component and ident not in _OTHER_RUNTIMES)
        return self._may_print(component, ident, line)

    def is_contained(self, carrier: str, ident: str) -> bool:
        """Return whether a container printed the line: by its log's path, its carrier, or the journal's identifier."""
        is_carried = carrier in CONTAINED and self.by.program not in HOST
        return self.by.rank is not None or is_carried or is_output(carrier, ident)

    def may_crash(self, carrier: str, ident: str) -> bool:
        """Return whether a crash dump may be of a program of the host: not in the output of a container."""
        return not self.is_contained(carrier, ident) or self._is_kubelets()

    def _may_print(self, component: str, ident: str, line: bytes) -> bool:
        """Return whether neither process nor source file shows that another program wrote the line."""
        if not component:
            return True
        if ident and ident not in COMBINED:
            who = process(ident)
            is_other = who in CONTROL or (component == "kubelet" and who in _PROCESSES)
            # dockerd contains code of etcd, for the swarm mode
            is_other |= component == "etcd" and "etcd" not in who and who not in _LAUNCHERS
            return who == component or not is_other
        file, by = file_of(line), self.by
        if component == "kubelet" and reflector_type(line) not in _WATCHED:
            return False
        who = self._known(ident, file)
        if who == component or (file in _ATTACHING and not by.program):
            return True
        if component == "kubelet" and not author(ident, file) and by.container:
            return by.program == "kubelet" or any(word in by.container for word in COMBINED)
        return who not in CONTROL

    def may_relay(self, ident: str, line: bytes, carrier: str = "") -> bool:
        """Return whether a line may contain an error of the node: not of a container, nor of the control plane."""
        if self.is_contained(carrier, ident) and not self._is_kubelets():
            return False
        if ident and ident not in COMBINED:
            return process(ident) not in CONTROL and ident not in _OTHER_RUNTIMES
        if (self.by.container and self.by.program != "kubelet") or reflector_type(line) not in _WATCHED:
            return False
        return self._known(ident, file_of(line)) not in CONTROL

    def _is_kubelets(self) -> bool:
        """Return whether the container runs kubelet: it has its name, and is in a system namespace."""
        is_called = self.by.program == "kubelet" or any(word in self.by.container for word in COMBINED)
        return is_called and self.by.rank in {None, Rank.SYSTEM} and bool(self.by.container)

    def _unknown_container(self) -> str:
        """Return the name of the container that wrote the log; empty if it may run several programs."""
        return "" if any(word in self.by.container for word in COMBINED) else self.by.container

    def _known(self, ident: str, caller: str, main_program: str = "") -> str:
        """Return the program that wrote a line; empty if ambiguous. Code that attaches volumes is in two programs."""
        by_line, named = author(ident, caller), self.by.program if self.by.program in CONTROL else ""
        is_shared = not ident and caller.partition(":")[0] in _ATTACHING
        return named or (main_program if main_program in CONTROL else by_line) if is_shared else by_line or named


def is_output(carrier: str, ident: str) -> bool:
    """Return whether a line in a journal is container output, by docker, podman or CRI-O."""
    return carrier == "container-journal" or bool(_CONTAINERS_IDENT.fullmatch(ident))


def reflector_type(line: bytes) -> bytes:
    """Return the type that a reflector could not list or watch; empty if the line is not of a reflector.

    kubelet and kube-proxy both list Services, but kube-proxy names a label in the request.
    """
    found = _LISTED.search(line) if b"reflector.go:" in line[:HEADER] else None
    if found is None:
        return b""
    return b"Service of kube-proxy" if b"service.kubernetes.io%2Fservice-proxy-name" in line else found[1]


def file_of(line: bytes) -> str:
    """Return the source file in klog's header, or in the `caller` of a JSON object."""
    end = line.find(b".go:", 0, HEADER)
    if end < 0:
        return ""
    begin = max(line.rfind(mark, 0, end) for mark in (b" ", b"/", b'"'))
    return line[begin + 1 : end + 3].decode("ascii", "replace")
