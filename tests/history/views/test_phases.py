"""Where the time went: parts of lives, what lasts, and percentiles."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from kvdiag.analysis.case import load_patterns, read_history
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import load_vocabulary
from kvdiag.history.lifecycles.build import LifecycleBuilder
from kvdiag.history.lifecycles.load import lifecycles
from kvdiag.history.views.phases import LASTING, awaits, current, now, order, percentiles, phases, pulls_in
from kvdiag.inputs.paths import sources
from kvdiag.model.event import Event, Ref
from kvdiag.model.lifecycle import Lifecycle, Phase, Transition
from kvdiag.model.options import Options
from kvdiag.model.record import Origin
from kvdiag.model.timeline import Coverage, Entity, History
from kvdiag.model.values import SubjectKind
from tests.timelines import GivenTimelines

SAMPLES = Path(__file__).parents[3] / "sample-logs"
SECOND = 1_000_000
NOTHING = History(events=(), timelines=GivenTimelines(), coverage=(), versions=(), begins=0, ends=999 * SECOND)


@cache
def sample(name: str) -> History:
    options = Options(paths=(str(SAMPLES / name),), year=2026)
    return read_history(sources(options.paths, print), load_patterns(options), options).history


def milliseconds(name: str, kind: str, subject: str) -> dict[str, int | None]:
    """Give how long each part of a life took."""
    history = sample(name)
    lives = (LifecycleBuilder(history).build(t) for key, t in history.timelines.items() if key[0] == kind)
    life = next(life for life in lives if life.subject.name.startswith(subject))
    return {
        p.name: None if p.ends is None else (p.ends - p.begins) // 1000
        for p in phases(life, history, pulls_in(history))
    }


def test_a_pod_that_came_and_went():
    """Every part of a pod's start and end is measured from the lines of kubelet and containerd."""
    assert milliseconds("healthy-csi-volume", "pod", "default/web-0") == {
        "to running": 7465,
        "volumes": 7200,
        "sandbox": 178,
        "create": 19,
        "start": 58,
        "ready": 1003,
        "to gone": 1928,
        "kill": 1390,
        "grace": 1311,
        "unmount": 0,
        "cgroup": 2,
        "API delete": 13,
    }


def test_a_volume_that_came_and_went():
    """Every part of a volume's cycle is measured, from attach to detach."""
    assert milliseconds("healthy-csi-volume", "volume", "pvc-") == {
        "attach": 15,
        "verify": 4,
        "wait": 3,
        "stage": 3,
        "publish": 24,
        "unpublish": 20,
        "release": 181,
        "unstage": 3,
        "detach": 7,
    }


def test_at_low_verbosity_fewer_parts_are_seen():
    """At -v=2 the volumes part runs until the sandbox is asked for, and no part is left open."""
    parts = milliseconds("healthy-containerd-json", "pod", "default/web-0")
    assert parts["volumes"] == 6736
    assert None not in parts.values()


def test_what_lasts_has_no_end():
    """A pod whose volumes cannot be unmounted is in that part now, and was killed in time."""
    parts = milliseconds("driver-removed-before-pod", "pod", "analytics/reports-0")
    assert [name for name, took in parts.items() if took is None] == ["to gone", "unmount"]
    assert parts["kill"] == 390


def life(*told: tuple[str, int, str], kind: SubjectKind = SubjectKind.VOLUME, waits: str = "x") -> Lifecycle:
    """Give a life of (kind, second, pod or image)."""
    transitions = tuple(Transition(event(*one), "", "", "") for one in told)
    entity = Entity(kind=kind, key="v", name="v")
    return Lifecycle(
        subject=entity,
        machine="pod/1.27" if kind is SubjectKind.POD else "volume/filesystem",
        transitions=transitions,
        state="",
        since=0,
        waits_for=waits,
    )


def event(kind: str, second: int, uid: str = "") -> Event:
    refs = (Ref("pod_uid", uid),) if uid else ()
    attrs = {"image": "i"} if kind.startswith("image.") else {}
    return Event(second * SECOND, kind, "kubelet", refs, attrs, Origin("k", second), "n", (b"",), second * SECOND)


def test_retries_belong_to_the_part():
    """An unmount that fails and is tried again lasts from the first try to the success."""
    told = life(
        ("volume.unpublish.started", 1, "a"),
        ("volume.unpublish.failed", 2, "a"),
        ("volume.unpublish.started", 3, "a"),
        ("volume.unpublish.succeeded", 9, "a"),
        waits="",
    )
    assert phases(told, NOTHING) == (Phase("unpublish", SECOND, 9 * SECOND, "kubelet"),)


