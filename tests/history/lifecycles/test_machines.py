"""The tables: for each mode of a volume and each era of the kubelet, what events lead to which states."""

import pytest

from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import load_vocabulary
from kvdiag.history.lifecycles.load import lifecycles
from kvdiag.history.lifecycles.replay import replay
from kvdiag.model.event import Event, Ref
from kvdiag.model.record import Origin

MODES = ("filesystem", "block", "migrated", "non-attachable", "non-staging", "publish-only", "inline", "local")
SITUATIONS = ((), ("no-controller",), ("driver-alone",), ("no-controller", "driver-alone"))
OTHERS = ("pod/1.21", "pod/1.22", "pod/1.27", "pod/static", "pod/mirror", "driver/csi", "node/kubelet")
OTHERS += ("sandbox/cri", "sandbox/crio", "container/cri", "container/crio")
MACHINES = [lifecycles().machine(f"volume/{mode}", *seen) for mode in MODES for seen in SITUATIONS]
MACHINES += [lifecycles().machine(name) for name in OTHERS]
CONTAINER = lifecycles().machine("container/cri")
FILESYSTEM = lifecycles().machine("volume/filesystem")
SECOND = 1_000_000

each_machine = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)


def event(kind: str, time: int, pod_uid: str = "", **attrs: str) -> Event:
    refs = (Ref("pod_uid", pod_uid),) if pod_uid else ()
    name = kind.partition(":")[0]
    return Event(time, name, "kubelet", refs, attrs, Origin("kubelet.log", time // SECOND), "", (b"",), time)


def steps(machine, words: str, outages=()):
    """Give the transitions of kinds set apart by spaces, one a second; `kind@pod` names the pod, `kind!` times out."""
    told = []
    for number, word in enumerate(words.split(), 1):
        kind, _, uid = word.partition("@")
        error = {"error": "rpc error: code = DeadlineExceeded desc = …"} if kind.endswith("!") else {}
        kind = kind.rstrip("!")
        told.append((kind, event(kind, number * SECOND, uid, **error)))
    return list(replay(machine, told, outages))


def states(transitions) -> str:
    """Give the states in their order, each once in a row."""
    return " ".join(p.state for n, p in enumerate(transitions) if not n or transitions[n - 1].state != p.state)


def broken(transitions) -> list[str]:
    """Give what is said of illegal steps."""
    return [transition.violation for transition in transitions if not transition.legal]


UP = "volume.verify.succeeded volume.wait.succeeded volume.stage.succeeded volume.publish.succeeded@a"
DOWN = "volume.unpublish.started@a volume.unpublish.succeeded@a"
UNSTAGED = "volume.unstage.started volume.unstage.succeeded"
LIVES = [
    (
        "volume/filesystem",
        (
            "volume.desired.added volume.attach.started volume.attach.succeeded volume.verify.succeeded "
            "volume.publish.started@a volume.wait.succeeded csi.nodestage.requested csi.nodestage.answered "
            "volume.stage.succeeded csi.nodepublish.requested@a csi.nodepublish.answered@a volume.publish.succeeded@a "
            f"{DOWN} {UNSTAGED} volume.released volume.detach.started volume.detach.safe volume.detach.succeeded"
        ),
        (
            "DESIRED ATTACHING ATTACHED STAGING STAGED PUBLISHING PUBLISHED UNPUBLISHING UNPUBLISHED "
            "UNSTAGING UNSTAGED RELEASED DETACHING DETACHED"
        ),
    ),
    (
        "volume/block",
        (
            "volume.map.wait.succeeded csi.nodestage.answered volume.map.global volume.map.succeeded@a "
            f"{DOWN} {UNSTAGED} volume.released"
        ),
        "ATTACHED STAGED PUBLISHED UNPUBLISHING UNPUBLISHED UNSTAGING UNSTAGED RELEASED",
    ),
    (
        "volume/block",  # the staging folder was gone already: nothing to unstage is no fault
        f"csi.nodestage.answered volume.map.succeeded@a {DOWN} volume.unstage.skipped volume.released",
        "STAGED PUBLISHED UNPUBLISHING UNPUBLISHED UNSTAGED RELEASED",
    ),
    (
        "volume/inline",
        f"volume.publish.started@a csi.nodepublish.requested@a volume.publish.succeeded@a {DOWN} volume.released",
        "PUBLISHING PUBLISHED UNPUBLISHING UNPUBLISHED RELEASED",
    ),
    (
        "volume/local",
        f"volume.desired.added volume.publish.started@a volume.publish.succeeded@a {DOWN} volume.released",
        "DESIRED PUBLISHING PUBLISHED UNPUBLISHING UNPUBLISHED RELEASED",
    ),
    (
        "volume/non-staging",  # MountDevice succeeded is said all the same
        f"volume.wait.succeeded volume.stage.succeeded volume.publish.succeeded@a {DOWN} volume.released",
        "ATTACHED PUBLISHED UNPUBLISHING UNPUBLISHED RELEASED",
    ),
    (
        "volume/non-attachable",
        f"volume.publish.started@a volume.stage.succeeded volume.publish.succeeded@a {DOWN} {UNSTAGED} volume.released",
        "STAGING STAGED PUBLISHED UNPUBLISHING UNPUBLISHED UNSTAGING UNSTAGED RELEASED",
    ),
    (
        "volume/migrated",
        f"{UP} {DOWN} {UNSTAGED} volume.released",
        "ATTACHED STAGED PUBLISHED UNPUBLISHING UNPUBLISHED UNSTAGING UNSTAGED RELEASED",
    ),
]


@pytest.mark.parametrize(("name", "events", "expected"), LIVES)
def test_a_volume_goes_through_its_cycle(name, events, expected):
    """Each mode goes through its own states, in order and without a fault."""
    transitions = steps(lifecycles().machine(name, "no-controller"), events)
    assert states(transitions) == expected
    assert broken(transitions) == []
    assert all(transition.certain for transition in transitions)


@pytest.mark.parametrize(("name", "events", "_expected"), LIVES)
def test_a_cut_volume_is_never_illegal(name, events, _expected):
    """A cycle cut at both ends, anywhere, has no illegal step; nor has what a restart interrupts."""
    words = events.split()
    for first in range(len(words)):
        for last in range(first, len(words)):
            part = " ".join(words[first : last + 1])
            assert broken(steps(lifecycles().machine(name, "no-controller"), part)) == []
            assert broken(steps(lifecycles().machine(name, "no-controller"), events, [first * SECOND])) == []


FAULTS = [
    (f"{UP} {DOWN} volume.released", ["UNPUBLISHED → RELEASED without UNSTAGED"]),  # V3
    (f"{UP} {DOWN} volume.released volume.detach.started", ["UNPUBLISHED → RELEASED without UNSTAGED"]),  # told once
    (f"{UP} {DOWN} volume.detach.started volume.detach.succeeded", ["UNPUBLISHED → DETACHING without UNSTAGED"]),  # V4
    (f"{UP} volume.released", ["PUBLISHED → RELEASED without UNPUBLISHED"]),
    (f"{UP} volume.unstage.started", ["PUBLISHED → UNSTAGING without UNPUBLISHED"]),
    (f"{UP} {DOWN} {UNSTAGED} volume.publish.succeeded@b", ["UNSTAGED → PUBLISHED without STAGED"]),  # V1
    (f"{UP} {DOWN} volume.unstage.started volume.unstage.failed volume.publish.succeeded@b",
     ["UNSTAGING → PUBLISHED without STAGED"]),  # V5
]  # fmt: skip
NEAR_MISSES = [
    f"{UP} {DOWN} {UNSTAGED} volume.released {UP} {DOWN} {UNSTAGED} volume.released",  # the second time round
    f"{UP} {DOWN} volume.detach.forced volume.detach.succeeded",  # by force, and said so
    f"{DOWN} volume.released",  # the log begins after the staging
    "volume.released",
    "volume.detach.started volume.detach.succeeded",
    f"volume.stage.succeeded:first volume.publish.succeeded@a {DOWN} volume.released",  # whether it was staged is unknown
    f"{UP} {DOWN} volume.unstage.started volume.unstage.failed {UP}",  # staged again after a failed unstage
    "volume.wait.succeeded volume.stage.failed! volume.released",  # never surely staged
]


@pytest.mark.parametrize(("events", "expected"), FAULTS)
def test_a_fault_names_the_violated_edge(events, expected):
    """A state that must not be left out is named, once."""
    assert broken(steps(FILESYSTEM, events)) == expected


@pytest.mark.parametrize("events", NEAR_MISSES)
def test_near_misses(events):
    """What only looks like a fault is none."""
    assert broken(steps(FILESYSTEM, events)) == []


def test_a_shared_volume_counts_its_pods():
    """With two pods on the node the volume is published until the second lets go, and unstaged only then."""
    transitions = steps(
        FILESYSTEM,
        f"{UP} volume.publish.succeeded@b volume.unpublish.started@a volume.unpublish.succeeded@a "
        f"volume.unpublish.started@b volume.unpublish.succeeded@b {UNSTAGED}",
    )
    assert states(transitions) == "ATTACHED STAGED PUBLISHED UNPUBLISHING UNPUBLISHED UNSTAGING UNSTAGED"
    assert [p.step for p in transitions if p.event.kind == "volume.unpublish.succeeded"] == [
        "UnmountVolume.TearDown succeeded, 1 more to go",
        "UnmountVolume.TearDown succeeded",
    ]
    early = steps(FILESYSTEM, f"{UP} volume.publish.succeeded@b volume.unpublish.succeeded@a volume.unstage.started")
    assert broken(early) == ["PUBLISHED → UNSTAGING without UNPUBLISHED"]


def test_a_failure_is_told_and_changes_nothing():
    """A failed operation with its backoff stands in the step; the state stays."""
    failed = event("volume.unpublish.failed", 9 * SECOND, "a", backoff="4s", error="busy")
    before = [(kind, event(kind, n, "a")) for n, kind in enumerate(f"{UP} {DOWN}".replace("@a", "").split()[:-1])]
    transitions = list(replay(FILESYSTEM, [*before, (failed.kind, failed)]))
    assert transitions[-1].step == "UnmountVolume.TearDown failed, retry in 4s"
    assert (transitions[-1].before, transitions[-1].state, transitions[-1].certain) == (
        "UNPUBLISHING",
        "UNPUBLISHING",
        True,
    )


@pytest.mark.parametrize("kind", ["volume.stage.failed", "volume.publish.failed", "csi.nodestage.failed"])
def test_a_timeout_leaves_in_doubt(kind):
    """After a call that timed out it is not known whether it took place; another failure leaves no doubt."""
    machine = (
        lifecycles().machine("volume/filesystem", "no-controller", "driver-alone")
        if kind.startswith("csi")
        else FILESYSTEM
    )
    assert not steps(machine, f"csi.controllerpublish.succeeded {kind}!")[-1].certain
    assert steps(machine, f"csi.controllerpublish.succeeded {kind}")[-1].certain


def test_a_restart_hides_the_state_until_a_line_proves_it():
    """What was reached before a restart is not known any more, so nothing that follows can be missing."""
    transitions = steps(FILESYSTEM, f"{UP} volume.desired.kept {DOWN} volume.released", outages=[4 * SECOND + 1])
    assert [transition.certain for transition in transitions] == [True] * 4 + [False, False, True, True]
    assert broken(transitions) == []
    guessed = steps(FILESYSTEM, f"{UP} volume.reconstruct.succeeded@a volume.publish.succeeded@a", [4 * SECOND + 1])
    assert [transition.certain for transition in guessed][-2:] == [False, True]


def test_the_drivers_log_alone_shows_the_life():
    """Where only the driver speaks its calls lead; beside kubelet's lines they change nothing."""
    calls = (
        "csi.nodestage.called csi.nodestage.succeeded csi.nodepublish.called@a csi.nodepublish.succeeded@a "
        "csi.nodeunpublish.called@a csi.nodeunpublish.succeeded@a csi.nodeunstage.called csi.nodeunstage.succeeded"
    )
    alone = steps(lifecycles().machine("volume/filesystem", "no-controller", "driver-alone"), calls)
    assert states(alone) == "STAGING STAGED PUBLISHING PUBLISHED UNPUBLISHING UNPUBLISHED UNSTAGING UNSTAGED"
    assert states(steps(FILESYSTEM, f"{UP} csi.nodeunpublish.called@a csi.nodeunpublish.succeeded@a")).endswith(
        "PUBLISHED"
    )


START = "pod.added pod.worker.created pod.sync.entered sandbox.created cri.container.started"
STOP = "pod.deleted pod.worker.graceful pod.worker.observed pod.terminating.entered pod.terminated"
CLEAN = "pod.finalising.entered pod.volumes.unmounted pod.cgroup.removed pod.worker.complete"
GONE = "pod.deleted pod.worker.finished pod.removed pod.kill-requested pod.worker.finished pod.worker.history-removed"
OLD_START = "pod.added cri.sandbox.started cri.container.started"
OLD_GONE = "pod.api-deleted pod.deleted pod.removed pod.kill-marked pod.kill-ended pod.orphan.removed"
WHOLE = "ADDED SYNC RUNNING TERMINATING TERMINATED FINISHED REMOVED"
PODS = [
    ("1.27", f"{START} {STOP} pod.volumes.waiting pod.volumes.cleaned {CLEAN} {GONE}", WHOLE),
    ("1.22", f"{START} {STOP} {CLEAN} {GONE}", WHOLE),
    ("1.21", "pod.added sandbox.created cri.container.started pod.deleted pod.deleted pod.removed",
     "ADDED SYNC RUNNING TERMINATING REMOVED"),
    ("1.21", f"{OLD_START} pod.deleted pod.resources.waiting pod.work.complete pod.volumes.waiting {OLD_GONE}",
     "ADDED SYNC RUNNING TERMINATING TERMINATED FINISHED REMOVED"),
    ("1.21", f"{OLD_START} pod.status.succeeded pod.work.ignored pod.deleted pod.removed",
     "ADDED SYNC RUNNING TERMINATED FINISHED REMOVED"),
    ("1.21", f"{OLD_START} pod.status.failed pod.evicted", "ADDED SYNC RUNNING TERMINATED"),
    ("1.21", f"{OLD_START} pod.deleted pod.status.failed", "ADDED SYNC RUNNING TERMINATING"),
    ("static", f"{START} pod.added:mirror pod.deleted:mirror pod.removed:mirror pod.added:mirror", "ADDED SYNC RUNNING"),
    ("mirror", "pod.added pod.mirror.deleting pod.mirror.deleted pod.deleted pod.removed pod.added",
     "ADDED TERMINATING FINISHED REMOVED ADDED"),
    ("1.27", f"{START} pod.worker.terminal pod.terminated {CLEAN}", "ADDED SYNC RUNNING TERMINATING TERMINATED FINISHED"),
    ("1.27", f"{START} pod.evicted pod.worker.evicted pod.terminated {CLEAN}",
     "ADDED SYNC RUNNING TERMINATING TERMINATED FINISHED"),
    ("1.27", f"{START} pod.removed pod.worker.graceful pod.terminated {CLEAN} pod.worker.history-removed",
     "ADDED SYNC RUNNING REMOVED TERMINATING TERMINATED FINISHED REMOVED"),  # forced: REMOVE without DELETE
    ("1.27", "pod.added pod.deleted pod.worker.never-starts pod.worker.complete", "ADDED TERMINATING TERMINATED FINISHED"),
    ("static", f"{START} pod.removed pod.worker.observed pod.terminated pod.worker.complete pod.worker.restartable {START}",
     "ADDED SYNC RUNNING REMOVED TERMINATED FINISHED ADDED SYNC RUNNING"),
    ("1.27", "pod.volumes.mounting pod.orphan.volumes", "SYNC ORPHAN"),
]  # fmt: skip


@pytest.mark.parametrize(("era", "events", "expected"), PODS)
def test_a_pod_goes_through_its_life(era, events, expected):
    """Each era, and each way to end, goes through its own states without a fault."""
    transitions = steps(lifecycles().machine(f"pod/{era}"), events)
    assert states(transitions) == expected
    assert broken(transitions) == []


@pytest.mark.parametrize(("era", "events", "_expected"), PODS)
def test_a_cut_pod_is_never_illegal(era, events, _expected):
    """A pod's life cut at both ends, anywhere, has no illegal step."""
    words = events.split()
    for first in range(len(words)):
        for last in range(first, len(words)):
            assert broken(steps(lifecycles().machine(f"pod/{era}"), " ".join(words[first : last + 1]))) == []


def test_no_work_after_the_history_is_removed():
    """A worker that comes back for a forgotten pod violates P1; after another ADD it does not."""
    gone = f"{START} {STOP} {CLEAN} {GONE}"
    machine = lifecycles().machine("pod/1.22")
    assert broken(steps(machine, f"{gone} pod.worker.orphaned")) == ["REMOVED → TERMINATING without ADDED"]
    assert broken(steps(machine, f"{gone} {START} {STOP}")) == []
    assert broken(steps(machine, f"{START} {STOP} pod.sync.entered")) == ["TERMINATED → SYNC without ADDED"]


def test_a_container_never_runs_twice():
    """A container that ended is not started again; a late word of the runtime that it ran is no start."""
    life = "cri.container.created cri.container.started cri.container.stopping cri.container.stopped"
    assert states(steps(CONTAINER, f"{life} container.pleg:running cri.container.removed")) == (
        "CREATED RUNNING STOPPING EXITED REMOVED"
    )
    assert broken(steps(CONTAINER, f"{life} cri.container.started")) == ["EXITED → RUNNING without CREATED"]


def test_a_sandbox_a_driver_and_a_node():
    """They go through their states."""
    sandbox = "cri.sandbox.started cri.sandbox.stopping cri.sandbox.stopped cri.sandbox.removing cri.sandbox.removed"
    assert states(steps(lifecycles().machine("sandbox/cri"), sandbox)) == "READY STOPPING STOPPED REMOVING REMOVED"
    driver = (
        "csi.driver.banner csi.driver.registered csi.driver.banner:again csi.driver.registered csi.driver.deregistered"
    )
    assert states(steps(lifecycles().machine("driver/csi"), driver)) == "SERVING REGISTERED RESTARTED REGISTERED GONE"
    node = "kubelet.started kubelet.serving node.ready node.not-ready kubelet.exited"
    assert states(steps(lifecycles().machine("node/kubelet"), node)) == "STARTING SERVING READY NOTREADY STOPPED"


@each_machine
def test_a_table_speaks_of_events_that_exist(machine):
    """Every step is for a kind of the vocabulary."""
    kinds = load_vocabulary(builtin_patterns() / "events").kinds
    assert {kind.partition(":")[0] for kind in machine.steps} <= kinds.keys()


@each_machine
def test_a_table_is_closed(machine):
    """Every state can be reached, and each either is an end or says what it waits for."""
    reached = {step.to for step in machine.steps.values() if step.to} | {machine.begins}
    marks = {step.marks for step in machine.steps.values() if step.marks}
    named = {state for must in machine.orders for state in (must.to, must.after)}
    assert named <= reached | marks
    assert [s for s in reached if not machine.has(s, "settled") and not machine.states[s].waits] == (
        ["TERMINATED"] if machine.name == "pod/1.21" else []
    )
    kept = {state for step in machine.steps.values() for state in step.keeps}
    assert all(state.isupper() for state in reached | kept)
