"""The page of `-o html` with 100,000 intervals in a Chromium: size, start, zoom, heap, search.

python bench/page.py [INTERVALS]    needs playwright and /usr/bin/chromium, or what KVDIAG_CHROMIUM names
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from kvdiag.model.error_groups import Errors
from kvdiag.model.event import Event
from kvdiag.model.lanes import Bar, Lane, Lanes, Mark
from kvdiag.model.record import Origin
from kvdiag.model.report import Reading, Report
from kvdiag.report import RenderOptions
from kvdiag.report.outputs import write_report

CHROMIUM = os.environ.get("KVDIAG_CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
BEGINS = 1_710_000_000_000_000
STATES = ("ADDED", "SYNC", "RUNNING", "TERMINATING", "BACKOFF")
LINE = 'E0312 08:11:20.{0:06} 2201 pod_workers.go:951] "Error syncing pod, skipping" err="{1:032x}" pod="shop/web-{0}"'


def lanes(intervals: int) -> Lanes:
    """Give half as many bars as intervals and half as many marks, on 500 lanes of 20 nodes."""
    chance, many = random.Random(1), 500
    made = []
    for number in range(many):
        times = sorted(BEGINS + chance.randrange(86_400_000_000) for _ in range(intervals // 2 // many))
        bars = [Bar(a, b, chance.choice(STATES)) for a, b in zip(times, [*times[1:], times[-1] + 10**7], strict=True)]
        marks = [Mark(event(at, chance), chance.choice(("sync", "failed", "started"))) for at in times]
        made.append(Lane("pod", str(number), f"shop/web-{number}", f"worker-{number // 25}", tuple(bars), tuple(marks)))
    return Lanes(tuple(made), BEGINS, BEGINS + 86_400_000_000)


def event(at: int, chance: random.Random) -> Event:
    """Give an event whose line is like no other."""
    line = chance.randrange(1_000_000)
    text = LINE.format(line, chance.getrandbits(128))
    return Event(at, "pod.sync.failed", "kubelet", (), {}, Origin("kubelet.log", line), "worker-1", text.encode(), at)


def main() -> None:
    """Write the page, open it, zoom ten times."""
    intervals = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    reading = Reading("kubelet.log", "klog", "kubelet", intervals, intervals, intervals, 0)
    report = Report("bench", (reading,), (), (), errors=Errors(), lanes=lanes(intervals))
    path = Path(tempfile.mkdtemp()) / "page.html"
    began = time.perf_counter()
    with path.open("w", encoding="utf-8") as stream:
        write_report("html", report, stream, RenderOptions())
    print(f"written in {time.perf_counter() - began:.2f} s, {path.stat().st_size / 1e6:.2f} MB")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page()
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        print("ready after", page.evaluate("document.documentElement.dataset.ready"), "ms")
        page.hover("#lanes", position={"x": 700, "y": 20})
        painted = []
        for _ in range(10):
            page.mouse.wheel(0, -100)
            page.wait_for_timeout(60)
            painted.append(float(page.evaluate("document.documentElement.dataset.painted")))
        print(f"zoom {max(painted)} ms at most")
        session = page.context.new_cdp_session(page)
        session.send("HeapProfiler.collectGarbage")
        used = session.send("Runtime.getHeapUsage")
        print(f"heap {(used['usedSize'] + used.get('backingStorageSize', 0)) / 1e6:.1f} MB")
        began = time.perf_counter()
        page.fill("#q", "web-17 -started")
        page.wait_for_selector("#hits:not(:empty)")
        print(f"search {time.perf_counter() - began:.2f} s: {page.inner_text('#hits')}")
        browser.close()


if __name__ == "__main__":
    main()
