"""No kind of secret, in any form, carrier or position, is in any output; and what is near to one stays."""

from __future__ import annotations

import io
import json
from itertools import cycle, product
from pathlib import Path

import pytest

from kvdiag.agents.tools import McpTools
from kvdiag.analysis.analyze import analyze_case
from kvdiag.analysis.case import Case
from kvdiag.analysis.redact import RedactionCounts, Redactor, redacted_bytes
from kvdiag.fleet.rows import rows
from kvdiag.fleet.shared import shared_kinds
from kvdiag.fleet.values import Bundle
from kvdiag.inputs.readers import ReplayReader
from kvdiag.inputs.source import Source
from kvdiag.model.options import Options
from kvdiag.report import REPORTS, RenderOptions
from kvdiag.report.errors import write_text
from kvdiag.report.outputs import write_report
from kvdiag.safe.secrets import REDACTED, redacted
from tests.safe.kinds import CARRIERS, CASES, FORMS, KNOWN, NEXT, POSITIONS, leaks, pieces
from tests.safe.kinds import Case as Secret

# What follows the secret is what tells it, so that a line cut within it says nothing.
TOLD_BEHIND = {
    *("chpasswd on a pipe", "LUKS", "printf", "Go DSN", "govc", "Secret: YAML, data above", "Talos", "s3fs", "NTLM"),
    *("chpasswd of a traced script", "Windows: net use with password first", "session id"),
}
TOLD_BELOW = {"Secret: YAML, data above", "chpasswd of a traced script"}
EVIDENCE = (Path(__file__).parents[1] / "data" / "no-secrets.txt").read_text("utf-8").splitlines()


def shared(text: str) -> str:
    """Give what `redact` writes of a text, with a line behind it."""
    said = text.removesuffix("\n") + "\n" + NEXT
    source = Source("a.log", None, lambda _: None, given=ReplayReader(said.encode()))
    return b"".join(redacted_bytes(source, str, RedactionCounts())).decode()


def explained(text: str) -> str:
    """Give the lines of a text as `explain -` takes them apart, which come one by one."""
    redactor = Redactor()
    return b"\n".join(redactor.lines([line, b""])[0] for line in text.encode().split(b"\n")).decode()


def is_told(secret: Secret, carrier: str, position: str, text: str) -> bool:
    """Whether anything tells the secret: a JSON line of Docker that was broken is none, nor is half a word."""
    if position == "cut":
        return secret.kind not in TOLD_BEHIND and not (carrier == "docker" and "\n" in secret.text)
    return position != "wrapped" or not (carrier == "docker" and "\n" in text)


@pytest.mark.parametrize("form", FORMS)
def test_no_kind_is_told(form):
    """Each kind in this form, in each position, and in each carrier with another kind."""
    carriers, told = cycle(CARRIERS), []
    for secret in KNOWN:
        text = FORMS[form](secret.text)
        for position, change in POSITIONS.items():
            carrier = next(carriers)
            said = change(CARRIERS[carrier](text), secret.secrets)
            if is_told(secret, carrier, position, text) and leaks(secret, shared(said)):
                told.append((secret.kind, carrier, position))
    assert told == []


@pytest.mark.parametrize("carrier", CARRIERS)
def test_no_name_tells_its_value(carrier):
    """Each name in each shape: whole, and cut or wrapped by turns."""
    positions, told = cycle(("cut", "wrapped")), []
    for secret in CASES[list(CARRIERS).index(carrier) :: len(CARRIERS)]:
        text = CARRIERS[carrier](secret.text)
        for position in ("whole", next(positions)):
            said = POSITIONS[position](text, secret.secrets)
            if is_told(secret, carrier, position, secret.text) and leaks(secret, shared(said)):
                told.append((secret.kind, secret.form, position))
    assert told == []


@pytest.mark.parametrize("carrier", [name for name in CARRIERS if name != "docker"])
def test_explain_tells_no_kind(carrier):
    """Lines that come one by one are judged with those above them; what only one below tells is shown by then."""
    for secret in KNOWN:
        if secret.kind not in TOLD_BELOW:
            assert not leaks(secret, explained(CARRIERS[carrier](secret.text))), secret.kind


@pytest.mark.parametrize("text", EVIDENCE)
def test_evidence_stays(text):
    """What is near to a secret stays as it was: bare, in JSON, and as an error that klog quotes."""
    for said in (text, json.dumps({"msg": text}), f'E0312 05:49:00.241725  190330 x.go:1] "No" err={json.dumps(text)}'):
        assert redacted(said) == said


LINE = (
    "E0312 08:11:20.000000    2201 nestedpendingoperations.go:348] Operation for "
    '"{{volumeName:kubernetes.io/csi/disk.csi.example.com^vol-{number} podName:{uid} nodeName:}}" failed. No retries permitted '
    "until 2024-03-12 08:11:21.6 +0000 UTC m=+199.1 (durationBeforeRetry 500ms). Error: UnmountVolume.TearDown failed for "
    'volume "data-{number}" (UniqueName: "kubernetes.io/csi/disk.csi.example.com^vol-{number}") pod "{uid}" (UID: "{uid}") : '
    "kubernetes.io/csi: Unmounter.TearDownAt failed to get CSI client: driver name disk.csi.example.com not found in the "
    "list of registered CSI drivers {error}\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Give a folder with a log in which each kind is in the error of a finding, and in one that nothing explains."""
    path = tmp_path_factory.mktemp("kinds")
    lines = []
    for number, secret in enumerate(KNOWN):
        error, uid = json.dumps(secret.text)[1:-1], f"1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e{number:04x}"
        lines.append(LINE.format(number=number, uid=uid, error=error))
        lines.append(f'E0312 08:12:20.000000    2201 x{number}.go:1] "Something {number} is odd" err="{error}"\n')
    (path / "kubelet.log").write_text("".join(lines), "utf-8")
    return path


@pytest.fixture(scope="module")
def case(folder):
    """Give the analysis of that folder."""
    case = Case(Options(paths=(str(folder),), year=2024))
    return case, *analyze_case(case)


def told(said: str) -> list[str]:
    """Give the kinds that a text tells, whatever it was wrapped to."""
    found = pieces(said.replace("\n", "")) | pieces("".join(said.split()))
    return [case.kind for case in KNOWN if not found.isdisjoint(piece for one in case.secrets for piece in pieces(one))]


@pytest.mark.parametrize(("form", "is_redacted"), [*product(REPORTS, [True]), ("json", False)])
def test_no_report_tells_a_kind(form, is_redacted, case):
    """No form of a report has a piece of a secret; without redaction one has."""
    out = io.StringIO()
    write_report(form, case[1], out, RenderOptions(redact=is_redacted, verbose=1, width=100))
    assert bool(told(out.getvalue())) is not is_redacted


def test_no_other_output_tells_a_kind(case, folder):
    """Nor has the list of errors, a row of a fleet, or an answer to an agent."""
    cased, report, history = case
    out = io.StringIO()
    write_text(report, out, RenderOptions(width=100), show_benign=True)
    tables = rows(report, history, Bundle("a", "b", str(folder), ()), str, shared_kinds(cased.patterns))
    table = json.dumps([list(of_table) for of_table in tables.values()], default=str)
    answers = McpTools(folder)
    said = [answers.analyze("."), answers.errors("kubelet.log"), answers.timeline("vol-7", ".")]
    assert REDACTED in out.getvalue()
    assert REDACTED in table
    for text in (out.getvalue(), table, *said):
        assert told(text) == []
