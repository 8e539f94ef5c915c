"""CRI-O's log: its sandboxes, containers and pods walk the tables that are written for containerd."""

from functools import cache

import pytest

from kvdiag.analysis.case import load_patterns, read_history
from kvdiag.base.clock import SECOND
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.history.lifecycles.build import LifecycleBuilder
from kvdiag.history.views.phases import phases, pulls_in
from kvdiag.model.lifecycle import Lifecycle
from kvdiag.model.options import Options
from kvdiag.model.timeline import History
from kvdiag.model.values import SubjectKind
from kvdiag.report.phrases import format_doubt
from kvdiag.rules.absence import Window, doubts

UID = "7d1e9c40-3b52-4f7a-8c16-9e0a5b4d2f31"
BOX, CONTAINER = "5d8e" * 16, "71c3" * 16
POD, APP = "shop/till-2/POD", "shop/till-2/app"
knowledge = cache(lambda: load_patterns(Options()))


def call(method: str, words: str, second: int, *, fields: str = "") -> str:
    """Give a line of CRI-O about a call of the kubelet."""
    rpc = f"id=0d2c64f7-8a15-4b93-9c70-e1f2a3b4c5d6 name=/runtime.v1.RuntimeService/{method}"
    first = f"{fields.partition(' sandboxID')[0]} " if fields else ""
    last = f" sandboxID{fields.partition(' sandboxID')[2]}" if fields else ""
    return f'time="2026-03-12 09:00:{second:02d}.500000000Z" level=info msg="{words}" {first}{rpc}{last}\n'


FIELDS = f"PID=4071 containerID={CONTAINER} description={APP} sandboxID={BOX}"
UP = [
    call("RunPodSandbox", f"Running pod sandbox: {POD}", 2),
    call("RunPodSandbox", f"Ran pod sandbox {BOX} with infra container: {POD}", 3),
    call("CreateContainer", f"Creating container: {APP}", 4),
    call("CreateContainer", f"Created container {CONTAINER}: {APP}", 5),
    call("StartContainer", f"Starting container: {CONTAINER}", 6),
    call("StartContainer", "Started container", 7, fields=FIELDS),
]
DOWN = [
    call("StopContainer", f"Stopping container: {CONTAINER} (timeout: 30s)", 10),
    call("StopContainer", f"Stopped container {CONTAINER}: {APP}", 11),
    call("StopPodSandbox", f"Stopping pod sandbox: {BOX}", 12),
    call("StopPodSandbox", f"Stopped pod sandbox: {BOX}", 13),
    call("StopPodSandbox", f"Stopped pod sandbox (already stopped): {BOX}", 14),
    call("RemoveContainer", f"Removing container: {CONTAINER}", 15),
    call("RemoveContainer", f"Removed container {CONTAINER}: {APP}", 16),
    call("RemovePodSandbox", f"Removing pod sandbox: {BOX}", 17),
    call("RemovePodSandbox", f"Removed pod sandbox: {BOX}", 18),
]
BANNER = 'time="2026-03-12 09:00:08.500000000Z" level=info msg="Starting CRI-O, version: 1.29.2, git: 5c8b1e(clean)"\n'
KUBELET = f"""\
I0312 09:00:01.000000    4711 kubelet.go:2439] "SyncLoop ADD" source="api" pods=["shop/till-2"]
I0312 09:00:01.100000    4711 pod_workers.go:970] "Pod is being synced for the first time" pod="shop/till-2" podUID={UID}
I0312 09:00:09.000000    4711 kubelet.go:2455] "SyncLoop DELETE" source="api" pods=["shop/till-2"]
"""


def history_of(lines: list[str], *more: TextInput) -> History:
    """Read CRI-O's lines, and other logs beside them."""
    texts = [TextInput("crio.log", "".join(lines).encode()), *more]
    return read_history(texts, knowledge(), Options(year=2026)).history


def lives(lines: list[str], *more: TextInput) -> dict[str, Lifecycle]:
    """Read the same and give the lives of all subjects by key."""
    history = history_of(lines, *more)
    walked = LifecycleBuilder(history)
    return {key: walked.build(timeline) for (_, key), timeline in history.timelines.items()}


def states(life: Lifecycle) -> str:
    assert [p.violation for p in life.transitions if not p.legal] == []
    transitions = life.transitions
    return " ".join(p.state for n, p in enumerate(transitions) if not n or transitions[n - 1].state != p.state)


def test_a_sandbox_and_its_container():
    """They go through the states of any runtime's; all lines are CRI-O's."""
    found = lives([*UP, *DOWN])
    assert states(found[BOX]) == "READY STOPPING STOPPED REMOVING REMOVED"
    assert states(found[CONTAINER]) == "CREATED RUNNING STOPPING EXITED REMOVED"
    assert (found[BOX].machine, found[CONTAINER].machine) == ("sandbox/crio", "container/crio")
    assert {p.event.component for key in (BOX, CONTAINER) for p in found[key].transitions} == {"crio"}


def test_a_line_of_an_older_or_newer_release():
    """Older ones name the container in the message; newer ones write the time with a T."""
    old = call("StartContainer", f"Started container {CONTAINER}: {APP}", 7)
    assert states(lives([*UP[:5], old])[CONTAINER]) == "CREATED RUNNING"
    new = [line.replace("2026-03-12 09", "2026-03-12T09") for line in [*UP, *DOWN]]
    assert states(lives(new)[BOX]) == "READY STOPPING STOPPED REMOVING REMOVED"


