"""Each folder of sample logs gives the findings that its expected.json states, and the text in tests/golden."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_BYTES = 2_500_000


def told(finding: dict) -> dict:
    """Give what expected.json states about a finding; a cause by its rule, since keys may change."""
    by = finding["explained_by"]
    return {
        "rule": finding["rule"],
        "subject": finding["subject"]["name"],
        "verdict": finding["verdict"],
        "role": finding["role"],
        "explained_by": by and by.partition(":")[0],
    }


def test_findings(sample):
    """What is found is what happened: causes, symptoms, and nothing else."""
    assert [told(finding) for finding in sample.report["findings"]] == sample.expected["findings"]


def test_folder(sample):
    """A sample tells in 2 to 12 lines whence it is, and has logs."""
    lines = (sample.folder / "README.md").read_text("utf-8").splitlines()
    assert lines[0] == f"# {sample.name}"
    assert 2 <= len([line for line in lines[1:] if line]) <= 12
    assert "Recorded" in lines[2] or "Composed" in lines[2]
    assert sample.logs


def test_every_line_is_understood(sample):
    """No line of a sample is beyond kvdiag, and no input is passed over."""
    assert [entry["source"] for entry in sample.report["inputs"] if entry["unread"]] == []
    assert len(sample.report["inputs"]) == len(sample.logs)
    assert sample.report["problems"] == []


def test_text(sample, kvdiag, golden):
    """The report for people reads as its golden file; a healthy sample passes the strictest check, any other fails it."""
    done = kvdiag("analyze", "--fail-on", "info", *sample.options, sample.folder.relative_to(ROOT), COLUMNS="80")
    assert (done.returncode, done.stderr) == (0 if sample.name.startswith("healthy") else 1, "")
    golden(f"{sample.name}.txt", done.stdout)


def test_size():
    """All samples together stay small enough to be part of a clone."""
    assert sum(path.stat().st_size for path in (ROOT / "sample-logs").rglob("*") if path.is_file()) <= MOST_BYTES
