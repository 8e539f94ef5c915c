"""Lives over whole histories: the machine is found, samples reach what was done to them, and cuts do no harm."""

import gzip
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvdiag.analysis.case import load_patterns, read_history
from kvdiag.base.clock import from_datetime
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.history.lifecycles.build import LifecycleBuilder, build_lifecycle
from kvdiag.model.event import Event, Ref
from kvdiag.model.options import Options
from kvdiag.model.record import Origin
from kvdiag.model.timeline import Coverage, Entity, Gap, History, SeenVersion, Timeline
from kvdiag.model.values import SubjectKind
from tests.timelines import GivenTimelines

SAMPLES = Path(__file__).parents[3] / "sample-logs"
SECOND = 1_000_000
HANDLE = "csi-" + "0" * 64
knowledge = cache(lambda: load_patterns(Options()))


def texts(name: str) -> list[TextInput]:
    """Give the logs of a sample in memory."""
    logs = sorted(path for path in (SAMPLES / name).iterdir() if path.name.endswith((".log", ".log.gz")))
    return [TextInput(p.name, gzip.decompress(p.read_bytes()) if p.suffix == ".gz" else p.read_bytes()) for p in logs]


def read(inputs: list[TextInput]) -> History:
    return read_history(inputs, knowledge(), Options(year=2026)).history


@cache
def sample(name: str) -> History:
    return read(texts(name))


def all_lives(history: History):
    lives = LifecycleBuilder(history)
    return [life for timeline in history.timelines.values() for life in lives.on_nodes(timeline)]


def by_key(history: History):
    return {
        (life.subject.kind, life.subject.key, life.subject.ids.get("node", "")): life for life in all_lives(history)
    }


def found(history: History, kind: str, name: str, uid: str = ""):
    """Give the one life of a name that went through any state."""
    lives = [
        life
        for life in all_lives(history)
        if life.subject.kind == kind
        and life.subject.name.startswith(name)
        and life.state != "ABSENT"
        and uid in life.subject.ids.get("pod", "")
    ]
    assert len(lives) == 1, lives
    return lives[0]


REACHED = [
    # what was really done stands in each sample's README
    ("healthy-csi-volume", "pod", "default/web-0", "", "REMOVED", ""),
    ("healthy-csi-volume", "pod", "default/cache-0", "", "REMOVED", ""),
    ("healthy-csi-volume", "volume", "pvc-e8c15aee", "", "DETACHED", ""),
    ("healthy-csi-volume", "volume", "data", "default/cache-0", "RELEASED", ""),
    ("healthy-csi-volume-containerd-2.1", "pod", "default/web-0", "", "REMOVED", ""),
    ("healthy-csi-volume-containerd-2.1", "volume", "pvc-e261810f", "", "DETACHED", ""),
    ("healthy-containerd-json", "pod", "default/cache-0", "", "REMOVED", ""),
    ("healthy-containerd-json", "volume", "data", "", "RELEASED", ""),
    ("healthy-journald", "pod", "default/j-0", "", "RUNNING", ""),
    ("healthy-journald", "volume", "pvc-aa32b405", "", "PUBLISHED", ""),
    ("hostpath-driver-lost-state", "pod", "default/db-0", "", "REMOVED", ""),  # someone unmounted it by hand
    ("hostpath-driver-lost-state", "volume", "pvc-3126ba07", "", "DETACHING", "ControllerUnpublishVolume"),
    ("hostpath-driver-lost-state", "driver", "hostpath", "", "RESTARTED", ""),
    ("healthy-csi-volume", "driver", "hostpath", "", "REGISTERED", ""),
    ("hostpath-inline-republished", "pod", "default/inl-0", "", "TERMINATED", "volumes to be unmounted"),
    ("hostpath-inline-republished", "pod", "default/inl-1", "", "REMOVED", ""),
    ("hostpath-inline-republished", "pod", "default/r-0", "", "REMOVED", ""),
    ("hostpath-inline-republished", "volume", "data", "default/inl-0", "UNPUBLISHING", "NodeUnpublishVolume"),
    ("hostpath-inline-republished", "volume", "data", "default/inl-1", "RELEASED", ""),
    ("hostpath-inline-republished", "volume", "pvc-1c09e90a", "", "DETACHED", ""),
    ("containerd-killed", "pod", "default/p1", "", "REMOVED", ""),
    ("containerd-killed", "pod", "default/q-0", "", "REMOVED", ""),
    ("containerd-killed", "volume", "pvc-b739f1f9", "", "DETACHED", ""),
    ("driver-removed-before-pod", "pod", "analytics/reports-0", "", "TERMINATED", "volumes to be unmounted"),
    ("driver-removed-before-pod", "pod", "analytics/warehouse-1", "", "REMOVED", ""),
    ("driver-removed-before-pod", "volume", "pvc-2d4d946a", "", "UNPUBLISHING", "NodeUnpublishVolume"),
    ("driver-removed-before-pod", "driver", "blob.csi", "", "GONE", "the driver to be registered again"),
    ("inline-volume-orphaned", "pod", "ci/runner-4kx9z", "", "ORPHAN", "leftovers of its volumes to be removed"),
    ("inline-volume-orphaned", "volume", "scratch", "ci/runner-4kx9z", "UNPUBLISHING", "NodeUnpublishVolume"),
    ("sandbox-never-removed", "pod", "web/frontend-6c8d5b7f9d-x2k4q", "", "TERMINATING", "its containers to end"),
    ("kubelet-no-runtime-endpoint", "node", "this node", "", "STOPPED", "the kubelet to be started"),
]


