"""What commands printed between the lines of a log, as in the document of an incident."""

from __future__ import annotations

import pytest

from kvdiag.analysis.case import Case
from kvdiag.events.snapshots.outputs import CommandOutput
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options

LINE = "I0312 08:00:00.000000    2201 server.go:1256] words\n"
DIGEST = "5b842e528e99d4d4c1686467debf2bd4b88ecd86"
DESCRIBED = """\
Name:               worker-1
Roles:              <none>
System Info:
  Kernel Version:             5.15.0-91-generic
  Container Runtime Version:  containerd://1.7.2
  Kubelet Version:            v1.29.3
Name:               worker-2
  Container Runtime Version:  docker://24.0.7
  Kubelet Version:            v1.28.3
"""
WIDE = """\
NAME       STATUS                     ROLES           AGE   VERSION   INTERNAL-IP   OS-IMAGE             CONTAINER-RUNTIME
worker-1   Ready                      control-plane   34d   v1.29.3   10.0.0.5      Ubuntu 22.04.3 LTS   cri-o://1.28.1
worker-2   Ready,SchedulingDisabled   <none>          34d   v1.28.3   10.0.0.6      Ubuntu 22.04.3 LTS   docker://24.0.7
"""
GO_VERSION = (
    'version.Info{Major:"1", Minor:"23", GitVersion:"v1.23.10", GitCommit:"7e54d50d3012cf3389e43b096ba35300f36e0817"}'
)


def facts(text: str) -> list[tuple]:
    """What lines between those of a log tell: line, component, version, node."""
    output = CommandOutput()
    for number, line in enumerate(text.splitlines(), start=1):
        output.add(number, line)
    return [(one.line, one.attrs.get("component"), one.attrs.get("version"), one.node) for one in output.facts]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ii  containerd.io     1.6.15-1     amd64     A runtime", [(1, "containerd", "1.6.15", "")]),
        ("hi  kubelet  1.29.3-1.1  amd64  Node agent", [(1, "kubelet", "1.29.3", "")]),
        ("kubelet-1.29.3-150500.1.1.x86_64", [(1, "kubelet", "1.29.3", "")]),
        ("Kubernetes v1.29.3", [(1, "kubelet", "v1.29.3", "")]),
        (f"containerd containerd.io 1.6.15 {DIGEST}", [(1, "containerd", "1.6.15", "")]),
        ("Linux worker-1 5.15.0-91-generic #101-Ubuntu SMP x86_64 GNU/Linux", [(1, "kernel", "5.15.0-91-generic", "worker-1")]),
        ("Client Version: v1.30.1\nKustomize Version: v5.0.4\nServer Version: v1.29.3", [(3, "kube-apiserver", "v1.29.3", "")]),
        (f"Client Version: {GO_VERSION}\nServer Version: {GO_VERSION}", [(2, "kube-apiserver", "v1.23.10", "")]),
        (
            DESCRIBED,
            [
                (4, "kernel", "5.15.0-91-generic", "worker-1"),
                (5, "containerd", "1.7.2", "worker-1"),
                (6, "kubelet", "v1.29.3", "worker-1"),
                (9, "kubelet", "v1.28.3", "worker-2"),
            ],
        ),
        (
            WIDE,
            [
                (2, "kubelet", "v1.29.3", "worker-1"),
                (2, "crio", "1.28.1", "worker-1"),
                (3, "kubelet", "v1.28.3", "worker-2"),
            ],
        ),
        (
            "| Component | Version |\n| :-- | :-- |\n| kubelet | 1.29.3 |\n| Hostpath CSI Driver | v1.11.0 |",
            [(3, "kubelet", "1.29.3", ""), (4, "Hostpath CSI driver", "1.11.0", "")],
        ),
    ],
)  # fmt: skip
def test_versions(text, said):
    """Each version that a command printed, with the node it is of."""
    assert facts(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "containerd 1.6.15 has a known bug",
        "Upgrade to kubelet-1.29.3 soon",
        "Server Version: 24.0.7",  # docker info
        "Server Version: v1.29.3",
        "  Kubelet Version:            v1.29.3",
        "worker-1   Ready   <none>   34d   v1.29.3",
        "| kubelet | 1.29.3 |",
        "| Component | State |\n| kubelet | 1.29.3 |",
        "rc  containerd.io     1.6.15-1     amd64     A runtime",  # removed
        "Client Version: v1.30.1\n\nServer Version: v1.29.3",
    ],
)
def test_what_only_looks_alike(text):
    """Prose, a row without its heading, a table of something else, a package that was removed: no version."""
    assert facts(text) == []


