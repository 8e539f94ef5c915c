"""Pods of every kind and era, from lines as the kubelet prints them to the states they go through."""

from functools import cache

import pytest

from kvdiag.analysis.case import load_patterns, read_history
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.history.lifecycles.build import LifecycleBuilder
from kvdiag.model.lifecycle import Lifecycle
from kvdiag.model.options import Options
from kvdiag.model.values import SubjectKind

UID = "7d1e9c40-3b52-4f7a-8c16-9e0a5b4d2f31"
MIRROR = "c2a85f17-60de-4b39-a1f4-3d7b8e9c0a52"
HASH = "4b7f0c2d9e8a1635f0d2c4b6a8e19d73"
BOX, CONTAINER = "d" * 64, "e" * 64
OLD = f"till-2_shop({UID})"
knowledge = cache(lambda: load_patterns(Options()))


def lives(*lines: str) -> dict[str, Lifecycle]:
    """Read lines of a kubelet's log, one a second, and give the lives of its pods by UID."""
    heads = (f"I0312 09:{n // 60:02d}:{n % 60:02d}.000000    4711 kubelet.go:1842] " for n in range(len(lines)))
    text = "".join(f"{head}{line}\n" for head, line in zip(heads, lines, strict=True))
    history = read_history([TextInput("kubelet.log", text.encode())], knowledge(), Options(year=2026)).history
    walked = LifecycleBuilder(history)
    return {
        key: walked.build(timeline) for (kind, key), timeline in history.timelines.items() if kind == SubjectKind.POD
    }


def states(life: Lifecycle) -> str:
    """Give the states in their order, each once in a row; no step may be illegal."""
    assert [p.violation for p in life.transitions if not p.legal] == []
    transitions = life.transitions
    return " ".join(p.state for n, p in enumerate(transitions) if not n or transitions[n - 1].state != p.state)


def pleg(happened: str, what: str) -> str:
    return f'SyncLoop (PLEG): "{OLD}", event: &pleg.PodLifecycleEvent{{ID:"{UID}", Type:"{happened}", Data:"{what}"}}'


START_1_19 = [
    f'SyncLoop (ADD, "api"): "{OLD}"',
    f'Waiting for volumes to attach and mount for pod "{OLD}"',
    f'All volumes are attached and mounted for pod "{OLD}"',
    f'No sandbox for pod "{OLD}" can be found. Need to start a new one',
    f'Creating PodSandbox for pod "{OLD}"',
    f'Created PodSandbox "{BOX}" for pod "{OLD}"',
    pleg("ContainerStarted", BOX),
    pleg("ContainerStarted", CONTAINER),
    f'Status for pod "{OLD}" updated successfully: (2, {{Phase:Running Conditions:[] Message: Reason:}})',
]
STOP_1_19 = [
    f'SyncLoop (DELETE, "api"): "{OLD}"',
    f'Killing container "docker://{CONTAINER}" with 30 second grace period',
    f'Pod "{OLD}" is terminated, but some containers are still running',
    f'Container "docker://{CONTAINER}" exited normally',
    pleg("ContainerDied", CONTAINER),
    pleg("ContainerDied", BOX),
]
CLEAN_1_19 = [
    f'Pod "{OLD}" has completed execution and should be deleted from the API server: sync',
    f'Pod "{OLD}" is terminated, but some containers have not been cleaned up: {{Name:app State:exited}} ',
    f'Pod "{OLD}" is terminated, but some volumes have not been cleaned up',
    f'Pod "{OLD}" is terminated, but pod cgroup sandbox has not been cleaned up',
    f'Pod "{OLD}" fully terminated and removed from etcd',
]
GONE_1_19 = [
    f'SyncLoop (DELETE, "api"): "{OLD}"',
    f'SyncLoop (REMOVE, "api"): "{OLD}"',
    'Killing unwanted pod "till-2"',
    f'Orphaned pod "{UID}" found, removing',
]
POD = 'pod="shop/till-2"'
PODS = 'source="api" pods=[shop/till-2]'