@pytest.mark.parametrize(("name", "kind", "subject", "pod", "state", "waits"), REACHED)
def test_a_sample_reaches_what_was_done_to_it(name, kind, subject, pod, state, waits):
    """The last state of each subject is the one that the sample was made for."""
    life = found(sample(name), kind, subject, pod)
    assert (life.state, life.waits_for) == (state, waits)


FAULTS = {
    "detach-without-unstage": ["UNPUBLISHED → RELEASED without UNSTAGED"],
    "sandbox-never-removed": ["REMOVED → TERMINATING without ADDED"],
}


@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.iterdir() if path.is_dir()))
def test_only_the_faulty_samples_have_illegal_steps(name):
    """Two samples show a step that must not be; no other step of any sample is illegal."""
    lives = all_lives(sample(name))
    assert [p.violation for life in lives for p in life.transitions if not p.legal] == FAULTS.get(name, [])


def test_passages_follow_one_another():
    """Each transition begins where the one before it led to, and no event of a pod or volume is left out."""
    for life in all_lives(sample("hostpath-inline-republished")):
        assert all(a.state == b.before for a, b in zip(life.transitions, life.transitions[1:], strict=False))
    history = sample("healthy-csi-volume")
    for (kind, _), timeline in history.timelines.items():
        if kind in {SubjectKind.POD, SubjectKind.VOLUME}:
            assert tuple(p.event for p in build_lifecycle(timeline, history).transitions) == timeline.events


def test_a_restart_of_the_kubelet_makes_uncertain():
    """After the kubelet came back the volume's state is uncertain, until NodePublish is answered again."""
    life = found(sample("hostpath-inline-republished"), "volume", "data", "default/inl-0")
    unsure = [transition.event.kind for transition in life.transitions if not transition.certain]
    assert unsure[0] == "volume.reconstruct.succeeded"
    assert unsure[-1] == "csi.nodepublish.succeeded"
    assert life.transitions[-1].certain


def test_the_order_of_the_inputs_does_not_matter():
    """The same logs in another order give the same lives."""
    inputs = texts("detach-without-unstage")
    assert by_key(read(inputs)) == by_key(read(inputs[::-1])) == by_key(read([*inputs[2:], *inputs[:2]]))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_cut_life_is_never_illegal(data):
    """A legal life from which the beginning, the end or both are cut stays legal."""
    names = ["healthy-csi-volume", "hostpath-inline-republished", "hostpath-driver-lost-state", "containerd-killed"]
    history = sample(data.draw(st.sampled_from(names)))
    timeline = history.timelines[data.draw(st.sampled_from(sorted(history.timelines)))]
    first = data.draw(st.integers(0, len(timeline.events)))
    last = data.draw(st.integers(first, len(timeline.events)))
    life = build_lifecycle(replace_events(timeline, timeline.events[first:last]), history)
    assert [transition.violation for transition in life.transitions if not transition.legal] == []


