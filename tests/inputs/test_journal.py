"""The journal's modes of many lines are rewritten to one line per entry, and nothing of the input is lost."""

from __future__ import annotations

import json
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.inputs.folded import is_rewritable
from kvdiag.inputs.sniff import looks_like_log
from tests.rewriting import rewritten

HEAD = b"__CURSOR=s=ab8f;i=1\n__REALTIME_TIMESTAMP=1721015374000000\n_UID=0\n"
TAIL = b"_PID=9\n\n"
VERBOSE = b"Mon 2024-07-15 03:49:34.000000 CST [s=ab8f135e0b994f2f;i=3;b=a1]\n"
LEAD = "Mon 2024-07-15 03:49:34.000000 CST "


def entries(data: bytes) -> list[tuple[int, object]]:
    """Give each line with its number, read as JSON where it is JSON."""
    text, numbers = rewritten(data)
    lines = text.decode().splitlines()
    assert len(lines) == len(numbers)
    told = [line.removeprefix(LEAD) for line in lines]
    return [(number, json.loads(line) if line[:1] == "{" else line) for number, line in zip(numbers, told, strict=True)]


ENTRY = {"__REALTIME_TIMESTAMP": "1721015374000000", "MESSAGE": "one", "_PID": "9"}


@pytest.mark.parametrize(
    "data", [b"", b"one\ntwo", b"{\n", b'{"MESSAGE":"x"}\n', b"-- Boot x --\nJul 15 x\n", b"x" * 9000]
)
def test_other_inputs_are_left_alone(data):
    """An input that is of none of these modes is given as it is."""
    assert rewritten(data) == (data, [])
    assert rewritten(data, size=7) == (data, [])


def test_export():
    """An entry is a line with the fields that are asked for, at the number of its message."""
    data = HEAD + b"MESSAGE=one\n" + TAIL + HEAD + b"MESSAGE=a=b\n" + TAIL
    assert entries(data) == [(4, ENTRY), (10, ENTRY | {"MESSAGE": "a=b"})]


@pytest.mark.parametrize("message", [b"two\nlines", b"\n", b"\xff\x1b[0m", b"", b"MESSAGE=x\n\n_PID=7\n", b"x" * 10])
def test_a_field_with_a_length(message):
    """Bytes with a length are read by it, whatever they hold, also a line break within the length itself."""
    data = HEAD + b"MESSAGE\n" + struct.pack("<Q", len(message)) + message + b"\n" + TAIL
    assert entries(data + HEAD + b"MESSAGE=one\n" + TAIL) == [
        (4, ENTRY | {"MESSAGE": message.decode("utf-8", "replace")}),
        (data.count(b"\n") + 4, ENTRY),
    ]


def test_a_long_message():
    """Of a message 256 KB are kept, and the entries that follow are read."""
    data = HEAD + b"MESSAGE\n" + struct.pack("<Q", 700_000) + b"x" * 700_000 + b"\n" + TAIL
    data += HEAD + b"MESSAGE=" + b"y" * 700_000 + b"\n" + TAIL + HEAD + b"MESSAGE=one\n" + TAIL
    first, second, third = entries(data)
    assert len(first[1]["MESSAGE"]) == 256 << 10
    assert 255_000 < len(second[1]["MESSAGE"]) <= 256 << 10
    assert third[1] == ENTRY


def test_what_is_no_field_is_kept():
    """A line between the entries, or of another mode, stays a line."""
    data = b"-- Logs begin at x --\n" + HEAD + b"MESSAGE=one\n" + TAIL + b"Jul 15 03:49:34 n kubelet[9]: x\n"
    assert entries(data)[0] == (1, "-- Logs begin at x --")
    assert entries(data)[2] == (8, "Jul 15 03:49:34 n kubelet[9]: x")
    assert entries(HEAD + b"WORD\nsome words, no length\nMESSAGE=one\n" + TAIL)[0][1] == ENTRY


def test_verbose():
    """The date of an entry is kept before it, with the name of its zone; a message may go on below."""
    data = (
        VERBOSE + b"    _PID=9\n    MESSAGE=one\n            two\n              three\n    _PID=8\n" + b"-- Reboot --\n"
    )
    assert entries(data + VERBOSE + b"    MESSAGE=x\n") == [
        (3, {"_PID": "9", "MESSAGE": "one\ntwo\n  three"}),
        (7, "-- Reboot --"),
        (9, {"MESSAGE": "x"}),
    ]


def pretty(fields: dict[str, object]) -> bytes:
    """An entry as journalctl -o json-pretty prints it."""
    return ("{\n" + ",\n".join(f'\t"{key}" : {json.dumps(value)}' for key, value in fields.items()) + "\n}\n").encode()


def test_pretty():
    """An object of many lines becomes one; a list of bytes becomes a text; a damaged object is kept as lines."""
    assert entries(pretty({"A": "x"} | ENTRY)) == [(4, ENTRY)]
    listed = b'{\n\t"MESSAGE" : [\n\t\t111,\n\t\t110,\n\t\t101\n\t],\n\t"_PID" : "9"\n}\n'
    assert entries(listed) == [(2, {"MESSAGE": "one", "_PID": "9"})]
    text, numbers = rewritten(pretty(ENTRY) + b'{\n\t"MESSAGE" : \n}\nwords\n{\n\t"cut')
    assert text.endswith(b'{\n\t"MESSAGE" : \n}\nwords\n{\n\t"cut\n')
    assert numbers == [3, 6, 7, 8, 9, 10, 11]


def test_a_journal_that_nobody_named():
    """In a folder such a journal is read, whatever it is called."""
    for text in (HEAD, VERBOSE, pretty(ENTRY)):
        assert is_rewritable(text)
        assert looks_like_log("node-1.json", text)


PIECES = [HEAD, TAIL, VERBOSE, b"MESSAGE\n", b"    MESSAGE=", b"\n", b"{\n", b'\t"MESSAGE" : "x"\n', b"}\n", b"\0" * 8]


@given(
    st.sampled_from([HEAD, VERBOSE, b'{\n\t"MESSAGE" : "x"\n']),
    st.lists(st.sampled_from(PIECES) | st.binary(max_size=12), max_size=12).map(b"".join),
)
def test_any_bytes(opening, rest):
    """No input raises; every line given has a number of the input, and they do not go back."""
    data = opening + rest
    text, numbers = rewritten(data)
    assert text.count(b"\n") == len(numbers)
    assert all(1 <= number <= data.count(b"\n") + 1 for number in numbers)
    assert rewritten(data, size=5) == (text, numbers)
