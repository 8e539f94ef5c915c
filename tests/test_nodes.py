"""One volume over the logs of two nodes and the controller: one timeline, its hand-over, the nodes' clocks."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

PV = "pvc-77aa11cc-0b1d-4f5e-8c9a-2d3e4f5a6b7c"
UNIQUE = "kubernetes.io/csi/ebs.csi.aws.com^vol-0a1b2c3d4e5f"
ONE, TWO = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01", "7f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f07"
PATH = f"/var/lib/kubelet/plugins/kubernetes.io/csi/ebs.csi.aws.com/{'8d1f0c' * 10}8d1f/globalmount"
NAMES = f'for volume \\"{PV}\\" (UniqueName: \\"{UNIQUE}\\")'


def klog(second: float, message: str, node: str = "") -> str:
    """A klog line so many seconds after eight, as the journal of a node has it, or bare for the controller."""
    moment = datetime(2024, 3, 12, 8) + timedelta(seconds=second)  # noqa: DTZ001
    line = f"I{moment:%m%d %H:%M:%S.%f}    2201 {message}\n"
    return f"{moment:%b %d %H:%M:%S} {node} kubelet[2201]: {line}" if node else line


def kubelet(node: str, ahead: float, *told: tuple[float, str]) -> str:
    """The kubelet log of a node whose clock runs so many seconds ahead."""
    return "".join(klog(second + ahead, message, node) for second, message in told)


def verified(uid: str, pod: str) -> str:
    """The node sees that the volume is attached."""
    at = f'pod \\"{pod}\\" (UID: \\"{uid}\\") device path: \\"\\"'
    return f'operation_generator.go:1523] "Controller attach succeeded {NAMES} {at}" pod="shop/{pod}"'


def staged(uid: str, pod: str) -> str:
    """The volume is mounted at its staging path."""
    at = f'pod \\"{pod}\\" (UID: \\"{uid}\\") device mount path \\"{PATH}\\"'
    return f'operation_generator.go:664] "MountVolume.MountDevice succeeded {NAMES} {at}" pod="shop/{pod}"'


def published(uid: str, pod: str) -> str:
    """The volume is mounted for the pod."""
    at = f'pod \\"{pod}\\" (UID: \\"{uid}\\") '
    return f'operation_generator.go:722] "MountVolume.SetUp succeeded {NAMES} {at}" pod="shop/{pod}"'


def unpublished(uid: str) -> str:
    """The pod's mount is gone."""
    return (
        f'operation_generator.go:887] UnmountVolume.TearDown succeeded for volume "{UNIQUE}" (OuterVolumeSpecName: '
        f'"data") pod "{uid}" (UID: "{uid}"). InnerVolumeSpecName "{PV}". PluginName "kubernetes.io/csi", '
        'VolumeGidValue ""'
    )


def unstaged(node: str) -> str:
    """The staging path is unmounted."""
    return (
        f'operation_generator.go:994] UnmountDevice succeeded for volume "{PV}" (UniqueName: "{UNIQUE}") on node '
        f'"{node}" '
    )


def write(folder: Path, *, ahead: float, is_unstaged: bool) -> Path:
    """A volume that goes from node-a, whose clock runs ahead, to node-b; the controller saw it."""
    last = [(601, unstaged("node-a"))] if is_unstaged else []
    first = kubelet(
        "node-a",
        ahead,
        (0, verified(ONE, "web-0")),
        (1, staged(ONE, "web-0")),
        (2, published(ONE, "web-0")),
        (600, unpublished(ONE)),
        *last,
    )
    second = kubelet(
        "node-b", 0, (611, verified(TWO, "web-1")), (612, staged(TWO, "web-1")), (613, published(TWO, "web-1"))
    )
    say = 'logger="persistentvolume-attach-detach-controller"'
    controller = klog(
        602, f'reconciler.go:262] "attacherDetacher.DetachVolume started" {say} node="node-a" volumeName="{UNIQUE}"'
    ) + klog(610, f'operation_generator.go:400] "AttachVolume.Attach succeeded {NAMES} from node \\"node-b\\" "')
    for name, text in (("a.log", first), ("b.log", second), ("kube-controller-manager.log", controller)):
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A clean hand-over by a node whose clock is half a minute ahead."""
    return write(tmp_path, ahead=30, is_unstaged=True)


def test_one_timeline(kvdiag, logs):
    """Both nodes' steps and the controller's are one story, and its hand-over was clean though the clocks say not."""
    (told,) = json.loads(kvdiag("timeline", "volume", PV, logs, "--year", "2024", "-o", "json").stdout)
    kinds = [row["kind"] for row in told["rows"]]
    assert kinds.count("volume.stage.succeeded") == 2
    assert {"volume.detach.started", "volume.attach.succeeded"} <= set(kinds)
    assert "volume.handover.clean" in kinds
    assert "volume.handover.overlap" not in kinds


def test_the_clocks_are_told(kvdiag, logs):
    """What the hand-over says of each node's clock stands under the timeline and in its JSON."""
    words = ("timeline", "volume", PV, logs, "--year", "2024")
    assert "The clock of node-a runs at least 29s ahead of the controller's." in kvdiag(*words).stdout
    assert "The clock of node-a runs at least 29s ahead of" in kvdiag(*words, "-o", "html").stdout
    (told,) = json.loads(kvdiag(*words, "-o", "json").stdout)
    assert told["clocks"] == [
        {"node": "node-a", "least": 29.0, "most": None},
        {"node": "node-b", "least": None, "most": 1.0},
    ]


def test_a_clean_hand_over_is_silent(kvdiag, logs):
    """Nothing is found in a volume that was unstaged, detached, attached and staged elsewhere."""
    assert json.loads(kvdiag("analyze", logs, "--year", "2024", "-o", "json").stdout)["findings"] == []


def test_staged_on_both(kvdiag, tmp_path):
    """Without the unstage on the first node the volume was on both, and the edge is named."""
    logs = write(tmp_path, ahead=0, is_unstaged=False)
    findings = json.loads(kvdiag("analyze", logs, "--year", "2024", "-o", "json").stdout)["findings"]
    found = {finding["rule"]: finding["says"] for finding in findings}
    assert f"{PV} was staged on node-b while it was still staged on node-a" in found["volume-staged-on-two-nodes"]
