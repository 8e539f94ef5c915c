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
PROGRAM = str(Path(sys.executable).with_name("kvdiag"))
PAGES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"<!-- output: kvdiag (?P<command>[^\n]*?)(?:, (?P<most>\d+) lines)? -->\n```\n(?P<shown>.*?)```\n", re.DOTALL
)
BLOCKS = [(page, found["command"]) for page in PAGES for found in BLOCK.finditer(page.read_text("utf-8"))]
RULE = re.compile(r"<!-- rule: (?P<name>[\w-]+) -->\n```yaml\n(?P<text>.*?)```\n", re.DOTALL)


def output_of(command: str) -> str:
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "TERMINAL_WIDTH": "80", "LC_ALL": "C.UTF-8"}
    words = [PROGRAM, *shlex.split(command)]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment, check=False)
    assert not done.stderr
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


@pytest.mark.parametrize(("page", "command"), BLOCKS, ids=[f"{page.stem}: {command}" for page, command in BLOCKS])
def test_a_block_of_output_is_what_its_command_prints(page: Path, command: str, pytestconfig: pytest.Config) -> None:
    """A block marked with a command shows what that command prints, or its first lines; `--update` writes it again."""
    text = page.read_text("utf-8")
    found = next(block for block in BLOCK.finditer(text) if block["command"] == command)
    printed = output_of(command)
    if found["most"]:
        printed = "".join(printed.splitlines(keepends=True)[: int(found["most"])])
    if pytestconfig.getoption("--update"):
        page.write_text(text[: found.start("shown")] + printed + text[found.end("shown") :], "utf-8")
    else:
        assert found["shown"] == printed


@pytest.mark.parametrize(
    "rule",
    [found for page in PAGES for found in RULE.finditer(page.read_text("utf-8"))],
    ids=lambda found: found["name"],
)
def test_a_rule_in_the_documents_passes_its_tests(rule: re.Match[str], tmp_path: Path) -> None:
    """A rule that a page shows is one that `rules lint` and `rules test` accept."""
    folder = tmp_path / "csi"
    folder.mkdir()
    (folder / f"{rule['name']}.yaml").write_text(rule["text"], "utf-8")
    for command in (["rules", "lint", tmp_path], ["rules", "test", "--patterns", tmp_path, rule["name"]]):
        done = subprocess.run([PROGRAM, *command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout) == (0, "")
        assert re.search(r"\b(0 faults|2 passed, 0 failed)\n", done.stderr)


def test_every_link_into_the_project_leads_somewhere() -> None:
    """Relative links of the documents name files that exist."""
    for page in PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_path_in_the_documents_is_there() -> None:
    """Files and folders of the project that pages name exist; pages may leave out `kvdiag/`."""
    tops = {path.name for path in (*ROOT.iterdir(), *(ROOT / "kvdiag").iterdir()) if path.is_dir()}
    for page in [*PAGES, *ROOT.glob("*/README.md")]:
        for named in re.findall(r"`([a-z][\w-]*/[\w./*-]+)`", page.read_text("utf-8")):
            if named.split("/")[0] in tops:
                assert any(list(folder.glob(named)) for folder in (ROOT, ROOT / "kvdiag")), f"{page.name}: {named}"
