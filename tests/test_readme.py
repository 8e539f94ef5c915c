"""What the README shows is what the program prints."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
BLOCK = re.compile(r"<!-- output: kvdiag (?P<command>[^\n]*) -->\n```\n(?P<shown>.*?)```\n", re.DOTALL)


def output_of(command: str) -> str:
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TERMINAL_WIDTH": "80", "LC_ALL": "C.UTF-8"}
    words = [str(Path(sys.executable).with_name("kvdiag")), *shlex.split(command)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert not done.stderr
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


@pytest.mark.parametrize("command", [found["command"] for found in BLOCK.finditer(README.read_text("utf-8"))])
def test_a_block_of_output_is_what_its_command_prints(command: str, pytestconfig: pytest.Config) -> None:
    """A block marked with a command shows what that command prints; `--update` writes it anew."""
    text = README.read_text("utf-8")
    found = next(block for block in BLOCK.finditer(text) if block["command"] == command)
    printed = output_of(command)
    if pytestconfig.getoption("--update"):
        README.write_text(text[: found.start("shown")] + printed + text[found.end("shown") :], "utf-8")
    else:
        assert found["shown"] == printed


def test_every_link_into_the_project_leads_somewhere() -> None:
    """Relative links of the documents name files that exist."""
    for page in (README, ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
