"""Write JUnit XML for CI servers: a confirmed cause is a failed test, a possible one is a skipped test."""

from __future__ import annotations

from typing import TextIO
from xml.etree import ElementTree as ET

from kvdiag.base.regex import lazy_regex
from kvdiag.model.values import Severity
from kvdiag.report import RenderOptions
from kvdiag.report.plain_text import plain_lines
from kvdiag.report.report_text import FindingText, ReportText

_NO_XML = lazy_regex("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write(report: ReportText, stream: TextIO, options: RenderOptions) -> None:  # noqa: ARG001 (as every output)
    """One suite; without a finding one test that passed, and one that failed for each input that could not be read."""
    suite = ET.Element("testsuite", name="kvdiag")
    for finding in report.causes:
        _case(suite, finding)
    for problem in report.problems:
        case = ET.SubElement(suite, "testcase", classname="kvdiag.input", name=_legible(problem))
        ET.SubElement(case, "error", type="unreadable", message=_legible(problem))
    if not len(suite):
        ET.SubElement(suite, "testcase", classname="kvdiag", name="no failure found")
    suite.set("tests", str(len(suite)))
    for kind, count in (("failure", "failures"), ("skipped", "skipped"), ("error", "errors")):
        suite.set(count, str(len(suite.findall(f"testcase/{kind}"))))
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root, " ")
    stream.write('<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n")


def _case(suite: ET.Element, finding: FindingText) -> None:
    name = _legible(finding.subject.name)
    case = ET.SubElement(suite, "testcase", classname=f"kvdiag.{finding.rule}", name=name)
    if finding.severity is Severity.INFO:
        ET.SubElement(case, "system-out").text = _legible(finding.says)
    elif finding.is_possible:
        ET.SubElement(case, "skipped", message=_legible(f"possible: {finding.says}"))
    else:
        failure = ET.SubElement(case, "failure", type=finding.severity.label, message=_legible(finding.says))
        failure.text = "\n".join(map(_legible, plain_lines(finding)))


def _legible(words: str) -> str:
    """Words that XML can hold: it has no way to write most control characters."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", words)
