"""From lines of several inputs to one history; the lines are read as a user's would be."""

from __future__ import annotations

import itertools
from functools import cache

import pytest

from kvdiag.analysis.case import Patterns, read_history
from kvdiag.base.clock import SECOND, from_datetime, to_datetime
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import load_vocabulary
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options
from kvdiag.model.values import SubjectKind

UID, SECOND_UID = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01", "95d6b80b-1111-4222-8333-444455556666"
SANDBOX = "3f2a9c" * 10 + "3f2a"
UNIQUE = "kubernetes.io/csi/csi.example.org^vol-1"
DAY = "2024-03-12 "
KEPT = '"Pod worker has been requested for removal but is still not fully terminated" podUID={uid}'


def klog(time, text, *, pid=2201, file="kubelet.go:1"):
    """Give a klog line of 12 March."""
    return f"I0312 {time}.000000 {pid:>7} {file}] {text}"


def journal(time, text, *, node="node-a", pid=2201):
    """Give the same as the journal has it."""
    return f"Mar 12 {time} {node} kubelet[{pid}]: {klog(time, text, pid=pid)}"


def added(pod):
    """Give what kubelet says when it learns of a pod."""
    return f'"SyncLoop ADD" source="api" pods=["{pod}"]'


def first(pod, uid):
    """Give the first line with a pod's UID."""
    return f'"Pod is being synced for the first time" pod="{pod}" podUID="{uid}"'


def unmounted(uid=UID):
    """Give the line of a volume that was unpublished."""
    return (
        f'UnmountVolume.TearDown succeeded for volume "{UNIQUE}" (OuterVolumeSpecName: "data") pod "{uid}" (UID: "{uid}"). '
        'InnerVolumeSpecName "pvc-1". PluginName "kubernetes.io/csi", VolumeGidValue ""'
    )


@cache
def knowledge():
    """Give the vocabulary, and no rules."""
    return Patterns(load_vocabulary(builtin_patterns() / "events"), ())


def analysis(logs, **options):
    """Read logs given as name → lines."""
    texts = [TextInput(name, "".join(f"{line}\n" for line in lines).encode()) for name, lines in logs.items()]
    return read_history(texts, knowledge(), Options(year=2024, **options))


def history(logs, **options):
    """Give the history of logs given as name → lines, or as lines of one log."""
    return analysis(logs if isinstance(logs, dict) else {"kubelet.log": logs}, **options).history


def moment(stamp):
    """Give a time for people."""
    return to_datetime(stamp).strftime("%H:%M:%S")


def kinds(told, kind=None, key=""):
    """Give kinds of events in order: of all, or of one subject."""
    events = told.events if kind is None else told.timelines[kind, key].events
    return [event.kind for event in events]


LIFE = [
    klog("08:00:00", added("shop/web-0")),
    klog("08:00:01", first("shop/web-0", UID)),
    klog("08:00:02", unmounted()),
]


def test_an_event_is_on_the_timeline_of_each_subject_it_names():
    """A line that names pod and volume is told of both; they use each other."""
    told = history(LIFE)
    (volume,) = [key for key in told.timelines if key[0] is SubjectKind.VOLUME]
    pod = (SubjectKind.POD, UID)
    assert kinds(told, *pod) == ["pod.added", "pod.worker.created", "volume.unpublish.succeeded"]
    assert kinds(told, *volume) == ["volume.unpublish.succeeded"]
    assert volume in told.timelines.linked_to(pod)
    assert pod in told.timelines.linked_to(volume)
    assert (moment(told.begins), moment(told.ends)) == ("08:00:00", "08:00:02")


def test_subjects_are_called_as_people_call_them():
    """A pod goes by namespace and name, a volume by its PV, with every name they are known by."""
    told = history(LIFE)
    entities = {key[0]: timeline.subject for key, timeline in told.timelines.items()}
    assert entities[SubjectKind.POD].name == "shop/web-0"
    assert entities[SubjectKind.POD].ids["namespace"] == "shop"
    volume = entities[SubjectKind.VOLUME]
    assert volume.name == "pvc-1"
    assert (volume.ids["volume_handle"], volume.ids["driver"], volume.ids["pod"]) == (
        "vol-1",
        "csi.example.org",
        "shop/web-0",
    )
    assert volume.ids["staging_path"].startswith("/var/lib/kubelet/plugins/kubernetes.io/csi/csi.example.org/")


def test_a_name_that_two_pods_had():
    """`shop/web-0` made anew is another pod; each has its own lines."""
    second = [
        klog("09:00:00", added("shop/web-0")),
        klog("09:00:01", first("shop/web-0", SECOND_UID)),
        klog("09:00:05", '"SyncLoop DELETE" source="api" pods=["shop/web-0"]'),
    ]
    told = history([*LIFE, *second])
    assert kinds(told, SubjectKind.POD, UID) == ["pod.added", "pod.worker.created", "volume.unpublish.succeeded"]
    assert kinds(told, SubjectKind.POD, SECOND_UID) == ["pod.added", "pod.worker.created", "pod.deleted"]