def pleg_1_21(happened: str, what: str) -> str:
    return f'"SyncLoop (PLEG): event for pod" {POD} event=&{{ID:{UID} Type:{happened} Data:{what}}}'


START_1_21 = [
    f'"SyncLoop ADD" {PODS}',
    f'"No sandbox for pod can be found. Need to start a new one" {POD}',
    pleg_1_21("ContainerStarted", BOX),
    pleg_1_21("ContainerStarted", CONTAINER),
]
STOP_1_21 = [
    f'"SyncLoop DELETE" {PODS}',
    f'"Killing container with a grace period override" {POD} podUID={UID} containerID="containerd://{CONTAINER}"',
    pleg_1_21("ContainerDied", CONTAINER),
    f'"Pod has completed execution and should be deleted from the API server" {POD} syncType=update',
    f'"Pod is terminated, but some volumes have not been cleaned up" {POD}',
    f'"Pod fully terminated and removed from etcd" {POD}',
    f'"SyncLoop DELETE" {PODS}',
    f'"SyncLoop REMOVE" {PODS}',
    f'"Marking api pod pending termination" podName="till-2" podUID={UID}',
    '"Killing unwanted pod" podName="till-2"',
    f'"Marking pod termination" podUID="{UID}"',
    f'"Pod is pending termination" podUID={UID}',
]
OF_1_20 = "Version: v1.20.11"
OF_1_21 = '"Kubelet version" kubeletVersion="v1.21.9"'
OF_1_25 = '"Kubelet version" kubeletVersion="v1.25.6"'
OF_1_30 = '"Kubelet version" kubeletVersion="v1.30.4"'
FULL = "ADDED SYNC RUNNING TERMINATING TERMINATED FINISHED REMOVED"
SUCCEEDED = f'Status for pod "{OLD}" updated successfully: (4, {{Phase:Succeeded Conditions:[] Message: Reason:}})'
FAILED = f'Status for pod "{OLD}" updated successfully: (4, {{Phase:Failed Conditions:[] Message: Reason:Evicted}})'
IGNORED = f'Pod "{OLD}" has completed, ignoring remaining sync work: sync'


def worker(text: str) -> str:
    """Give a structured line that names the pod and its UID."""
    return f'"{text}" {POD} podUID={UID}'