def test_pods_that_share_a_volume_are_kept_apart():
    """Each pod's mount is a part of its own; a remount that nothing began is none."""
    told = life(
        ("volume.publish.started", 1, "a"),
        ("volume.publish.started", 2, "b"),
        ("volume.publish.succeeded", 3, "b"),
        ("volume.publish.succeeded", 5, "a"),
        ("volume.publish.succeeded", 8, "a"),
    )
    assert [(phase.begins, phase.ends) for phase in phases(told, NOTHING)] == [(1e6, 5e6), (2e6, 3e6)]


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (["volume.unpublish.failed"], [(1, None)]),  # the driver says yes each time, the kubelet no
        (["volume.unpublish.failed", "volume.unpublish.succeeded"], [(1, 7)]),
        ([], [(2, 3)]),  # the kubelet's last word is not in the log
    ],
)
def test_the_kubelet_says_when_a_part_that_fails_is_over(told, expected):
    """A driver's success does not end what the kubelet calls failed."""
    driver = [("csi.nodeunpublish.called", 2, "a"), ("csi.nodeunpublish.succeeded", 3, "a")]
    kubelet = [(kind, 6 + number, "a") for number, kind in enumerate(told)]
    assert of("unpublish", life(("volume.unpublish.started", 1, "a"), *driver, *kubelet)) == expected


def test_publishing_begins_after_staging():
    """Where only MountVolume started is seen, what staging took is no part of publishing."""
    told = life(
        ("volume.publish.started", 1, "a"),
        ("volume.wait.succeeded", 2, "a"),
        ("volume.stage.succeeded", 7, "a"),
        ("volume.publish.succeeded", 8, "a"),
    )
    assert [(p.name, (p.ends or 0) - p.begins) for p in phases(told, NOTHING)] == [("stage", 5e6), ("publish", 1e6)]


def test_what_is_over_has_no_open_parts():
    """A part whose end was not seen is left out once nothing is waited for."""
    begun = [("volume.unpublish.started", 1, "a")]
    assert phases(life(*begun, waits=""), NOTHING) == ()
    assert phases(life(*begun), NOTHING) == (Phase("unpublish", SECOND, None, "kubelet"),)


def test_an_image_is_pulled_between_sandbox_and_container():
    """No line names image and pod; a pull on the pod's node at that time is taken as the pod's."""
    mine = [("sandbox.created", 1, "a"), ("cri.container.creating", 9, "a")]
    pulls = [event("image.pull.started", n) for n in (0, 2, 10)] + [event("image.pull.succeeded", 8)]
    told = life(*mine, kind=SubjectKind.POD)
    assert of("image pull", told, heard(*pulls)) == [(2, 8)]


def heard(*events: Event) -> History:
    """Give a history in which containerd is heard, with these events."""
    runtime = Coverage(component="containerd", node="n", begins=0, ends=99 * SECOND, verbosity=0)
    told = tuple(sorted(events, key=lambda event: event.time))
    return History(
        events=told, timelines=GivenTimelines(), coverage=(runtime,), versions=(), begins=0, ends=99 * SECOND
    )


def of(name: str, told: Lifecycle, history: History = NOTHING) -> list[tuple[int, int | None]]:
    """Give the seconds in which each part of that name begins and ends."""
    found = [phase for phase in phases(told, history, pulls_in(history)) if phase.name == name]
    return [(p.begins // SECOND, None if p.ends is None else p.ends // SECOND) for p in found]


def pod(*told: Event, state: str = "RUNNING", waits: str = "x") -> Lifecycle:
    """Give the life of a pod that is in one state all the time."""
    transitions = tuple(Transition(one, "", "", state) for one in told)
    entity = Entity(kind=SubjectKind.POD, key="p", name="p")
    return Lifecycle(
        subject=entity, machine="pod/1.27", transitions=transitions, state=state, since=SECOND, waits_for=waits
    )


def say(kind: str, second: int, text: str = "", *, container: str = "", **attrs: str) -> Event:
    """Give an event with its text, the container it names, and its values."""
    refs = (Ref("container_id", container),) if container else ()
    return Event(
        second * SECOND, kind, "kubelet", refs, attrs, Origin("k", second), "n", (text.encode(),), second * SECOND
    )


NOT_FETCHED = 'ErrImagePull: failed to pull and unpack image "i": i/o timeout'
NO_CONFIG = 'CreateContainerConfigError: configmap "app" not found'


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NOT_FETCHED, [(2, None)]),  # the pod's error names the image
        (NOT_FETCHED.replace('"i"', '"other"'), []),  # another pod's
        (NO_CONFIG, []),
    ],
)
def test_a_pull_that_fails_lasts(error, expected):
    """A pull without success is the pod's if an error of the pod names its image."""
    told = pod(say("sandbox.created", 1), say("container.start.failed", 5, error=error), state="SYNC")
    history = heard(event("image.pull.started", 2), event("image.pull.started", 6))
    assert of("image pull", told, history) == expected


