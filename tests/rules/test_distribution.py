"""Commands are said in the words of the node's distribution, which its own lines show."""

from __future__ import annotations

import pytest

from kvdiag.model.event import Event
from kvdiag.model.record import Origin
from kvdiag.model.rule import Fix
from kvdiag.model.timeline import History, SeenVersion
from kvdiag.rules.distribution import Dialect, default_dialect, dialect_of, distributions, unknown_placeholders
from kvdiag.rules.fill import command, fixes, quoted_slots
from tests.rules.one_rule import one_rule
from tests.timelines import GivenTimelines

KLOG = 'E0312 08:00:01.000000    2201 log.go:32] "ListPodSandbox with filter from runtime service failed" err="x"'
NAMES = [one.name for one in distributions()]
VERBS = [
    "unit:kubelet", "unit:runtime", "journal:kubelet", "journal:runtime", "journal:kernel", "journal:kubelet since 1h",
    "status:runtime", "options:kubelet", "restart:kubelet", "restart:runtime", "stop:containerd", "start:kubelet",
    "host", "reboot", "crictl", "folder:kubelet", "folder:containerd", "socket:runtime",
    "journal:cri", "folder:runtime", "folder:networks", "folder:plugins", "folder:manifests", "ctr", "config:runtime",
    "impact:runtime",
]  # fmt: skip


def seen(*lines, node="n1", source="node.log", versions=()):
    """Give a history of one node with these lines."""
    events = tuple(
        Event(number, "k", "kubelet", (), {}, Origin(source, number), node, (line.encode(),), number)
        for number, line in enumerate(lines, 1)
    )
    told = tuple(SeenVersion("kubelet", version, "banner", node) for version in versions)
    return History(events=events, timelines=GivenTimelines(), coverage=(), versions=told, begins=0, ends=9)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        (f"Mar 12 08:00:01 n1 kubelet[2201]: {KLOG}", "plain"),
        (f"Mar 12 08:00:01 n1 microk8s.daemon-kubelite[2201]: {KLOG}", "microk8s"),
        (f"Mar 12 08:00:01 n1 microk8s.daemon-kubelet[2201]: {KLOG}", "microk8s-1.20"),
        (
            "Mar 12 08:00:01 n1 systemd[1]: snap.microk8s.daemon-kubelet.service: Failed with result 'exit-code'.",
            "microk8s-1.20",
        ),
        (
            "Mar 12 08:00:01 n1 systemd[1]: snap.microk8s.daemon-containerd.service: Failed with result 'exit-code'.",
            "microk8s",
        ),
        (f"Mar 12 08:00:01 n1 k3s[2201]: {KLOG}", "k3s"),
        ("[talos] 2024/03/12 08:00:01 service[kubelet](Waiting): Error running Containerd(kubelet)", "talos"),
        ('service "kubelet": current state [Waiting] Error running Containerd(kubelet), going to restart', "talos"),
        (f"Mar 12 08:00:01 n1 rke2[2201]: {KLOG}", "rke2"),
        (f'{KLOG} err="dial unix /run/k3s/containerd/containerd.sock"', "k3s"),
        (f"Mar 12 08:00:01 n1 rke2-agent[2201]: {KLOG} path=/run/k3s/containerd/containerd.sock", "rke2"),
        (f"Mar 12 08:00:01 n1 k0s[2201]: {KLOG}", "k0s"),
        (f"Mar 12 08:00:01 n1 kubenswrapper[2201]: {KLOG}", "openshift"),
        (f"Mar 12 08:00:01 minikube kubelet[2201]: {KLOG}", "minikube"),
        ('{"msg":"x","talos-level":"info","talos-service":"kubelet"}', "talos"),
        ("user: warning: [2024-03-12T08:00:01.6Z]: [talos] service[kubelet](Waiting): failed", "talos"),
        ("[   12.345678] [talos] service[kubelet](Waiting): failed", "talos"),
        (f'{KLOG} err="rpc error: code = Internal desc = [talos] is what a program may print"', "plain"),
        (f'{KLOG} path="/var/snap/microk8s/common/var/lib/kubelet/pods"', "microk8s"),
    ],
)
def test_a_line_shows_the_distribution(line, name):
    """The program's name in the journal, and folders, are a distribution's own."""
    assert dialect_of(seen(line), "n1").distribution.name == name


