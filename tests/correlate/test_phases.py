"""Where the time went: parts of lives, what lasts, and percentiles."""

from functools import cache
from pathlib import Path

import pytest

from kvdiag.correlate.lives import Lives
from kvdiag.correlate.phases import ORDER, SPANS, current, percentiles, phases
from kvdiag.events.vocabulary import load_vocabulary
from kvdiag.inputs.paths import sources
from kvdiag.model.event import Event, Ref
from kvdiag.model.lifecycle import Life, Passage, Phase
from kvdiag.model.record import Origin
from kvdiag.model.timeline import Coverage, Entity, History
from kvdiag.model.values import SubjectKind
from kvdiag.pipeline.analyze import know, read_history
from kvdiag.pipeline.options import Options
from kvdiag.rules.library import built_in

SAMPLES = Path(__file__).parents[2] / "sample-logs"
SECOND = 1_000_000
NOTHING = History(events=(), timelines={}, coverage=(), versions=(), begins=0, ends=999 * SECOND)


@cache
def sample(name: str) -> History:
    options = Options(paths=(str(SAMPLES / name),), year=2026)
    return read_history(sources(options.paths, print), know(options), options, []).history


def milliseconds(name: str, kind: str, subject: str) -> dict[str, int | None]:
    """Give how long each part of a life took."""
    history = sample(name)
    lives = (Lives(history).live(t) for key, t in history.timelines.items() if key[0] == kind)
    life = next(life for life in lives if life.subject.name.startswith(subject))
    return {p.name: None if p.ends is None else (p.ends - p.begins) // 1000 for p in phases(life, history)}


def test_a_pod_that_came_and_went():
    """Every part of a pod's start and end is measured from the lines of kubelet and containerd."""
    assert milliseconds("healthy-csi-volume", "pod", "default/web-0") == {
        "to running": 7465,
        "volumes": 7200,
        "sandbox": 178,
        "create": 19,
        "start": 58,
        "to gone": 1928,
        "kill": 1390,
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


def life(*told: tuple[str, int, str], kind: SubjectKind = SubjectKind.VOLUME, waits: str = "x") -> Life:
    """Give a life of (kind, second, pod or image)."""
    passages = tuple(Passage(event(*one), "", "", "") for one in told)
    entity = Entity(kind=kind, key="v", name="v")
    return Life(subject=entity, machine="m", passages=passages, state="", since=0, waits_for=waits)


def event(kind: str, second: int, uid: str = "") -> Event:
    refs = (Ref("pod_uid", uid),) if uid else ()
    attrs = {"image": "i"} if kind.startswith("image.") else {}
    return Event(second * SECOND, kind, "kubelet", refs, attrs, Origin("k", second), "n", "", second * SECOND)


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
    heard = Coverage(component="containerd", node="n", begins=0, ends=99 * SECOND, verbosity=0)
    history = History(
        events=tuple(sorted(pulls)), timelines={}, coverage=(heard,), versions=(), begins=0, ends=99 * SECOND
    )
    told = life(*mine, kind=SubjectKind.POD)
    assert [p for p in phases(told, history) if p.name == "image pull"] == [
        Phase("image pull", 2 * SECOND, 8 * SECOND, "kubelet")
    ]


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
    kinds = load_vocabulary(built_in() / "events").kinds
    for spans in SPANS.values():
        for span in spans:
            assert {kind for pair in span.pairs for word in pair for kind in word.split("|")} <= kinds.keys()
            assert span.name in ORDER
