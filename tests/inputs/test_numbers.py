"""Which line of the input a rewritten line stands for, without remembering all of them."""

import pytest

from kvdiag.inputs.lines import LineMap


def test_nothing_was_rewritten():
    """Where no line was rewritten, each stands for itself, whatever is forgotten."""
    numbers = LineMap()
    numbers.forget(10, [3])
    assert (numbers.input_line(3), numbers.input_line(12), numbers.last) == (3, 12, 0)


def test_what_is_forgotten():
    """A line that was forgotten has no number any more; those that are kept have, and all that come later."""
    numbers = LineMap()
    for number in range(10, 100, 10):
        numbers.append(number)
    numbers.forget(3, [2])
    assert [numbers.input_line(line) for line in (2, 4, 9)] == [20, 40, 90]
    numbers.forget(6, [5, 8])
    assert [numbers.input_line(line) for line in (2, 5, 8)] == [20, 50, 80]
    numbers.keep([5])
    assert (numbers.input_line(5), numbers.last) == (50, 90)
    for line in (1, 2, 4, 6):
        with pytest.raises(KeyError):
            numbers.input_line(line)
