"""Shells complete commands and options with what `kvdiag completion` prints."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def environment(tmp_path):
    """An environment in which `kvdiag` is this one."""
    program = tmp_path / "kvdiag"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m kvdiag "$@"\n', "utf-8")
    program.chmod(0o755)
    return os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash on the PATH")
@pytest.mark.parametrize(("words", "found"), [("kvdiag an", "analyze"), ("kvdiag analyze --fail", "--fail-on")])
def test_bash(environment, words, found):
    """What bash asks for is answered."""
    said = words.split()
    script = (
        "source <(kvdiag completion bash)\n"
        f"COMP_WORDS=({words}); COMP_CWORD={len(said) - 1}\n"
        '_kvdiag_completion kvdiag; printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout.split(), done.stderr) == ([found], "")


@pytest.mark.parametrize(("shell", "word"), [("zsh", "#compdef kvdiag"), ("fish", "complete --command kvdiag")])
def test_others(kvdiag, shell, word):
    """The scripts of the other shells are printed; of an unknown shell the known are told."""
    assert word in kvdiag("completion", shell).stdout
    done = kvdiag("completion", "tcsh")
    assert (done.returncode, "choose from bash, zsh, fish" in done.stderr) == (2, True)