RUN = [
    f'"SyncLoop ADD" {PODS}',
    worker("Pod is being synced for the first time"),
    worker("SyncPod enter"),
    f'"SyncLoop (PLEG): event for pod" {POD} event={{"ID":"{UID}","Type":"ContainerStarted","Data":"{BOX}"}}',
    f'"SyncLoop (PLEG): event for pod" {POD} event={{"ID":"{UID}","Type":"ContainerStarted","Data":"{CONTAINER}"}}',
]
END = [
    worker("SyncTerminatingPod enter"),
    worker("Pod terminated all containers successfully"),
    worker("SyncTerminatedPod enter"),
    worker("Pod termination unmounted volumes"),
    worker("Pod is terminated and will need no more status updates"),
    worker("Pod is complete and the worker can now stop"),
]
TERMINAL = worker("Pod is in a terminal phase (success/failed), begin teardown")
EVICTED = worker("Pod is being evicted by the kubelet, begin teardown")
FORCED = worker("Pod has been deleted and must be killed")
REMOVED = f'"SyncLoop REMOVE" {PODS}'
WALKS = [
    ("1.19", [OF_1_20, *START_1_19, *STOP_1_19, *CLEAN_1_19, *GONE_1_19], FULL, ""),
    ("1.19, volumes stay", [OF_1_20, *START_1_19, *STOP_1_19, *CLEAN_1_19[:3]],
     "ADDED SYNC RUNNING TERMINATING TERMINATED", "volumes to be unmounted"),
    ("1.21", [OF_1_21, *START_1_21, *STOP_1_21], FULL, ""),
    ("1.20 job", [OF_1_20, *START_1_19, pleg("ContainerDied", CONTAINER), SUCCEEDED, IGNORED],
     "ADDED SYNC RUNNING EXITED TERMINATED FINISHED", ""),
    ("1.20 job at -v=3", [OF_1_20, *START_1_19, pleg("ContainerDied", CONTAINER), FAILED],
     "ADDED SYNC RUNNING EXITED TERMINATED", ""),
    ("1.20 evicted", [OF_1_20, *START_1_19, FAILED, f"eviction manager: pod {OLD} is evicted successfully", IGNORED],
     "ADDED SYNC RUNNING TERMINATED FINISHED", ""),
    ("1.20 forced", [OF_1_20, *START_1_19, *GONE_1_19[1:]], "ADDED SYNC RUNNING REMOVED", ""),
    ("1.30 job", [OF_1_30, *RUN, TERMINAL, *END], "ADDED SYNC RUNNING TERMINATING TERMINATED FINISHED", ""),
    ("1.30 evicted", [OF_1_30, *RUN, EVICTED, *END, f'"Eviction manager: pod is evicted successfully" {POD}'],
     "ADDED SYNC RUNNING TERMINATING TERMINATED FINISHED", ""),
    ("1.30 forced", [OF_1_30, *RUN, REMOVED, FORCED, *END], "ADDED SYNC RUNNING REMOVED TERMINATING TERMINATED FINISHED", ""),
    ("1.25 job, then deleted", [OF_1_25, *RUN, TERMINAL, *END, f'"SyncLoop DELETE" {PODS}'],
     "ADDED SYNC RUNNING TERMINATING TERMINATED FINISHED", "the API server to delete the pod"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "expected", "waits"), [walk[1:] for walk in WALKS], ids=[walk[0] for walk in WALKS])
def test_a_pod_walks_to_its_end(lines, expected, waits):
    """Each era and way to end goes through its own states, without a fault, and says what it waits for."""
    life = lives(*lines)[UID]
    assert (states(life), life.waits_for) == (expected, waits)


@pytest.mark.parametrize("lines", [walk[1] for walk in WALKS], ids=[walk[0] for walk in WALKS])
def test_a_cut_log_has_no_illegal_step(lines):
    """A log that begins or ends anywhere in a pod's life shows no fault."""
    for at in range(1, len(lines)):
        for part in (lines[:at], [lines[0], *lines[at:]]):
            for life in lives(*part).values():
                states(life)


NEAR_MISSES = [
    # a container that died is no end of the pod: it may be started again
    ([OF_1_20, *START_1_19, pleg("ContainerDied", CONTAINER)], "EXITED"),
    # the status says Failed while containers are still being killed
    ([OF_1_20, *START_1_19, *STOP_1_19[:2], FAILED], "TERMINATING"),
    # another phase
    ([OF_1_20, *START_1_19, SUCCEEDED.replace("Succeeded", "Running")], "RUNNING"),
    # another pod's end
    ([OF_1_20, *START_1_19, SUCCEEDED.replace(UID, MIRROR).replace("till-2", "till-3")], "RUNNING"),
    # the eviction is said to begin, not to be done; an API deletion of a worker's pod is not its end
    ([OF_1_30, *RUN, f'"Evicting pod" {POD} podUID={UID} message="The node was low on resource: memory."'], "TERMINATING"),
    # the worker leads where there is one: a status does not
    ([OF_1_30, *RUN, f'"Status for pod updated successfully" {POD} statusVersion=4 status={{Phase:Succeeded }}'], "RUNNING"),
    # deleted and still there is not forced
    ([OF_1_30, *RUN, f'"SyncLoop DELETE" {PODS}'], "TERMINATING"),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "expected"), NEAR_MISSES)
def test_what_only_looks_like_an_end(lines, expected):
    """What resembles the line that ends a pod leaves it where it was."""
    life = lives(*lines)[UID]
    states(life)
    assert life.state == expected


