"""Whatever a record looks like: the same cause at any depth of quoting, bounded work, no secret, no unsafe command."""

from __future__ import annotations

import re
import shlex
import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kvdiag.anatomy.clause import innermost_clause
from kvdiag.anatomy.decode import HEAD, TAIL, cut, flatten
from kvdiag.anatomy.error import read_error
from kvdiag.anatomy.objects import KINDS

DEEPEST = 6
LONGEST_READ = 10  # seconds for 1 MB; a search of quadratic time needs minutes
ERRORS = [
    ("dial unix /run/widget/agent.sock: connect: no such file or directory", "ENOENT", "/run/widget/agent.sock"),
    ('Get "https://192.0.2.9:6443/api": dial tcp 192.0.2.9:6443: i/o timeout', "ETIMEDOUT", "192.0.2.9:6443"),
    ('failed to find plugin "portmap" in path [/opt/cni/bin]', "EXEC_MISSING", "portmap"),
    (
        "mount failed: exit status 32\nOutput: mount: /mnt/a: unknown filesystem type 'widgetfs'.",
        "FSTYPE_UNKNOWN",
        "widgetfs",
    ),
    ('secrets "t" is forbidden: User "jane" cannot get resource "secrets"', "FORBIDDEN_RBAC", "jane to get secrets"),
]
BRICKS = ['"', "\\", ": ", "/", "[", "{", "a", " ", "no such file or directory", "rpc error: code = Internal desc = "]


def quoted(text: str, depth: int) -> str:
    """Wrap an error as that many layers of programs do."""
    for number in range(depth):
        escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        text = f'layer {number} failed: "{escaped}"'
    return text


@pytest.mark.parametrize("depth", range(DEEPEST + 1))
@pytest.mark.parametrize(("text", "primitive", "name"), ERRORS)
def test_depth(text, primitive, name, depth):
    """An error within strings within strings has the same cause and object."""
    read = read_error(quoted(text, depth))
    assert (read.primitive, read.object) == (primitive, name)


@pytest.mark.parametrize("length", [0, 100, HEAD, TAIL, HEAD + TAIL, 1 << 20])
@pytest.mark.parametrize(("text", "primitive", "name"), ERRORS)
def test_cut(text, primitive, name, length):
    """However long the words before it are, the innermost error is read."""
    read = read_error(f"{'caller: ' * (length // 8)}{text}")
    assert (read.primitive, read.object) == (primitive, name)


@pytest.mark.parametrize(
    "brick",
    [
        " pod=",
        " preemption: ",
        ' {"Success":false',
        "New-SmbGlobalMapping : refused\n",
        " args: [",
        "Message: '",
        '"message": "abcd"',
    ],
)
def test_clause_is_linear(brick):
    """The time for the innermost clause grows with the text, and not with its square."""
    begin = time.process_time()
    innermost_clause(f"{brick * ((1 << 20) // len(brick))}\nx")
    assert time.process_time() - begin < LONGEST_READ


@given(st.lists(st.sampled_from(BRICKS), max_size=400).map("".join))
@example("\\" * 5000)
def test_any_text(text):
    """No text makes the reader fail, and what it searches is bounded."""
    read_error(text)
    assert len(flatten(text * 100)) <= HEAD + TAIL + 1000
    assert len(cut(text * 100)) <= HEAD + TAIL + 3


def work(text: str) -> int:
    """Return how many calls it takes to read a text."""
    count = 0

    def add(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(add)
    try:
        read_error(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("brick", [*BRICKS, "exit status 1 ", "(os error 5) ", "/dev/sda: ", "'x' "])
def test_work_grows_linearly(brick):
    """Twice the text is at most about twice the work, and beyond the cut it is no more."""
    read_error(brick)
    size = HEAD // len(brick)
    once, twice, far = work(brick * size), work(brick * 2 * size), work(brick * 60 * size)
    assert twice <= 2.2 * once
    assert far <= 10 * once


def test_expressions_are_bounded():
    """No expression for objects repeats without a bound, or repeats a repetition."""
    for patterns in KINDS.values():
        for pattern in patterns:
            bare = re.sub(r"\[(?:\\.|[^\]\\])*\]", "x", pattern.pattern.replace(r"\[", "").replace(r"\]", ""))
            bare = re.sub(r"\\.", "x", bare)
            assert not re.search(r"(?<!\()[*+](?!\?\))", bare.replace("(?>", "(")), pattern.pattern


@pytest.mark.parametrize(
    "text",
    [
        "mount failed: exit status 32\nMounting arguments: -t cifs -o username=u,password=hunter2hunter2 //a/b /mnt\nOutput: mount error(13): Permission denied",
        'failed to open "https://user:hunter2hunter2@registry.example.org/v2/": 403 Forbidden',
        "open /srv/x?token=hunter2hunter2: permission denied",
        "Authorization: Bearer hunter2hunter2hunter2: Unauthorized",
    ],
)
def test_no_secret(text):
    """A secret of the record is in no part of its anatomy."""
    assert "hunter2" not in str(read_error(text))


@given(
    st.lists(
        st.sampled_from(["/", "a", "$(id)", ";", "'", '"', "`", " ", "-", "|", "\\", "{node}", ".."]), min_size=1
    ).map("".join)
)
@example("/a;id")
@example("/a$(id)")
def test_commands_are_safe(name):
    """A name that could be more than one word of a shell is in no command."""
    for text in (f"open /{name}: permission denied", f'exec: "{name}": executable file not found in $PATH'):
        read = read_error(text)
        for word in ("$(id)", ";", "`", "|", '"'):
            assert word not in read.check.replace("; ", "")
        shlex.split(read.check)
