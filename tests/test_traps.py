"""Hostile text takes linear time and raises nothing: `bench/linear.py` measures more of it, and larger."""

from __future__ import annotations

import io
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.analysis.log_clocks import LogClocks
from kvdiag.analysis.parse import source_records
from kvdiag.events.recognise import Recogniser
from kvdiag.formats.pasted.wrapped import detect
from kvdiag.history.ingest.log_reader import TextInput, read_source
from kvdiag.inputs.folded import DETECTORS, rewriting_reader
from kvdiag.inputs.repair import TextRepair, Transcoded
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.model.options import Options
from tests.recorded import records_of
from tests.traps import KLOG, LEADS, READERS, UNITS, vocabulary

LARGE = 17 << 10  # beyond what is kept of a line; `bench/linear.py` goes to megabytes
ONE_LINE = ("understand", "classify", "piece", "request", "clean")
# What was quadratic once, or is the kind of thing that is.
WORST = (
    b'a="',
    b"{{{{",
    b"\\",
    b"[[",
    b" ",
    b"1",
    b'time="',
    b'"',
    b'\\"',
    b"a=",
    b"a-",
    b"/",
    b':"',
    b"name:",
    b"1:",
    b"a ",
)
OPENINGS = (
    b'[{"',
    b'{\n"',
    b"__CURSOR=s=a\n",
    b'{\n\t"MESSAGE" : ',
    b"Mon 2024-07-15 03:49:34.000000 UTC [s=ab8f135e\n",
    b"",
)


@pytest.mark.parametrize("name", ONE_LINE)
@pytest.mark.parametrize("unit", WORST, ids=ascii)
def test_a_long_line(name, unit):
    """A line of 17 KB of anything is read, behind any beginning."""
    for lead in LEADS:
        READERS[name](lead + unit * (LARGE // len(unit)))


@pytest.mark.parametrize("unit", [b"\n", b"\n\t", b"a\n", b"{\n", b"=<\n", b'"\n', b"\0\n", b"&quot;\n"], ids=ascii)
@pytest.mark.parametrize("name", ["parse", "analyse"])
def test_many_short_lines(name, unit):
    """Lines of next to nothing are read one by one."""
    vocabulary()
    for lead in (b"", KLOG + b"a=<\n"):
        READERS[name](lead + unit * ((6 << 10) // len(unit)))


BEHIND = [unit for unit in UNITS if b"\n" not in unit]
PART = 4


@pytest.mark.parametrize("number", range(len(BEHIND)))
def test_words_that_are_known(number):
    """Behind the words of every event may stand anything: each unit behind a part of them, which differs from unit to unit."""
    words, unit = vocabulary(), BEHIND[number]
    recogniser = Recogniser(words)
    for which, literal in list(enumerate(words.literals))[number % PART :: PART]:
        line = KLOG + b'"' + literal + unit * (300 // len(unit))
        recogniser.feed(line, which, [(0, line, (which,))])


def read_through(data: bytes) -> int:
    """Read an input to its end; give how many bytes came."""
    reader = rewriting_reader(Transcoded(io.BytesIO(data)), array("I"), (*DETECTORS, detect))
    buffer, size, mender = bytearray(1 << 16), 0, TextRepair()
    while got := reader.readinto(memoryview(buffer)):
        mender.repair(bytes(buffer[:got]))
        size += got
    return size


@pytest.mark.parametrize("opening", OPENINGS, ids=ascii)
@pytest.mark.parametrize(
    "unit", [*WORST, b"\0", b"[", b"]", b'"\n', b"    X=\n", b"            x\n", b"&#34;", b"a\n"], ids=ascii
)
def test_inputs_that_are_rewritten(opening, unit):
    """Whatever follows the opening of a journal or a document, its size is all that it costs."""
    assert read_through(opening + unit * (LARGE // len(unit))) <= 16 * LARGE


# what was quadratic, and crashes of the fuzzer (bench/fuzz.py) cut down
FOUND = {
    "a message of a journal of many short lines": OPENINGS[4] + b"    MESSAGE=x\n" + b"            x\n" * 20_000,
    "words that are known in lines without a header": b"a b c d: Volume detached for volume x\n" * 3_000,
    "a cut object of backslashes": b'{"ts":1.0,"msg":"' + b"\\" * LARGE,
}


def survive(data: bytes) -> None:
    """Analyse, list the events of and parse an input that may be anything."""
    source = TextInput("x", data)
    list(read_source(source, vocabulary(), make_scanner(vocabulary().literals), pytest.fail, lambda _name, _size: None))
    list(source_records(source, pytest.fail, LogClocks(Options())))
    records_of(data)


PIECES = st.sampled_from([*LEADS, *UNITS, *OPENINGS, *(literal for literal in vocabulary().literals)])


@given(st.lists(PIECES | st.binary(max_size=9), max_size=12).map(b"".join))
def test_any_bytes(data):
    """No bytes, however near they come to a log, raise anything or stop a reading."""
    survive(data)


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found(name):
    """What once raised or did not end is read."""
    vocabulary()
    survive(FOUND[name])
