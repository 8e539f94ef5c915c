"""The toolset for HolmesGPT, loaded, rendered and run by HolmesGPT itself: `make holmes` (it takes 800 MB)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PYTHON = os.environ.get("KVDIAG_HOLMES", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="no HolmesGPT: `make holmes` installs it and runs this")
ASK = """
import json, sys
from pathlib import Path
from unittest.mock import MagicMock
from holmes.core.tools import ToolInvokeContext
from holmes.plugins.toolsets import load_toolsets_from_file
tools = {tool.name: tool for toolset in load_toolsets_from_file(sys.argv[1]) for tool in toolset.tools}
context = ToolInvokeContext.model_construct(request_context=None, llm=MagicMock(), max_token_count=100_000)
answers = {}
for name, params in json.loads(sys.argv[2]):
    result = tools[name]._invoke(params, context)
    answers.setdefault(name, []).append([str(result.status.value), result.data, result.invocation])
print(json.dumps({"tools": sorted(tools), "answers": answers}))
"""


def test_each_tool_is_run(tmp_path):
    """All four tools answer; a value of the model is one word of a shell, whatever is in it."""
    evil = tmp_path / "a'; touch $(echo pwned) #"
    evil.mkdir()
    (evil / "kubelet.log").write_bytes((ROOT / "sample-logs/kubelet-no-runtime-endpoint/kubelet.log").read_bytes())
    lost = str(ROOT / "sample-logs/hostpath-driver-lost-state")
    calls = [
        ["kvdiag_analyze", {"path": lost}],
        ["kvdiag_analyze", {"path": str(evil)}],
        ["kvdiag_timeline", {"subject": "default/db-0", "path": lost}],
        ["kvdiag_errors", {"path": lost}],
        ["kvdiag_explain", {"subject": "CrashLoopBackOff"}],
    ]
    toolset = ROOT / "contrib/holmesgpt/kvdiag.yaml"
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [PYTHON, "-c", ASK, str(toolset), json.dumps(calls)],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout.splitlines()[-1])
    assert said["tools"] == ["kvdiag_analyze", "kvdiag_errors", "kvdiag_explain", "kvdiag_timeline"]
    assert {status for answers in said["answers"].values() for status, _, _ in answers} == {"success"}
    first, second = said["answers"]["kvdiag_analyze"]
    assert "csi-nodeunpublish-state-lost" in first[1]
    assert "--container-runtime-endpoint is missing" in second[1]
    assert "default/db-0" in said["answers"]["kvdiag_timeline"][0][1]
    assert sorted(path.name for path in tmp_path.iterdir()) == [evil.name]
