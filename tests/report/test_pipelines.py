"""The outputs for CI and monitoring, each read by a parser of its own kind; nothing of a log is obeyed in them."""

from __future__ import annotations

import io
import json
import re
from functools import cache
from pathlib import Path

import junitparser
import pytest
from prometheus_client.parser import text_string_to_metric_families

from kvdiag.analysis.analyze import analyze
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options
from kvdiag.model.record import Origin
from kvdiag.model.report import Finding, Report
from kvdiag.model.values import Severity, Verdict
from kvdiag.report import REPORTS, RenderOptions
from kvdiag.report.outputs import write_report
from kvdiag.report.phrases import in_checkout, uri

LOST = "sample-logs/hostpath-driver-lost-state"
UID = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
HOSTILE = "::error::x ##[add-mask]y <script>z</script> `` ```\\n| *a* [b](http://evil.example.com) @team #1"


@cache
def incident() -> Report:
    """A sample incident: a cause with its symptoms."""
    return analyze(Options(paths=(LOST,)))


@cache
def hostile() -> Report:
    """A failure whose error is written to be obeyed."""
    said = HOSTILE.replace('"', "").replace("\\", r"\\")
    line = (
        f'E1120 20:3{{}}:22.000000    6175 pod_workers.go:1298] "Error syncing pod, skipping" err="failed to \\"StartContainer'
        f'\\" for \\"app\\" with ImagePullBackOff: \\"Back-off pulling image \\\\\\"r/{said}\\\\\\": ErrImagePull: x: not found\\"" '
        f'pod="shop/web-0" podUID="{UID}"\n'
    )
    pulls = "".join(line.format(minute) for minute in range(8))
    report = analyze(Options(year=2026), texts=[TextInput("kubelet.log", pulls.encode())])
    return report._replace(
        findings=tuple(finding._replace(texts=finding.texts.all._replace(says=HOSTILE)) for finding in report.findings)
    )


def written(name: str, report: Report, **options: object) -> str:
    """What an output makes of a report."""
    out = io.StringIO()
    write_report(name, report, out, RenderOptions(**options))
    return out.getvalue()


def test_each_output_writes_something(monkeypatch):
    """Every output writes about an incident, and about nothing."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    nothing = analyze(Options(paths=("sample-logs/healthy-csi-volume",)))
    for name in REPORTS:
        assert written(name, incident())
        assert name == "ndjson" or written(name, nothing)


def test_sarif():
    """Results name rules that are listed, lines that are there, and a fingerprint."""
    from sarif_pydantic import Sarif  # takes as long as all else that is imported here

    said = json.loads(written("sarif", incident()))
    (run,) = Sarif.model_validate(said).runs
    assert [result.rule_id for result in run.results] == [finding.rule.id for finding in incident().findings]
    assert {rule.id for rule in run.tool.driver.rules} == {finding.rule.id for finding in incident().findings}
    first = said["runs"][0]["results"][0]
    place = first["locations"][0]["physicalLocation"]
    origin = incident().findings[0].evidence[0].event.origin
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == (origin.source, origin.line)
    assert len(first["partialFingerprints"]["kvdiagFinding/v1"]) == 32
    assert first["level"] == "warning"
    assert all(one.help and one.help.text for one in run.tool.driver.rules)


def test_sarif_as_github_reads_it():
    """Each result has a place with a whole region, and what it is known again by: the same in every run and folder."""
    cause = incident().findings[0]
    possible = about(cause, "x", verdict=Verdict.POSSIBLE, evidence=())
    far = cause.evidence[0].event._replace(
        origin=Origin("/var/log/a b#1.log", 7), texts=("\U0001f600".encode(),), text_at=0
    )
    away = about(cause, "y", evidence=(cause.evidence[0]._replace(event=far),))
    (run,) = json.loads(written("sarif", incident()._replace(findings=(cause, possible, away))))["runs"]
    places = [one["locations"][0]["physicalLocation"] for one in run["results"]]
    assert [place["artifactLocation"]["uri"] for place in places] == [
        cause.evidence[0].event.origin.source,
        incident().inputs[0].source,
        "file:///var/log/a%20b%231.log",
    ]
    assert places[2]["region"] == {"startLine": 7, "startColumn": 1, "endLine": 7, "endColumn": 3, "snippet": {"text": "\U0001f600"}}  # fmt: skip
    assert [one["level"] for one in run["results"]] == ["warning", "note", "warning"]
    assert run["results"][1]["message"]["text"].startswith("Possible: ")
    hashes = [one["partialFingerprints"]["primaryLocationLineHash"] for one in run["results"]]
    assert all(re.fullmatch(r"[0-9a-f]{16}:1", one) for one in hashes)
    assert len(set(hashes)) == 3


def test_files_below_the_folder_one_stands_in():
    """They are named from there, as tools look for them in the checkout."""
    assert uri(str(Path.cwd() / "logs" / "a:b.log")) == "logs/a%3Ab.log"
    assert in_checkout("logs.tar.gz/kubelet.log") == "logs.tar.gz/kubelet.log"


def test_sarif_of_many(monkeypatch):
    """No more results than a viewer shows; how many were left out is said."""
    monkeypatch.setattr("kvdiag.report.sarif.MOST", 1)
    (run,) = json.loads(written("sarif", incident()))["runs"]
    assert (len(run["results"]), run["properties"]) == (1, {"leftOut": len(incident().findings) - 1})


def test_junit():
    """A cause fails, what is only possible is skipped, what is for information passes."""
    cause = incident().findings[0]
    possible = cause._replace(verdict=Verdict.POSSIBLE, subject=cause.subject)
    noted = cause._replace(severity=Severity.INFO)
    for finding, kinds in ((cause, [junitparser.Failure]), (possible, [junitparser.Skipped]), (noted, [])):
        (suite,) = junitparser.JUnitXml.fromstring(written("junit", incident()._replace(findings=(finding,))).encode())
        (case,) = suite
        assert case.classname == f"kvdiag.{finding.rule.name}"
        assert [type(result) for result in case.result] == kinds
        assert (suite.tests, suite.failures, suite.skipped) == (1, int(finding is cause), int(finding is possible))


def test_junit_without_a_finding():
    """One test that passed; an input that could not be read is an error."""
    whole = incident()._replace(findings=())
    for problems, errors in (((), 0), (("x.log: no such file",), 1)):
        (suite,) = junitparser.JUnitXml.fromstring(written("junit", whole._replace(problems=problems)).encode())
        assert (suite.tests, suite.errors, suite.failures) == (1, errors, 0)


def test_prometheus():
    """The figures are those of the report."""
    families = {one.name: one for one in text_string_to_metric_families(written("prometheus", incident()))}
    counts = {sample.labels["rule"]: sample.value for sample in families["kvdiag_findings"].samples}
    assert counts == dict.fromkeys((finding.rule.name for finding in incident().findings), 1)
    assert families["kvdiag_unreadable_inputs"].samples[0].value == 0
    assert families["kvdiag_last_run_timestamp_seconds"].samples[0].value > 1.7e9


def test_gitlab():
    """A row a cause, with what GitLab demands of each."""
    rows = json.loads(written("gitlab", incident()))
    assert [row["check_name"] for row in rows] == ["csi-nodeunpublish-state-lost"]
    assert set(rows[0]) == {"description", "check_name", "fingerprint", "severity", "location"}
    assert rows[0]["severity"] in {"info", "minor", "major", "critical", "blocker"}
    assert rows[0]["location"]["lines"]["begin"] > 0


def test_ndjson():
    """A line a finding, as in the JSON report."""
    rows = [json.loads(line) for line in written("ndjson", incident()).splitlines()]
    assert rows == json.loads(written("json", incident()))["findings"]


def test_github(monkeypatch, tmp_path):
    """At most ten annotations of a level, and all in the summary."""
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    cause = incident().findings[0]._replace(severity=Severity.HIGH)
    many = tuple(about(cause, f"pvc-{n}") for n in range(12))
    lines = written("github", incident()._replace(findings=many)).splitlines()
    assert sum(line.startswith("::error file=sample-logs/") for line in lines) == 10
    assert "2 more without an annotation" in lines[-1]
    assert summary.read_text("utf-8").count("<details") == 12


def about(finding: Finding, name: str, **more: object) -> Finding:
    """The same of another subject."""
    return finding._replace(subject=finding.subject._replace(key=name, name=name), **{"incident": None, **more})


def test_github_counts_what_it_could_not_read(monkeypatch):
    """Inputs that cannot be read are warnings as well: with those of findings there are no more than GitHub shows."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    cause = incident().findings[0]._replace(severity=Severity.MEDIUM)
    many = tuple(about(cause, f"pvc-{n}") for n in range(6))
    lines = written("github", incident()._replace(findings=many, problems=("x.log: gone",) * 6)).splitlines()
    assert sum(line.startswith("::warning ") for line in lines) == 10
    assert "2 more without an annotation" in lines[-1]


