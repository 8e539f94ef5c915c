"""The other side of a call is known by its address; an address that many programs have names none."""

from __future__ import annotations

import pytest

from kvdiag.anatomy.error import read_error


@pytest.mark.parametrize(
    ("call", "peer"),
    [
        ("dial unix /run/containerd/containerd.sock", "runtime-socket"),
        ("dial unix /var/run/crio/crio.sock", "runtime-socket"),
        ("dial unix /run/dockerd.sock", ""),
        ("dial unix /var/lib/kubelet/plugins/csi.example.org/csi.sock", "csi-socket"),
        ("dial unix /run/csi/socket", "csi-socket"),
        ("dial unix /run/csi-proxy/backend.sock", ""),
        ("dial unix /var/lib/kubelet/device-plugins/gpu.sock", "device-plugin-socket"),
        ("dial tcp 192.0.2.5:10250", "kubelet"),
        ("dial tcp 192.0.2.5:2379", "datastore"),
        ("dial unix /var/snap/microk8s/current/var/kubernetes/backend/kine.sock:12379", "datastore"),
        ("dial tcp 192.0.2.5:6443", "api-server"),
        ("dial tcp 127.0.0.1:16443", "api-server"),
        ("dial tcp 192.0.2.5:9345", ""),
        ('Get "https://127.0.0.1:6444/apis/apps/v1": dial tcp 127.0.0.1:6444', "api-server"),
        ('Get "https://127.0.0.1:10259/readyz": dial tcp 127.0.0.1:10259', ""),
        ('Get "https://127.0.0.1:10257/livez": dial tcp 127.0.0.1:10257', ""),
        ("dial unix /var/run/ovn-kubernetes/cni/ovn-cni-server.sock", "cni-agent"),
        ("dial unix /var/run/ovn/ovnnb_db.sock", ""),
        ("dial unix /run/openvswitch/kube-ovn-daemon.sock", "cni-agent"),
        ("dial unix /var/run/antrea/cni.sock", "cni-agent"),
        ("dial unix /run/multus/multus.sock", "cni-agent"),
        ("dial tcp 127.0.0.1:50051", ""),
    ],
)
def test_peer(call, peer):
    """Each address names the program that listens there by default, or nothing."""
    assert read_error(f"{call}: connect: connection refused").peer == peer


@pytest.mark.parametrize("who", ["192.0.2.8:41652", "somebody"])
def test_a_client_without_tls_is_no_server(who):
    """The side that printed it may be the server, as etcd is."""
    sentence = read_error(
        f"rejected connection from {who}: tls: first record does not look like a TLS handshake"
    ).sentence
    assert "does not use TLS" in sentence
    assert "server" not in sentence
