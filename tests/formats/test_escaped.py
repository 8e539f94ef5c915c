"""A log whose line ends are written out is read line by line, whatever is around it; other words are left alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.formats.pasted.escaped import detect
from kvdiag.inputs.lines import LONGEST
from tests.rewriting import rewritten

KLOG = 'I0715 03:49:33.850919    1432 kubelet.go:2168] "SyncLoop ADD" source="api" pods=["shop/web-{}"]'
BROKEN = 'E0715 03:49:33.850919    1432 a.go:1] "umount failed" err="exit status 32\\nOutput: \\"x\\": busy\\n"'
LOGRUS = 'time="2024-07-15T03:49:33Z" level=info msg="StopPodSandbox for \\"cf8d\\""'
TRACE = "\tat line\tof a trace"
LINES = [KLOG.format(1), BROKEN, LOGRUS, TRACE, KLOG.format("größe"), KLOG.format("c:\\x")]


def read(text: str, size: int = 100_000) -> tuple[list[str], list[int]]:
    """Give the lines as they are read, and the numbers of those that were rewritten."""
    made, numbers = rewritten(text.encode(), detect, size=size)
    return made.decode().removesuffix("\n").split("\n"), numbers


def written(lines: list[str], times: int = 1) -> str:
    """Write a log out so many times, each time as what one says in an object."""
    text = "\n".join(lines) + "\n"
    for _ in range(times):
        text = json.dumps({"id": 7, "body": text})
    return text


@pytest.mark.parametrize("times", [1, 2, 3])
def test_texts_of_json(times):
    """Quotes, tabs and what a message has broken itself are as they were; around the log nothing is left over."""
    assert read(written(LINES, times)) == (LINES, [1] * len(LINES))


def test_what_is_around():
    """Words above, below and in other texts are lines too; each tells the line of the input it stands on."""
    text = f"Hello,\n\n{json.dumps(['and so it was', chr(10).join(LINES)])}\nThanks\n"
    assert read(text) == (["Hello,", "", "and so it was", *LINES, "Thanks"], [1, 2, 3, *[3] * len(LINES), 4])


def test_quotes_as_they_are():
    """Where quotes are not written out, a line ends before a record only."""
    lines = [KLOG.format(1), BROKEN, KLOG.format(2), LOGRUS, KLOG.format(3)]
    assert read("\\n".join(lines))[0] == lines


@pytest.mark.parametrize("count", [4000, 12_000])
def test_a_line_of_any_length(count):
    """A line of several MB is read by pieces, also where one ends between a backslash and its letter."""
    lines = [KLOG.format("x" * (number % 97)) for number in range(count)]
    assert read(written(lines))[0] == lines


def test_a_line_that_never_ends():
    """What has no end is cut, and what follows it is read."""
    lines = [KLOG.format(1), KLOG.format("x" * 3 * LONGEST), KLOG.format(2)]
    made = read(written([*lines[:1], *lines]))[0]
    assert made[:2] == [lines[0]] * 2
    assert made[-1] == lines[2]
    assert max(map(len, made)) <= 2 * LONGEST


@pytest.mark.parametrize(
    "text",
    [
        "\n".join([BROKEN] * 9),
        "\n".join([LOGRUS.replace("cf8d", 'x\\ntime=\\"2024-07-15T03:49:33Z\\"')] * 9),
        "\n".join(json.dumps({"log": line + "\n", "stream": "stderr"}) for line in LINES * 3),
        json.dumps([{"line": line + "\n"} for line in LINES * 3]),
        "words \\n with \\n such ends",
        "",
    ],
)  # fmt: skip
def test_what_is_not_written_out(text):
    """Messages of several lines, a log of objects and mere words stay as they are."""
    assert read(text) == (text.split("\n"), [])


@given(st.lists(st.sampled_from([*LINES, "a\\b", '"', "\\n", ", x", "x y"]), min_size=2, max_size=9), st.integers(1, 3))
def test_any_text(lines, times):
    """Lines whose beginning is one of a log's come back however often they were written out."""
    lines = [KLOG.format(0), KLOG.format(1), KLOG.format(2), *(f"{LOGRUS} {line}" for line in lines)]
    assert read(written(lines, times))[0] == lines
