"""The time limit may end reading at any moment."""

from __future__ import annotations

import pytest

from kvdiag.analysis.error_lines.error_index import ErrorIndex

COLUMNS = ("lines", "below", "stamps", "words", "group_of", "entry_of")


@pytest.mark.parametrize("last", range(len(COLUMNS)))
def test_between_two_columns(last):
    """What was added to only some of the columns of error lines is cut off."""
    index = ErrorIndex(())
    lines = index.begin("kubelet.log")
    for at, name in enumerate(COLUMNS):
        getattr(lines, name).extend([1, 2] if at <= last else [1])
    assert list(index.widened((), {})) == []
    assert {len(getattr(lines, name)) for name in COLUMNS} == {2 if last == len(COLUMNS) - 1 else 1}
