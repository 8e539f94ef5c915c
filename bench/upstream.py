"""Pick from a catalogue of Kubernetes' log calls those that the wordings of the vocabulary mean.

    python bench/upstream.py CATALOGUE.tsv

The catalogue has one call on a line, under the columns file, severity, verbosity, structured (y or n),
message_or_format, keys and minors_seen. What is picked is written to tests/data/upstream-calls.tsv.
"""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import read_vocabulary
from tools.upstream import CALLS, COMPONENTS, Call, calls_of, meant

COLUMNS = ("file", "severity", "verbosity", "structured", "message", "keys", "minors")


def main() -> None:
    """Write the calls that are meant, in the order of their files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("catalogue", type=Path)
    with parser.parse_args().catalogue.open(encoding="utf-8", newline="") as given:
        rows = [spelled(row) for row in csv.DictReader(given, delimiter="\t", quoting=csv.QUOTE_NONE)]
    known = {call: row for row in rows for call in calls_of([row])}
    picked = {place(call) for call in wanted(list(known))}
    with CALLS.open("w", encoding="utf-8", newline="") as table:
        writer = csv.writer(table, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows([row[name] for name in COLUMNS] for call, row in known.items() if place(call) in picked)


def spelled(row: dict[str, str]) -> dict[str, str]:
    """Give a row with the names of our columns."""
    named = {
        "file": row["file"].removeprefix("pkg/"),
        "message": row["message_or_format"],
        "minors": row["minors_seen"],
    }
    return {**row, **named}


def wanted(known: list[Call]) -> list[Call]:
    """Calls that a wording means, with the versions in which it does."""
    vocabulary = read_vocabulary(builtin_patterns() / "events")
    pairs = [(entry.component, wording) for entry in vocabulary.entries for wording in entry.wordings]
    return [
        call for component, wording in pairs if component in COMPONENTS for call in meant(wording, component, known)
    ]


def place(call: Call) -> tuple[object, ...]:
    """What a call is, whatever versions of it were meant."""
    return tuple(call._replace(minors=frozenset()))


if __name__ == "__main__":
    main()
