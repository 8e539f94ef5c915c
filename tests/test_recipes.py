"""The recipes of CONTRIBUTING.md hold: what they add to a checkout is there, and no other file was touched."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LINE = 'I0312 05:49:00.241725    4711 kubelet.go:77] "Pod was painted" pod="shop/web-0" podUID="{uid}" colour="blue"\n'
UID = "5b0c7a1e-2f4d-4c8e-9a63-0d1e2f3a4b5c"
EVENT = """\
component: kubelet
events:
  - kind: pod.painted
    label: pod painted
    about: the kubelet gave the pod another colour
    anchor: Pod was painted
    message: '"Pod was painted"'
    fields: {pod: pod, pod_uid: podUID}
    samples:
      - 'LINE'
"""


@pytest.fixture
def checkout(tmp_path):
    """Give a copy of the code and its patterns."""
    for folder in ("kvdiag", "patterns"):
        shutil.copytree(ROOT / folder, tmp_path / "checkout" / folder, ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "checkout"


def kvdiag(checkout: Path, *args: str) -> str:
    """Run the copy and give what it prints."""
    env = os.environ | {"PYTHONPATH": str(checkout), "XDG_CACHE_HOME": str(checkout / "cache"), "NO_COLOR": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "kvdiag", *args],
        cwd=checkout,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert "Traceback" not in run.stderr, run.stderr
    return run.stdout


def test_an_event(checkout):
    """An entry in YAML is all that an event needs to be counted, told with its label, and explained."""
    line = LINE.format(uid=UID)
    (checkout / "patterns" / "events" / "paint.yaml").write_text(EVENT.replace("LINE", line.strip()), encoding="utf-8")
    log = checkout / "kubelet.log"
    added = f'I0312 05:48:59.000000    4711 kubelet.go:2430] "SyncLoop ADD" source="api" pods=["shop/web-0({UID})"]\n'
    log.write_text(added + line, encoding="utf-8")
    assert "pod.painted" in kvdiag(checkout, "events", str(log))
    assert "pod painted" in kvdiag(checkout, "timeline", "pod", "shop/web-0", str(log))
    assert "pod painted (pod.painted)" in kvdiag(checkout, "explain", line.strip())
