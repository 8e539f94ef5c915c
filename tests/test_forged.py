"""What a pod prints is never a finding about the node: each sick sample, printed by an ordinary container."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kvdiag.commands.analyze import analyze
from kvdiag.model.doubt import Reason
from kvdiag.model.options import Options
from kvdiag.model.report import Report
from kvdiag.model.values import Severity, Verdict

SAMPLES = Path(__file__).parents[1] / "sample-logs"
LOGS = sorted(path for path in SAMPLES.rglob("*.log*") if path.is_file())
STAMP = b"2026-11-20T20:39:21.779765123Z stdout F "
UID = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"


def printed(path: Path, folder: Path, pod: str, container: str = "app") -> Report:
    """Analyze a log as a container of the pod would have printed it."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    log = folder / f"var/log/pods/{pod}_{UID}/{container}/0.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"".join(STAMP + line + b"\n" for line in data.splitlines()))
    return analyze(Options(paths=(str(folder),)))


@pytest.mark.parametrize("path", LOGS[:: max(1, len(LOGS) // 24)], ids=lambda path: f"{path.parent.name}-{path.name}")
def test_no_finding_of_medium_or_above(path, tmp_path):
    """Neither as the log of the container, nor beside the log of a node."""
    report = printed(path, tmp_path, "shop_evil")
    assert [one.rule.name for one in report.findings if one.severity >= Severity.MEDIUM] == []
    assert report.problems == ()


@pytest.mark.parametrize(("namespace", "changing"), [("kube-system", 1), ("shop", 0)])
def test_a_driver_in_a_namespace_of_users(tmp_path, namespace, changing):
    """Anyone may call a container csi-plugin: what only such a log shows is possible, and nothing is to be changed."""
    driver = SAMPLES / "hostpath-driver-lost-state" / "csi-hostpath.log"
    (found, *_) = printed(driver, tmp_path, f"{namespace}_csi-node", "csi-plugin").findings
    doubts = [doubt for doubt in found.doubts if doubt.reason is Reason.AUTHOR]
    assert (len(doubts), len([fix for fix in found.fix if fix.after])) == (1 - changing, changing)
    assert found.verdict is Verdict.POSSIBLE


def test_the_time_of_the_runtime_counts(tmp_path):
    """A time far from that at which the runtime took the line is the container's invention."""
    log = tmp_path / f"var/log/pods/kube-system_csi-node_{UID}/driver/0.log"
    log.parent.mkdir(parents=True)
    within = b'time="%s" level=error msg="failed"\n'
    near, far = b"2026-11-20T20:39:20Z", b"2031-01-01T00:00:00Z"
    log.write_bytes(b"".join(STAMP + within % time for time in (near, far, near)))
    (read,) = analyze(Options(paths=(str(tmp_path),))).inputs
    assert read.ends - read.begins < 10_000_000
