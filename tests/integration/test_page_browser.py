"""The page of -o html in a real Chromium: it runs, it is handled, and nothing that a log says runs in it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.model.options import Options
from kvdiag.report import RenderOptions
from kvdiag.report.outputs import write_report
from tests.conftest import ROOT, run_kvdiag

CHROMIUM = os.environ.get("KVDIAG_CHROMIUM") or shutil.which("chromium") or ""
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
HOSTILE = """</script><script>document.title='run'</script><img src=x onerror="document.title='run'">"""
CANVAS = "document.getElementById('canvas').toDataURL()"
playwright = pytest.importorskip("playwright.sync_api", reason="the page is not tested in a browser: no playwright")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(
        not CHROMIUM, reason="the page is not tested in a browser: no chromium; KVDIAG_CHROMIUM names one"
    ),
]


@pytest.fixture(scope="module")
def chromium():
    """Give a Chromium that reaches nothing but files."""
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Path:
    """Give a folder with the pages of a failure, of a timeline, of nothing found, and of a hostile log."""
    folder = tmp_path_factory.mktemp("pages")
    logs = folder / "logs"
    logs.mkdir()
    line = (
        'E0312 08:{0}:20.101500    2201 pod_workers.go:951] "Error syncing pod, skipping" err="{1}" '
        'pod="shop/{1}" podUID="1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"\n'
    )
    said = HOSTILE.replace('"', r"\"")
    (logs / "kubelet.log").write_text("".join(line.format(minute, said) for minute in range(10, 40)), "utf-8")
    for name, path in (("failure", "sample-logs/hostpath-driver-lost-state"), ("hostile", str(logs))):
        with (folder / f"{name}.html").open("w", encoding="utf-8") as stream:
            write_report("html", analyze(Options(paths=(path,)), lanes=True), stream, RenderOptions())
    words = ["default/db-0", "sample-logs/hostpath-driver-lost-state", "-o", "html"]
    (folder / "timeline.html").write_text(run_kvdiag("timeline", *words, cwd=ROOT).stdout, "utf-8")
    return folder


@pytest.fixture
def opened(chromium, pages) -> Iterator:
    """Give the function that opens a page; no error may be on its console, and it may ask for nothing."""
    said, asked, contexts = [], [], []

    def open_page(name: str, target: str = "", **options: object):
        context = chromium.new_context(viewport={"width": 1280, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text) if message.type in {"error", "warning"} else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{(pages / name).as_uri()}.html{target}")
        if options.get("java_script_enabled", True):
            page.wait_for_selector("html[data-ready][data-painted]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith("file:")] == []


def drawn(page) -> None:
    """Wait until what the page was asked to draw stands: the frame after the next one."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def element(page, selector: str):
    """Give the expectations of an element, which wait until they hold."""
    return playwright.expect(page.locator(selector))


def test_a_click_on_an_event_tells_it_and_is_in_the_address(opened):
    """A click on a mark shows its line and its finding; the address leads there again."""
    page = opened("failure")
    page.click("td.at a >> nth=0")
    page.wait_for_selector("#event a")
    assert "#e-" in page.url
    assert "not published" in page.inner_text("#event") or "csi-hostpath.log" in page.inner_text("#event")
    page.click("#event a[href^='#f-']")
    page.wait_for_selector("article.here")
    assert "#f-" in page.url


def test_a_click_on_the_canvas(opened):
    """The mark under the pointer is chosen, or the state under it told."""
    page = opened("failure")
    drawn(page)
    box = page.locator("#lanes").bounding_box()
    lane = page.locator("#names div:visible", has_text="node worker-1").bounding_box()
    page.mouse.click(box["x"] + 900, lane["y"] + 8)
    element(page, "#event").to_have_text(re.compile(r"^node worker-1\s*STARTING 2026-11-20 "), use_inner_text=True)


def test_the_wheel_zooms_at_the_pointer(opened):
    """What is under the pointer stays there; what one sees is in the address, and 0 shows all again."""
    page = opened("failure")
    before = page.inner_text("#span")
    page.hover("#lanes", position={"x": 700, "y": 100})
    page.keyboard.down("Control")
    page.mouse.wheel(0, -400)
    page.keyboard.up("Control")
    element(page, "#span").not_to_have_text(before, use_inner_text=True)
    playwright.expect(page).to_have_url(re.compile("t="))
    page.focus("#lanes")
    page.keyboard.press("0")
    element(page, "#span").to_have_text(before, use_inner_text=True)
    playwright.expect(page).not_to_have_url(re.compile("t="))