def test_the_pod_is_known_by_its_name():
    """CRI-O says no UID: the kubelet's log tells whose the name is, and the pod runs by CRI-O's word."""
    found = lives([*UP, *DOWN], TextInput("kubelet.log", KUBELET.encode()))
    assert states(found[UID]) == "ADDED SYNC RUNNING TERMINATING"
    assert found[BOX].subject.ids["pod"] == found[CONTAINER].subject.ids["pod"] == "shop/till-2"


@pytest.mark.parametrize(
    ("until", "state", "waits"),
    [(1, "SYNC", "RunPodSandbox"), (3, "SYNC", "CreateContainer"), (5, "SYNC", "StartContainer"), (6, "RUNNING", "")],
)
def test_what_a_pod_waits_for(until, state, waits):
    """The last call that CRI-O took and did not end is what the pod waits for."""
    added = TextInput("kubelet.log", "".join(KUBELET.splitlines(keepends=True)[:2]).encode())
    life = lives(UP[:until], added)[UID]
    assert (life.state, life.waits_for) == (state, waits)


def test_a_cut_log_has_no_illegal_step():
    """CRI-O's log cut at both ends, anywhere, shows no fault."""
    lines = [*UP, *DOWN]
    for first in range(len(lines)):
        for last in range(first + 1, len(lines)):
            for life in lives(lines[first:last]).values():
                states(life)


def test_a_container_that_ended_is_not_started_again():
    """CRI-O's lines are held to the same rules."""
    faulty = lives([*UP, *DOWN[:2], call("StartContainer", "Started container", 12, fields=FIELDS)])
    assert [p.violation for p in faulty[CONTAINER].transitions if not p.legal] == ["EXITED → RUNNING without CREATED"]


def test_only_its_own_restart_leaves_in_doubt():
    """After CRI-O came back the state of its sandbox is uncertain; containerd's start says nothing of it."""
    stopping = DOWN[2:3]
    assert [p.certain for p in lives([*UP, BANNER, *stopping])[BOX].transitions][-1] is False
    other = TextInput("containerd.log", BANNER.replace("Starting CRI-O, version: 1.29.2, git: 5c8b1e(clean)", "starting containerd").encode())  # fmt: skip
    assert all(p.certain for p in lives([*UP, *stopping], other)[BOX].transitions)


def test_words_of_another_program_are_not_its():
    """A message that only resembles CRI-O's, of dockerd say, tells of no container."""
    words = 'level=info msg="Removing container: {0}"\n', 'level=info msg="Stopped container: {0}"\n'
    lines = [f'time="2026-03-12T09:00:01.500000000Z" {line.format(CONTAINER)}' for line in words]
    assert CONTAINER not in lives(lines)


def test_its_version_is_its_own():
    """What CRI-O prints at its start is a version of CRI-O, not of containerd."""
    assert [(v.component, v.version) for v in history_of([BANNER]).versions] == [("crio", "1.29.2")]


def test_a_pull_is_known_by_its_request():
    """CRI-O begins to pull by tag and ends with a digest: the id of the call joins the two, and not another's."""
    image = "registry.example.com/app"
    other = call("PullImage", f"Pulled image: {image}@sha256:{'9' * 64}", 4).replace("id=0d2c64f7", "id=11111111")
    pull = [
        call("PullImage", f"Pulling image: {image}:1", 4),
        other,
        call("PullImage", f"Pulled image: {image}@sha256:{'8' * 64}", 6),
    ]
    history = history_of([*UP[:2], *pull, call("CreateContainer", f"Creating container: {APP}", 7)], TextInput("kubelet.log", KUBELET.encode()))  # fmt: skip
    life = LifecycleBuilder(history).build(history.timelines[SubjectKind.POD, UID])
    took = [p.ends - p.begins for p in phases(life, history, pulls_in(history)) if p.name == "image pull" and p.ends]
    assert took == [2 * SECOND]


NOON = 1_773_306_000_000_000  # 2026-03-12 09:00:00 UTC


@pytest.mark.parametrize(
    ("containerd", "doubt"),
    [
        ("", ""),  # only CRI-O's log is there, and it is whole
        ("00 30", ""),  # both are whole
        ("00 08", "the containerd log ends"),  # both were heard: neither may have missed it
    ],
)
def test_an_absence_is_judged_by_the_runtime_that_is_there(containerd, doubt):
    """No container was made: CRI-O's whole log proves it, unless containerd runs beside it and its log does not."""
    quiet = [UP[0], UP[1], call("RemovePodSandbox", f"Removed pod sandbox: {BOX}", 30)]
    line = 'time="2026-03-12T09:00:{}.000000000Z" level=info msg="StopContainer for \\"{}\\" returns successfully"\n'
    text = "".join(line.format(second, CONTAINER) for second in containerd.split())
    more = [TextInput("containerd.log", text.encode())] if text else []
    window = Window(NOON + 5 * SECOND, NOON + 20 * SECOND)
    entries = knowledge().vocabulary.kinds
    found = doubts(["cri.container.created"], window, "", history_of(quiet, *more), entries)
    assert [doubt in format_doubt(one) for one in found] == [True] * bool(doubt)
