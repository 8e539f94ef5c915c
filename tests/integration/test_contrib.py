"""What other tools run of ours: the plugin of Node Problem Detector, the toolset of HolmesGPT."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CONTRIB = ROOT / "contrib"
STUCK = "sample-logs/hostpath-driver-lost-state/kubelet.log"


@pytest.fixture
def with_kvdiag(tmp_path):
    """An environment in which `kvdiag` is this one."""
    program = tmp_path / "bin" / "kvdiag"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m kvdiag "$@"\n', "utf-8")
    program.chmod(0o755)
    return os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize(
    ("logs", "code", "said"),
    [
        (["sample-logs/kubelet-no-runtime-endpoint"], 1, "kubelet-runtime-endpoint-mis"),
        (["sample-logs/healthy-csi-volume"], 0, "no failure found"),
        (["missing.log"], 2, "kvdiag could not read the logs"),
    ],
)
def test_node_problem_detector(with_kvdiag, logs, code, said):
    """Exit code and message are those that Node Problem Detector takes: 0, 1 or 2, and at most 80 characters."""
    plugin = CONTRIB / "node-problem-detector" / "kvdiag.sh"
    done = subprocess.run([plugin, *logs], env=with_kvdiag, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[: len(said)], done.stderr) == (code, said, "")
    (line,) = done.stdout.splitlines()
    assert len(line) <= 80


def test_node_problem_detector_is_told_of_it():
    """Its configuration names a condition that the rule sets."""
    said = json.loads((CONTRIB / "node-problem-detector" / "kvdiag.json").read_text("utf-8"))
    assert said["rules"][0]["condition"] == said["conditions"][0]["type"]
    assert said["pluginConfig"]["max_output_length"] == 80


def test_holmesgpt(with_kvdiag):
    """Each tool's command runs with values that HolmesGPT has quoted, and answers."""
    (toolset,) = yaml.safe_load((CONTRIB / "holmesgpt" / "kvdiag.yaml").read_text("utf-8"))["toolsets"].values()
    given = {"path": "sample-logs/hostpath-driver-lost-state", "subject": "default/db-0"}
    for tool in toolset["tools"]:
        words = given | ({"subject": "CrashLoopBackOff"} if "explain" in tool["name"] else {})
        command = re.sub(r"\{\{ (\w+) \}\}", lambda found, w=words: shlex.quote(w[found[1]]), tool["command"])
        assert "{{" not in command
        done = subprocess.run(
            ["sh", "-c", command], env=with_kvdiag, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (done.returncode, bool(done.stdout)) == (0, True), done.stderr
