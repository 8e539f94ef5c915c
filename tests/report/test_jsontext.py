"""A document that is written piece by piece has the bytes of one that is written whole."""

import io

import pytest

from kvdiag.report.jsontext import write_json

ROWS = [
    {"name": "web-0", "ids": {}, "text": "two\nlines\x1b[0m"},
    {"name": "web-1", "ids": {"a": [1, None]}, "text": "é"},
]


@pytest.mark.parametrize("redact", [True, False])
@pytest.mark.parametrize(
    "made",
    [
        lambda many: {"schema": "x/1", "password": "Zk3vQ9xw7", "items": many(ROWS), "more": [1.5, True]},
        lambda many: {"items": many([]), "none": None},
        lambda many: many(ROWS),
        lambda many: many([]),
        lambda many: many([{"name": "a", "rows": many(ROWS), "empty": many([])}]),
        lambda many: {"password": many(["Zk3vQ9xw7", "b"])},
    ],
)
def test_same_bytes(made, redact):
    """Wherever the iterators stand, what they give is indented and blotted as in a list."""
    by_piece, whole = io.StringIO(), io.StringIO()
    write_json(made(iter), by_piece, redact=redact)
    write_json(made(list), whole, redact=redact)
    assert by_piece.getvalue() == whole.getvalue()