def test_the_file_and_the_version_show_it_too():
    """Where the lines do not say it, the name of the file or the version's suffix may."""
    assert dialect_of(seen(KLOG, source="10.0.0.1/service-logs/kubelet.log"), "n1").distribution.name == "talos"
    assert dialect_of(seen(KLOG, versions=["v1.29.3+k3s1"]), "n1").distribution.name == "k3s"
    assert dialect_of(seen(KLOG, versions=["v1.29.3+rke2r1"]), "n1").distribution.name == "rke2"
    assert dialect_of(seen(KLOG, versions=["v1.30.8-eks-2d5f260"]), "n1").distribution.name == "plain"


def test_each_node_has_its_own():
    """What another node's lines show says nothing of this one."""
    history = seen("Mar 12 08:00:01 n2 k3s[1]: x", node="n2")
    assert dialect_of(history, "n1").distribution.name == "plain"
    assert dialect_of(history, "n2").distribution.name == "k3s"


def test_the_runtime_is_the_one_that_was_seen():
    """OpenShift brings CRI-O, others containerd, unless the lines name the socket of another."""
    assert dialect_of(seen(f"Mar 12 08:00:01 n1 kubenswrapper[1]: {KLOG}"), "n1").runtime == "crio"
    assert dialect_of(seen(f"{KLOG} dial unix /var/run/crio/crio.sock"), "n1").expand("{unit:runtime}") == "crio"
    assert dialect_of(seen(KLOG), "n1").expand("{status:runtime}") == "systemctl status containerd"


@pytest.mark.parametrize(
    ("words", "runtime", "cri"),
    [
        ('failed to setup network for sandbox "3f2a": plugin type="x" failed (add): no', "containerd", "containerd"),
        ("failed to create pod network sandbox k8s_web-0_shop_5b0c_0(3f2a): error adding pod", "crio", "crio"),
        ("failed to destroy network for pod sandbox k8s_web-0_shop_5b0c_0(3f2a): no", "crio", "crio"),
        ("Error: container create failed: creating cgroup: no", "crio", "crio"),
        ('failed to set up sandbox container "3f2a" network for pod "web-0": no', "docker", "kubelet"),
        ('NetworkPlugin cni failed to teardown pod "web-0_shop" network: no', "docker", "kubelet"),
        ("Error response from daemon: no", "docker", "kubelet"),
        ("dial unix /var/run/cri-dockerd.sock: no", "cri-dockerd", "cri-docker"),
        ("nothing of a runtime", "containerd", "containerd"),
    ],
)
def test_the_words_around_an_error_show_the_runtime(words, runtime, cri):
    """Where only events are given, each runtime's own words tell which it is, and which unit calls the CNI plug-ins."""
    dialect = dialect_of(seen(f"Warning FailedCreatePodSandBox {words}"), "n1")
    assert (dialect.runtime, dialect.expand("{journal:cri}")) == (runtime, f"journalctl -u {cri}")


def test_docker_without_dockershim():
    """From kubelet 1.24 on cri-dockerd prints what dockershim printed; Docker has its own unit behind it."""
    history = seen('networkPlugin cni failed to set up pod "web-0_shop" network: no', versions=["v1.28.2"])
    dialect = dialect_of(history, "n1")
    assert (
        dialect.expand("{journal:cri} / {restart:runtime}")
        == "journalctl -u cri-docker / systemctl restart cri-docker docker"
    )
    history = seen('networkPlugin cni failed to set up pod "web-0_shop" network: no', versions=["v1.23.2"])
    assert dialect_of(history, "n1").expand("{journal:cri}") == "journalctl -u kubelet"


def test_a_node_with_windows_has_commands_of_windows():
    """What Windows does not have stands behind a comment, and runs nothing."""
    dialect = dialect_of(seen("hnsCall failed in Win32: The object already exists. (0x1392)"), "n1")
    assert dialect.expand("{restart:kubelet}") == "Restart-Service kubelet"
    assert dialect.expand("{host} ls /etc/cni/net.d").startswith("# ")