def test_lanes_in_view(opened):
    """Lanes that are empty between the two edges are left out when that is asked for."""
    page = opened("failure", "#?t=0-3000")
    names = page.locator("#names div:visible")
    before = names.count()
    page.click("#view")
    drawn(page)
    assert 0 < names.count() < before
    assert "pod default/db-0" not in names.all_inner_texts()
    page.click("#view")
    drawn(page)
    assert names.count() == before


def test_search(opened):
    """Tokens and words leave what is meant, of findings and of lanes, and stand in the address."""
    page = opened("failure")
    page.keyboard.press("/")
    page.keyboard.type("sev:critical")
    page.wait_for_selector("#hits:has-text('0 of ')")  # when all is typed
    assert page.inner_text("#hits").startswith("0 of ")
    assert page.locator("article:visible").count() == 0
    page.fill("#q", "sev:medium kind:volume node:worker-1")
    page.wait_for_selector("article:visible")
    page.wait_for_url("**q=sev%3Amedium**")
    drawn(page)
    assert {name.split()[0] for name in page.locator("#names div:visible").all_inner_texts()} == {
        "worker-1,",  # with findings
        "volume",
    }
    page.keyboard.press("Escape")
    page.wait_for_selector("#hits:empty", state="attached")
    assert "q=" not in page.url or page.input_value("#q") == ""


def test_a_deep_link_shows_the_same_again(opened):
    """Query, time, event and finding of an address are there after a reload."""
    page = opened("failure")
    page.fill("#q", "kind:pod db-0")
    page.focus("#lanes")
    for key in ("+", "n", "n"):
        page.keyboard.press(key)
    playwright.expect(page).to_have_url(re.compile(r"#e-[\d.]+\?q=kind.*&t=\d"))
    page.wait_for_function("location.hash.startsWith(document.querySelector('#event a').getAttribute('href') + '?')")
    drawn(page)
    seen = [page.inner_text("#span"), page.inner_text("#event"), page.inner_text("#hits"), page.url]
    page.reload()
    page.wait_for_selector("html[data-ready][data-painted]")
    drawn(page)
    assert [page.inner_text("#span"), page.inner_text("#event"), page.inner_text("#hits"), page.url] == seen


def test_a_link_to_a_finding_opens_it(opened):
    """The place of a finding is seen and has the focus; j and k go to the next and the one before."""
    page = opened("failure")
    anchor = page.get_attribute("article", "id")
    other = opened("failure", f"#{anchor}?q=volume")
    assert other.evaluate("document.activeElement.id") == anchor
    assert other.input_value("#q") == "volume"
    assert other.locator(f"#{anchor} details").first.get_attribute("open") is not None


def test_the_order_of_tab(opened):
    """The first is the way past the head; then causes, search, the picture with its buttons, and the rest."""
    page = opened("failure")
    order = []
    for _ in range(8):
        page.keyboard.press("Tab")
        order.append(page.evaluate("document.activeElement.id || document.activeElement.getAttribute('href')"))
    assert order[0] == "#causes"
    assert order[1].startswith("#f-")
    assert order[2:8] == ["q", "in", "out", "fit", "view", "lanes"]


def test_by_night(opened):
    """A page that is to be dark is dark, and its canvas is painted in other colours."""
    day, night = opened("failure", color_scheme="light"), opened("failure", color_scheme="dark")
    background = "getComputedStyle(document.body).backgroundColor"
    assert (day.evaluate(background), night.evaluate(background)) == ("rgb(255, 255, 255)", "rgb(20, 23, 28)")
    bright = day.evaluate(CANVAS)
    assert bright != night.evaluate(CANVAS)
    day.emulate_media(color_scheme="dark")
    day.wait_for_function(f"(bright) => {CANVAS} !== bright", arg=bright)


def test_on_paper(opened):
    """Printed, the page has its findings in full, states as strips, and nothing to press."""
    page = opened("failure")
    assert page.pdf(format="A4").startswith(b"%PDF-")
    page.emulate_media(media="print")
    assert page.locator("article code:visible").count() > 3
    assert page.locator("#strips svg:visible").count() > 0
    assert page.locator("button:visible, #picture:visible, search:visible").count() == 0


def test_commands_are_copied(opened):
    """The button beside a command copies it whole."""
    page = opened("failure", permissions=["clipboard-read", "clipboard-write"])
    command = page.inner_text(".run pre >> nth=0")
    page.click(".run button >> nth=0")
    page.wait_for_selector("button:has-text('Copied')")
    assert page.evaluate("navigator.clipboard.readText()") == command


