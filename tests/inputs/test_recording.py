"""A recording of a terminal is read as the lines that stood on the screen."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.analysis.case import Case
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.inputs.lines import Lines
from kvdiag.inputs.readers import ReplayReader
from kvdiag.inputs.recording import detect
from kvdiag.model.options import Options

HEADER = '{"version": 2, "width": 80, "height": 24, "timestamp": 1554107037, "env": {"TERM": "xterm-256color"}}'
BEGAN = "Script started on 2019-04-01 08:23:57+00:00"
EDITS, READ = "\x1b[?2004h", "\x1b[?2004l\r"
SCRIPT = 'Script started on 2024-03-12 08:00:00+00:00 [TERM="xterm" COLUMNS="80" LINES="24"]\r\n'


def cast(*shown: str) -> str:
    """A recording in which these texts were shown one after another."""
    return "\n".join([HEADER, *(json.dumps([number / 10, "o", text]) for number, text in enumerate(shown)), ""])


def screen(text: str) -> list[tuple[int, str]]:
    """The number and the text of each line that is not blank."""
    data = text.encode()
    rewriting = detect(data)
    assert rewriting is not None
    return [(number, line.decode()) for number, line in rewriting(Lines(ReplayReader(data))) if line]


@pytest.mark.parametrize(
    ("shown", "lines"),
    [
        (["one\r\ntwo\r\n"], [(2, "one"), (2, "two")]),
        (["one ", "line\r\n"], [(3, "one line")]),
        (["\x1b[1m\x1b[31mred\x1b[0m\x1b]2;title\x07 words\r\n"], [(2, "red words")]),
        (["10%\r100%\r\n"], [(2, "100%")]),
        (["abd\bc\r\n"], [(2, "abc")]),
        (["long line\rshort\x1b[K\r\n"], [(2, "short")]),
        (["a\x1b[4Cb\r\n"], [(2, "a    b")]),
        (["a\tb\r\n"], [(2, "a\tb")]),
        ([f"# {EDITS}", "k", "ill 1", READ, "\r\nkilled\r\n"], [(6, "killed")]),
        (["root@worker-1:~# kill 1\r\nkilled\r\n"], [(2, "killed")]),
        (["$ kill 1\r\nkilled\r\n"], [(2, "killed")]),
        (["at the end"], [(2, "at the end")]),
    ],
)
def test_the_screen(shown, lines):
    """Pieces are one line, what was written over is gone, codes and what was typed are left out."""
    assert screen(cast(*shown)) == [(1, BEGAN), *lines]


@pytest.mark.parametrize(
    "event", ['[1.0, "i", "typed\\r\\n"]', '[1.0, "m", "mark\\n"]', '[1.0, "o"]', "no JSON", "{}", "7"]
)
def test_other_events_show_nothing(event):
    """Typed keys, marks and damaged lines are not on the screen."""
    assert screen(f"{cast('one')}{event}\n") == [(1, BEGAN), (3, "one")]


def test_script():
    """What `script` wrote has the same codes; each line keeps its number."""
    text = f"{SCRIPT}[root@worker-1 ~]# dmesg\r\n\x1b[32mone\x1b[0m\r\ntwo\r\n"
    assert screen(text) == [(1, SCRIPT.rstrip()), (3, "one"), (4, "two")]


@pytest.mark.parametrize(
    "text", ['{"version": 2}\n', f"{HEADER}\nwords\n", '{"kind":"List","version":2}\n{"a":1}\n', "one\n", ""]
)
def test_what_is_no_recording(text):
    """A header alone, and any other JSON."""
    assert detect(text.encode()) is None


@given(st.lists(st.text("a \r\n\b\x1b[]0123;?hlCDJKm\x07é", max_size=40), max_size=10))
def test_any_codes(shown):
    """Whatever was shown, no code is left, and lines have the numbers of the input in order."""
    lines = screen(cast("x", *shown))
    assert [number for number, _ in lines] == sorted(number for number, _ in lines)
    assert not any(code in line for _, line in lines for code in "\x1b\x07\b\r\n")


ERROR = "I0401 08:24:00.000000    2201 server.go:1256] words\r\n"
TABLE = """\
Name:               web-0\r
Namespace:          shop\r
Node:               worker-1/10.0.0.5\r
Events:\r
  Type     Reason                  Age    From               Message\r
  ----     ------                  ----   ----               -------\r
  Warning  FailedCreatePodSandBox  8m12s  kubelet, worker-1  Failed create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "b71e": open /run/flannel/subnet.env: no such file or directory\r
"""
CREATED = "  Normal   Created                 7m57s  kubelet, worker-1  Created container\r\n"


def found(text: str) -> set[str]:
    """The rules that find something."""
    case = Case(Options(paths=()))
    return {
        finding.rule.name
        for finding in case.findings(case.read(given=[TextInput("session.cast", text.encode())]).history)
    }


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (cast(ERROR, TABLE), {"cni-flannel-subnet-env", "cni-add-failed"}),
        (cast(ERROR, TABLE, CREATED), set()),
        (cast(f"# {EDITS}grep 'write /x: no space left on device' a.log", READ, "\r\n"), set()),
    ],
)
def test_findings(text, rules):
    """A recorded `kubectl describe` is read; a container that was created after the failure ends it; a command is no fault."""
    assert found(text) == rules
