"""gRPC codes as old programs print them."""

from __future__ import annotations

import pytest

from kvdiag.anatomy.error import read_error
from kvdiag.model.values import code_name
from kvdiag.rules.selection import code_of


@pytest.mark.parametrize(
    ("printed", "name"),
    [("4", "DeadlineExceeded"), ("0", "OK"), ("16", "Unauthenticated"), ("17", "17"), ("Internal", "Internal")],
)
def test_names(printed, name):
    """A number has its name; a number without one, and a name, stay."""
    assert code_name(printed) == name


def test_a_number_is_read_as_its_code():
    """Rules and the anatomy of an error see the name."""
    error = "rpc error: code = 5 desc = volume vol-1 is not there"
    assert code_of({"error": error}) == "NotFound"
    assert read_error(error).codes == ("NotFound",)


def test_another_number_is_no_code():
    """An exit code is no gRPC code."""
    assert not code_of({"error": "exit code = 5"})