def test_the_lines_of_an_error_below_its_first_show_the_distribution():
    """An error of many lines is read as a whole."""
    history = seen("MountVolume.SetUp failed for volume")
    below = {"error": "mount failed. output:\nNew-SmbGlobalMapping : Access is denied."}
    history = history._replace(events=tuple(one._replace(attrs=below) for one in history.events))
    assert dialect_of(history, "n1").distribution.name == "windows"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("plain", "{journal:containerd since 1h} | grep x", "journalctl -u containerd --since=-1h | grep x"),
        ("plain", "{host} ps -e", "ps -e"),
        ("microk8s", "{status:containerd}", "systemctl status snap.microk8s.daemon-containerd"),
        ("microk8s", "{restart:kubelet}", "systemctl restart snap.microk8s.daemon-kubelite"),
        ("microk8s-1.20", "{restart:kubelet}", "systemctl restart snap.microk8s.daemon-kubelet"),
        ("k3s", "{crictl} pods", "k3s crictl pods"),
        ("plain", "{certificate:kubelet}", "/var/lib/kubelet/pki/kubelet-client-current.pem"),
        ("k3s", "{certificate:kubelet}", "/var/lib/rancher/k3s/agent/client-kubelet.crt"),
        ("k0s", "{certificate:kubelet}", "/var/lib/k0s/kubelet/pki/kubelet-client-current.pem"),
        ("k3s", "{journal:kubelet}", "journalctl -u 'k3s*'"),
        ("rke2", "{journal:containerd}", "cat /var/lib/rancher/rke2/agent/containerd/containerd.log"),
        ("talos", "{restart:kubelet}", "talosctl -n n1 service kubelet restart"),
        ("talos", "{journal:kernel}", "talosctl -n n1 dmesg"),
        ("openshift", "{journal:kubelet}", "oc adm node-logs n1 -u kubelet"),
        ("plain", "{shell} grep -l x /proc/[0-9]*/mountinfo", "grep -l x /proc/[0-9]*/mountinfo"),
        ("openshift", "{shell} grep -l x /proc/[0-9]*/mountinfo", "grep -l x /proc/[0-9]*/mountinfo"),
        ("openshift", "{host} ps -e", "oc debug node/n1 -- chroot /host ps -e"),
        ("minikube", "{status:kubelet}", "minikube ssh -- sudo systemctl status kubelet"),
    ],
)
def test_what_a_command_becomes(name, text, said):
    """Units, sockets, folders and tools are the distribution's own."""
    found = next(one for one in distributions() if one.name == name)
    assert command(Dialect(found, "containerd").expand(text), {"node": "n1"}) == said


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("runtime", ["containerd", "crio", "docker", "cri-dockerd"])
def test_every_command_is_said_everywhere(name, runtime):
    """No distribution leaves a placeholder, and no slot stands in quotes."""
    dialect = Dialect(next(one for one in distributions() if one.name == name), runtime)
    said = {verb: dialect.expand(f"{{{verb}}}") for verb in VERBS}
    faults = {
        verb: [
            *unknown_placeholders(text),
            *quoted_slots(text),
            *(one for one in text.replace("{node}", "") if one == "{"),
        ]
        for verb, text in said.items()
    }
    assert {verb: (said[verb], found) for verb, found in faults.items() if found} == {}


@pytest.mark.parametrize(("node", "said"), [("n1", "talosctl -n n1 reboot"), ("$(x)", ""), ("-n", "")])
def test_the_name_of_a_node_is_one_or_there_is_no_command(node, said):
    """The name of the node comes from a log."""
    talos = next(one for one in distributions() if one.name == "talos")
    assert command(Dialect(talos, "containerd").expand("{reboot}"), {"node": node}) == said


def test_how_a_node_is_entered_names_the_node():
    """The step before the first command of the node is filled too."""
    openshift = next(one for one in distributions() if one.name == "openshift")
    one = one_rule(fix=(Fix("Look.", "findmnt"),))
    assert [fix.run for fix in fixes(one, {"node": "n1"}, Dialect(openshift, "crio"))] == [
        "oc debug node/n1",
        "findmnt",
    ]


def test_a_node_whose_kubelet_does_not_run():
    """A pod for debugging does not start there."""
    openshift = Dialect(next(one for one in distributions() if one.name == "openshift"), "crio")
    one = one_rule(
        fix=(Fix("Look.", "{host} findmnt"), Fix("Read.", "{journal:kubelet since 1h}")), breaks=("kubelet.run",)
    )
    assert [fix.run for fix in fixes(one, {"node": "n1"}, openshift.of_rule(one))] == [
        "ssh core@n1",
        "findmnt",
        "journalctl -u kubelet --since=-1h",
    ]
    other = one_rule(fix=(Fix("Look.", "{host} findmnt"),))
    assert openshift.of_rule(other) is openshift


