"""Draw the pictures of the documentation again: `make pictures` (needs a Chromium).

docs/images/report.svg is a report as a terminal shows it, docs/images/page.png the page of the same incident.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
IMAGES = ROOT / "docs/images"
KVDIAG = str(Path(sys.executable).with_name("kvdiag"))
SAMPLE = ["--until", "2026-11-20T20:41:00Z", "sample-logs/hostpath-driver-lost-state"]
WIDTH = 100
LINES = 26  # of the report
FONT = re.compile(r"@font-face \{.*?\}\n?", re.DOTALL)  # rich names fonts on another host


def report() -> None:
    """Write the first lines of a report as a terminal shows them."""
    environment = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm-256color", "FORCE_COLOR": "1"}
    done = subprocess.run(
        [KVDIAG, "analyze", *SAMPLE], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    console.print(Text.from_ansi("\n".join(done.stdout.splitlines()[:LINES])))
    drawn = console.export_svg(title="kvdiag analyze", unique_id="report")
    (IMAGES / "report.svg").write_text(re.sub(r"[ \t]+\n", "\n", FONT.sub("", drawn)), "utf-8")


def page() -> None:
    """Write the first screen of the page."""
    chromium = os.environ.get("KVDIAG_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        file = Path(folder) / "page.html"
        subprocess.run([KVDIAG, "analyze", "-o", "html", "--output-file", str(file), *SAMPLE], cwd=ROOT, check=False)
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        opened = browser.new_page(viewport={"width": 1100, "height": 1400})
        opened.goto(file.as_uri())
        opened.wait_for_selector("html[data-ready][data-painted]")
        opened.screenshot(path=IMAGES / "page.png")
        browser.close()


if __name__ == "__main__":
    report()
    page()
