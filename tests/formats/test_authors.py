"""Who wrote a line of a process that is many programs."""

import pytest

from kvdiag.formats.authors import author


@pytest.mark.parametrize(
    ("ident", "caller", "who"),
    [
        ("k3s", "pod_workers.go:1251", "kubelet"),
        ("rke2", "attach_detach_controller.go:409", "kube-controller-manager"),
        ("microk8s.daemon-kubelite", "proxier.go:850", "kube-proxy"),
        ("hyperkube", "schedule_one.go:1050", "kube-scheduler"),
        ("k3s", "kvstore_compaction.go:69", "etcd"),
        ("k3s", "httplog.go:132", "kube-apiserver"),
        ("k3s", "main.go:7", "k3s"),
        ("k3s", "", "k3s"),
        ("kubelet", "proxier.go:850", "kubelet"),
        ("", "kubelet.go:2168", "kubelet"),
        ("", "httplog.go:132", ""),
        ("", "", ""),
    ],
)
def test_author(ident, caller, who):
    """A process of one program is that program; one of many is told by the source file, else by its own name."""
    assert author(ident, caller) == who