def test_what_is_no_placeholder_stays():
    """Slots of the finding and braces of a program are not touched; a wrong one is told."""
    assert default_dialect().expand("{pod_uid} {.spec} {x:y}") == "{pod_uid} {.spec} {x:y}"
    assert list(unknown_placeholders("{pod_uid} {crictl} {unit:kubelet} {unit:x} {jrnl:kubelet}")) == [
        "{unit:x}",
        "{jrnl:kubelet}",
    ]


def test_a_node_that_must_be_entered_first():
    """Bottlerocket's commands run in its admin container; that step is told once, and only where a command needs it."""
    dialect = dialect_of(seen("Bottlerocket OS 1.20.0"), "n1")
    assert [fix.run for fix in dialect.enter(["{status:runtime}", "{host} ps"])] == ["enter-admin-container"]
    assert list(dialect.enter(["kubectl get pods", "", "oc adm node-logs n1"])) == []
    assert dialect.expand("{status:runtime}") == "systemctl status containerd"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{crictl} images", "docker images"),
        ("{crictl} ps -a --name etcd", "docker ps -a --filter name=etcd"),
        ("{crictl} rmi --prune", "docker image prune --all --force"),
        ("{crictl} pods --name web-0", "crictl pods --name web-0"),
    ],
)
def test_docker_has_commands_of_its_own(text, expected):
    """On a node with Docker its own commands replace those of crictl that it has; the others stay."""
    docker = dialect_of(seen("Mar 12 08:00:01 n1 dockerd[811]: x"), "n1")
    assert docker.expand(text) == expected
    assert default_dialect().expand(text).startswith("crictl")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("k3s", "docker images"),
        ("openshift", "oc debug node/{node} -- chroot /host docker images"),
        ("minikube", "minikube ssh -- sudo docker images"),
    ],
)
def test_docker_is_no_part_of_the_distribution(name, expected):
    """A distribution whose crictl is a command of its own has no such command for Docker."""
    distribution = next(one for one in distributions() if one.name == name)
    assert Dialect(distribution, "docker").expand("{crictl} images") == expected


@pytest.mark.parametrize(
    ("version", "span", "runtime"),
    [
        ("v1.18.3", "", "unknown"),
        ("", "<1.21", "unknown"),
        ("v1.24.0", "", "either"),
        ("", ">=1.25", "either"),
        ("", ">=1.21 <1.25", "containerd"),
        ("", "<1.27", "containerd"),
        ("", "", "containerd"),
    ],
)
def test_a_kubelet_may_have_any_runtime(version, span, runtime):
    """If no line shows the runtime, logs of all that this kubelet may have are read."""
    told = SeenVersion("kubelet", version, "wording" if span else "banner", "n1", span=span)
    history = seen(KLOG)._replace(versions=(told,))
    dialect = dialect_of(history, "n1")
    assert dialect.runtime == runtime
    if runtime == "unknown":
        assert dialect.expand("{journal:runtime since 1h}") == "journalctl -u docker -u containerd -u crio --since=-1h"
        assert dialect.expand("{status:runtime}") == "systemctl status docker containerd crio"
    if runtime == "either":
        assert dialect.expand("{journal:runtime since 1h}") == "journalctl -u containerd -u crio --since=-1h"
        assert dialect.expand("{status:cri}") == "systemctl status containerd crio"


def test_the_form_of_talosctl_dmesg_shows_talos():
    """A kernel line as talosctl prints it names no program of Talos; its form does."""
    line = "10.0.0.7: kern: warning: [2024-03-12T08:00:01.865601566Z]: app invoked oom-killer: order=0"
    assert dialect_of(seen(line), "n1").distribution.name == "talos"


def test_folders_and_configuration_of_a_distribution():
    """CNI's folders, static manifests, containerd's client and configuration are where the distribution has them."""
    text = "{folder:networks} {folder:manifests} {ctr} {config:runtime} {impact:runtime}"
    plain = "/etc/cni/net.d /etc/kubernetes/manifests {host} ctr {host} containerd config dump Containers keep running."
    assert default_dialect().expand(text) == plain.replace("{host}", "")
    k3s = dialect_of(seen("Mar 12 08:00:00 n1 k3s[1]: x"), "n1")
    assert k3s.expand("{folder:networks} {ctr}") == "/var/lib/rancher/k3s/agent/etc/cni/net.d k3s ctr"
    docker = dialect_of(
        seen('networkPlugin cni failed to set up pod "web-0_shop" network: no', versions=["v1.23.2"]), "n1"
    )
    assert docker.expand("{impact:runtime}") == "Without live-restore this ends all containers of the node."