def test_a_pull_after_another_failure_is_not_the_pods():
    """A pod whose container cannot be configured has its image: what is pulled later is another's."""
    told = pod(say("sandbox.created", 1), say("container.start.failed", 3, error=NO_CONFIG), state="SYNC")
    history = heard(event("image.pull.started", 5), event("image.pull.succeeded", 7))
    assert of("image pull", told, history) == []


@pytest.mark.parametrize(
    ("error", "after", "expected"),
    [
        (NOT_FETCHED, [say("pod.pleg", 9, event_type="ContainerStarted")], [(5, 9)]),
        (NOT_FETCHED, [say("pod.pleg", 9, event_type="ContainerDied")], [(5, None)]),
        ("ImagePullBackOff", [], [(5, None)]),
        ("InvalidImageName", [], []),  # nothing to pull
        (NO_CONFIG, [], []),
    ],
)
def test_the_kubelet_alone_tells_of_images_that_fail(error, after, expected):
    """Without the runtime's log a pull lasts from the first error of its image until a container runs."""
    told = pod(say("sandbox.created", 1), say("container.start.failed", 5, error=error), *after, state="SYNC")
    assert of("image pull", told) == expected


def patch(second: int, ready: str, quote: str = '\\"') -> Event:
    """Give the line of a status that says whether the pod is ready."""
    status = f'{{"status":{{"conditions":[{{"status":"{ready}","type":"Ready"}}]}}}}'.replace('"', quote)
    return say("pod.status.patched", second, f'"Patch status for pod" pod="shop/web-0" patch="{status}"')


def probe(second: int, what: str, result: str) -> Event:
    """Give the line of a probe whose result changed."""
    return say("pod.probe.changed", second, reason=what, result=result)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ([patch(2, "False"), patch(7, "True")], [(1, 7)]),
        ([probe(2, "readiness", ""), probe(7, "readiness", "ready")], [(1, 7)]),
        ([probe(2, "readiness", "")], [(1, None)]),
        ([probe(2, "startup", "started"), probe(3, "liveness", "unhealthy")], []),
        ([patch(7, "True", '\\\\\\"')], [(1, 7)]),  # within JSON
        ([patch(2, "False")], [(1, None)]),  # runs, but is not ready
        ([say("pod.status.patched", 2, '{"status":"True","type":"ContainersReady"}')], []),  # says nothing about it
        ([patch(0, "True")], []),  # before it ran
        ([], []),  # below -v=3 nobody tells
    ],
)
def test_ready(sent, expected):
    """A pod is ready when the kubelet tells the API so; where it tells nothing, nothing is said."""
    assert of("ready", pod(say("cri.container.started", 1), *sent, waits="")) == expected


CRASHED = 'failed to "StartContainer" for "app" with CrashLoopBackOff: "back-off 10s restarting failed container=app"'
CREATING = Ref("container_name", "app")


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ([], [(2, None)]),
        ([say("pod.sync.failed", 5, error=CRASHED)], [(2, None)]),
        ([say("cri.container.creating", 9)._replace(refs=(CREATING,))], [(2, 9)]),
        ([say("cri.container.creating", 9)._replace(refs=(CREATING._replace(value="other"),))], [(2, None)]),
        ([say("pod.pleg", 9, event_type="ContainerStarted")], [(2, 9)]),
        ([say("pod.deleted", 9)], [(2, 9)]),
    ],
)
def test_back_off(after, expected):
    """A container that failed waits until it is made again, or until its pod must end."""
    assert of("back-off", pod(say("pod.sync.failed", 2, error=CRASHED), *after, waits="")) == expected


@pytest.mark.parametrize("error", [CRASHED.replace("CrashLoopBackOff", "RunContainerError"), "CrashLoopBackOff", ""])
def test_no_back_off(error):
    """Another failure of a container is no back-off."""
    assert of("back-off", pod(say("pod.sync.failed", 2, error=error))) == []


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ([say("container.killing", 1, container="a"), say("container.exited", 4, container="a")], [(1, 4)]),
        (
            [
                say("container.killing", 1, container="containerd://a"),
                say("container.killing", 2, container="b"),
                say("container.finished", 3, container="b"),
                say("container.finished", 6, container="a"),
            ],
            [(1, 6), (2, 3)],
        ),
        ([say("container.killing", 1, container="a"), say("container.finished", 4, container="b")], [(1, None)]),
        ([say("container.finished", 4, container="a")], []),  # ended by itself
    ],
)
def test_grace(told, expected):
    """The grace of each container runs from the order to end until that container ended."""
    assert of("grace", pod(*told, state="TERMINATING")) == expected


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (("RUNNING", "TERMINATING", "TERMINATING"), [(5, 7)]),
        (("RUNNING", "RUNNING", "TERMINATED"), [(1, 3), (5, 7)]),  # the log begins when the pod ends already
        (("RUNNING", "RUNNING", "RUNNING"), []),
    ],
)
def test_a_container_that_is_started_again_is_no_end_of_its_pod(states, expected):
    """Where only containers are seen to be killed, it is the pod's end from its deletion on."""
    kills = [say("container.killing", 1), say("container.exited", 3), say("pod.reconciled", 4)]
    kills += [say("container.killing", 5), say("container.exited", 7)]
    told = pod(*kills)
    at = (states[0], states[0], states[1], states[1], states[2])
    transitions = tuple(p._replace(state=state) for p, state in zip(told.transitions, at, strict=True))
    assert of("kill", replace(told, transitions=transitions)) == expected


