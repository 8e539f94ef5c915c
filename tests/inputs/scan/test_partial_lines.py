"""Lines that a container runtime has cut are whole again, each in the place of its first part."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.inputs.scan.blocks import blocks
from kvdiag.inputs.scan.partial_lines import LONGEST, join_parts

BEGIN = datetime(2026, 11, 20, 20, 39, 21, 779999, tzinfo=UTC)


def at(seconds: float) -> str:
    return f"{BEGIN + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S.%f}789Z"


def cri(tag: str, text: str, stream: str = "stderr", seconds: float = 0, file: str = "") -> str:
    return f"{file}{at(seconds)} {stream} {tag} {text}\n"


def docker(text: str, stream: str = "stderr", seconds: float = 0, file: str = "") -> str:
    return file + json.dumps({"log": text, "stream": stream, "time": at(seconds)}, separators=(",", ":")) + "\n"


def joined(text: str, size: int = 256 << 10) -> str:
    """Give a log as it is read in blocks of a size; their lines are counted."""
    made, lines = "", 0
    for block in join_parts(blocks(io.BytesIO(text.encode()), size)):
        assert block.first_line == lines
        assert block.lines == len(block.data.splitlines())
        lines += block.lines
        made += block.data.decode()
    return made


JOINED = [
    (cri("P", "a b") + cri("F", " c"), cri("F", "a b c") + "\n"),
    (cri("P", "a") + cri("P", "b") + cri("P", "c") + cri("F", "d"), cri("F", "abcd") + "\n\n\n"),
    (cri("P", "a") + cri("F", ""), cri("F", "a") + "\n"),
    (cri("P", "a") + cri("F", "b") + cri("P", "c") + cri("F", "d"), cri("F", "ab") + "\n" + cri("F", "cd") + "\n"),
    (cri("P", "a\r") + cri("F", "b\r"), cri("F", "ab\r") + "\n"),
    (docker("a") + docker("b\n"), docker("ab\n") + "\n"),
    (docker('a "') + docker('" \\') + docker("b\n") + docker("c\n"), docker('a "" \\b\n') + "\n\n" + docker("c\n")),
    (docker("a\\n") + docker("b") + docker("c\n"), docker("a\\nbc\n") + "\n\n"),
    # other streams and files stand between
    (
        cri("P", "a") + cri("P", "x", "stdout") + cri("F", "b") + cri("F", "y", "stdout"),
        cri("F", "ab") + cri("F", "xy", "stdout") + "\n\n",
    ),
    (docker("a") + docker("x\n", "stdout") + docker("b\n"), docker("ab\n") + docker("x\n", "stdout") + "\n"),
    (
        cri("P", "a", file="a.log:7:") + cri("F", "x", file="b-1.log:9:") + cri("F", "b", file="a.log:8:"),
        cri("F", "ab", file="a.log:7:") + cri("F", "x", file="b-1.log:9:") + "\n",
    ),
    (docker("a", file="a:") + docker("x\n", file="b:") + docker("b\n", file="a:"),
     docker("ab\n", file="a:") + docker("x\n", file="b:") + "\n"),
    # what has no end
    (cri("P", "a"), cri("F", "a")),
    (cri("P", "a") + cri("P", "b"), cri("F", "ab") + "\n"),
    (docker("a") + docker("b"), docker("ab\n") + "\n"),
    (cri("P", "a") + "==> b.log <==\n" + cri("F", "b"), cri("F", "a") + "==> b.log <==\n" + cri("F", "b")),
    (cri("P", "a") + cri("F", "b", seconds=61), cri("F", "a") + cri("F", "b", seconds=61)),
    (cri("P", "a") + cri("F", "b", seconds=-1), cri("F", "a") + cri("F", "b", seconds=-1)),
    (
        cri("P", "a") + cri("F", "x", "stdout", 61) + cri("F", "b"),
        cri("F", "a") + cri("F", "x", "stdout", 61) + cri("F", "b"),
    ),
    (
        cri("P", "a") + cri("F", "x" * 1024, "stdout") * (LONGEST >> 10) + cri("F", "b"),
        cri("F", "a") + cri("F", "x" * 1024, "stdout") * (LONGEST >> 10) + cri("F", "b"),
    ),
]  # fmt: skip
LEFT = [
    cri("F", "a stderr P b") + cri("F", "c"),
    docker("a\n") + docker("b\n"),
    'I1120 20:39:21.779765    6175 a.go:1] "x" y="{\\"log\\":\\"a\\",\\"stream\\":\\"stderr\\"}"\n',
    'I1120 20:39:21.779765    6175 a.go:1] "wrote stderr P x"\n',
]


@pytest.mark.parametrize(("parts", "lines"), JOINED)
def test_joined(parts, lines):
    """Parts of one stream are one line, with empty ones below it for the places they had; none waits for ever."""
    assert joined(parts) == lines


@pytest.mark.parametrize("lines", LEFT)
def test_left_alone(lines):
    """Lines that are whole stay."""
    assert joined(lines) == lines


def test_a_log_without_an_end():
    """The last line of a log may lack its line end."""
    assert joined(cri("P", "a") + cri("F", "b")[:-1]) == cri("F", "ab") + "\n"
    assert joined(cri("P", "a")[:-1]) == cri("F", "a")


def test_what_is_whole_does_not_wait():
    """While a line waits for its parts, those above it are given."""
    given = join_parts(blocks(io.BytesIO((cri("F", "x") + cri("P", "a") + cri("F", "y", "stdout")).encode())))
    assert next(given).data.decode() == cri("F", "x")


PIECES = st.builds(
    lambda make, tag, stream, seconds, file: make(tag, stream, seconds, file),
    st.sampled_from(
        [
            lambda tag, stream, seconds, file: cri(tag, tag.lower() * 30, stream, seconds, file),
            lambda tag, stream, seconds, file: docker("d" * 30 + "\n" * (tag == "F"), stream, seconds, file),
            lambda *_: "words\n",
            lambda *_: "\n",
        ]
    ),
    st.sampled_from("PPF"),
    st.sampled_from(["stdout", "stderr"]),
    st.sampled_from([0, 1, 40, 80]),
    st.sampled_from(["", "", "a.log:1:", "b.log:2:"]),
)


@given(st.lists(PIECES, max_size=40).map("".join), st.integers(1, 2000))
def test_it_does_not_matter_where_blocks_end(text, size):
    """However parts are mixed, no line changes its number, blocks of any size give the same, and all is joined."""
    lines = joined(text)
    assert lines.count("\n") == text.count("\n")
    assert joined(text, size) == lines
    assert joined(lines) == lines
