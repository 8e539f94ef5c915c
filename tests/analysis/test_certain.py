"""What a report asks for to be certain, and that it is certain once it has that."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.model.options import Options
from kvdiag.model.report import Report
from kvdiag.model.values import Verdict

SAMPLES = Path(__file__).parents[2] / "sample-logs"
LOST, INLINE = "hostpath-driver-lost-state", "inline-volume-orphaned"


def cut(case: str, name: str, lines: int, folder: Path) -> None:
    """The first lines of a sample's log in a folder."""
    path = SAMPLES / case / name
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    (folder / name.removesuffix(".gz")).write_bytes(b"".join(data.splitlines(keepends=True)[:lines]))


def report(folder: Path) -> Report:
    """What is found in a folder."""
    return analyze(Options(paths=(str(folder),)))


def verdicts(told: Report) -> dict[str, Verdict]:
    """By rule how sure its finding is."""
    return {finding.rule.name: finding.verdict for finding in told.findings}


DRIVER_LOG = (
    "kubectl get pods -A --no-headers -o custom-columns=NS:.metadata.namespace,POD:.metadata.name,SPEC:.spec"
    " --field-selector spec.nodeName=worker-1 | grep -F -e hostpath.csi.k8s.io | while read -r ns pod _; do"
    ' kubectl logs -n "$ns" "$pod" --all-containers --ignore-errors --prefix --timestamps --since-time=2026-11-20T20:38:21Z; done'
)


@pytest.mark.parametrize(
    ("case", "some", "more", "rule", "need"),
    [
        (
            LOST,
            [("kubelet.log", 300)],
            [("csi-hostpath.log", 85), ("kubelet.log", 1554)],
            "csi-nodeunpublish-state-lost",
            ("csi-driver", 5, DRIVER_LOG),
        ),
        (
            INLINE,
            [("node.log.gz", 1795)],
            [("node.log.gz", 4068)],
            "reconstruction-csi-inline-lookup-by-name",
            (
                "kubelet",
                0,
                "journalctl -u kubelet --since '2023-06-14 07:17:40 UTC' --until '2023-06-14 07:20:20 UTC'",
            ),
        ),
    ],
)
def test_what_settles_it(
    tmp_path: Path,
    case: str,
    some: list[tuple[str, int]],
    more: list[tuple[str, int]],
    rule: str,
    need: tuple[str, int, str],
) -> None:
    """Too little of a log leaves a doubt and names the log that settles it; with that log there is none."""
    for name, lines in some:
        cut(case, name, lines, tmp_path)
    before = report(tmp_path)
    assert verdicts(before)[rule] is Verdict.POSSIBLE
    (asked,) = [one for one in before.needs if any(key.startswith(rule) for key in one.findings)]
    assert (asked.component, asked.verbosity, asked.run) == need
    for name, lines in more:
        cut(case, name, lines, tmp_path)
    after = report(tmp_path)
    assert verdicts(after)[rule] is Verdict.CONFIRMED
    assert not any(key.startswith(rule) for one in after.needs for key in one.findings)


def test_the_time_asked_for_holds_the_finding(tmp_path: Path) -> None:
    """The time range begins before the evidence and ends after it."""
    cut(INLINE, "node.log.gz", 1795, tmp_path)
    told = report(tmp_path)
    (need,) = told.needs
    (finding,) = [one for one in told.findings if one.verdict is Verdict.POSSIBLE and one.severity]
    assert need.begins < finding.begins <= finding.ends < need.ends


def test_certain_reports_ask_for_nothing() -> None:
    """A report without doubts asks for no log."""
    assert analyze(Options(paths=(str(SAMPLES / LOST),))).needs == ()


def test_a_symptom_of_a_certain_cause_asks_for_nothing(tmp_path: Path) -> None:
    """What a confirmed finding explains needs no further log."""
    name = "24bee860a677" + "0" * 52
    (tmp_path / "event.log").write_text(
        "Failed create pod sandbox: rpc error: code = Unknown desc = failed to set up sandbox container "
        f'"{name}" network for pod "web-0": NetworkPlugin cni failed to set up pod "web-0_shop" network: '
        'failed to find plugin "bridge-x" in path [/opt/cni/bin]\n'
    )
    told = report(tmp_path)
    assert verdicts(told) == {
        "cni-plugin-binary-missing": Verdict.CONFIRMED,
        "cni-add-failed": Verdict.POSSIBLE,
    }
    assert told.needs == ()


def test_the_log_is_fetched_as_its_node_keeps_it(tmp_path: Path) -> None:
    """The unit of the runtime is that of the node's distribution."""
    name = "24bee860a677" + "0" * 52
    (tmp_path / "node.log").write_text(
        f'Mar 12 08:02:30 n1 microk8s.daemon-containerd[842]: time="2024-03-12T08:02:30.000000000Z" level=error '
        f'msg="StopContainer for \\"{name}\\" failed" error="rpc error: code = DeadlineExceeded desc = an error occurs '
        f'during waiting for container \\"{name}\\" to be killed: wait container \\"{name}\\": context deadline exceeded"\n'
    )
    told = report(tmp_path)
    assert verdicts(told) == {"kill-container-deadline": Verdict.POSSIBLE}
    (asked,) = told.needs
    assert asked.run.startswith(
        "journalctl -u snap.microk8s.daemon-containerd --since '2024-03-12 08:01:30 UTC' --until"
    )


def test_no_log_of_another_runtime_is_requested(tmp_path: Path) -> None:
    """A node with Docker has no log of containerd's CRI plug-in; one whose runtime no line names may have it."""
    text = (
        "Warning  FailedCreatePodSandBox  2m1s  kubelet  Failed to create pod sandbox: rpc error: code = Unknown desc = "
        '{words}: error getting ClusterInformation: Get "https://10.96.0.1:443/apis/crd.projectcalico.org/v1/'
        'clusterinformations/default": dial tcp 10.96.0.1:443: i/o timeout\n'
    )
    asked = {}
    for name, words in {
        "old": 'failed to set up sandbox container "3f2a9c": networkPlugin cni failed to set up pod "web-0_x" network',
        "new": 'failed to setup network for sandbox "3f2a9c": plugin type="calico" failed (add)',
    }.items():
        (folder := tmp_path / name).mkdir()
        (folder / "event.log").write_text(text.format(words=words))
        asked[name] = {one.component for one in report(folder).needs}
    assert "containerd" in asked["new"]
    assert "containerd" not in asked["old"]
