"""Documents of JSON become a line per entry, in bounded memory, and what is broken in them stays lines."""

from __future__ import annotations

import io
import json
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.inputs import jsondocument
from kvdiag.inputs.folded import is_rewritable, rewriting_reader
from kvdiag.inputs.sniff import looks_like_log
from tests.rewriting import rewritten

LINE = 'E1120 20:39:21.779765    6175 kubelet.go:2200] "Pod \\"web\\" {[" pod="shop/web-0"'


def read(data: bytes, size: int = 70_000) -> tuple[list[str], list[int]]:
    """Give the lines an input is rewritten to, and their numbers."""
    text, numbers = rewritten(data, size=size)
    return text.decode().removesuffix("\n").split("\n") if text else [], numbers


def entries(data: bytes) -> list[object]:
    """Give the entries of an input as objects."""
    lines, numbers = read(data)
    assert len(lines) == len(numbers)
    return [json.loads(line) for line in lines]


SAID = {"timestamp": 1795206361779, "message": LINE}


@pytest.mark.parametrize("indent", [None, 1, 4])
@pytest.mark.parametrize(
    ("document", "told"),
    [
        ([SAID, SAID], [SAID, SAID]),
        ([{"a": [1, {"b": []}], "message": "x"}], [{"a": [1, {"b": []}], "message": "x"}]),
        ({"events": [SAID], "nextToken": "f/3"}, [SAID]),
        ({"searchedLogStreams": [], "events": [SAID]}, [SAID]),
        ({"took": 1, "hits": {"total": {"value": 9}, "hits": [{"_id": "1", "_source": SAID}]}}, [SAID]),
        (
            {"data": {"result": [{"stream": {"a": "b"}, "values": [["1795206361779000000", LINE]]}]}},
            [{"timestamp": "1795206361779000000", "line": LINE}],
        ),
        (
            {"results": [[{"field": "@timestamp", "value": "x"}, {"field": "@message", "value": LINE}]]},
            [{"timestamp": "x", "message": LINE}],
        ),
    ],
)
def test_entries(document, told, indent):
    """The entries of an export are found on whatever lines it stands."""
    assert entries(json.dumps(document, indent=indent).encode()) == told


def test_numbers():
    """An entry of many lines stands for the line of its message."""
    data = json.dumps([{"timestamp": 1, "message": "a"}, {"message": "b"}], indent=2).encode()
    lines = data.decode().splitlines()
    assert [lines[number - 1].strip() for number in read(data)[1]] == ['"message": "a"', '"message": "b"']


def test_texts():
    """A list of texts is a list of lines."""
    assert read(json.dumps([LINE, f"{LINE}\n\tmore"]).encode())[0] == [LINE, LINE, "\tmore"]


def test_objects_one_after_the_other():
    """What jq prints, an object over several lines and then another, is an entry for each."""
    data = json.dumps(SAID, indent=2) + "\n" + json.dumps(SAID, indent=2) + "\nwords {\n"
    lines, numbers = read(data.encode())
    assert [*map(json.loads, lines[:2]), lines[2]] == [SAID, SAID, "words {"]
    assert numbers == [3, 7, 9]


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        ('[{"line":"a\n{"line":"b"},\n{"line":"c"}]\nwords\n', ['{"line":"a', '{"line":"b"}', '{"line":"c"}', "words"]),
        ('[\n{"line":"a"},\n{"line":"b', ['{"line":"a"}', '{"line":"b']),
        ('[{"line":"a"},{"line":b},{"line":"c"}]', ['{"line":"a"}', '{"line":b}', '{"line":"c"}']),
        ('[{"line":"a"}}}]]]{"line":"b"}', ['{"line":"a"}', '{"line":"b"}']),
    ],
)
def test_a_document_that_is_broken(data, lines):
    """Damage costs the entry it is in, which stays a line; the others are read."""
    assert read(data.encode())[0] == lines


def test_a_long_entry():
    """An entry of more than 4 MB stays lines, and what follows it is read."""
    data = json.dumps([{"line": "x" * 9_000_000}, {"line": "b"}]).encode()
    lines, _ = read(data)
    assert lines[-1] == '{"line":"b"}'
    assert max(map(len, lines)) <= 5 << 20
    assert sum(map(len, lines)) > 9_000_000


@pytest.mark.parametrize(
    "data",
    [
        b'{"ts":1.0,"msg":"x","events":[{"a":"b"}]}\n',
        b'{"MESSAGE":"x","items":[{"a":"b"}]}\n',
        b'{"log":"[{\\"a\\"","stream":"stderr"}\n',
        b"[pod/web-0/app] I1120 20:39:21.779765 1 a.go:1] x\n",
        b"[  759.689531] worker-1 kernel: x\n",
        b"I1120 20:39:21.779765 1 a.go:1] [{\n",
        b"{}\n",
        b"[]\n",
    ],
)
def test_lines_of_a_log_are_no_document(data):
    """Logs whose lines are JSON or begin with a bracket are left alone."""
    assert jsondocument.detect(data) is None
    assert read(data) == (data.decode().splitlines(), [])


def test_a_document_that_nobody_named():
    """In a folder a document is read when lines of a log are in it; a manifest is none."""
    assert looks_like_log("export.json", json.dumps([SAID, SAID], indent=2).encode())
    manifest = json.dumps({"kind": "Pod", "items": [{"message": "crash"}]}, indent=2).encode()
    assert not is_rewritable(manifest)
    assert not looks_like_log("pod.json", manifest)


PIECES = [b'{"', b'":"', b'"', b"[", b"]", b"{", b"}", b"\\", b"\n", b",", b'"hits":[', b'"message":"x"', b" "]


@given(
    st.sampled_from([b'[{"', b'{\n "', b'{"events":[{', b'["I1120 ']),
    st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=20).map(b"".join),
)
def test_any_bytes(opening, rest):
    """No document raises or reads differently in small pieces; numbers are lines of the input."""
    numbers: array[int] = array("I")
    reader = rewriting_reader(io.BytesIO(opening + rest), numbers)
    buffer, text = bytearray(7), b""
    while got := reader.readinto(memoryview(buffer)):
        text += buffer[:got]
    assert not numbers or text.count(b"\n") == len(numbers)
    assert all(1 <= number <= (opening + rest).count(b"\n") + 1 for number in numbers)


@given(st.lists(st.dictionaries(st.text(min_size=1), st.text() | st.integers() | st.none(), min_size=1), min_size=1))
def test_any_entries(told):
    """Entries come out as they went in, whatever their texts."""
    data = json.dumps(told).encode()
    if data.startswith(b'[{"'):
        assert entries(data) == told
