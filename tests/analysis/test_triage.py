"""A pod or volume that waits for a step and has no finding is named with the errors that may show why, in order."""

from __future__ import annotations

import io

import pytest

from kvdiag.analysis import triage
from kvdiag.analysis.analyze import analyze, analyze_case
from kvdiag.analysis.case import Case, Patterns, load_patterns
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options
from kvdiag.report import RenderOptions
from kvdiag.report.outputs import write_report
from kvdiag.rules.rule_store import RuleStore
from tests.errorlines import KUBELET, klog

UID = "3c1f0e52-7d7b-4e6f-9a10-5b2c7d8e9f01"
SANDBOX = "cf8d3a5988d821046af27afe3710f0ffc413529b7eb46f2844156cfb154099dc"
PV = "pvc-9a1d7c52-3e8b-4f60-8d21-6b0c4e5f7a13"
VOLUME = f'\\"{PV}\\" (UniqueName: \\"kubernetes.io/csi/csi.example.org^vol-1\\")'
ADDED = klog('kubelet.go:2447] "SyncLoop ADD" source="api" pods=["shop/web-0"]', "08:14:59", "I")
DIAL = "dial unix /run/portgate/agent.sock: connect: no such file or directory"
REFUSED = f'rpc error: code = Unknown desc = failed to setup network for sandbox \\"{SANDBOX}\\": portgate: {DIAL}'
POD = f'pod="shop/web-0" podUID="{UID}"'


def no_sandbox(at: str) -> str:
    """Give kubelet's line about a sandbox that was not made."""
    return klog(f'kuberuntime_sandbox.go:72] "Failed to create sandbox for pod" err="{REFUSED}" pod="shop/web-0"', at)


def of_containerd(at: str) -> str:
    """Give containerd's line about the same."""
    metadata = f"&PodSandboxMetadata{{Name:web-0,Uid:{UID},Namespace:shop,Attempt:0,}}"
    return (
        f'time="2024-03-12T{at}.05Z" level=error msg="RunPodSandbox for {metadata} failed, error" error="{REFUSED}"\n'
    )


def goes_on(at: str) -> str:
    """Give a line that shows that the log goes on."""
    return klog('kubelet.go:2447] "SyncLoop ADD" source="api" pods=["shop/other-0"]', at, "I")


def staging(*, begins: str, ends: str) -> str:
    """Give the log of a kubelet that waits for NodeStageVolume."""
    started = f'reconciler.go:225] "operationExecutor.MountVolume started for volume {VOLUME} pod \\"web-0\\" (UID: \\"{UID}\\")"'
    return KUBELET + klog(f"{started} {POD}", begins, "I") + goes_on(ends)


def report_without_rules(*logs: str):
    """Give the report of an analysis by no rule at all."""
    vocabulary, rules = load_patterns(Options())
    assert isinstance(rules, RuleStore)
    patterns = Patterns(vocabulary, rules.filter(lambda _head: False))
    texts = [TextInput(f"log-{number}", text.encode()) for number, text in enumerate(logs)]
    return analyze_case(Case(Options(year=2024), patterns, judges_only=True), texts=texts)[0]


def without_rules(*logs: str):
    """Give what an analysis by no rule at all calls stuck."""
    return report_without_rules(*logs).errors.stuck


def test_missing_step_and_its_errors():
    """The missing step, since when, and the errors that name the pod: those of the runtime before those of kubelet."""
    kubelet = KUBELET + ADDED + "".join(no_sandbox(f"08:{15 + n}:00") for n in range(4))
    containerd = "".join(of_containerd(f"08:{15 + n}:00") for n in range(4))
    (pod,) = [one for one in without_rules(kubelet, containerd) if one.kind == "pod"]
    assert (pod.name, pod.waits_for, pod.failure) == ("shop/web-0", "RunPodSandbox", "sandbox creation failed")
    assert [group.component for group in pod.groups] == ["containerd", "kubelet"]
    assert pod.groups[0].anatomy is not None
    assert "/run/portgate/agent.sock" in pod.groups[0].anatomy.sentence