@settings(max_examples=15, deadline=None)
@given(st.floats(0, 1), st.floats(0, 1), st.sampled_from(["kubelet", "csi-hostpath", "csi-attacher", "log"]))
def test_a_cut_log_is_never_illegal(begins, ends, which):
    """Logs that begin and end at any line, beside whole logs of the others, give no illegal step."""
    begins, ends = sorted([begins, ends])
    cut = [
        TextInput(t.name, t.data[int(len(t.data) * begins) : int(len(t.data) * ends)]) if which in t.name else t
        for t in texts("healthy-csi-volume")
    ]
    assert [p.violation for life in all_lives(read(cut)) for p in life.transitions if not p.legal] == []


# -- histories made by hand --------------------------------------------------------------------------------------


def replace_events(timeline: Timeline, events: tuple[Event, ...]) -> Timeline:
    return Timeline(timeline.subject, events)


def event(kind: str, second: float, *, node: str = "n1", component: str = "kubelet", attrs=None, **refs: str) -> Event:
    time = int(second * SECOND)
    named = tuple(Ref(name, value) for name, value in refs.items())
    return Event(time, kind, component, named, attrs or {}, Origin("kubelet.log", int(second * 10)), node, (b"",), time)


def volume(events: list[Event], **ids: str) -> Timeline:
    return Timeline(Entity(kind=SubjectKind.VOLUME, key="v", name="v", ids=ids), tuple(events))


def past(timeline: Timeline, *, of_node=(), coverage=(), versions=()) -> History:
    node = Timeline(Entity(kind=SubjectKind.NODE, key="n1", name="n1", ids={"node": "n1"}), tuple(of_node))
    timelines = GivenTimelines(
        {(timeline.subject.kind, timeline.subject.key): timeline, (SubjectKind.NODE, "n1"): node}
    )
    return History(
        events=(), timelines=timelines, coverage=tuple(coverage), versions=tuple(versions), begins=0, ends=100 * SECOND
    )


PV = "kubernetes.io/csi/d^h"
MODES = [
    ("volume/filesystem", {"unique_name": PV}, "volume.wait.succeeded volume.stage.succeeded volume.publish.succeeded"),
    ("volume/block", {"unique_name": PV}, "volume.map.wait.succeeded volume.map.succeeded"),
    ("volume/inline", {"unique_name": "kubernetes.io/csi/uid-data"}, "volume.publish.succeeded"),
    ("volume/inline", {"unique_name": f"kubernetes.io/csi/d^{HANDLE}"}, "volume.publish.succeeded"),
    ("volume/inline", {"volume_handle": HANDLE}, "csi.nodepublish.called csi.nodepublish.succeeded"),
    ("volume/local", {"unique_name": "kubernetes.io/secret/uid-token"}, "volume.publish.succeeded"),
    ("volume/local", {"unique_name": "kubernetes.io/downward-api/uid-info"}, "volume.publish.succeeded"),
    ("volume/local", {"unique_name": "kubernetes.io/host-path/uid-etc"}, "volume.publish.succeeded"),
    (
        "volume/non-attachable",
        {"unique_name": PV},
        "volume.verify.started volume.stage.succeeded volume.publish.succeeded",
    ),
    ("volume/migrated", {"unique_name": PV, "driver": "d", "spec_name": "d-disk1"}, "volume.wait.succeeded"),
    ("volume/migrated", {"volume_handle": "projects/UNSPECIFIED/zones/z/disks/d"}, "volume.wait.succeeded"),
    ("volume/non-staging", {"unique_name": PV}, "csi.nodepublish.called csi.nodepublish.succeeded"),
]


@pytest.mark.parametrize(("machine", "ids", "kinds"), MODES)
def test_the_mode_of_a_volume(machine, ids, kinds):
    """It is found from the names of the volume and the events seen of it."""
    timeline = volume([event(kind, n) for n, kind in enumerate(kinds.split(), 1)], **ids)
    assert build_lifecycle(timeline, past(timeline)).machine == machine


STAGED = [
    event("volume.wait.succeeded", 10),
    event("volume.stage.succeeded", 10.5),
    event("volume.publish.succeeded", 11, pod_uid="a"),
    event("volume.unpublish.succeeded", 20, pod_uid="a"),
    event("volume.released", 21),
]


