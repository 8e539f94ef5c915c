"""The documentation builds as a site, names every page, and asks no other host for anything."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.integration.test_page_browser import ARGUMENTS, CHROMIUM, playwright

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Build the site; a warning is an error."""
    pytest.importorskip("mkdocs", reason="the site is not built: no mkdocs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def test_every_page_is_in_the_menu(site):
    """Each document is a page, and the menu leads to it."""
    menu = (site / "index.html").read_text("utf-8")
    pages = [path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")]
    names = [str(page).replace("README.html", "index.html") for page in pages]
    assert [name for name in names if f'href="{name}"' not in menu] == []


@pytest.mark.skipif(not CHROMIUM, reason="the site is not opened in a browser: no chromium")
def test_a_reader_asks_no_other_host(site):
    """Pages with pictures, code and search load from their folder alone, and nothing of them is missing."""
    asked, failed = [], []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS, "--allow-file-access-from-files"])
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("requestfailed", lambda request: failed.append(request.url))
        for name in ("index", "tutorial", "how-to/read-a-report", "signatures/csi"):
            page.goto((site / f"{name}.html").as_uri())
            page.wait_for_load_state("networkidle")
        page.goto((site / "index.html").as_uri())
        assert page.evaluate("[...document.images].every((image) => image.naturalWidth > 100)")
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert failed == []