@pytest.mark.parametrize("name", ["hostile", "timeline", "failure"])
def test_nothing_of_a_log_runs(opened, name):
    """Script and markup in the names and words of a log stay words, wherever the page shows them."""
    page = opened(name)
    title = page.title()
    page.focus("#lanes")
    for key in ("n", "n", "Enter"):
        page.keyboard.press(key)
    page.fill("#q", HOSTILE)
    page.wait_for_selector("#hits:not(:empty)")
    assert page.title() == title
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 1


def test_without_javascript(opened):
    """Verdict, causes, evidence, commands and states are there; what needs a script is not."""
    page = opened("failure", java_script_enabled=False)
    assert (
        page.locator("h1:visible, .causes:visible, .run:visible, #strips svg:visible, .lines code:visible").count() > 8
    )
    assert page.locator("search:visible, #picture:visible, button:visible").count() == 0


def test_a_timeline_has_the_same_picture(opened):
    """The page of one subject has its rows, and its lanes by phase and program."""
    page = opened("timeline")
    assert page.locator("table.rows tbody tr:visible").count() > 20
    assert "pod default/db-0" in page.locator("#names div:visible").all_inner_texts()
    page.fill("#q", "kind:program")
    page.wait_for_selector("#hits:not(:empty)")
    drawn(page)
    assert "program kubelet" in page.locator("#names div:visible").all_inner_texts()


@pytest.fixture(scope="module")
def many(pages) -> str:
    """Give the name of a page with more failures than its first table has."""
    with (pages / "many.html").open("w", encoding="utf-8") as stream:
        report = analyze(Options(paths=(str(ROOT / "sample-logs"),)), lanes=True)
        write_report("html", report, stream, RenderOptions())
    return "many"


@pytest.fixture(scope="module")
def forged(pages) -> str:
    """Give the name of a page with a finding whose words are markup of HTML and Markdown."""
    image = '\\"<img src=x onerror=alert(1)> ``` # [x](y)\\"'
    line = (
        f'I0312 08:00:{{0:02}}.101500    2201 event.go:307] "Event occurred" object="shop/web-0" fieldPath="" kind="Pod" '
        f'apiVersion="v1" type="Warning" reason="InspectFailed" message="Failed to apply default image tag {image}: '
        f"couldn't parse image name {image}: invalid reference format\"\n"
    )
    log = pages / "forged.log"
    log.write_text("".join(line.format(number) for number in range(0, 50, 10)))
    with (pages / "forged.html").open("w", encoding="utf-8") as stream:
        write_report("html", analyze(Options(paths=(str(log),)), lanes=True), stream, RenderOptions())
    return "forged"


def test_a_search_opens_folded_rows(opened, many):
    """A row that is folded away is shown when the search finds it, counted, and folded again afterwards."""
    page = opened(many)
    folded = page.locator("#causes details.folded").first
    summary = folded.locator("summary").inner_text()
    row = folded.locator("tbody tr").last
    page.fill("#q", f"rule:{row.get_attribute('data-rule')}")
    playwright.expect(row).to_be_visible()
    playwright.expect(folded.locator("summary")).to_have_text(re.compile(rf"^\d+ of {summary}$"))
    playwright.expect(page.locator("#causes table").first).to_be_hidden()
    page.fill("#q", "")
    playwright.expect(row).to_be_hidden()
    playwright.expect(folded.locator("summary")).to_have_text(summary)


def test_filters_are_clicked(opened, many):
    """A filter puts its token into the search, and takes it out again; two of a group admit either."""
    page = opened(many)
    first, second = (page.locator("#chips button[data-key=sev]").nth(number) for number in (0, 1))
    first.click()
    playwright.expect(first).to_have_attribute("aria-pressed", "true")
    assert page.input_value("#q") == f"sev:{first.get_attribute('data-value')}"
    second.click()
    assert page.input_value("#q") == f"sev:{first.get_attribute('data-value')},{second.get_attribute('data-value')}"
    first.click()
    second.click()
    assert page.input_value("#q") == ""
    playwright.expect(page.locator("article").first).to_be_visible()
    assert opened("failure").locator("#chips button").count() == 0  # one failure: one severity, node, kind and rule


def test_lanes_with_findings_are_first(opened):
    """The lanes of subjects with findings come before all others, the most severe first."""
    page = opened("failure")
    drawn(page)
    names = page.locator("#names div:visible").all_inner_texts()
    assert names[0] == "worker-1, with findings"
    assert names[1].startswith("volume pvc-")