@pytest.mark.parametrize(
    ("skipped", "machine", "faults"),
    [(10.4, "volume/non-staging", 0), (9.9, "volume/filesystem", 1), (10.6, "volume/filesystem", 1)],
)
def test_staging_is_skipped_only_by_the_line_beside_it(skipped, machine, faults):
    """The line without a volume belongs to the staging that it stands right before."""
    timeline = volume(STAGED, unique_name=PV)
    life = build_lifecycle(timeline, past(timeline, of_node=[event("volume.stage.skipped", skipped)]))
    assert life.machine == machine
    assert sum(not transition.legal for transition in life.transitions) == faults


def test_a_log_that_begins_at_the_staging_proves_none():
    """The line that staging was skipped may have stood right before; so nothing can be missing afterwards."""
    timeline = volume(STAGED[1:], unique_name=PV)
    begins = [Coverage(component="kubelet", node="n1", begins=timeline.events[0].time, ends=0, verbosity=2)]
    life = build_lifecycle(timeline, past(timeline, coverage=begins))
    assert not life.transitions[0].certain
    assert all(transition.legal for transition in life.transitions)
    assert not all(transition.legal for transition in build_lifecycle(timeline, past(timeline)).transitions)


@pytest.mark.parametrize("why", ["kubelet was restarted", "journald suppressed 12 lines"])
def test_a_gap_hides_what_was_reached(why):
    """What may have gone unseen is not missing."""
    timeline = volume(STAGED, unique_name=PV)
    gap = Gap(15 * SECOND, 16 * SECOND, why)
    heard = [Coverage(component="kubelet", node="n1", begins=0, ends=99 * SECOND, verbosity=2, gaps=(gap,))]
    assert all(p.legal for p in build_lifecycle(timeline, past(timeline, coverage=heard)).transitions)
    elsewhere = [heard[0]._replace(node="n2")]
    assert not all(p.legal for p in build_lifecycle(timeline, past(timeline, coverage=elsewhere)).transitions)


def test_a_volume_has_a_life_on_each_node():
    """What the controller does for one node is no step on another; together the lives are told in order of time."""
    away = [event(e.kind, n + 0.5, node="n2", pod_uid="b") for n, e in enumerate(STAGED[:3], 30)]
    attached = event("volume.attach.started", 29, node="n2", component="kube-controller-manager")
    timeline = volume([*STAGED[:4], event("volume.unstage.succeeded", 20.5), attached, *away], unique_name=PV)
    lives = LifecycleBuilder(past(timeline)).on_nodes(timeline)
    assert [(life.subject.ids["node"], life.state, len(life.transitions)) for life in lives] == [
        ("n1", "UNSTAGED", 5),
        ("n2", "PUBLISHED", 4),
    ]
    both = build_lifecycle(timeline, past(timeline))
    assert (both.state, len(both.transitions)) == ("PUBLISHED", 9)


def test_a_detach_after_the_end_of_the_kubelets_log_proves_nothing():
    """Who detaches a volume later than the kubelet was listened to may do so rightly."""
    detach = event("volume.detach.started", 50, component="kube-controller-manager")
    timeline = volume([*STAGED[:4], detach], unique_name=PV)
    heard = Coverage(component="kubelet", node="n1", begins=0, ends=60 * SECOND, verbosity=2)
    assert not build_lifecycle(timeline, past(timeline, coverage=[heard])).transitions[-1].legal
    ended = heard._replace(ends=40 * SECOND)
    assert build_lifecycle(timeline, past(timeline, coverage=[ended])).transitions[-1].legal


def test_detach_from_a_node_that_is_not_ready():
    """The controller may detach from a node that reported that it is not ready."""
    timeline = volume([*STAGED[:4], event("volume.detach.started", 30)], unique_name=PV)
    assert not all(p.legal for p in build_lifecycle(timeline, past(timeline)).transitions)
    unready = [event("node.ready", 1), event("node.not-ready", 25)]
    assert all(p.legal for p in build_lifecycle(timeline, past(timeline, of_node=unready)).transitions)


ERAS = [
    ("1.21.14", "pod/1.21", ""),
    ("v1.22.0", "pod/1.22", ""),
    ("v1.26.15", "pod/1.22", ""),
    ("v1.27.0+k3s1", "pod/1.27", ""),
    ("", "pod/1.22", ">=1.22 <1.27"),
    ("", "pod/1.27", ">=1.27"),
    ("", "pod/1.27", ""),
]