NAME = "kube-system/proxy-worker-1"
FILE = f'source="file" pods=["{NAME}"]'
API = f'source="api" pods=["{NAME}"]'


def static(text: str) -> str:
    return f'"{text}" pod="{NAME}" podUID="{HASH}"'


STATIC = [
    OF_1_30,
    f'"SyncLoop ADD" {FILE}',
    static("SyncPod enter"),
    f'"Creating a mirror pod for static pod" pod="{NAME}"',
    f'"SyncLoop (PLEG): event for pod" pod="{NAME}" event={{"ID":"{HASH}","Type":"ContainerStarted","Data":"{BOX}"}}',
    f'"SyncLoop (PLEG): event for pod" pod="{NAME}" event={{"ID":"{HASH}","Type":"ContainerStarted","Data":"{CONTAINER}"}}',
    f'"SyncLoop ADD" {API}',
]
STATIC_END = [
    f'"SyncLoop REMOVE" {FILE}',
    static("Pod worker has observed request to terminate"),
    static("Pod terminated all containers successfully"),
    static("Pod is complete and the worker can now stop"),
    static("Pod has been terminated and another pod with the same UID was created, remove history to allow restart"),
]


def test_a_static_pod_goes_and_comes_again_under_its_uid():
    """Its file goes and comes; its mirror is made, deleted and made again, and only the mirror moves by that."""
    mirrored = [f'"Trying to delete pod" pod="{NAME}" podUID="{MIRROR}"', f'"SyncLoop DELETE" {API}']
    life = lives(*STATIC, *mirrored, f'"SyncLoop REMOVE" {API}', f'"SyncLoop ADD" {API}')[HASH]
    assert (life.machine, states(life), life.waits_for) == ("pod/static", "ADDED SYNC RUNNING", "")
    told = [transition.step for transition in life.transitions if transition.event.attrs.get("source") == "api"]
    assert told == [f"{what} of the mirror pod" for what in ("ADD", "DELETE", "REMOVE", "ADD")]
    again = lives(*STATIC, *STATIC_END, f'"SyncLoop DELETE" {API}', f'"SyncLoop REMOVE" {API}', *STATIC[1:])[HASH]
    assert states(again) == "ADDED SYNC RUNNING REMOVED TERMINATED FINISHED ADDED SYNC RUNNING"


def test_the_mirror_is_no_pod_of_its_own():
    """Up to 1.20 the mirror is named with its UID; nothing runs for it, so it waits for nothing."""
    of = f"proxy-worker-1_kube-system({HASH})"
    mirror = f"proxy-worker-1_kube-system({MIRROR})"
    begin = [OF_1_20, f'SyncLoop (ADD, "file"): "{of}"', f'Creating a mirror pod for static pod "{of}"']
    made = lives(*begin, f'SyncLoop (ADD, "api"): "{mirror}"')
    assert (made[MIRROR].machine, made[MIRROR].state, made[MIRROR].waits_for) == ("pod/mirror", "ADDED", "")
    assert made[HASH].machine == "pod/static"
    outdated = [
        f"Trying to delete pod proxy-worker-1_kube-system {MIRROR}",
        f'Deleted mirror pod "{mirror}" because it is outdated',
        f'SyncLoop (REMOVE, "api"): "{mirror}"',
    ]
    gone = lives(*begin, f'SyncLoop (ADD, "api"): "{mirror}"', *outdated)
    assert states(gone[MIRROR]) == "ADDED TERMINATING FINISHED REMOVED"
    assert states(gone[HASH]) == "ADDED"


def test_a_pod_beside_a_static_one_is_no_mirror():
    """A pod of another name, or one that runs, has a life of its own."""
    other = lives(OF_1_20, f'SyncLoop (ADD, "file"): "proxy-worker-1_kube-system({HASH})"', *START_1_19[:1])
    assert (other[UID].machine, other[UID].waits_for) == ("pod/1.21", "the kubelet to sync the pod")
    ran = [f"proxy-worker-1_kube-system({MIRROR})", f"proxy-worker-1_kube-system({HASH})"]
    lines = [f'SyncLoop (ADD, "file"): "{ran[1]}"', f'SyncLoop (ADD, "api"): "{ran[0]}"']
    assert lives(OF_1_20, *lines, f'Creating PodSandbox for pod "{ran[0]}"')[MIRROR].machine == "pod/1.21"


