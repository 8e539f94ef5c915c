"""The report for people, as it looks at a width, in colour, with links, and where there is no Unicode."""

from __future__ import annotations

import io
import os
import re
from functools import cache
from pathlib import Path

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.model.error_groups import Histogram
from kvdiag.model.options import Options
from kvdiag.model.record import Origin
from kvdiag.model.report import Report
from kvdiag.model.values import Severity
from kvdiag.report import RenderOptions, ansi
from kvdiag.report.ansi import file_uri, without_styles
from kvdiag.report.outputs import write_report
from kvdiag.report.report_text import ReportText
from kvdiag.report.screen import Screen, cut_middle
from kvdiag.report.sparkline import Row, sparkline
from kvdiag.report.terminal import _beginning
from tests.conftest import ROOT

KILLED = "sample-logs/containerd-killed"
LINK = re.compile("\x1b\\]8;[^;]*;([^\x1b]*)\x1b\\\\")


@cache
def incident() -> Report:
    """The report about a sample; its logs are named as from the root of the project."""
    before = Path.cwd()
    os.chdir(ROOT)
    try:
        return analyze(Options(paths=(KILLED,)))
    finally:
        os.chdir(before)


def shown(**options: object) -> str:
    """Give what a terminal with these looks is sent."""
    out = io.StringIO()
    write_report("text", incident(), out, RenderOptions(**options))
    return out.getvalue()


def test_wide_in_colour_with_links(golden, monkeypatch):
    """At 160 columns with colours and links; the machine and the folder are told as others."""
    monkeypatch.chdir(ROOT)
    text = shown(width=160, colour=True, links=True)
    here = f"file://{os.uname().nodename}{ROOT}"
    text = re.sub(r"\x1b\]8;id=\d+;", "\x1b]8;;", text)  # each link has a number of its own
    golden("terminal-160-colour.txt", text.replace(here, "file://HOST/PROJECT").replace("\x1b", "␛"))


def test_colours_and_links_change_no_word(monkeypatch):
    """Without its escapes a report in colour is the one without."""
    monkeypatch.chdir(ROOT)
    dressed = shown(width=80, colour=True, links=True)
    assert without_styles(dressed) == shown(width=80)
    assert set(LINK.findall(dressed)) >= {"", f"file://{os.uname().nodename}{ROOT}/{KILLED}/kubelet.log.gz"}
    assert not LINK.search(shown(width=80, colour=True))


@pytest.mark.parametrize("width", [80, 160])
def test_no_line_is_longer_than_the_terminal(width):
    """But commands, which are there to be copied, and places, which are there to be clicked."""
    long = [line for line in shown(width=width).splitlines() if len(line) > width]
    assert all(re.match(r" +\$ | {4}\S+:\d+$", line) for line in long)


def test_without_unicode(golden):
    """A terminal that knows only ASCII gets signs that it can show, and the columns stay."""
    text = shown(width=80)
    plain = text.encode("ascii", ansi.ERROR_HANDLER).decode("ascii")
    golden("terminal-80-ascii.txt", plain.partition("Not explained by a rule")[2])
    assert [len(line) for line in plain.splitlines()] == [len(line) for line in text.splitlines()]
    assert "\\u" not in plain
    assert "é→".encode("ascii", ansi.ERROR_HANDLER) == b"\\xe9>"


def test_a_link_is_of_a_file_that_is_there(tmp_path, monkeypatch):
    """Its name is quoted, whatever it is; what is no file has no link, nor has one whose name is a secret."""
    monkeypatch.setenv("TERM", "xterm")
    hostile = tmp_path / "k\x1b]8;;evil.example.com\x07.log"
    hostile.write_text("", "utf-8")
    assert file_uri(Origin(str(hostile), 7), redact=False) == ""
    spaced = tmp_path / "k %#ü.log"
    spaced.write_text("", "utf-8")
    assert file_uri(Origin(str(spaced), 7), redact=True).endswith("/k%20%25%23%C3%BC.log")
    monkeypatch.setenv("TERM", "xterm-kitty")
    assert file_uri(Origin(str(spaced), 7), redact=True).endswith(".log#7")
    for name in ("stdin", "a.tar.gz/kubelet.log", "http://evil.example.com", "\0", str(tmp_path)):
        assert file_uri(Origin(name, 7), redact=True) == ""
    secret = tmp_path / "token=hunter2hunter2"
    secret.write_text("", "utf-8")
    assert file_uri(Origin(str(secret), 7), redact=True) == ""