@pytest.mark.parametrize(("version", "machine", "span"), ERAS)
def test_the_era_of_a_pod(version, machine, span):
    """It is that of its kubelet, printed or inferred; unknown it is the newest."""
    entity = Entity(kind=SubjectKind.POD, key="u-1", name="ns/p", ids={"pod_uid": "u-1", "node": "n1"})
    timeline = Timeline(entity, (event("pod.added", 1, pod="ns/p"),))
    seen = (
        [SeenVersion("kubelet", version, "banner" if version else "wording", "n1", span=span)]
        if version or span
        else []
    )
    assert build_lifecycle(timeline, past(timeline, versions=seen)).machine == machine


@pytest.mark.parametrize(
    ("uid", "source"), [("0123456789abcdef0123456789abcdef", "api"), ("u-1", "file"), ("u-1", "http")]
)
def test_a_static_pod(uid, source):
    """It is known by its source, or by a UID that is a hash."""
    entity = Entity(kind=SubjectKind.POD, key=uid, name="ns/p", ids={"pod_uid": uid})
    timeline = Timeline(entity, (event("pod.added", 1, attrs={"source": source}),))
    assert build_lifecycle(timeline, past(timeline)).machine == "pod/static"


def test_a_finished_job_waits_for_nothing():
    """A job that completed is at rest; one that was deleted waits for the API server."""
    entity = Entity(kind=SubjectKind.POD, key="u-1", name="ns/p", ids={"pod_uid": "u-1"})
    done = [
        event(kind, n) for n, kind in enumerate(["pod.worker.terminal", "pod.terminated", "pod.worker.complete"], 2)
    ]
    job = Timeline(entity, tuple(done))
    deleted = Timeline(entity, (event("pod.deleted", 1), *done))
    assert (build_lifecycle(job, past(job)).state, build_lifecycle(job, past(job)).waits_for) == ("FINISHED", "")
    assert build_lifecycle(deleted, past(deleted)).waits_for == "the API server to delete the pod"


def test_a_sandbox_that_starts_is_no_container():
    """A pod runs when a container of it does; its sandbox alone is no pod."""
    entity = Entity(kind=SubjectKind.POD, key="u-1", name="ns/p", ids={"pod_uid": "u-1"})
    pleg = [
        event("pod.pleg", n, attrs={"event_type": "ContainerStarted", "data": what}) for n, what in ((1, "s"), (2, "c"))
    ]
    timeline = Timeline(entity, tuple(pleg))
    assert [transition.state for transition in build_lifecycle(timeline, past(timeline)).transitions] == [
        "SYNC",
        "RUNNING",
    ]


def test_since_is_when_the_state_was_reached():
    """Failures and retries do not renew it."""
    life = found(sample("hostpath-inline-republished"), "volume", "data", "default/inl-0")
    assert life.since == from_datetime(datetime(2026, 11, 20, 21, 0, 47, 519134, UTC))
    assert life.transitions[-1].event.time - life.since > 90 * SECOND


IMAGE = 'failed to "StartContainer" for "app" with ImagePullBackOff: "Back-off pulling image"'
WAITS = [
    ("pod.volumes.mounting", {}, "volumes to be mounted"),
    ("pod.volumes.mounting sandbox.creating", {}, "RunPodSandbox"),
    ("pod.volumes.mounting pod.volumes.mounted sandbox.creating sandbox.create.failed", {}, "RunPodSandbox"),
    ("sandbox.created container.start.failed pod.volumes.mounting pod.volumes.mounted", {}, "StartContainer"),
    ("sandbox.created container.start.failed", {"error": IMAGE}, "its image"),
    ("pod.volumes.mounting pod.volumes.mounted", {}, "its containers to run"),
    ("pod.deleted container.start.failed", {}, "its containers to end"),
    ("pod.volumes.unmounting", {}, "volumes to be unmounted"),
    ("pod.volumes.cleaned pod.cgroup.removed", {}, "the worker to finish"),
]


@pytest.mark.parametrize(("kinds", "attrs", "waits"), WAITS)
def test_what_a_pod_waits_for(kinds, attrs, waits):
    """It is told by the last step of its state that says so."""
    entity = Entity(kind=SubjectKind.POD, key="u-1", name="ns/p", ids={"pod_uid": "u-1"})
    timeline = Timeline(entity, tuple(event(kind, n, attrs=attrs) for n, kind in enumerate(kinds.split(), 1)))
    assert build_lifecycle(timeline, past(timeline)).waits_for == waits