INIT, RETRIED, APP = "a1" * 32, "b2" * 32, "c3" * 32
POD = f'pod="shop/till-2" podUID="{UID}"'


def event(container: str, reason: str) -> str:
    return (
        f'"Event occurred" object="shop/till-2" fieldPath="spec.{container}" kind="Pod" apiVersion="v1" type="Normal" '
        f'reason="{reason}" message="{reason} container"'
    )


def started(what: str, happened: str = "ContainerStarted") -> str:
    return (
        f'"SyncLoop (PLEG): event for pod" pod="shop/till-2" event={{"ID":"{UID}","Type":"{happened}","Data":"{what}"}}'
    )


INITIALISED = [
    '"SyncLoop ADD" source="api" pods=["shop/till-2"]',
    f'"SyncPod enter" {POD}',
    f'"Created PodSandbox for pod" podSandboxID="{BOX}" pod="shop/till-2"',
    event("initContainers{migrate}", "Created"),
    event("initContainers{migrate}", "Started"),
    started(BOX),
    started(INIT, "ContainerDied"),
    event("initContainers{migrate}", "Started"),
    started(RETRIED),
    started(RETRIED, "ContainerDied"),
]


@pytest.mark.parametrize(
    ("lines", "reached", "waits_for"),
    [
        (INITIALISED, "ADDED SYNC", "its init containers to end"),
        ([*INITIALISED, event("containers{app}", "Started"), started(APP)], "ADDED SYNC RUNNING", ""),
        ([*INITIALISED[:5], started(BOX), started(INIT), started(APP)], "ADDED SYNC RUNNING", ""),  # in one relist
        ([line for line in INITIALISED if "Event occurred" not in line], "ADDED SYNC RUNNING EXITED", ""),  # below -v=3
    ],
)
def test_an_init_container_does_not_make_a_pod_run(lines, reached, waits_for):
    """A pod runs with the first container that is none of its init containers, where the kubelet tells them apart."""
    life = lives(*lines)[UID]
    assert states(life) == reached
    assert life.waits_for == waits_for


def looping(backoff: str = "10s") -> str:
    return (
        f'"Error syncing pod, skipping" err="failed to \\"StartContainer\\" for \\"app\\" with CrashLoopBackOff: '
        f'\\"back-off {backoff} restarting failed container=app pod=till-2_shop({UID})\\"" {POD} podUID="{UID}"'
    )


QUIET = '"Some other line" pod="shop/other-0" podUID="1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"'
UNCONFIGURED = (
    '"Error syncing pod, skipping" err="failed to \\"StartContainer\\" for \\"app\\" with '
    f'CreateContainerConfigError: \\"secret \\\\\\"till\\\\\\" not found\\"" {POD} podUID="{UID}"'
)


