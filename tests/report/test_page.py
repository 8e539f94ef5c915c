"""The page of -o html as a file: what it says without JavaScript, what it may run, how large it gets."""

from __future__ import annotations

import base64
import io
import json
import re
import zlib
from functools import cache
from hashlib import sha256
from html import unescape

import pytest

from kvdiag import __version__
from kvdiag.analysis.analyze import analyze
from kvdiag.model.event import Event
from kvdiag.model.lanes import Bar, Lane, Lanes, Mark
from kvdiag.model.options import Options
from kvdiag.model.record import Origin
from kvdiag.model.report import Finding, Reading, Report
from kvdiag.report import RenderOptions
from kvdiag.report.outputs import write_report
from kvdiag.report.page.findings import LEAST
from tests.conftest import ROOT, SAMPLES

PAGE = ROOT / "kvdiag/report/page"
MEGABYTE = 1_000_000
MINUTE = 60_000_000
BEGINS = 1_710_000_000_000_000


@cache
def sample_report(name: str) -> Report:
    """Give the report on a sample, with its lanes."""
    return analyze(Options(paths=(str((SAMPLES / name).relative_to(ROOT)),)), lanes=True)


def page_of(report: Report, **options: bool) -> str:
    """Give the page about a report."""
    stream = io.StringIO()
    write_report("html", report, stream, RenderOptions(**options))
    return stream.getvalue()


@cache
def sample_page(name: str = "hostpath-driver-lost-state") -> str:
    """Give the page about a sample."""
    return page_of(sample_report(name))


def visible(page: str) -> str:
    """Give the words of a page, one element to a line, long ones cut, without style, script and data."""
    body = re.sub(r"<(style|script)\b.*?</\1>", "", page, flags=re.DOTALL).partition("<body>")[2]
    lines = (unescape(" ".join(line.split())) for line in re.sub(r"<[^>]*>", "\n", body).splitlines())
    return "\n".join(line[:100] for line in lines if line) + "\n"


def data_of(page: str) -> dict[str, object]:
    """Give the head of the data that the script draws."""
    found = re.search(r'<script type="text/plain" id="data">([A-Za-z0-9+/=]*)</script>', page)
    assert found
    whole = zlib.decompress(base64.b64decode(found[1]))
    assert whole[:4] == b"KVD1"
    return json.loads(whole[8 : 8 + int.from_bytes(whole[4:8], "little")])


def event(number: int, text: str, time: int = BEGINS) -> Event:
    """Give an event of a pod."""
    return Event(
        time, "pod.sync.failed", "kubelet", (), {}, Origin("kubelet.log", number), "worker-1", (text.encode(),), time
    )


def told(words: str, **more: object) -> Report:
    """Give a report on one pod with an event that says these words."""
    mark = Mark(event(1, words), words)
    lane = Lane("pod", "k", words, words, (Bar(BEGINS, BEGINS + MINUTE, "RUNNING"),), (mark,))
    reading = Reading("kubelet.log", "klog", "kubelet", 1, 1, 1, 0)
    return Report("1", (reading,), (), (), lanes=Lanes((lane,), BEGINS, BEGINS + MINUTE), **more)


def test_what_it_says_without_javascript(golden):
    """Verdict, causes, each in full with its evidence in context and commands, what is not explained, what was read."""
    golden("page-hostpath-driver-lost-state.txt", visible(sample_page()).replace(__version__, "VERSION"))