def test_the_runtimes_words_join_the_pod():
    """What containerd says of a sandbox is on the pod's timeline."""
    run = (
        'time="2024-03-12T08:00:03Z" level=info msg="RunPodSandbox for '
        f'&PodSandboxMetadata{{Name:web-0,Uid:{UID},Namespace:shop,Attempt:0,}} returns sandbox id \\"{SANDBOX}\\""'
    )
    stop = f'time="2024-03-12T08:00:09Z" level=info msg="StopPodSandbox for \\"{SANDBOX}\\""'
    told = history({"kubelet.log": LIFE, "containerd.log": [run, stop]})
    assert kinds(told, SubjectKind.POD, UID)[-2:] == ["cri.sandbox.started", "cri.sandbox.stopping"]
    assert kinds(told, SubjectKind.SANDBOX, SANDBOX) == ["cri.sandbox.started", "cri.sandbox.stopping"]


@pytest.mark.parametrize("copies", [2, 3])
def test_what_two_inputs_both_hold_counts_once(copies):
    """A journal and files cut from it hold the same lines; each is one event, from the first input by name."""
    told = history({f"{number}.log": LIFE for number in range(copies)})
    assert kinds(told) == ["pod.added", "pod.worker.created", "volume.unpublish.succeeded"]
    assert {event.origin.source for event in told.events} == {"0.log"}


def test_a_line_twice_in_one_input_counts_once():
    """Files that were joined with an overlap say nothing twice."""
    assert kinds(history([*LIFE, *LIFE])) == kinds(history(LIFE))


def kept(*times, uid=UID):
    """Give lines of a poll."""
    return [klog(time, KEPT.format(uid=uid)) for time in times]


def test_polls_are_folded():
    """A line that repeats while nothing changes is one event with a count, until it pauses for over a minute."""
    told = history(kept("08:00:00", "08:00:20", "08:01:20", "08:02:21", "08:02:22"))
    assert [(moment(e.time), moment(e.ends), e.count) for e in told.events] == [
        ("08:00:00", "08:01:20", 3),
        ("08:02:21", "08:02:22", 2),
    ]
    assert moment(told.ends) == "08:02:22"


def test_polls_in_two_inputs_count_once():
    """The same poll in two inputs is one series with its own count."""
    lines = kept("08:00:00", "08:00:20", "08:00:40")
    assert [event.count for event in history({"a.log": lines, "b.log": lines}).events] == [3]


def test_polls_of_two_pods_are_two_series():
    """Only the same words fold: what is said of another pod is another event."""
    told = history([*kept("08:00:00"), *kept("08:00:01", uid=SECOND_UID), *kept("08:00:02")])
    assert [event.count for event in told.events] == [2, 1]


@pytest.mark.parametrize(
    ("logs", "nodes"),
    [
        ({"a.log": [journal("08:00:00", added("shop/a"))]}, {"node-a"}),
        ({"a.log": [journal("08:00:00", added("shop/a"))], "b.log": [klog("08:00:05", added("shop/b"))]}, {"node-a"}),
        (
            {
                "a.log": [
                    journal("08:00:00", added("shop/a")),
                    journal("08:00:05", added("shop/b"), node="node-b", pid=900),
                ]
            },
            {"node-a", "node-b"},
        ),
        (
            {
                "a.log": [
                    journal("08:00:00", added("shop/a")),
                    journal("08:00:05", added("shop/b"), node="node-b", pid=900),
                ],
                "c.log": [klog("08:00:09", added("shop/c"))],
            },
            {"node-a", "node-b", ""},
        ),
        ({"a.log": [klog("08:00:00", added("shop/a"))]}, {""}),
        (
            {
                "a.log": [
                    klog("08:00:00", added("shop/a")),
                    klog("08:00:01", '"Successfully registered node" node="node-a"'),
                ]
            },
            {"node-a"},
        ),
    ],
)
def test_naming_the_node(logs, nodes):
    """The node is named by the journal's prefix or by kubelet; a line without it is the only node's, if there is one."""
    assert {event.node for event in history(logs).events} == nodes


def test_coverage_is_from_the_first_line_to_the_last():
    """Lines that mean nothing show that the component was listened to."""
    lines = [klog("07:00:00", "nothing known"), *LIFE, klog("09:00:00", "nothing known")]
    (coverage,) = history(lines).coverage
    assert (coverage.component, moment(coverage.begins), moment(coverage.ends)) == ("kubelet", "07:00:00", "09:00:00")


