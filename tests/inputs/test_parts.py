"""Lines that a container runtime has cut are whole again, each in the place of its first part."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.inputs.parts import whole

TIME = "2026-11-20T20:39:21.779999789Z"


def cri(tag: str, text: str, stream: str = "stderr") -> str:
    return f"{TIME} {stream} {tag} {text}\n"


def docker(text: str, stream: str = "stderr") -> str:
    return json.dumps({"log": text, "stream": stream, "time": TIME}, separators=(",", ":")) + "\n"


JOINED = [
    (cri("P", "a b") + cri("F", " c"), cri("F", "a b c") + "\n"),
    (cri("P", "a") + cri("P", "b") + cri("P", "c") + cri("F", "d"), cri("F", "abcd") + "\n\n\n"),
    (cri("P", "a") + cri("F", ""), cri("F", "a") + "\n"),
    (cri("P", "a") + cri("P", "b"), cri("P", "ab") + "\n"),
    (cri("P", "a") + cri("F", "b") + cri("P", "c") + cri("F", "d"), cri("F", "ab") + "\n" + cri("F", "cd") + "\n"),
    (docker("a") + docker("b\n"), docker("ab\n") + "\n"),
    (docker('a "') + docker('" \\') + docker("b\n") + docker("c\n"), docker('a "" \\b\n') + "\n\n" + docker("c\n")),
    (docker("a") + docker("b"), docker("ab") + "\n"),
]
LEFT = [
    cri("F", "a stderr P b") + cri("F", "c"),
    cri("P", "a") + cri("F", "b", "stdout") + cri("F", "c"),  # lines of another stream between: parse joins those
    cri("P", "a"),
    docker("a\n") + docker("b\n"),
    docker("a") + docker("b\n", "stdout"),
    docker("a"),
    'I1120 20:39:21.779765    6175 a.go:1] "x" y="{\\"log\\":\\"a\\",\\"stream\\":\\"stderr\\"}"\n',
]


@pytest.mark.parametrize(("parts", "joined"), JOINED)
def test_joined(parts, joined):
    """Parts that follow one another are one line, with empty ones below it for the places they had."""
    assert whole(parts.encode()).decode() == joined


@pytest.mark.parametrize("lines", LEFT)
def test_left_alone(lines):
    """Lines that are whole, and parts of which the next is not there, stay."""
    assert whole(lines.encode()).decode() == lines


PIECES = st.sampled_from(
    [cri("P", "a"), cri("F", "b"), cri("P", "c", "stdout"), docker("a"), docker("b\n"), "x\n", "\n"]
)


@given(st.lists(PIECES).map("".join))
def test_the_number_of_lines_stays(lines):
    """However parts are mixed, no line changes its number, and nothing is left to be joined."""
    joined = whole(lines.encode()).decode()
    assert joined.count("\n") == lines.count("\n")
    assert whole(joined.encode()).decode() == joined