def test_log_lines_around_an_event(opened):
    """A line of evidence leads to the lines of its log around it, with their numbers, itself marked."""
    page = opened("failure")
    place = page.locator(".lines a").first
    source, number = place.inner_text().rsplit(":", 1)
    place.click()
    page.click("#around summary")
    lines = page.inner_text("#around pre").splitlines()
    log = (ROOT / "sample-logs/hostpath-driver-lost-state" / source).read_text("utf-8").splitlines()
    shown = {int(line.split()[0]): line.split(maxsplit=1)[1] for line in lines if line.strip()}
    assert int(number) in shown
    assert len(shown) > 20
    assert all(log[at - 1].startswith(text[:40]) for at, text in shown.items())
    assert page.inner_text("#around mark").split()[0] == number


def test_a_finding_is_copied_as_markdown(opened, forged):
    """Title, sentence, evidence as code and commands in fences; nothing of a log is markup."""
    page = opened("failure", permissions=["clipboard-read", "clipboard-write"])
    command = page.inner_text("article .run pre >> nth=0")
    page.click("article .markdown >> nth=0")
    page.wait_for_selector("button:has-text('Copied')")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("## medium CSI driver left the volume of pod default/db-0 mounted")
    assert f"\n```\n{command}\n```\n" in copied
    assert "### Evidence\n\n```\n" in copied
    page = opened(forged, permissions=["clipboard-read", "clipboard-write"])
    page.click("article .markdown >> nth=0")
    page.wait_for_selector("button:has-text('Copied')")
    copied = page.evaluate("navigator.clipboard.readText()")
    outside = re.sub(r"(?s)(`{3,})\n.*?\n\1", "", copied)
    assert "onerror" in outside
    assert not re.search(r"(?<!\\)[<>`[]", outside)


def test_an_event_has_hover_text(opened):
    """The pointer over an event shows what it is, when it was, and its line."""
    page = opened("failure")
    drawn(page)
    box = page.locator("#canvas").bounding_box()
    page.locator(".lines a").first.click()
    drawn(page)
    titles = set()
    for x in range(int(box["width"] * 0.2), int(box["width"]), 3):
        page.mouse.move(box["x"] + x, page.locator("#canvas").bounding_box()["y"] + 72 + 26 + 20)
        titles.add(page.get_attribute("#canvas", "title"))
    assert any("\n" in (title or "") and " UTC" in title for title in titles)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("name", ["failure", "timeline", "hostile", "many"])
def test_a_phone_shows_all_of_it(opened, name):
    """At 390 points nothing is wider than the screen."""
    page = opened(name)
    page.set_viewport_size({"width": 390, "height": 800})
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["failure", "timeline", "many"])
def test_nothing_keeps_readers_out(opened, name, scheme):
    """Axe finds no violation: names, contrast, order of headings, roles."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe")
    page = opened(name, color_scheme=scheme, bypass_csp=True)
    results = axe.Axe().run(page)
    assert [violation["id"] for violation in results.response["violations"]] == []


def test_the_page_of_a_fleet_filters(chromium, tmp_path):
    """Words and a severity leave the causes and rows that have them; a link opens the cause that it leads to."""
    pytest.importorskip("duckdb", reason="kvdiag[fleet] is not installed")
    from kvdiag.fleet.overview import Overview
    from kvdiag.fleet.page import write_overview
    from tests.integration.fleet.test_page import CAUSE, COUNTS, ERROR, FAILED

    other = CAUSE | {"rule": "cni-missing", "title": "No CNI configuration", "severity": "low", "first_node": "edge-7"}
    with (tmp_path / "fleet.html").open("w", encoding="utf-8") as stream:
        write_overview(Overview(COUNTS, [CAUSE, other], [ERROR], [FAILED]), stream, "html")
    said: list[str] = []
    page = chromium.new_context(viewport={"width": 390, "height": 800}).new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto((tmp_path / "fleet.html").as_uri())
    causes = page.locator("article:visible")
    assert causes.count() == 2
    page.fill("#filter", "EDGE-7 cni")
    assert causes.all_inner_texts()[0].startswith("cni-missing")
    assert causes.count() == 1
    assert (
        page.locator("tbody.rows > tr:visible").count() == 1
    )  # that of the cause; errors and failures have no such word
    page.fill("#filter", "")
    page.select_option("#severity", "low")
    assert causes.count() == 1
    page.select_option("#severity", "")
    page.click("a[href='#cni-missing']")
    element(page, "#cni-missing").to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.context.close()
    assert said == []
