"""Everything that is read by regexes, as JSON: run by each Python that is found, it must print the same.

    python3.11 -m tests.readings

Needs what kvdiag imports and no tools of the tests, so that it also runs where those are not installed.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from kvdiag.events.names import PLACEHOLDERS, refs_of
from kvdiag.events.vocabulary import read_vocabulary
from kvdiag.formats.bodies.goquote import unquote
from kvdiag.formats.bodies.registry import canonical, classify, read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.formats.rpc.lines import read_fragment
from kvdiag.safe.clean import clean
from kvdiag.safe.secrets import redacted
from tests.recorded import records_of_lines
from tests.traps import LEADS, UNITS

ROOT = Path(__file__).parents[1]
TABLES = ("formats", "events", "inputs", "report", "scan")
LINES = 40


def main() -> None:
    """Print what is read, one thing on a line, so that a difference tells its place."""
    for part in (known(), tables(), hostile()):
        for row in part:
            sys.stdout.write(json.dumps(row) + "\n")


def known() -> Iterator[list[str]]:
    """Samples of the vocabulary: kind, values and identities, also where the line stands inside JSON."""
    words = read_vocabulary(ROOT / "patterns" / "events")
    for entry in words.entries:
        for sample in entry.samples:
            for line in (sample, json.dumps({"log": sample + "\n", "stream": "stderr"})):
                for number, values in words.readings(line.encode()):
                    named = dict(zip(words.matcher(number).names, values, strict=True))
                    refs = [refs_of(name, value) for name, value in named.items() if value and PLACEHOLDERS[name].kind]
                    yield [line, words.owner(number).kind, repr(named), repr(refs)]


def tables() -> Iterator[list[str]]:
    """Each text that stands in a test of a format, an event, an input or a report."""
    for folder in TABLES:
        for path in sorted((ROOT / "tests" / folder).glob("*.py")):
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                    text = node.value
                    text = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
                    yield [path.name, repr(text), *readings(text)]


def hostile() -> Iterator[list[str]]:
    """Beginnings of lines, and what breaks careless readers, once and some times."""
    for lead in LEADS:
        for unit in UNITS:
            for times in (1, 3):
                text = lead + unit * times
                yield [repr(text), *readings(text), *readings(text + b'"')]


def readings(text: bytes) -> list[str]:
    """Give what every reader makes of a text."""
    peeled = peel(text)
    body = read_body(peeled.body)
    told: list[object] = [peeled, body, classify(text)]
    if body is not None:
        told += [canonical(body), read_fragment(body.message, body.fields)]
    words = text.decode("latin-1")
    told += [redacted(words), clean(words), unquote(text)]
    told += records_of_lines(text.split(b"\n")[:LINES])
    return [repr(reading) for reading in told]


if __name__ == "__main__":
    main()