@pytest.mark.parametrize(
    ("lines", "verbosity"),
    [
        ([klog("08:00:00", unmounted())], 0),
        ([klog("08:00:00", added("shop/a"))], 2),
        ([*kept("08:00:00")], 4),
        ([klog("08:00:00", 'FLAG: --v="6"'), klog("08:00:01", added("shop/a"))], 6),
        ([klog("08:00:00", 'FLAG: --v="0"'), klog("08:00:01", unmounted())], 0),
        ([klog("08:00:00", '"Failed to remove orphaned pod dir" err="not a directory" podUID="x"')], 0),
        ([klog("08:00:00", '"Preempting pod to free up resources" pod="shop/a" podUID="x"')], 2),
    ],
)
def test_the_verbosity_proven(lines, verbosity):
    """The verbosity is what the flags say, or the highest that a line of the log proves."""
    (coverage,) = [c for c in history(lines).coverage if c.component == "kubelet"]
    assert coverage.verbosity == verbosity


def test_a_restart_is_a_gap():
    """Between the last line of one kubelet and the first of the next something may have gone unheard."""
    lines = [klog("08:00:00", added("shop/a")), klog("08:05:00", added("shop/b"), pid=3300)]
    (coverage,) = history(lines).coverage
    assert [(moment(g.begins), moment(g.ends), g.why) for g in coverage.gaps] == [
        ("08:00:00", "08:05:00", "kubelet was restarted")
    ]


def test_suppressed_lines_are_a_gap():
    """What journald's rate limit swallowed is a gap."""
    lines = [
        journal("08:00:00", added("shop/a")),
        "Mar 12 08:02:00 node-a systemd-journald[300]: Suppressed 1234 messages from kubelet.service",
        journal("08:05:00", added("shop/b")),
    ]
    coverage = {c.component: c for c in history(lines).coverage}["kubelet"]
    assert [(moment(g.begins), moment(g.ends), g.why) for g in coverage.gaps] == [
        ("08:01:30", "08:02:00", "journald suppressed 1234 lines")
    ]


def test_between():
    """What lies outside the time asked for is no event; what was listened to is not narrowed."""

    def at(text):
        return from_datetime(to_datetime(0).fromisoformat(f"2024-03-12T{text}+00:00"))

    told = history(LIFE, since=at("08:00:01"), until=at("08:00:01"))
    assert kinds(told) == ["pod.worker.created"]
    (coverage,) = told.coverage
    assert (moment(coverage.begins), moment(coverage.ends)) == ("08:00:00", "08:00:02")


def test_versions():
    """What a component printed, what its words imply, and what the user says are told apart."""
    banner = klog("08:00:00", '"Kubelet version" kubeletVersion="v1.29.3"', file="server.go:1")
    told = history([banner, *kept("08:00:01")], components={"containerd": "1.7.2"})
    seen = {(v.component, v.how): v.version or v.span for v in told.versions}
    assert seen["kubelet", "banner"] == "1.29.3"
    assert seen["containerd", "option"] == "1.7.2"


def test_every_banner_counts_from_when_it_was_printed():
    """Over an upgrade each version is told with the moment from which it ran; a restart of the same tells nothing."""
    banners = [klog(f"08:0{n}:00", f'"Kubelet version" kubeletVersion="v1.{28 + n // 2}.0"') for n in range(4)]
    printed = [(v.version, moment(v.time)) for v in history(banners).versions if v.how == "banner"]
    assert printed == [("1.28.0", "08:00:00"), ("1.29.0", "08:02:00")]


def test_the_order_of_inputs_does_not_matter():
    """However the same inputs are given, the history is the same."""
    logs = {
        "a.log": [journal("08:00:00", added("shop/web-0")), journal("08:00:01", first("shop/web-0", UID))],
        "b.log": [klog("08:00:02", unmounted())],
        "c.log": [klog("08:00:02", unmounted()), klog("08:00:03", added("shop/web-0"))],
    }
    one, *others = [history({name: logs[name] for name in order}) for order in itertools.permutations(logs)]
    for other in others:
        assert other == one


def test_nothing_understood():
    """A log of another kind has no events, no subjects, and no coverage."""
    told = history(["hello", "world"])
    assert (told.events, told.timelines, told.coverage, told.begins, told.ends) == ((), {}, (), 0, 0)


def test_readings_of_a_log_that_is_newest_first():
    """An input's begin is before its end, whichever way round it was written."""
    (reading,) = analysis({"kubelet.log": LIFE[::-1]}).readings
    assert (moment(reading.begins), moment(reading.ends)) == ("08:00:00", "08:00:02")
    assert reading.ends - reading.begins == 2 * SECOND