@pytest.mark.parametrize(
    ("lines", "state", "waits", "assumed"),
    [
        ([looping()], "BACKOFF", "the next try to start its container", False),
        ([looping(), *[QUIET] * 19], "BACKOFF", "the next try to start its container", False),
        # it would be told again after 15 seconds
        ([looping(), *[QUIET] * 25], "RUNNING", "", True),
        # after up to 90
        ([looping("5m0s"), *[QUIET] * 80], "BACKOFF", "the next try to start its container", False),
        ([looping("5m0s"), *[QUIET] * 99], "RUNNING", "", True),
        ([looping().replace("CrashLoopBackOff", "ImagePullBackOff")], "BACKOFF", "its image", False),
        ([UNCONFIGURED], "SYNC", "its configuration", False),
        ([OF_1_30, *RUN, looping()], "BACKOFF", "the next try to start its container", False),
        ([OF_1_30, *RUN, looping(), started("c" * 64)], "RUNNING", "", False),
        ([OF_1_30, *RUN, looping(), '"SyncLoop DELETE" source="api" pods=["shop/till-2"]'], "TERMINATING", "its containers to end", False),
        ([OF_1_30, *RUN, looping().replace("StartContainer", "KillContainer").replace("CrashLoopBackOff", "X")], "RUNNING", "", False),
    ],
)  # fmt: skip
def test_a_container_that_is_not_started(lines, state, waits, assumed):
    """A pod whose container waits to be started again is in back-off, until it is or the kubelet says so no more."""
    life = lives(*lines, QUIET.replace("Some other line", "SyncPod enter"))[UID]
    assert (life.state, life.waits_for, life.assumed) == (state, waits, assumed)


def test_a_loop_counts_from_its_beginning():
    """Starts between back-offs do not end a crash loop."""
    lines = [OF_1_30, *RUN, looping(), started("c" * 64), started("c" * 64, "ContainerDied"), looping("20s")]
    life = lives(*lines)[UID]
    first = next(p.event.time for p in life.transitions if p.state == "BACKOFF")
    assert (life.state, life.since) == ("BACKOFF", first)


def test_a_reboot_ends_what_ran():
    """What ran before the host went down does not run after it, from the start of the kubelet that tells of it."""
    rebooted = (
        '"Event occurred" object="worker-1" kind="Node" apiVersion="v1" type="Warning" reason="Rebooted" '
        'message="Node worker-1 has been rebooted, boot id: 4c1d5f3e-9b7a-4f0e-8a52-7c9d1e2f3a4b"'
    )
    life = lives(OF_1_30, *RUN, OF_1_30, rebooted)[UID]
    assert states(life).endswith("RUNNING EXITED")
    again = lives(OF_1_30, *RUN, OF_1_30, started("c" * 64), rebooted)[UID]
    assert states(again).endswith("RUNNING EXITED RUNNING")


NAMED = f'pod="shop/till-2" podUID="{UID}"'
PULL_FAILS = (
    'Error syncing pod, skipping" err="failed to \\"StartContainer\\" for \\"app\\" with ImagePullBackOff: '
    f'\\"Back-off pulling image \\\\\\"registry.example.com/app:2\\\\\\"\\"" {NAMED}'
)
TORN_DOWN = (
    f'UnmountVolume.TearDown succeeded for volume "kubernetes.io/projected/{UID}-kube-api-access-7hlxw" '
    f'(OuterVolumeSpecName: "kube-api-access-7hlxw") pod "{UID}" (UID: "{UID}"). InnerVolumeSpecName '
    '"kube-api-access-7hlxw". PluginName "kubernetes.io/projected", VolumeGidValue ""'
)


DELETED_BY = (
    '"Event occurred" object="shop/till" fieldPath="" kind="ReplicaSet" apiVersion="apps/v1" type="Normal" '
    'reason="SuccessfulDelete" message="Deleted pod: till-2"'
)


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ('"Observed pod startup duration" pod="shop/till-2" podStartSLOduration=2.5', "RUNNING"),
        (f'"Cleaned up orphaned pod volumes dir" podUID="{UID}" path="/var/lib/kubelet/pods/{UID}/volumes"', "REMOVED"),
        (DELETED_BY, "DELETED"),
        (TORN_DOWN, "EXITED"),
    ],
)
def test_a_pod_in_back_off_that_runs_or_goes(line, state):
    """At -v=0 kubelet and the controller say in few words that a pod whose image was not pulled runs, or is gone."""
    waiting, after = lives(f'"{PULL_FAILS}')[UID], lives(f'"{PULL_FAILS}', line)[UID]
    assert (waiting.state, bool(waiting.waits_for)) == ("BACKOFF", True)
    assert (after.state, after.waits_for) == (state, "")
