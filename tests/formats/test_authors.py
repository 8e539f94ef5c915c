"""Who wrote a line: by its carrier, its source file, and what its log is called."""

import pytest

from kvdiag.formats.authors import Attribution, Byline, author, byline, program_in_name
from kvdiag.model.record import Provenance

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
        ("kubenswrapper", "", "kubelet"),
        ("k8s_etcd_etcd-master-1_kube-system_2f0c3a52d5e94b7c8a1e5f6d7b8c9a0e_0", "", "etcd"),
        (
            "k8s_etcd_store-0_shop_2f0c3a52-d5e9-4b7c-8a1e-5f6d7b8c9a0e_0",
            "",
            "k8s_etcd_store-0_shop_2f0c3a52-d5e9-4b7c-8a1e-5f6d7b8c9a0e_0",
        ),
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
    assert program_in_name(name) == who


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
        ("", FAILED, byline("0.log", Provenance(container="app")), False),
        ("", FAILED, byline("0.log", Provenance(container="kubelet")), True),
        ("", FAILED, byline("0.log", Provenance(container="k3s-server")), True),
        ("", FAILED.replace(b"run.go", b"kubelet.go"), byline("kube-scheduler.log"), True),
        ("", FAILED.replace(b"run.go", b"schedule_one.go"), Byline(), False),
        ("k3s", FAILED.replace(b"run.go", b"kubelet.go"), Byline(), True),
        ("k3s", FAILED.replace(b"run.go", b"proxier.go"), Byline(), False),
        ("k3s", FAILED, Byline(), True),
    ],
)
def test_words_that_several_programs_have(ident, line, named, is_kubelets):
    """What a carrier says goes before the source file, and that before the name of the log."""
    assert Attribution(named).may_print("kubelet", ident, line) == is_kubelets


@pytest.mark.parametrize(
    ("ident", "may"),
    [("etcd", True), ("etcd-member", True), ("docker", True), ("", True), ("dockerd", False), ("consul", False)],
)
def test_words_of_etcd_in_other_programs(ident, may):
    """Swarm mode of dockerd has etcd's raft: its lines are not the datastore's."""
    assert Attribution().may_print("etcd", ident, b"slow fdatasync") is may


@pytest.mark.parametrize(
    ("ident", "may"), [("containerd", True), ("cni-agent", True), ("podman", False), ("buildah", False)]
)
def test_errors_of_containers_that_are_not_kubelets(ident, may):
    """Podman prints the errors of the OCI runtime about containers of its own."""
    line = b"OCI runtime error: runc create failed: expected cgroupsPath to be of format"
    assert Attribution().may_relay(ident, line) is may
    assert Attribution().may_print("", ident, line) is may


@pytest.mark.parametrize(
    ("words", "ident", "is_kubelets"),
    [
        ("factory.go:150: Failed to watch *v1.Node: failed to list *v1.Node: x", "", True),
        ("factory.go:150: Failed to watch *v1beta1.RuntimeClass: failed to list *v1beta1.RuntimeClass: x", "", True),
        ("factory.go:150: Failed to watch *v1.StorageClass: failed to list *v1.StorageClass: x", "", False),
        ("factory.go:150: Failed to watch *v1.StorageClass: failed to list *v1.StorageClass: x", "k3s", False),
        ("factory.go:150: Failed to watch *v1.StorageClass: failed to list *v1.StorageClass: x", "kubelet", True),
        ('"Failed to watch" err="failed to list *v1.EndpointSlice: x" type="*v1.EndpointSlice"', "", False),
        ("kubelet.go:403: Failed to list *api.Node: x", "", True),
        ("factory.go:134: Failed to list *v1.VolumeAttachment: x", "", False),
    ],
)
def test_what_kubelet_does_not_watch(words, ident, is_kubelets):
    """A reflector of a type that kubelet watches may be kubelet's, unless a carrier says who wrote the line."""
    line = f"E1120 20:39:21.779765    2201 reflector.go:147] {words}".encode()
    assert Attribution().may_print("kubelet", ident, line) == is_kubelets
    assert Attribution().may_relay(ident, line) == is_kubelets


