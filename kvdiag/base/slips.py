"""Which known word somebody meant: slips of the finger in rules, in configuration, in names of rules."""

from __future__ import annotations

from collections.abc import Collection

FEW = 20  # known words that are told in full
LETTERS_A_SLIP = 4


def suggestion(word: str, known: Collection[str]) -> str:
    """Give `; did you mean 'x'?` for the nearest known word; else the known words when they are few, or nothing."""
    near = nearest(word, known)
    if near:
        return f"; did you mean '{near}'?"
    return f"; known are {', '.join(sorted(known))}" if 0 < len(known) <= FEW else ""


def nearest(word: str, known: Collection[str]) -> str:
    """Give the known word that is a slip of the finger or two away, one for four letters; empty when there is none."""
    most = max(1, len(word) // LETTERS_A_SLIP)
    best, found = most + 1, ""
    for other in sorted(known):
        if abs(len(other) - len(word)) < best and (slips := _slips(word, other, best)) < best:
            best, found = slips, other
    return found


def _slips(word: str, other: str, most: int) -> int:
    """How many letters must be put in, left out, changed or swapped with the next; `most` if so many or more."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for at, letter in enumerate(word, 1):
        older, before, row = before, row, [at]
        for to, wanted in enumerate(other, 1):
            cost = min(before[to] + 1, row[-1] + 1, before[to - 1] + (letter != wanted))
            if at > 1 and to > 1 and letter == other[to - 2] and word[at - 2] == wanted:
                cost = min(cost, older[to - 2] + 1)
            row.append(cost)
        if min(row) >= most:
            return most
    return row[-1]
