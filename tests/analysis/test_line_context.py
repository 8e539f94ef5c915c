"""Lines around events are read again: the right ones, redacted, bounded, and nothing where they cannot be had."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.analysis.line_context import AROUND, MOST_LINES
from kvdiag.model.options import Options
from kvdiag.model.report import Report
from tests.conftest import ROOT

SAMPLE = ROOT / "sample-logs/hostpath-driver-lost-state"
FAILED = (
    'E0312 08:{1:02}:20.101500    2201 kuberuntime_manager.go:1256] "Unhandled Error" err="container &Container{{Name:app}} '
    "start failed in pod web-{0}_shop(1f0c3a52-8d7b-4e6f-9a10-{0:012d}): InvalidImageName: Failed to apply default image "
    'tag \\"Bad:@@\\": couldn\'t parse image name \\"Bad:@@\\": invalid reference format"\n'
)
NOISE = "I0312 08:{0:02}:10.101500    2201 kubelet.go:2400] line {1} of nothing\n"


def read(*paths: Path | str) -> Report:
    return analyze(Options(paths=tuple(map(str, paths))), lanes=True)


def lines(report: Report) -> dict[tuple[str, int], str]:
    """Give all lines of a report's excerpts by file and number."""
    return {(one.source, one.first_line + at): text for one in report.excerpts for at, text in enumerate(one.lines)}


@pytest.mark.parametrize("folder", sorted(path for path in (ROOT / "sample-logs").iterdir() if path.is_dir()))
def test_every_line_of_evidence_is_there(folder):
    """Each line of evidence stands in an excerpt at its own number, with the same words as in the file."""
    report = read(folder)
    shown = lines(report)
    for finding in report.findings:
        for origin in (one.event.origin for one in finding.evidence):
            path = Path(origin.source)
            raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            assert shown[origin.source, origin.line] == raw.decode().split("\n")[origin.line - 1][:1000].rstrip("\r")


def test_twenty_lines_before_and_after(tmp_path):
    """An excerpt has twenty lines on both sides; those of events that are near each other are one."""
    log = tmp_path / "kubelet.log"
    noise = [NOISE.format(8, number) for number in range(100)]
    log.write_text("".join([*noise, FAILED.format(9, 9), *noise[:10], FAILED.format(9, 10), *noise]))
    (one,) = read(log).excerpts
    assert (one.first_line, len(one.lines)) == (101 - AROUND, 2 * AROUND + 12)


def test_secrets_are_redacted_with_the_lines_above(tmp_path):
    """A secret is found by the line above it, also where that line is not part of the excerpt."""
    log = tmp_path / "kubelet.log"
    noise = "".join(NOISE.format(8, number) for number in range(40))
    inner = "".join(NOISE.format(9, number) for number in range(AROUND - 1))
    announced = "db password: |\n  hunter2hunter2\n"
    log.write_text(f"{noise}{announced}{inner}{FAILED.format(10, 10)}{noise}mount -o username=u,password=p4ssw0rd4\n")
    shown = "\n".join(lines(read(log)).values())
    assert "of nothing" in shown
    assert "hunter2" not in shown
    assert "p4ssw0rd4" not in shown


def test_no_more_than_the_bound(tmp_path):
    """Of very many events only the first have their lines."""
    log = tmp_path / "kubelet.log"
    noise = "".join(NOISE.format(8, number) for number in range(3 * AROUND))
    log.write_text("".join(f"{noise}{FAILED.format(number, number % 60)}" for number in range(600)))
    assert MOST_LINES // 2 < len(lines(read(log))) <= MOST_LINES + MOST_LINES // (2 * AROUND)


def test_archives_have_excerpts_and_streams_have_none(tmp_path, monkeypatch):
    """A member of an archive is read again; standard input cannot be."""
    log = tmp_path / "kubelet.log.gz"
    log.write_bytes(gzip.compress(FAILED.format(9, 9).encode()))
    assert lines(read(log)) == {(str(log), 1): FAILED.format(9, 9)[:1000].rstrip("\n")}
    with (SAMPLE / "kubelet.log").open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        report = read("-")
    assert report.findings
    assert report.excerpts == ()


def test_a_log_that_is_gone_has_no_excerpts(tmp_path, monkeypatch):
    """Where the file cannot be read again, the report is whole and has no second problem."""
    log = tmp_path / "kubelet.log"
    log.write_text(FAILED.format(9, 9))
    report = read(log)
    monkeypatch.setattr("kvdiag.analysis.line_context.sources", lambda *_: iter(()))
    assert read(log)._replace(excerpts=()) == report._replace(excerpts=())
