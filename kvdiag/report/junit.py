"""Write JUnit XML for CI servers: a confirmed cause is a failed test, a possible one is a skipped test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO
from xml.etree import ElementTree as ET

from kvdiag.base.regex import lazy_regex
from kvdiag.model.report import Finding, Report
from kvdiag.model.values import Severity, Verdict
from kvdiag.report import RenderOptions
from kvdiag.report.plain_text import plain_lines
from kvdiag.safe.clean import clean

_NO_XML = lazy_regex("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(report: Report, stream: TextIO, options: RenderOptions) -> None:
    """Write one test suite: a test per cause, an error per unreadable input, or one passed test if there is neither."""
    causes = [finding for finding in report.findings if finding.explained_by is None]
    suite = ET.Element("testsuite", name="kvdiag")
    for finding in causes:
        _case(suite, finding, [one for one in report.findings if one.explained_by == finding.key], options)
    for problem in report.problems:
        case = ET.SubElement(suite, "testcase", classname="kvdiag.input", name=_text(problem, options))
        ET.SubElement(case, "error", type="unreadable", message=_text(problem, options))
    if not len(suite):
        ET.SubElement(suite, "testcase", classname="kvdiag", name="no failure found")
    suite.set("tests", str(len(suite)))
    for kind, count in (("failure", "failures"), ("skipped", "skipped"), ("error", "errors")):
        suite.set(count, str(len(suite.findall(f"testcase/{kind}"))))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root, " ")
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n")


def _case(suite: ET.Element, finding: Finding, symptoms: Sequence[Finding], options: RenderOptions) -> None:
    name = f"{finding.subject.kind} {finding.subject.name}"
    case = ET.SubElement(suite, "testcase", classname=f"kvdiag.{finding.rule.name}", name=_text(name, options))
    if finding.severity is Severity.INFO:
        ET.SubElement(case, "system-out").text = _text(finding.says, options)
    elif finding.verdict is Verdict.POSSIBLE:
        ET.SubElement(case, "skipped", message=_text(f"possible: {finding.says}", options))
    else:
        failure = ET.SubElement(case, "failure", type=finding.severity.label, message=_text(finding.says, options))
        failure.text = "\n".join(map(_legible, plain_lines(finding, symptoms, options)))


def _text(words: str, options: RenderOptions) -> str:
    """Redact and escape text, and replace the control characters that XML cannot contain."""
    return _legible(clean(words, redact=options.redact))


def _legible(words: str) -> str:
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", words)
