"""Of which node an event is."""

from __future__ import annotations

from kvdiag.events.made_names import attachment_name
from kvdiag.history.correlate.nodes import set_nodes
from kvdiag.model.event import Event, Ref
from kvdiag.model.record import Origin, Provenance

SECOND = 1_000_000
HANDLE, DRIVER = "vol-1", "csi.example.org"
POD, OTHER = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01", "2f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f02"


def event(source, kind, *refs, component="kubelet", node="", second=0):
    """Give an event of a log."""
    time = second * SECOND
    names = tuple(Ref(*ref) for ref in refs)
    return Event(time, kind, component, names, {}, Origin(source, 1), node, (b"",), time)


def controller(kind, *refs, second=0, component="kube-controller-manager", source="kcm.log"):
    """Give an event of a controller."""
    return event(source, kind, *refs, component=component, second=second)


def nodes(*events, places=None):
    """Give the node of each event."""
    placed = list(events)
    set_nodes(placed, places or {})
    return [one.node for one in placed]


def test_a_controllers_event_is_of_the_node_it_speaks_of():
    """Whatever node's log stands beside it: a detach from node-b is never told of node-a."""
    detach = controller("volume.detach.started", ("node", "node-b"))
    assert nodes(event("a.log", "pod.added", node="node-a"), detach) == ["node-a", "node-b"]


def test_an_attachment_names_its_node():
    """A VolumeAttachment's name is a hash of handle, driver and node; the attacher says no more than that name."""
    name = attachment_name(HANDLE, DRIVER, "node-b")
    said = controller("volume.detach.started", ("node", "node-b"), ("volume_handle", HANDLE), ("driver", DRIVER))
    detaching = controller("attacher.detaching", ("attachment", name), component="external-attacher")
    unknown = controller("attacher.detaching", ("attachment", f"{name[:-1]}x"), component="external-attacher")
    assert nodes(said, detaching, unknown) == ["node-b", "node-b", ""]


def test_the_node_that_the_scheduler_named():
    """An event of a pod that names no node is of the node that the pod was assigned to last before it."""
    names = [("pod", "shop/web-0")]
    assigned = [
        controller("pod.scheduled", *names, ("node", node), second=second, component="kube-scheduler")
        for node, second in (("node-a", 0), ("node-b", 60))
    ]
    rows = [event("events.txt", "pod.volumes.timeout", *names, second=second) for second in (30, 90)]
    others = [event("a.log", "pod.added", node="node-a"), event("b.log", "pod.added", node="node-b")]
    assert nodes(*assigned, *rows, *others)[2:4] == ["node-a", "node-b"]


def test_the_only_node():
    """With the logs of one node alone a log that does not say its node is of that one; a controller's need not be."""
    runtime = event("containerd.log", "cri.sandbox.run", component="containerd")
    attach = controller("volume.attach.succeeded", ("node", "node-b"))
    assert nodes(event("a.log", "pod.added", node="node-a"), runtime, attach) == ["node-a", "node-a", "node-b"]


def test_pods_sandboxes_and_containers_are_of_one_node():
    """A driver's log that names a pod which only node-b's kubelet names is node-b's."""
    known = [event("a.log", "pod.added", ("pod_uid", POD), node="node-a")]
    known += [event("b.log", "pod.added", ("pod_uid", OTHER), node="node-b")]
    driver = event("driver.log", "csi.nodeunpublish.called", ("pod_uid", OTHER), component="csi-driver")
    stages = event("driver.log", "csi.nodestage.called", ("volume_handle", HANDLE), component="csi-driver")
    assert nodes(*known, driver, stages)[2:] == ["node-b", "node-b"]


def test_a_volume_is_staged_where_it_was_attached_to():
    """A driver's log that stages a volume after the controller attached it to node-b is node-b's, where ids fail."""
    known = event("a.log", "pod.added", ("pod_uid", POD), node="node-a")
    attach = controller("csi.controllerpublish.succeeded", ("volume_handle", HANDLE), ("node", "node-b"), second=10)
    stage = event("driver.log", "csi.nodestage.called", ("volume_handle", HANDLE), component="csi-driver", second=12)
    late = stage._replace(time=4000 * SECOND, ends=4000 * SECOND)
    assert nodes(known, attach, stage) == ["node-a", "node-b", "node-b"]
    assert nodes(known, attach, late)[2] != "node-b"


def test_what_a_driver_calls_a_node():
    """A cloud's driver calls a node by its instance; where the volume is staged then, that node is meant."""
    stage = event("a.log", "volume.stage.succeeded", ("volume_handle", HANDLE), node="node-a", second=12)
    attach = controller("csi.controllerpublish.succeeded", ("volume_handle", HANDLE), ("node", "i-0abc"), second=10)
    detach = controller("csi.controllerunpublish.called", ("volume_handle", HANDLE), ("node", "i-0abc"), second=99)
    assert nodes(attach, stage, detach) == ["node-a", "node-a", "node-a"]


def test_logs_of_a_node_that_nobody_names_stay_apart():
    """A log that names pods of no known node is of another one, together with those that name the same pods."""
    known = [event("a.log", "pod.added", ("pod_uid", POD), node="node-a"), event("b.log", "pod.added", node="node-b")]
    driver = event("driver.log", "csi.nodeunpublish.called", ("pod_uid", OTHER), component="csi-driver")
    runtime = event("containerd.log", "cri.sandbox.run", ("pod_uid", OTHER), component="containerd")
    apart = nodes(*known, driver, runtime)[2:]
    assert apart == ["(node of driver.log)"] * 2


def test_the_layout_in_which_logs_were_collected():
    """Inputs of one group are of one node; what their lines call it beats what the folder is called."""
    places = {"x/kubelet.log": Provenance("x", "folder-x"), "x/containerd.log": Provenance("x", "folder-x")}
    told = event("x/kubelet.log", "node.registered", ("node", "node-x"))
    runtime = event("x/containerd.log", "cri.sandbox.run", component="containerd")
    assert nodes(told, runtime, event("y.log", "pod.added", node="node-y"), places=places) == [
        "node-x",
        "node-x",
        "node-y",
    ]
