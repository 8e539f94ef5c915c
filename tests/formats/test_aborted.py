"""Last lines of programs in C and Rust, which have no level."""

import pytest

from kvdiag.analysis.error_lines.suspects import LevelMarks
from kvdiag.formats.bodies import plain
from kvdiag.model.values import Level


@pytest.mark.parametrize(
    "line",
    [
        "app-store: src/vfs.c:1040: vfsWrite: Assertion `page_size > 0' failed.",
        "app: ../lib/list.h:12: int push(struct list *, int): Assertion `l != NULL' failed.",
        "thread 'main' panicked at src/main.rs:12:5:",
        "thread '<unnamed>' (412) panicked at src/lib.rs:9:1:",
        "thread 'worker-1' panicked at 'no such key', src/main.rs:12:5",
    ],
)
def test_crash(line):
    """The line is a suspect and fatal."""
    assert LevelMarks().suspects(line.encode(), 1) == [(0, len(line))]
    assert plain.level("app", line.encode()) is Level.FATAL


@pytest.mark.parametrize(
    "line",
    [
        "Assertion `a' failed is printed by assert()",
        "app: test.c:1: f: Assertion 'id-1' failed validation",
        "the thread 'main' panicked at once",
        "list.c:12: f: Assertion `l != NULL' holds.",
    ],
)
def test_other(line):
    """Text about such a line is none."""
    assert plain.level("app", line.encode()) is None