def test_a_static_pod_counts_from_its_last_coming():
    """The mirror that goes is no end of the pod, and time before it is none of its start."""
    steps = [("ABSENT", 0), ("ADDED", 1), ("TERMINATING", 2), ("REMOVED", 3), ("ADDED", 7), ("RUNNING", 9)]
    told = [Transition(say("pod.deleted" if to == "TERMINATING" else "pod.added", at), "", "", to) for to, at in steps]
    one = Lifecycle(
        subject=pod().subject, machine="pod/static", transitions=tuple(told), state="RUNNING", since=9 * SECOND
    )
    assert [(p.name, p.begins // SECOND, (p.ends or 0) // SECOND) for p in phases(one, NOTHING)] == [
        ("to running", 7, 9)
    ]


@pytest.mark.parametrize(
    ("told", "found", "expected"),
    [
        (pod(waits="volumes"), [Phase("volumes", 5, None)], (Phase("volumes", 5, None), "volumes")),
        (pod(state="ORPHAN", waits="leftovers"), [Phase("kill", 2, 4)], (Phase("ORPHAN", SECOND, None), "leftovers")),
        (pod(waits=""), [Phase("ready", 5, None)], (Phase("ready", 5, None), LASTING["ready"])),
        (pod(waits=""), [Phase("start", 2, 4)], (None, "")),
    ],
)
def test_now(told, found, expected):
    """A subject is in the part that lasts, else in its state if that waits for something."""
    step = now(told, found)
    assert (step, awaits(told, step) if step else "") == expected


def test_current_is_what_began_last():
    """Of the parts that last, the subject is in the one that began last."""
    lasting = [Phase("to gone", 1, None), Phase("unmount", 5, None), Phase("kill", 2, 4)]
    assert current(lasting) == Phase("unmount", 5, None)
    assert current([Phase("kill", 2, 4)]) is None


@pytest.mark.parametrize(
    ("took", "expected"),
    [([7], (1, 7, 7, 7, 7)), (list(range(1, 101)), (100, 50, 90, 99, 100)), ([1, 2], (2, 1, 2, 2, 2))],
)
def test_percentiles(took, expected):
    """They are values that occurred: the smallest that so many percent do not exceed."""
    found = [Phase("stage", 0, time) for time in took] + [Phase("stage", 0, None)]
    assert [tuple(spread) for spread in percentiles(found)] == [("stage", *expected)]


def test_percentiles_are_in_the_order_of_a_life():
    """Attach stands before detach, whatever was seen first."""
    assert [s.name for s in percentiles([Phase("detach", 0, 1), Phase("attach", 2, 3)])] == ["attach", "detach"]


def test_spans_speak_of_events_that_exist():
    """Every part begins and ends with a kind of the vocabulary, and has its place in the order."""
    kinds = load_vocabulary(builtin_patterns() / "events").kinds
    for kind in SubjectKind:
        for span in lifecycles().definition(kind).spans:
            assert {kind for pair in span.pairs for word in pair for kind in word.split("|")} <= kinds.keys()
            assert span.name in order()


def test_the_network_is_a_part_where_the_runtime_tells_of_it():
    """At level debug containerd tells when it makes a sandbox's network and when that is there."""
    told = pod(say("cri.sandbox.running", 1), say("cri.network.adding", 2), say("cri.network.added", 4))
    assert of("cni", told) == [(2, 4)]
    assert of("cni", pod(say("cri.sandbox.running", 1), say("cri.network.removed", 4))) == []


def test_the_kubelet_tells_whose_image_is_pulled():
    """Where the kubelet names pod and image, no other pull on the node counts."""
    told = pod(say("sandbox.created", 1), say("pod.image.pulling", 2, image="i"), say("pod.image.pulled", 6, image="i"))
    history = heard(event("image.pull.started", 3), event("image.pull.succeeded", 4))
    assert of("image pull", told, history) == [(2, 6)]
    other = pod(say("pod.image.pulling", 2, image="i"), say("pod.image.pulled", 6, image="other"))
    assert of("image pull", other) == [(2, None)]