def test_the_policy_admits_what_is_in_the_page_alone():
    """Nothing may be loaded or run but one style and one script, which the policy names by their hashes."""
    page = sample_page()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, flags=re.DOTALL)
        digest = base64.b64encode(sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy[1]
    assert policy[1].startswith("default-src 'none'; ")
    assert "unsafe" not in policy[1]
    assert not re.search(r"<[^>]+\s(?:style|on\w+|src)=", page)


@pytest.mark.parametrize(
    "words", ["</script><script>alert(1)</script>", "--><img src=x onerror=alert(1)>", '" onclick="x']
)
def test_hostile_words_are_text(words):
    """What a log says ends no element and makes none, in the page or in its data."""
    page = page_of(told(words, problems=(words,), notes=(words,)))
    assert page.count("<script") == 2
    assert page.count("</script") == 2
    assert "<img" not in page
    assert data_of(page)["labels"] == [words]


def test_secrets_are_redacted_in_the_data_too():
    """A secret of a log is neither in the page nor in what it draws, unless it was asked for."""
    report = told("mount failed password=hunter2hunter2")
    assert "hunter2" not in json.dumps(data_of(page_of(report)))
    assert "hunter2" in json.dumps(data_of(page_of(report, redact=False)))
    assert "hunter2" not in page_of(report)


def test_every_cause_in_full_has_an_anchor_that_its_row_leads_to():
    """The links of the table lead to places that are there; the same finding has the same place in each report."""
    for name in ("hostpath-driver-lost-state", "containerd-killed"):
        page = sample_page(name)
        links = set(re.findall(r'href="#(f-[0-9a-f]+)"', page))
        assert links
        assert links <= set(re.findall(r'<article id="([^"]+)"', page))
        assert page == page_of(analyze(Options(paths=(f"sample-logs/{name}",)), lanes=True))


def test_lanes_are_those_of_the_logs():
    """Node, runtime, driver, volume and pod have lanes, with their states."""
    lanes = data_of(sample_page())["lanes"]
    assert {"node", "runtime", "driver", "volume", "pod", "sandbox", "container"} == {lane[0] for lane in lanes}
    assert "default/db-0" in {lane[1] for lane in lanes}


def test_what_is_found_does_not_depend_on_the_lanes():
    """An output that shows lanes finds what the others find."""
    report = sample_report("containerd-killed")
    assert analyze(Options(paths=("sample-logs/containerd-killed",))) == report._replace(lanes=None, excerpts=())


def test_nothing_found():
    """A healthy log has a page that says so, and its lanes."""
    page = sample_page("healthy-csi-volume")
    assert "<h1>No known failure found</h1>" in page
    assert data_of(page)["lanes"]


def test_100_000_intervals_fit():
    """A picture of 100,000 intervals, each with a line of its own, takes less than 5 MB."""
    half, lanes = 50_000, []
    for number in range(50):
        times = [BEGINS + (number * 1000 + at) * MINUTE for at in range(half // 50)]
        bars = tuple(Bar(at, at + MINUTE, "RUNNING" if at % 2 else "BACKOFF") for at in times)
        words = (sha256(b"%d" % at).hexdigest() for at in times)
        marks = tuple(Mark(event(at % 999_999, text, at), "sync failed") for at, text in zip(times, words, strict=True))
        lanes.append(Lane("pod", str(number), f"shop/web-{number}", "worker-1", bars, marks))
    page = page_of(told("")._replace(lanes=Lanes(tuple(lanes), BEGINS, BEGINS + half * MINUTE)), redact=False)
    assert len(page) < 5 * MEGABYTE
    assert data_of(page)["marks"] == half


def test_thousands_of_findings_fit():
    """Of 5,000 findings the first are told in full, the next in a row, and the rest are counted."""
    report = sample_report("hostpath-driver-lost-state")
    one: Finding = next(one for one in report.findings if one.explained_by is None)
    many = [one._replace(subject=one.subject._replace(key=f"k{n}", name=f"v{n}")) for n in range(5000)]
    page = page_of(report._replace(findings=tuple(many)))
    assert len(page) < 5 * MEGABYTE
    assert LEAST <= page.count("<article") < 1000
    assert "4000 more are not on this page" in page


def test_the_picture_has_the_findings_that_it_draws():
    """A finding is in the picture's data if its subject has a lane, or if a line of its evidence is on another lane."""
    report = sample_report("hostpath-driver-lost-state")
    one = next(one for one in report.findings if one.explained_by is None)
    elsewhere = one._replace(subject=one.subject._replace(key="k", name="v"))
    nowhere = elsewhere._replace(subject=one.subject._replace(key="l", name="w"), evidence=())
    data = data_of(page_of(report._replace(findings=(one, elsewhere, nowhere))))
    assert len(data["findings"]) == 2


def test_the_script_is_small_and_calls_nobody():
    """Our own script has less than 40 KB, and neither it nor the style names anything elsewhere."""
    script, style = ((PAGE / name).read_text("utf-8") for name in ("script.js", "style.css"))
    assert len(script.encode()) <= 40_000
    assert not re.search(r"https?:|innerHTML|insertAdjacentHTML|eval\(|fetch\(|XMLHttpRequest|import\(", script)
    assert not re.search(r"url\(|@import|</", style)
    assert "</" not in script


def luminance(colour: str) -> float:
    """Give the relative luminance of `#rgb` or `#rrggbb`, as WCAG 2.2 has it."""
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Give the contrast of two colours."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme):
    """Text has a contrast of 4.5 and what is drawn one of 3, by day and by night."""
    light, dark = re.findall(r":root \{([^}]*--bg[^}]*)\}", (PAGE / "style.css").read_text("utf-8"))[:2]
    named = re.compile(r"--([a-z]+): (#[0-9a-f]+)")
    colours = dict(named.findall(light)) | (dict(named.findall(dark)) if scheme == "dark" else {})
    for ground in ("bg", "card", "mark", "grid"):
        for text in ("fg", "dim") if ground in {"mark", "grid"} else ("fg", "dim", "link", "bad", "warn", "state"):
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    for ground in ("good", "change", "over", "trouble"):
        assert contrast(colours["on"], colours[ground]) >= 4.5, ground
    assert contrast(colours["event"], colours["bg"]) >= 3
    for badge in re.findall(r"\.sev[^{]*\{[^}]*background: (#[0-9a-f]+)", (PAGE / "style.css").read_text("utf-8")):
        assert contrast("#ffffff", badge) >= 4.5, badge
