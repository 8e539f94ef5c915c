"""Help teaches by examples; the manual and the list of commands are made from the command line as it is."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys

import pytest
import typer

from kvdiag.cli.app import COMMANDS, command
from kvdiag.cli.examples import EXAMPLES
from kvdiag.cli.kubectl import app
from tests.conftest import ROOT
from tools.manual import commands, markdown, roff

WITHOUT = {"version"}
RUN = re.compile(r"(?P<program>kubectl kvdiag|kvdiag)(?P<words>(?: (?:'[^']*'|[^|)>' ]+))*)")


def test_each_command_has_examples():
    """Nobody has to guess how a command is used."""
    named = {called.partition("kvdiag ")[2] for called, _, _ in commands()}
    assert named == EXAMPLES.keys() | WITHOUT


@pytest.mark.parametrize("run", [run for examples in EXAMPLES.values() for _, run in examples])
def test_an_example_is_understood(run):
    """The command line takes it as it stands."""
    found = RUN.search(run.replace("~/.config/fish/completions/kvdiag.fish", ""))
    assert found is not None
    words = shlex.split(found["words"] or "")
    one = command() if found["program"] == "kvdiag" else typer.main.get_command(app)
    while hasattr(one, "commands"):
        one = one.commands[words.pop(0)]
    one.make_context("kvdiag", words, help_option_names=["-h", "--help"])


def test_examples_in_help(kvdiag):
    """They stand at the end of the help, on a line each whatever its width."""
    said = kvdiag("fleet", "run", "--help", COLUMNS="60").stdout
    assert said.endswith(
        "Examples:\n"
        "  # The bundles of a cluster, on all cores\n"
        "  kvdiag fleet run bundles/ --out results/\n"
        "  # From object storage and back\n"
        "  kvdiag fleet run s3://support/case-4711 --out s3://support/case-4711-results\n"
    )


@pytest.mark.parametrize(("name", "make"), [("kvdiag.1", roff), ("commands.md", markdown)])
def test_the_pages_are_those_of_the_command_line(name, make, pytestconfig):
    """`pytest --update`, or python -m tools.manual, writes them anew."""
    page = ROOT / "docs" / name
    if pytestconfig.getoption("--update"):
        page.write_text(make(), "utf-8")
    assert page.read_text("utf-8") == make()


@pytest.mark.skipif(shutil.which("groff") is None, reason="no groff on the PATH")
def test_the_manual_is_read_by_man():
    """The typesetter has nothing to complain of, and words that begin with a dot or a quote are there."""
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-c"], input=roff(), capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    plain = re.sub(".\b", "", done.stdout)
    assert "kvdiag fleet sql results/ 'SELECT rule, count(*) FROM findings GROUP BY ALL'" in plain
    assert "EXIT STATUS" in plain


def test_the_list_says_what_each_help_begins_with():
    """The commands are listed without being imported: what is said of each stands twice, and is the same."""
    made = command().commands
    assert list(made) == [*COMMANDS, "help"]
    for name, says in COMMANDS.items():
        assert made[name].help.split("\n\n")[0].replace("\n", " ").startswith(says), name
        assert len(says) <= 80 - len("  completion  ")


@pytest.mark.parametrize(("words", "imported"), [([], set()), (["parse"], {"parse"}), (["rules", "list"], {"rules"})])
def test_only_the_command_that_is_asked_for_is_imported(words, imported):
    """What the help of one command costs does not grow with the others."""
    run = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); import kvdiag.cli.main as it"
    said = [sys.executable, "-c", f"{run}; it.run()", *words, "--help"]
    done = subprocess.run(said, capture_output=True, text=True, check=True, cwd=ROOT)
    assert {name for name in COMMANDS if f"kvdiag.cli.{name}" in done.stderr.split()} == imported
