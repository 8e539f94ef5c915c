"""Suggestions for misspelled words in rules, in the configuration and on the command line."""

from __future__ import annotations

from collections.abc import Collection

FEW_WORDS = 20  # known words that are listed in full
LETTERS_PER_EDIT = 4


def suggestion(word: str, known: Collection[str]) -> str:
    """Return `; did you mean 'x'?` for the nearest known word; else a list of the known words if they are few."""
    near = nearest(word, known)
    if near:
        return f"; did you mean '{near}'?"
    return f"; known are {', '.join(sorted(known))}" if 0 < len(known) <= FEW_WORDS else ""


def nearest(word: str, known: Collection[str]) -> str:
    """Return the nearest known word, with at most one edit per four letters; empty if there is none."""
    max_distance = max(1, len(word) // LETTERS_PER_EDIT)
    best, found = max_distance + 1, ""
    for other in sorted(known):
        if abs(len(other) - len(word)) < best and (distance := _edit_distance(word, other, best)) < best:
            best, found = distance, other
    return found


def _edit_distance(word: str, other: str, max_distance: int) -> int:
    """Return the edit distance (insertions, deletions, changes, swaps of neighbours), at most `max_distance`."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(word, 1):
        older, before, row = before, row, [at]
        for to, other_letter in enumerate(other, 1):
            cost = min(before[to] + 1, row[-1] + 1, before[to - 1] + (letter != other_letter))
            if at > 1 and to > 1 and letter == other[to - 2] and word[at - 2] == other_letter:
                cost = min(cost, older[to - 2] + 1)
            row.append(cost)
        if min(row) >= max_distance:
            return max_distance
    return row[-1]
