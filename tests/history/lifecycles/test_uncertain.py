"""What is not known of a volume after a timeout or a restart of the kubelet, from lines as they are printed."""

from functools import cache

import pytest

from kvdiag.analysis.case import load_patterns, read_history
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.history.lifecycles.build import LifecycleBuilder
from kvdiag.model.lifecycle import Lifecycle
from kvdiag.model.options import Options
from kvdiag.model.values import SubjectKind

UID = "7d1e9c40-3b52-4f7a-8c16-9e0a5b4d2f31"
HANDLE, DRIVER, PV = "vol-0c5d2e71", "block.example.net", "pvc-58a1c0d4-91e2-4b7f-8f35-60d2a7c4e913"
UNIQUE = f"kubernetes.io/csi/{DRIVER}^{HANDLE}"
FOR = f'for volume \\"{PV}\\" (UniqueName: \\"{UNIQUE}\\") pod \\"db-1\\" (UID: \\"{UID}\\")'
DOWN = f'for volume \\"data\\" (UniqueName: \\"{UNIQUE}\\") pod \\"{UID}\\" (UID: \\"{UID}\\")'
PLAIN = f'for volume "{PV}" (UniqueName: "{UNIQUE}")'
POD = 'pod="shop/db-1"'
knowledge = cache(lambda: load_patterns(Options()))


def failed(words: str, code: str, pod: str = UID) -> str:
    """Give the line of an operation that failed with a gRPC code."""
    plain = f'{PLAIN} pod "db-1" (UID: "{UID}") : rpc error: code = {code} desc = it did not work'
    return (
        f'E nestedpendingoperations.go:348] Operation for "{{volumeName:{UNIQUE} podName:{pod} nodeName:}}" failed. '
        "No retries permitted until 2026-03-12 09:00:30.5 +0000 UTC m=+30.5 (durationBeforeRetry 500ms). "
        f"Error: {words} failed {plain}"
    )


def stage_failed(code: str) -> str:
    return failed("MountVolume.MountDevice", code, "")


def publish_failed(code: str) -> str:
    return failed("MountVolume.SetUp", code)


VERIFIED = f'"Controller attach succeeded for volume \\"{PV}\\" (UniqueName: \\"{UNIQUE}\\") pod \\"db-1\\" (UID: \\"{UID}\\") device path: \\"csi-1\\"" {POD}'
WAITED = f'"MountVolume.WaitForAttach succeeded {FOR} DevicePath \\"csi-1\\"" {POD}'
STAGED = f'"MountVolume.MountDevice succeeded {FOR} device mount path \\"/var/lib/kubelet/plugins/globalmount\\"" {POD}'
STARTED = f'"operationExecutor.MountVolume started {FOR} " {POD}'
PUBLISHED = f'"MountVolume.SetUp succeeded {FOR} " {POD}'
UNPUBLISHING = f'"operationExecutor.UnmountVolume started {DOWN} "'
UNPUBLISHED = (
    f'UnmountVolume.TearDown succeeded for volume "{UNIQUE}" (OuterVolumeSpecName: "data") pod "{UID}" '
    f'(UID: "{UID}"). InnerVolumeSpecName "{PV}". PluginName "kubernetes.io/csi", VolumeGidValue ""'
)
UNSTAGING = f'"operationExecutor.UnmountDevice started for volume \\"{PV}\\" (UniqueName: \\"{UNIQUE}\\") on node \\"worker-4\\" "'
UNSTAGED = f'UnmountDevice succeeded {PLAIN} on node "worker-4" '
RELEASED = f'"Volume detached for volume \\"{PV}\\" (UniqueName: \\"{UNIQUE}\\") on node \\"worker-4\\" DevicePath \\"csi-1\\""'
RESTARTED = '"Kubelet version" kubeletVersion="v1.29.4"'
UP = [VERIFIED, STARTED, WAITED, STAGED, PUBLISHED]


def life(*lines: str) -> Lifecycle:
    """Read lines of a kubelet's log, one a second, and give the life of the volume."""
    text = ""
    for n, line in enumerate(lines):
        level, rest = ("E", line[2:]) if line.startswith("E ") else ("I", f"operation_generator.go:664] {line}")
        text += f"{level}0312 09:{n // 60:02d}:{n % 60:02d}.000000    4711 {rest}\n"
    history = read_history([TextInput("kubelet.log", text.encode())], knowledge(), Options(year=2026)).history
    found = [t for (kind, _), t in history.timelines.items() if kind is SubjectKind.VOLUME]
    assert len(found) == 1
    walked = LifecycleBuilder(history).build(found[0])
    assert len(walked.transitions) >= len(lines) - lines.count(RESTARTED)
    return walked


