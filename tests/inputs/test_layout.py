"""A known layout says of which node and container a file is; any other folder says nothing."""

from __future__ import annotations

import pytest

from kvdiag.inputs.layout import provenance_of

POD = "shop_web-0_1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
ID = "0123456789abcdef" * 4

UID = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"


@pytest.mark.parametrize(
    ("name", "group", "node", "container"),
    [
        ("logs/kind-worker2/kubelet.log", "logs/kind-worker2", "kind-worker2", ""),
        ("x.zip/demo-control-plane/journal.log", "x.zip/demo-control-plane", "demo-control-plane", ""),
        (f"kind-worker/pods/{POD}/csi-attacher/0.log", "kind-worker", "kind-worker", "csi-attacher"),
        ("mg/quay-io/host_service_logs/infra-1/kubelet_service.log", "mg/quay-io/host_service_logs/infra-1", "infra-1", ""),
        ("mg/host_service_logs/masters/kubelet_service.log", "", "", ""),
        ("mg/nodes/ip-10-0-1-2.ec2.internal/kubelet.gz", "mg/nodes/ip-10-0-1-2.ec2.internal", "ip-10-0-1-2.ec2.internal", ""),
        ("lh.zip/nodes/w-1.example.org.zip/w-1.example.org/logs/kubelet.log", "lh.zip/nodes/w-1.example.org.zip", "w-1.example.org", ""),
        ("support.zip/10.5.0.3/service-logs/kubelet.log", "support.zip/10.5.0.3", "10.5.0.3", ""),
        ("support.zip/w-1/kubernetes-logs/kube-system/kube-proxy.log", "support.zip/w-1", "w-1", ""),
        ("x.tar.gz/w-1-2024-03-12_08_00_00/journald/rke2-agent", "x.tar.gz/w-1-2024-03-12_08_00_00", "w-1", ""),
        ("support.zip/10.5.0.3/dmesg.log", "support.zip/10.5.0.3", "10.5.0.3", ""),
        ("mg/host_service_logs/kubelet/kubelet.log", "", "", ""),
        ("s/host-collectors/w-1/journald/kubelet.txt", "s/host-collectors/w-1", "w-1", ""),
        ("s/host-collectors/run-host/ping.txt", "", "", ""),
        ("support-bundle-2024-03-12T08_00_00/host-logs/w-1/archive.tar/kubelet.log", "support-bundle-2024-03-12T08_00_00/host-logs/w-1", "w-1", ""),
        ("copies/old/archive.tar/kubelet.log", "", "", ""),
        ("x.tar.gz/plugins/systemd-logs/results/w-1/systemd_logs", "x.tar.gz/plugins/systemd-logs/results/w-1", "w-1", ""),
        ("x.tar.gz/plugins/e2e/results/global/e2e.log", "", "", ""),
        ("2024-03-12T08-00-00Z/aks-1-vmss000000/aks-1-vmss000000.zip/systemlogs/kubelet", "2024-03-12T08-00-00Z/aks-1-vmss000000", "aks-1-vmss000000", ""),
        ("logs/before/after.zip/systemlogs/kubelet", "", "", ""),
        ("a/clusters/c-1/machines/c-1-md-0-x/kubelet.log", "a/clusters/c-1/machines/c-1-md-0-x", "c-1-md-0-x", ""),
        (f"a/clusters/c-1/machine-pools/mp-0/w-1/pods/{POD}/csi-attacher/0.log", "a/clusters/c-1/machine-pools/mp-0/w-1", "w-1", "csi-attacher"),
        ("artifacts/e2e-minion-group-4q2x/kubelet.log-20240312.gz", "artifacts/e2e-minion-group-4q2x", "e2e-minion-group-4q2x", ""),
        ("artifacts/logs/kubelet.log", "", "", ""),
        ("artifacts/junit/build.log", "", "", ""),
        ("snapshot/nodes/10.200.0.3-node/sudo_journalctl_-u_kubelet", "snapshot/nodes/10.200.0.3-node", "10.200.0.3-node", ""),
        ("x.tar.gz/backup-2024-03-12_08_00_00/kubelet.log", "", "", ""),
        ("cluster-resources/pods/logs/csi/csi-0/csi-attacher.log", "", "", "csi-attacher"),
        ("mg/cluster-scoped-resources/core/nodes/worker-1.yaml", "", "", ""),
        ("a.tar.xz/sosreport-w1-2024-03-12-abcdefg/var/log/messages", "a.tar.xz/sosreport-w1-2024-03-12-abcdefg", "", ""),
        ("mg/namespaces/shop/pods/web-0/registrar/registrar/logs/current.log", "", "", "registrar"),
        (f"/var/log/pods/{POD}/csi-provisioner/1.log.20240312-080000.gz", "", "", "csi-provisioner"),
        (f"/var/log/containers/web-0_shop_csi-resizer-{ID}.log", "", "", "csi-resizer"),
        ("before/kubelet.log", "", "", ""),
        ("worker-1/kubelet.log", "", "", ""),
        ("my-worker/notes/kubelet.log", "", "", ""),
        ("nodes/kubelet.log", "", "", ""),
        ("kubelet.log", "", "", ""),
        ("nodes/" * 5000 + "a/b", "", "", ""),
    ],
)  # fmt: skip
def test_place(name, group, node, container):
    """What the path says, and no more."""
    assert provenance_of(name)[:3] == (group, node, container)


@pytest.mark.parametrize(
    ("name", "pod", "namespace"),
    [
        (f"var/log/pods/shop_web-0_{UID}/app/0.log", "web-0", "shop"),
        (f"var/log/containers/web-0_shop_app-{'0a' * 32}.log", "web-0", "shop"),
        ("must-gather/namespaces/shop/pods/web-0/app/app/logs/current.log", "web-0", "shop"),
        ("pods/web-0/app/logs/current.log", "web-0", ""),
        ("kubelet.log", "", ""),
    ],
)
def test_whose_container_it_is(name, pod, namespace):
    """The path of a container's log names its pod, and mostly the namespace."""
    place = provenance_of(name)
    assert (place.pod, place.namespace) == (pod, namespace)
