"""Two logs that tell the same act at different times: one of their clocks is wrong."""

from __future__ import annotations

import json

import pytest

from kvdiag.base.clock import HOUR, MINUTE
from kvdiag.history.correlate.skew import disagreements
from kvdiag.model.event import Event, Ref
from kvdiag.model.record import Origin

NOON = 1_720_008_000_000_000
KINDS = {
    "kubelet": {"stage": "volume.stage.succeeded", "publish": "volume.publish.succeeded"},
    "driver": {"stage": "csi.nodestage.succeeded", "publish": "csi.nodepublish.succeeded"},
}


def volume(**logs: str) -> list[Event]:
    """`kubelet="stage@0 publish@1"`: what each log tells, and in which minute."""
    made = []
    for log, told in logs.items():
        for number, word in enumerate(told.split(), start=1):
            step, _, minute = word.partition("@")
            time = NOON + int(minute) * MINUTE
            refs = (Ref("volume_handle", "vol-1"),)
            kind = KINDS[log].get(step, "node.booted")
            made.append(Event(time, kind, log, refs, {}, Origin(log, number), "worker-1", (b"",), time))
    return made


@pytest.mark.parametrize(
    ("kubelet", "driver", "apart"),
    [
        ("stage@0 publish@1", "stage@0 publish@1", 0),
        ("stage@0 publish@121", "stage@0 publish@1", 2 * HOUR),  # it jumped in between
        ("stage@0 publish@1", "stage@0 publish@4", 0),  # a slow mount
        ("boot@0 stage@40 boot@60", "boot@0 stage@0 boot@60", 40 * MINUTE),
        ("boot@100 stage@140", "boot@0 stage@20", 0),  # logs of other times
        ("boot@100 stage@140", "boot@0 stage@20 boot@150", 2 * HOUR),
        ("stage@0 stage@90", "stage@0", 0),  # two acts and one of them in the other log
        ("stage@0 stage@90", "stage@0 stage@90", 0),
        ("stage@0 publish@90", "publish@0 stage@90", 90 * MINUTE),
    ],
)
def test_acts_that_two_logs_tell(kubelet, driver, apart):
    """The same act, told by as many lines of each log, is told at the same time."""
    events = volume(kubelet=kubelet, driver=driver)
    found = disagreements([events], events)
    assert {log: one.apart for log, one in found.items()} == ({"kubelet": apart, "driver": apart} if apart else {})


def test_the_lines_of_the_widest_disagreement_are_named():
    """Each log with its own line first."""
    events = volume(kubelet="stage@0 publish@60 stage@190", driver="stage@0 publish@1 stage@90")
    found = disagreements([events], events)
    assert [str(found["driver"].line), str(found["driver"].other)] == ["driver:3", "kubelet:3"]
    assert [str(found["kubelet"].line), str(found["kubelet"].other)] == ["kubelet:3", "driver:3"]


KUBELET = """\
I0312 0{a}:00:00.000000    2201 operation_generator.go:580] "MountVolume.MountDevice succeeded for volume \\"pvc-77aa11cc-0b1d-4f5e-8c9a-2d3e4f5a6b7c\\" (UniqueName: \\"kubernetes.io/csi/csi.example.org^vol-0a1b2c3d4e5f\\") pod \\"web-0\\" (UID: \\"1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01\\") device mount path \\"/s\\"" pod="shop/web-0"
I0312 0{b}:10:00.000000    2201 operation_generator.go:917] UnmountDevice succeeded for volume "pvc-77aa11cc-0b1d-4f5e-8c9a-2d3e4f5a6b7c" (UniqueName: "kubernetes.io/csi/csi.example.org^vol-0a1b2c3d4e5f") on node "worker-1"
I0312 0{b}:20:00.000000    2201 operation_generator.go:637] "MountVolume.SetUp succeeded for volume \\"pvc-77aa11cc-0b1d-4f5e-8c9a-2d3e4f5a6b7c\\" (UniqueName: \\"kubernetes.io/csi/csi.example.org^vol-0a1b2c3d4e5f\\") pod \\"web-0\\" (UID: \\"1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01\\") " pod="shop/web-0"
I0312 0{b}:50:00.000000    2201 kubelet.go:2463] "SyncLoop DELETE" source="api" pods=["shop/web-1"]
"""
CALL = """\
I0312 0{hour}:00.000000       1 server.go:101] GRPC call: /csi.v1.Node/{method}
I0312 0{hour}:00.000000       1 server.go:102] GRPC request: {{"staging_target_path":"/s","volume_id":"vol-0a1b2c3d4e5f"}}
I0312 0{hour}:00.000000       1 server.go:110] GRPC response: {{}}
"""


@pytest.mark.parametrize(("later", "verdict"), [(2, "confirmed"), (4, "possible")])
def test_an_order_across_such_logs_is_a_doubt(later, verdict, tmp_path, kvdiag):
    """PUBLISHED without STAGED is no more than possible where kubelet's clock is not the driver's."""
    (tmp_path / "kubelet.log").write_text(KUBELET.format(a=2, b=later), "utf-8")
    calls = [("2:00", "NodeStageVolume"), ("2:10", "NodeUnstageVolume"), ("2:20", "NodePublishVolume")]
    driver = "".join(CALL.format(hour=hour, method=method) for hour, method in calls)
    (tmp_path / "driver.log").write_text(f"{driver}I0312 05:00:00.000000       1 main.go:7] still there\n", "utf-8")
    (found,) = json.loads(kvdiag("analyze", "--year", "2026", "-o", "json", str(tmp_path)).stdout)["findings"]
    assert (found["rule"], found["verdict"]) == ("csi-nodepublish-without-stage", verdict)
    assert any("tell the same act 2h apart" in doubt for doubt in found["doubts"]) == (verdict == "possible")