def test_who_attaches():
    """What attaches volumes is a part of the kubelet and of the controller manager: the name of the log tells."""
    caller = "operation_generator.go:398"
    assert Attribution(byline("kube-controller-manager.log")).author_of_line("", caller) == "kube-controller-manager"
    assert Attribution(byline("kubelet.log")).author_of_line("", caller) == "kubelet"
    line = f"I1120 20:39:21.779765     1 {caller}] AttachVolume.Attach succeeded".encode()
    assert Attribution(byline("kube-controller-manager.log")).may_print("kube-controller-manager", "", line)
    assert Attribution(byline("all.log")).may_print("kube-controller-manager", "", line)


def test_the_host_speaks_in_any_log():
    """Systemd tells of a unit in the unit's own journal."""
    assert Attribution(byline("kube-apiserver.log")).may_print("systemd", "", b"kubelet.service: Main process exited")


@pytest.mark.parametrize(
    ("own", "component", "is_call", "who"),
    [
        ("external-provisioner", "csi-driver", False, "external-provisioner"),
        ("external-attacher", "external-attacher", True, "external-attacher"),
        ("kubelet", "", True, "csi-driver"),
        ("csi-driver", "kubelet", False, "kubelet"),
        ("containerd", "", False, "containerd"),
        ("", "", False, ""),
    ],
)
def test_whose_words(own, component, is_call, who):
    """Words of a component are its own, a driver's in a sidecar's log the sidecar's, those of several the log's."""
    assert Attribution(own=own).author_of_words(component, "", is_call=is_call) == who


def test_whose_line():
    """A line that tells no author is of the program that mostly speaks in the log, then of that it is called after."""
    by = Attribution(byline("kubelet.log"))
    assert by.author_of_line("", "other.go:1") == "kubelet"
    assert by._replace(own="csi-driver").author_of_line("", "other.go:1") == "csi-driver"
    assert by._replace(own="csi-driver").author_of_line("kubelet", "other.go:1") == "kubelet"
    assert (
        Attribution(own="kube-controller-manager").author_of_line("", "csi_attacher.go:115")
        == "kube-controller-manager"
    )


@pytest.mark.parametrize(
    ("name", "who"),
    [
        ("kubernetes-dashboard [f20c1d258a4d]", "kubernetes-dashboard"),
        ("kube-proxy [f20c1d258a4d]", "kube-proxy"),
        ("k3s-server [f20c1d258a4d]", ""),
        ("node.log", ""),
    ],
)
def test_words_in_a_containers_own_log(name, who):
    """What no program is known to have written is the container's, unless a program of many parts runs in it."""
    assert Attribution(byline(name)).author_of_words("", "") == who


def evil(container: str, namespace: str = "shop") -> Attribution:
    """Give whose lines are those of a container's log below /var/log/pods."""
    return Attribution(byline("0.log", Provenance(container=container, pod="web-0", namespace=namespace)))


@pytest.mark.parametrize(
    ("by", "carrier", "component", "may"),
    [
        (evil("app"), "cri", "kubelet", False),
        (evil("app"), "", "kernel", False),
        (evil("app"), "cri", "csi-driver", False),
        (evil("app"), "cri", "", False),
        (evil("kubelet"), "cri", "kubelet", False),
        (evil("kubelet", "kube-system"), "cri", "kubelet", True),
        (evil("containerd", "kube-system"), "cri", "containerd", False),
        (evil("csi-plugin"), "cri", "csi-driver", True),
        (evil("csi-plugin"), "cri", "systemd", False),
        (evil("main", "kube-system"), "cri", "csi-driver", True),
        (evil("main", "longhorn-system"), "cri", "containerd", False),
        (Attribution(byline("all.log")), "cri", "kubelet", False),
        (Attribution(byline("all.log")), "docker-json", "kernel", False),
        (Attribution(byline("kubelet.log")), "cri", "kubelet", True),
        (Attribution(byline("all.log")), "journal-short", "kubelet", True),
    ],
)
def test_for_whom_a_container_speaks(by, carrier, component, may):
    """Never for a program of the host, whatever process the line within names; for a driver if it may be one."""
    line = b"E1120 20:39:21.779765    2201 x.go:1] failed"
    assert by.may_print(component, "", line, carrier) == may
    assert by.may_print(component, component if carrier in {"cri", ""} else "", line, carrier) == may
