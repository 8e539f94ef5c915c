"""What a command does on a terminal: pager, colours, links, width, signs; each in a terminal of its own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from kvdiag.cli.pager import paged, pager
from kvdiag.report.ansi import without_styles
from tests.conftest import LOOKS, ROOT

LOST = "sample-logs/hostpath-driver-lost-state"


def on_terminal(*words: str, rows: int = 400, columns: int = 100, **environment: str) -> str:
    """Run the command in a terminal of this size; give what it was sent, but for a bar where the machine is busy."""
    kept = {name: value for name, value in os.environ.items() if name not in LOOKS}
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    command = [sys.executable, "-m", "kvdiag", *words]
    known = kept | {"TERM": "xterm-256color", "LANG": "C.UTF-8"} | environment
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, cwd=ROOT, env=known)
    os.close(theirs)
    said = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while part := os.read(ours, 1 << 16):
            said += part
    os.close(ours)
    assert process.wait(60) == 0, said
    return said.decode().replace("\r\n", "\n")


def test_a_long_report_is_paged():
    """What is longer than the screen is given to the pager, as a whole and in colour."""
    said = on_terminal("analyze", "-v", LOST, rows=20, columns=170, KVDIAG_PAGER="sed 's/^/> /'", PAGER="false")
    assert all(line.startswith("> ") for line in said.splitlines())
    assert "\x1b[1m" in said
    assert max(len(line) for line in without_styles(said).splitlines() if " $ " not in line) in range(150, 173)


def test_a_terminal_without_unicode_and_colours():
    """Nothing but ASCII is sent to it, and nothing is paged."""
    said = on_terminal("analyze", "-v", LOST, rows=20, LC_ALL="C", TERM="dumb", PAGER="false")
    assert said.isascii()
    assert "\x1b" not in said
    assert re.search(r"^  KV310 +\*-+o$", said, re.MULTILINE)


LINES = "one\n\x1b]8;;file://host/two\x1b\\\x1b[1mtwo\x1b[0m\x1b]8;;\x1b\\\n"


def sent(monkeypatch, rows: int, text: str = LINES, *, wanted: bool = True, **environment: str) -> str:
    """Give what a terminal of so many rows is sent when a text is shown on it."""
    for name in LOOKS:
        monkeypatch.delenv(name, raising=False)
    for name, value in ({"TERM": "xterm"} | environment).items():
        monkeypatch.setenv(name, value)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 40, 0, 0))
    with os.fdopen(theirs, "w", encoding="utf-8") as stream, paged(stream, is_wanted=wanted) as out:
        out.write(text)
    with os.fdopen(ours, "rb") as terminal:
        return terminal.read1(1 << 16).decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("rows", "environment"),
    [
        (3, {"PAGER": "false"}),
        (2, {"PAGER": "false", "KVDIAG_PAGER": ""}),
        (2, {"PAGER": "cat"}),
        (2, {"PAGER": "/no/such/pager 2>/dev/null"}),
        (2, {"PAGER": "false", "TERM": "dumb"}),
    ],
)
def test_what_is_printed(monkeypatch, rows, environment):
    """What fits the screen, and all of it where there is no pager, as it is."""
    assert sent(monkeypatch, rows, **environment) == LINES


@pytest.mark.parametrize("columns", ["9" * 24, "9" * 5000, "-1", "0", "1", "٣", "x"])
def test_a_width_that_is_none(kvdiag, columns):
    """Whatever COLUMNS is, the output is written."""
    for command in (["analyze"], ["timeline", "default/db-0"], ["volumes"]):
        done = kvdiag(*command, "sample-logs/hostpath-driver-lost-state", COLUMNS=columns)
        assert (done.returncode, done.stderr) == (0, "")
        assert len(done.stdout.splitlines()) > 1


def test_no_pager(monkeypatch):
    """What is not to be paged is not."""
    assert sent(monkeypatch, 1, wanted=False, PAGER="false") == LINES


def test_what_is_paged(monkeypatch):
    """A pager that is not known to pass links on gets none; lines that the screen wraps count as they are shown."""
    assert sent(monkeypatch, 2, PAGER="tr a-z A-Z") == "ONE\n\x1b[1MTWO\x1b[0M\n"
    assert sent(monkeypatch, 3, "x" * 90 + "\n", PAGER="tr x y") == "y" * 90 + "\n"


def test_a_pager_that_is_left_early(monkeypatch):
    """It is no fault that it does not read all."""
    assert sent(monkeypatch, 2, "line\n" * 100_000, PAGER="head -n 1") == "line\n"


@pytest.mark.parametrize(("version", "knows"), [("less 551 (GNU)", False), ("less 581", True), ("more 1", False)])
def test_links_through_less(monkeypatch, tmp_path, version, knows):
    """The less that is there is asked whether it is new enough for links."""
    less = tmp_path / "less"
    less.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{version}" || cat\n', "utf-8")
    less.chmod(0o755)
    assert ("file://" in sent(monkeypatch, 2, PAGER=f"{less} -R")) is knows


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"KVDIAG_PAGER": "most", "PAGER": "more"}, "most"),
        ({"PAGER": "more"}, "more"),
        ({"PAGER": " "}, ""),
        ({"PATH": "/nowhere"}, ""),
    ],
)
def test_which_pager(monkeypatch, environment, expected):
    """The one of kvdiag goes before that of all programs; without less there is none."""
    for name in ("KVDIAG_PAGER", "PAGER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert pager() == expected