def faults(walked: Lifecycle) -> list[str]:
    return [transition.violation for transition in walked.transitions if not transition.legal]


NOT_FINAL = ["DeadlineExceeded", "Canceled", "Unavailable", "ResourceExhausted", "Aborted"]


@pytest.mark.parametrize("code", NOT_FINAL)
def test_a_staging_without_a_final_answer_may_have_taken_place(code):
    """It is uncertain until it is answered; to tear down and to stage again are both legal."""
    begun = [VERIFIED, STARTED, WAITED, stage_failed(code)]
    assert not life(*begun).transitions[-1].certain
    again = life(*begun, STAGED, PUBLISHED)
    assert (again.state, again.transitions[-1].certain, faults(again)) == ("PUBLISHED", True, [])
    torn = life(*begun, UNSTAGING, UNSTAGED, RELEASED)
    assert [p.certain for p in torn.transitions[-4:]] == [False, False, True, True]
    assert (torn.state, faults(torn)) == ("RELEASED", [])
    assert faults(life(*begun, RELEASED)) == []


@pytest.mark.parametrize("code", NOT_FINAL)
def test_a_publication_without_a_final_answer_may_have_taken_place(code):
    """The same of a publication: unpublishing, or letting go without it, breaks no rule; the staging stays known."""
    begun = [VERIFIED, STARTED, WAITED, STAGED, publish_failed(code)]
    assert not life(*begun).transitions[-1].certain
    again = life(*begun, PUBLISHED)
    assert (again.state, again.transitions[-1].certain) == ("PUBLISHED", True)
    torn = life(*begun, UNPUBLISHING, UNPUBLISHED, UNSTAGING, UNSTAGED, RELEASED)
    assert (torn.state, faults(torn)) == ("RELEASED", [])
    assert faults(life(*begun, UNSTAGING, UNSTAGED, RELEASED)) == []
    assert faults(life(*begun, RELEASED)) == ["STAGED → RELEASED without UNSTAGED"]


@pytest.mark.parametrize("code", ["Internal", "InvalidArgument", "NotFound", "FailedPrecondition"])
def test_a_final_answer_leaves_no_doubt(code):
    """An error that the driver answers with itself changes nothing."""
    assert life(VERIFIED, STARTED, WAITED, stage_failed(code)).transitions[-1].certain
    assert life(VERIFIED, STARTED, WAITED, STAGED, publish_failed(code)).transitions[-1].certain


def test_the_kubelet_says_what_it_is_not_sure_of():
    """Its own word makes the staging or the publication uncertain, whichever it names."""
    word = f'"MountVolume.{{}} leaving volume uncertain" volumeName="{UNIQUE}"'
    device = life(*UP[:4], word.format("markDeviceErrorState"), RELEASED)
    assert (device.transitions[-2].certain, faults(device)) == (False, [])
    mount = life(*UP, word.format("markVolumeErrorState"), RELEASED)
    assert not mount.transitions[-2].certain
    assert faults(mount) == ["PUBLISHED → RELEASED without UNSTAGED"]  # it is still staged


def test_a_restart_of_the_kubelet_leaves_in_doubt():
    """What was reached before is not known any more, so teardown in any order and staging again are legal."""
    for rest in ([UNPUBLISHING, UNPUBLISHED, RELEASED], [UNSTAGING, UNSTAGED, RELEASED], [STARTED, STAGED, PUBLISHED]):
        walked = life(*UP, RESTARTED, *rest)
        assert faults(walked) == []
        assert [p.certain for p in walked.transitions[: len(UP)]] == [True] * len(UP)
        assert not walked.transitions[len(UP)].certain
        assert walked.transitions[-1].certain


def test_a_word_that_proves_ends_the_doubt():
    """From then on the rules hold again: what is staged anew must be unstaged."""
    walked = life(*UP, RESTARTED, STAGED, PUBLISHED, UNPUBLISHING, UNPUBLISHED, RELEASED)
    assert faults(walked) == ["UNPUBLISHED → RELEASED without UNSTAGED"]


def test_without_a_restart_the_rules_hold():
    """The same lines without a restart between them show the fault."""
    assert faults(life(*UP, UNPUBLISHING, UNPUBLISHED, RELEASED)) == ["UNPUBLISHED → RELEASED without UNSTAGED"]