@pytest.mark.parametrize(
    ("at", "words", "is_listed"),
    [
        ("08:15:00", 'agent.go:7] "Cannot start" err="open /etc/portgate/key: permission denied"', True),
        ("07:15:00", 'agent.go:7] "Cannot start" err="open /etc/portgate/key: permission denied"', False),
        ("08:15:00", 'agent.go:7] "Cannot start" err="the widget is stuck"', False),
        ("08:15:00", 'agent.go:7] "Cannot start" pod="shop/api-1" err="open /etc/key: permission denied"', False),
    ],
    ids=["began with the wait", "an hour earlier", "names no cause", "about another pod"],
)
def test_errors_that_do_not_name_the_pod(at, words, is_listed):
    """They are listed, after those that name it, if they began with the wait, name a cause and no other object."""
    log = KUBELET + klog(words, at) + ADDED + "".join(no_sandbox(f"08:{15 + n}:00") for n in range(4))
    (pod,) = [one for one in without_rules(log) if one.kind == "pod"]
    assert [group.where.partition(":")[0] for group in pod.groups] == ["kuberuntime_sandbox.go", "agent.go"][
        : 1 + is_listed
    ]


def test_later_success():
    """A pod whose sandbox was made after failures is not stuck."""
    made = klog(f'pod_startup_latency_tracker.go:104] "Observed pod startup duration" {POD} podStartE2EDuration="3.1s"',
                "08:20:00", "I")  # fmt: skip
    log = KUBELET + ADDED + "".join(no_sandbox(f"08:{15 + n}:00") for n in range(4)) + made
    assert not [one for one in without_rules(log) if one.kind == "pod"]


def test_finding_about_it():
    """With a finding the pod is not listed again."""
    log = KUBELET + ADDED + "".join(no_sandbox(f"08:{15 + n}:00") for n in range(4))
    report = analyze(Options(year=2024), texts=[TextInput("kubelet.log", log.encode())])
    assert report.findings
    assert not report.errors.stuck


@pytest.mark.parametrize(("ends", "is_listed"), [("08:24:00", False), ("08:26:00", True)])
def test_wait_without_an_error(ends, is_listed):
    """A call without an answer is listed after ten minutes, if the log goes on."""
    stuck = [one for one in without_rules(staging(begins="08:15:00", ends=ends)) if one.kind == "volume"]
    assert [(one.name, one.waits_for, one.retries) for one in stuck] == [(PV, "NodeStageVolume", 0)] * is_listed


def test_controller_whose_log_is_missing():
    """That a volume is detached for hours in kubelet's log says nothing: the controllers' logs are not there."""
    log = (
        KUBELET
        + klog(f'reconciler.go:292] "Volume detached for volume {VOLUME} on node \\"worker-1\\" DevicePath \\"\\""',
               "08:15:00", "I")
        + goes_on("10:15:00")
    )  # fmt: skip
    assert not without_rules(log)


def test_report(kvdiag, tmp_path):
    """The text names the step and quotes the errors; a wait that a filter of pods leaves out is not shown."""
    path = tmp_path / "kubelet.log"
    path.write_text(staging(begins="08:15:00", ends="08:40:00"), "utf-8")
    shown = kvdiag("analyze", "--year", "2024", path).stdout
    assert "Stuck without a finding" in shown
    assert f"volume {PV}" in shown
    assert "waits for NodeStageVolume since 2024-03-12 08:15:00 UTC" in " ".join(shown.split())
    assert "Stuck" not in kvdiag("analyze", "--year", "2024", "--namespace", "other", path).stdout


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_forms(form):
    """Each form has the step, its date, the failures and the cause that the first error names."""
    log = KUBELET + ADDED + "".join(no_sandbox(f"08:{15 + n}:00") for n in range(4))
    out = io.StringIO()
    write_report(form, report_without_rules(log), out, RenderOptions(width=400))
    shown = out.getvalue()
    assert "Stuck without a finding" in shown
    assert "waits for RunPodSandbox since 2024-03-12 08:15:00 UTC; 4 failures, last: sandbox creation failed" in shown
    assert "Cause: " in shown
    assert "portgate" in shown.partition("Cause: ")[2]


def test_very_many_events(monkeypatch):
    """Of more events than the limit no second history is built."""
    log = KUBELET + ADDED + "".join(no_sandbox(f"08:{15 + n}:00") for n in range(4))
    assert without_rules(log)
    monkeypatch.setattr(triage, "MOST_EVENTS", 3)
    assert not without_rules(log)
