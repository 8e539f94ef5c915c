"""Who wrote a line: by its carrier, its source file, and what its log is called."""

import pytest

from kvdiag.formats.authors import Byline, author, byline, called, may_say, written

SERVER = b'I1120 20:39:21.779765     902 server.go:565] "external host was not specified"'
FAILED = b'E1120 20:39:21.779765     902 run.go:74] "command failed" err="x"'


@pytest.mark.parametrize(
    ("ident", "caller", "who"),
    [
        ("k3s", "pod_workers.go:1251", "kubelet"),
        ("rke2", "attach_detach_controller.go:409", "kube-controller-manager"),
        ("microk8s.daemon-kubelite", "proxier.go:850", "kube-proxy"),
        ("hyperkube", "schedule_one.go:1050", "kube-scheduler"),
        ("k3s", "kvstore_compaction.go:69", "etcd"),
        ("k3s", "httplog.go:132", "kube-apiserver"),
        ("k3s", "preemption.go:105", "k3s"),
        ("k3s", "main.go:7", "k3s"),
        ("k3s", "", "k3s"),
        ("kubelet", "proxier.go:850", "kubelet"),
        ("kube-apiserver.daemon", "", "kube-apiserver"),
        ("kubelet.daemon", "", "kubelet"),
        ("microk8s.daemon-scheduler", "", "kube-scheduler"),
        ("snap.microk8s.daemon-apiserver", "", "kube-apiserver"),
        ("", "kubelet.go:2168", "kubelet"),
        ("", "cli_runner.go:164", "minikube"),
        ("", "httplog.go:132", ""),
        ("", "", ""),
    ],
)
def test_author(ident, caller, who):
    """A process of one program is that program; one of many is told by the source file, else by its own name."""
    assert author(ident, caller) == who


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("node/kubelet.log", "kubelet"),
        ("kubelet-csr-approver.log", ""),
        ("minikube.log/kube-apiserver [0e43ac4c291d]", "kube-apiserver"),
        ("minikube.log/etcd [0e43ac4c291d] (2)", "etcd"),
        ("kube-scheduler-exited.log", "kube-scheduler"),
        ("cloud-controller-manager.log", "cloud-controller-manager"),
        ("fetcd.log", ""),
        ("logs/lastStart.txt", "minikube"),
        ("app.log", ""),
    ],
)
def test_what_a_log_is_called(name, who):
    """A file, a container and a section are called after the program that wrote them."""
    assert called(name) == who


@pytest.mark.parametrize(
    ("ident", "line", "named", "is_kubelets"),
    [
        ("", SERVER, Byline(), True),
        ("", FAILED, Byline(), True),
        ("kubelet", FAILED, Byline("kube-scheduler"), True),
        ("kube-apiserver.daemon", SERVER, Byline(), False),
        ("kube-scheduler", FAILED, Byline("kubelet"), False),
        ("containerd", FAILED, Byline(), False),
        ("start-node.sh", FAILED, Byline(), True),
        ("", FAILED, byline("x.log/kube-scheduler [0e43ac4c291d]"), False),
        ("", FAILED, byline("kube-controller-manager.log"), False),
        ("", FAILED, byline("etcd.log"), False),
        ("", FAILED, byline("0.log", "app"), False),
        ("", FAILED, byline("0.log", "kubelet"), True),
        ("", FAILED, byline("0.log", "k3s-server"), True),
        ("", FAILED.replace(b"run.go", b"kubelet.go"), byline("kube-scheduler.log"), True),
        ("", FAILED.replace(b"run.go", b"schedule_one.go"), Byline(), False),
        ("k3s", FAILED.replace(b"run.go", b"kubelet.go"), Byline(), True),
        ("k3s", FAILED.replace(b"run.go", b"proxier.go"), Byline(), False),
        ("k3s", FAILED, Byline(), True),
    ],
)
def test_words_that_several_programs_have(ident, line, named, is_kubelets):
    """What a carrier says goes before the source file, and that before the name of the log."""
    assert may_say("kubelet", ident, line, named) == is_kubelets


def test_who_attaches():
    """What attaches volumes is a part of the kubelet and of the controller manager: the name of the log tells."""
    caller = "operation_generator.go:398"
    assert written("", caller, byline("kube-controller-manager.log")) == "kube-controller-manager"
    assert written("", caller, byline("kubelet.log")) == "kubelet"
    line = f"I1120 20:39:21.779765     1 {caller}] AttachVolume.Attach succeeded".encode()
    assert may_say("kube-controller-manager", "", line, byline("kube-controller-manager.log"))
    assert may_say("kube-controller-manager", "", line, byline("all.log"))


def test_the_host_speaks_in_any_log():
    """Systemd tells of a unit in the unit's own journal."""
    assert may_say("systemd", "", b"kubelet.service: Main process exited", byline("kube-apiserver.log"))