PS = """\
CONTAINER           IMAGE               CREATED             STATE               NAME       ATTEMPT   POD ID              POD
478b53c3bdd42       bf8d4f107ac67       36 minutes ago      Running             app        0         50a0003ac10bd       web-0
ae3a4f566bd41       bf8d4f107ac67       2 hours ago         Exited              app        1         aafb757b44ef0       web-1
"""


@pytest.mark.parametrize(
    ("text", "states"),
    [
        (PS, [(2, "container.found", "Running"), (3, "container.found", "Exited")]),
        (f"* {PS}", [(2, "container.found", "Running"), (3, "container.found", "Exited")]),
        ("cf8d3a590085c 2 months ago NotReady web-0 shop 0 (default)", [(1, "sandbox.found", "NotReady")]),
        ("478b53c3bdd42  bf8d4f107ac67  36 minutes ago  Running  app  0  50a0003ac10bd", [(1, "container.found", "Running")]),
        ("478b53c3bdd42 words NotReady", []),
        (PS.replace("\n478", "\n\n478", 1).replace("50a0003ac10bd", "-").replace("ae3a4f566bd41", "-"), []),
    ],
)  # fmt: skip
def test_containers(text, states):
    """Rows of crictl below their heading, or as grep leaves them; a blank line ends the table."""
    output = CommandOutput()
    for number, line in enumerate(text.splitlines(), start=1):
        output.add(number, line)
    assert [(one.line, one.kind, one.attrs["state"]) for one in output.facts] == states


def versions(text: str) -> set[tuple]:
    """The versions that analyze knows of a document: component, version, line."""
    history = Case(Options(paths=(), year=2024)).read(given=[TextInput("incident.md", text.encode())]).history
    return {(one.component, one.version, one.origin and one.origin.line) for one in history.versions if one.version}


DPKG = "ii  containerd.io   1.6.15-1   amd64   An open and reliable container runtime\n"
MINIKUBE = f"* \n* ==> describe nodes <==\n{DESCRIBED}* \n* ==> kubelet <==\n{LINE}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LINE + DPKG, {("containerd", "1.6.15", 2)}),
        (DPKG + LINE, {("containerd", "1.6.15", 1)}),
        (LINE * 40_000 + DPKG, {("containerd", "1.6.15", 40_001)}),
        (MINIKUBE, {("kernel", "5.15.0-91-generic", 6), ("containerd", "1.7.2", 7), ("kubelet", "1.29.3", 8), ("kubelet", "1.28.3", 11)}),
    ],
)  # fmt: skip
def test_versions_in_a_document(text, said):
    """Above and below the lines of a log, behind 2 MB of them, and in a section of what minikube prints."""
    assert versions(text) == said


@pytest.mark.parametrize(
    ("name", "component"), [("Hostpath CSI Driver", "hostpath.csi.k8s.io"), ("EBS CSI Driver", "EBS CSI driver")]
)
def test_the_driver_of_the_logs(name, component):
    """A driver that a table calls by its name for people is the one of the logs, if that is called so."""
    call = "I0312 08:00:00.000000 1 server.go:101] GRPC call: /csi.v1.Identity/GetPluginInfo\n"
    answer = (
        'I0312 08:00:00.001000 1 server.go:105] GRPC response: {"name":"hostpath.csi.k8s.io","vendor_version":""}\n'
    )
    table = f"| Component | Version |\n| --- | --- |\n| {name} | 1.11.0 |\n"
    assert (component, "1.11.0", 5) in versions(call + answer + table)


def test_lines_with_facts_are_read():
    """A line that gave a version is none that was not recognized."""
    reading = (
        Case(Options(paths=(), year=2024)).read(given=[TextInput("incident.md", (LINE + DPKG).encode())]).readings[0]
    )
    assert (reading.lines, reading.recognised, reading.unread) == (2, 1, 0)


STATUS = "   Active: active (running) since Mon 2023-08-21 15:34:07 CST; 3 months 7 days ago\n"


@pytest.mark.parametrize(("text", "year"), [(STATUS, 2023), (STATUS.replace("; 3 months 7 days ago", ""), 2026)])
def test_the_year_of_a_status(text, year):
    """The day on which `systemctl status` was asked, months after the unit began, tells the year of the lines beside."""
    modified = 1795478400.0  # 2026-11-24
    source = TextInput("incident.md", (text + LINE.replace("I0312", "I1124")).encode(), modified)
    assert Case(Options(paths=())).read(given=[source]).readings[0].clock.startswith(f"year {year} ")