def test_github_annotates_an_incident_once(monkeypatch):
    """One fault with many victims is one annotation, short enough for its place."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    cause = incident().findings[0]
    many = tuple(about(cause, f"pvc-{n}" * 100, incident="one") for n in range(5))
    said = written("github", incident()._replace(findings=many))
    assert said.count("::warning file=") == 1
    assert "And 4 more volumes." in said
    assert len(re.search("title=(.*?)::", said)[1]) < 255


def test_markdown_fits_a_comment():
    """Of very many causes as many are told as a comment may have; how many were left out is said."""
    cause = incident().findings[0]
    many = tuple(about(cause, f"pvc-{n}") for n in range(2000))
    said = written("markdown", incident()._replace(findings=many))
    assert 30_000 < len(said.encode()) < 65_536
    assert re.search(r"\d+ more are not in the table\.\n\nIn full: the first \d+ of 2000, for want of room\.", said)
    assert said.count("<details") == said.count("</details>")


@pytest.mark.parametrize("name", ["github", "compact", "markdown", "junit", "sarif", "gitlab", "ndjson"])
def test_nothing_of_a_log_is_obeyed(monkeypatch, name):
    """Neither commands of a runner nor markup nor links of an error come through."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    assert hostile().findings
    said = written(name, hostile())
    starts = [line.lstrip()[:2] for line in said.splitlines()]
    assert name in {"github", "markdown"} or "::" not in starts  # commands are off while Markdown is printed
    if name == "github":
        assert all(line.startswith(("::error ", "::warning ", "::notice ", "kvdiag: ")) for line in said.splitlines())
    if name == "markdown":
        prose = [line for line in outside_of_fences(said) if "evil" in line or "script" in line]
        assert prose
        assert not [line for line in prose if re.search(r"(?<!\\)(<script|\]\()|http://", line)]
    if name == "junit":
        junitparser.JUnitXml.fromstring(said.encode())
    if name in {"sarif", "gitlab"}:
        json.loads(said)


def outside_of_fences(text: str) -> list[str]:
    """The lines that a reader of Markdown takes as Markdown, without code in the line."""
    kept, fence = [], ""
    for line in text.splitlines():
        mark = line.strip()
        if fence:
            fence = "" if mark == fence else fence
        elif mark.startswith("```"):
            fence = mark[: len(mark) - len(mark.lstrip("`"))]
        else:
            kept.append(line)
    return kept