# the strip of when


def rows(report: Report, width: int = 40) -> tuple[list[str], list[Row]]:
    """Give the lines and the rows of a strip."""
    lines = list(sparkline(ReportText(report), width))
    return [one for one in lines if isinstance(one, str)], [one for one in lines if isinstance(one, Row)]


def test_strip():
    """Error lines and findings stand where they were in the span of the logs; the end is where it healed."""
    (cause, *_) = incident().findings
    finding = cause._replace(begins=2_500_000, ends=5_000_000, healed=7_500_000, incident=None, severity=Severity.HIGH)
    errors = incident().errors._replace(when=Histogram(0, 100_000, (1, *(0 for _ in range(97)), 0, 8)))
    (title,), (first, second) = rows(incident()._replace(span=(0, 10_000_000), findings=(finding,), errors=errors), 50)
    assert title.endswith("full height = 8 error lines")
    assert first.columns == "▁" + " " * 38 + "█"
    assert (first.name, second.name) == ("errors", f"{cause.rule.id:6}")
    assert second.columns == " " * 10 + "●" + "━" * 19 + "○"


def test_strip_of_many():
    """Each failure and each note has a row."""
    (cause, *_) = incident().findings
    many = [cause._replace(subject=cause.subject._replace(key=str(n), name=str(n)), incident=None) for n in range(10)]
    many[0] = many[0]._replace(severity=Severity.INFO)
    titles, drawn = rows(incident()._replace(findings=tuple(many)))
    assert (len(titles), len(drawn)) == (1, 1 + 10)


def test_no_strip():
    """Where no log tells the time, or nothing is to be shown, there is none."""
    assert rows(incident()._replace(span=None)) == ([], [])
    nothing = incident().errors._replace(groups=())
    assert rows(incident()._replace(findings=(), errors=nothing)) == ([], [])


def test_a_why_that_is_cut_announces_no_list():
    """A sentence that ends with a colon is left out if its list is cut off."""
    screen = Screen(io.StringIO(), RenderOptions(width=60))
    listed = (
        'kubelet asks. The last words show why: "one thing" ' + "(as long as a line of the report is, or longer) " * 6
    )
    assert _beginning(listed, [], screen) == "kubelet asks."
    assert _beginning("kubelet asks. The answer is no.", [], screen) == "kubelet asks. The answer is no."


def test_a_why_has_the_sentence_about_the_lines():
    """Of a text that is too long, a sentence with words of the lines is shown, beside the first one if both fit."""
    screen = Screen(io.StringIO(), RenderOptions(width=60))
    long, busy = f"Then {'it waits and waits ' * 8}in vain.", 'At last umount prints "target is busy".'
    text = f"kubelet asks. {long} {busy}"
    assert _beginning(text, ["umount: /x: target is busy"], screen) == f"kubelet asks. {busy}"
    assert _beginning(text, ["umount: /x: not mounted"], screen) == "kubelet asks."
    assert _beginning(f"{long} {busy}", ["umount: /x: target is busy"], screen) == busy


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("mount fails: it is busy", 26, "mount fails: it is busy"),
        ("mount of the data volume fails: it is still busy", 30, "mount of the … still busy"),
        (
            "web-0: /sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/memory.swap.max is missing",
            64,
            "web-0: …/memory.swap.max is missing",
        ),
        ("web-0: no such file /sys/fs/cgroup/kubepods/memory.swap.max", 44, "web-0: no such file …/memory.swap.max"),
        ("web-0: 4f1d2c3b4a59687766554433221100ff4f1d2c3b4a59687766554433221100ff", 26, "web-0: … 433221100ff"),
    ],
)
def test_a_middle_that_is_cut(text, width, cut):
    """Words stay whole if they can, and of a path its last names."""
    assert cut_middle(text, width) == cut
