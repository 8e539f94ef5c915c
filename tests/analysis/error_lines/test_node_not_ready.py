"""A node that becomes NotReady is listed, by whichever program reports it, with how often and since when."""

from __future__ import annotations

import pytest

from kvdiag.base.clock import MINUTE
from tests.errorlines import klog

MINUTES = ("08:10:00", "08:14:00", "08:18:00")  # a rule finds one that does so for ten minutes
CONDITION = '{"type":"Ready","status":"False","reason":"KubeletNotReady","message":"container runtime is down"}'
BECAME = f'setters.go:580] "Node became not ready" node="worker-1" condition={CONDITION}'
RECORDED = 'kubelet_node_status.go:700] "Recording event message for node" node="worker-1" event="{}"'
OLD = "kubelet_node_status.go:554] Recording {} event message for node worker-1"
CONTROLLER = 'controller_utils.go:155] "Recording status change event message for node" status="{}" node="worker-1"'
EVENT = (
    'event.go:376] "Event occurred" object="worker-1" kind="Node" apiVersion="v1" type="Normal" reason="{0}" '
    'message="Node worker-1 status is now: {0}"'
)
STARTED = klog('server.go:487] "Kubelet version" kubeletVersion="v1.29.2"', "08:08:00", "I")


@pytest.mark.parametrize("said", [RECORDED, OLD, CONTROLLER, EVENT])
def test_a_node_that_flaps(errors_of, said):
    """Each time is counted, from the first to the last; that the node is Ready again is no error."""
    text = "".join(
        klog(said.format("NodeNotReady"), at, "I") + klog(said.format("NodeReady"), at, "I") for at in MINUTES
    )
    (group,) = errors_of(node=text).groups
    assert (group.count, group.level, group.ends - group.begins) == (3, "warning", 8 * MINUTE)


def test_ready_again_within_a_minute(errors_of):
    """No rule finds a node that is NotReady for seconds; its line is listed."""
    ready = klog(RECORDED.format("NodeReady"), "08:10:10", "I") + klog('kubelet.go:1] "x"', "08:20:00", "I")
    (group,) = errors_of(node=klog(BECAME, "08:10:00", "I") + ready).groups
    assert (group.count, group.where) == (1, "setters.go:580")


def test_after_a_start(errors_of):
    """A node whose network plug-in starts after kubelet is harmless; a runtime that is down is not."""
    network = BECAME.replace(
        "container runtime is down", "container runtime network not ready: cni plugin not initialized"
    )
    recorded = klog(RECORDED.format("NodeNotReady"), "08:10:00", "I")
    assert errors_of(node=STARTED + recorded + klog(network, "08:10:00", "I")).groups == ()
    down = klog(BECAME, "08:10:00", "I") + klog(RECORDED.format("NodeReady"), "08:10:10", "I")
    assert len(errors_of(node=STARTED + down + klog('kubelet.go:1] "x"', "08:20:00", "I")).groups) == 1
