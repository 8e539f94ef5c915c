"""Rules of users are as hostile as logs: their sizes, their words, and what their files are."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

RULE = (Path(__file__).parent.parent / "patterns/node/node-oom-kill.yaml").read_text("utf-8")
WHEN = next(line for line in RULE.splitlines() if line.startswith("when: "))
TITLE = next(line for line in RULE.splitlines() if line.startswith("title: "))
ID = next(line for line in RULE.splitlines() if line.startswith("id: "))
DIGITS = "9" * 5000


@pytest.fixture
def folder(tmp_path):
    """Give a function that makes a folder of rules with one, and gives the rule's path."""

    def made(old="", new=""):
        path = tmp_path / "mine" / "node" / "mine.yaml"
        path.parent.mkdir(parents=True)
        text = RULE.replace(ID, "id: KV699").replace("name: node-oom-kill", "name: mine", 1)
        path.write_text(text.replace(old, new, 1) if old else text)
        return path

    return made


@pytest.mark.parametrize(
    "sentence",
    [
        "not " * 5000 + "killed",
        "(" * 3000 + "killed" + ")" * 3000,
        f"at least {DIGITS} killed",
        f"killed within {DIGITS}s",
    ],
)
def test_sentences_of_no_sense(kvdiag, folder, sentence):
    """A sentence that is too long or too deep is a fault with its place."""
    path = folder(WHEN, f"when: {sentence}")
    done = kvdiag("rules", "list", "--patterns", path.parent.parent)
    assert done.returncode == 2
    assert f"{path}:" in done.stderr
    assert len(done.stderr) < 2000


@pytest.mark.parametrize("command", [("list",), ("show", "KV699")])
def test_words_that_a_terminal_would_obey(kvdiag, folder, command):
    """What a rule says is shown, and moves nothing on the terminal."""
    path = folder(TITLE, 'title: "\\e[2J\\e]8;;http://x\\aa title\\u202e"')
    said = kvdiag("rules", *command, "--patterns", path.parent.parent).stdout
    assert "a title" in said
    assert not {"\x1b", "\a", "\u202e"} & set(said)


def test_what_is_no_file_of_a_rule(kvdiag, folder):
    """A device, a pipe or a file of gigabytes is told, and neither read nor waited for."""
    path = folder()
    path.unlink()
    path.symlink_to("/dev/zero")
    done = kvdiag("rules", "list", "--patterns", path.parent.parent)
    assert (done.returncode, "not a regular file" in done.stderr) == (2, True)
    path.unlink()
    os.mkfifo(path)
    done = kvdiag("rules", "list", "--patterns", path.parent.parent)
    assert (done.returncode, "not a regular file" in done.stderr) == (2, True)
    path.unlink()
    with path.open("wb") as file:
        file.truncate(1 << 30)
    done = kvdiag("rules", "list", "--patterns", path.parent.parent)
    assert (done.returncode, "larger than 1 MiB" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    "option", [("--since", f"{DIGITS}h"), ("--until", DIGITS), ("--tz", f"+{DIGITS}:00"), ("--year", DIGITS)]
)
def test_options_of_thousands_of_digits(kvdiag, option):
    """A number nobody means is wrong usage, told in a line."""
    done = kvdiag("analyze", *option, "sample-logs/healthy-journald")
    assert done.returncode == 2
    assert len(done.stderr) < 1000
