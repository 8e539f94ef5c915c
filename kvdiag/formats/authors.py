"""Who wrote a line, where one process is many programs: told by the source file, which no other has.

    Nov 20 20:39:21 worker-1 k3s[811]: I1120 20:39:21.779765     811 pod_workers.go:1251] "Pod worker has been …"

k3s, RKE2, MicroK8s' kubelite and hyperkube are kubelet, controller manager, scheduler, proxy and API server in one
process; k3s and RKE2 write lines of their own between.
"""

from __future__ import annotations

from collections.abc import Mapping

# What a journal calls a process of many programs.
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
        operation_generator nestedpendingoperations atomic_writer subpath_linux
    """,
    "kube-controller-manager": """
        controllermanager attach_detach_controller pv_controller pv_controller_base garbagecollector graph_builder
        replica_set deployment_controller node_lifecycle_controller namespace_controller daemon_controller
        stateful_set job_controller cronjob_controllerv2 disruption range_allocator taint_manager taint_eviction
        resource_quota_controller resource_quota_monitor certificate_controller endpointslice_controller
        serviceaccounts_controller horizontal
    """,
    "kube-scheduler": "schedule_one scheduler scheduling_queue default_preemption preemption",
    "kube-proxy": "proxier conntrack server_linux node_linux",
    "external-attacher": "csi_handler",
    "csi-driver": "nodeserver controllerserver",
}
# Names that a driver may have too; within a process of many programs they tell.
_WITHIN: Mapping[str, str] = {
    "kube-apiserver": """
        instance cacher available_controller handler_proxy apf_controller storage_factory crd_finalizer
        priority-and-fairness wrap httplog
    """,
    "etcd": """
        etcd raft peer stream transport probing_status zap_raft kvstore kvstore_compaction index hash snapshot_sender
        v3_server serve lease lessor wal decoder periodic
    """,
}


def _by_file(table: Mapping[str, str]) -> Mapping[str, str]:
    return {f"{name}.go": author for author, names in table.items() for name in names.split()}


_AUTHORS, _COMBINED_AUTHORS = _by_file(_FILES), _by_file({**_WITHIN, **_FILES})


def author(ident: str, caller: str) -> str:
    """The program that wrote a line: the process as a carrier names it, or one of the many that it is."""
    file = caller.partition(":")[0].rpartition("/")[2]
    if ident in COMBINED:
        return _COMBINED_AUTHORS.get(file, ident)
    return ident or _AUTHORS.get(file, "")
