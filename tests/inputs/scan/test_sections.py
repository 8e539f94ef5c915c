"""One input that holds several logs is cut at their headers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.inputs.scan.blocks import Block
from kvdiag.inputs.scan.sections import MOST_SECTIONS, is_text, sections


def cut(*texts):
    """Give name, and number and text of each line from 0, of the sections of an input that came in these blocks."""
    blocks, line = [], 0
    for text in texts:
        data = text.encode()
        lines = data.count(b"\n") + (not data.endswith(b"\n"))
        blocks.append(Block(data, line, lines, 0))
        line += lines
    found = []
    for name, part in sections(blocks):
        rows = [
            (block.first_line + number, row)
            for block in part
            for number, row in enumerate(block.data.decode().removesuffix("\n").split("\n"))
        ]
        found.append((name, rows))
    return found


def test_an_ordinary_log():
    """A log without headers is one section without a name, block by block."""
    assert cut("a\nb\n", "==> late <==\nc\n") == [("", [(0, "a"), (1, "b"), (2, "==> late <=="), (3, "c")])]
    assert cut() == []


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("==> kubelet <==", "kubelet"),
        ("* ==> kube-scheduler [3f2a9c] <==", "kube-scheduler [3f2a9c]"),
        ("==> /var/log/pods/a/0.log <==", "var/log/pods/a/0.log"),
        ("==> describe nodes <==  \r", "describe nodes"),
    ],
)
def test_headers(header, name):
    """A header stands alone on its line; it belongs to no section, and the numbers of the lines are the input's."""
    assert cut(f"* \n{header}\na\n* \nb\n") == [(name, [(2, "a"), (3, "* "), (4, "b")])]


@pytest.mark.parametrize("line", ["see ==> kubelet <==", "==> kubelet", "==>  <==", "==> kubelet <== now", "--> x <--"])
def test_no_headers(line):
    """A line that only looks like a header is none."""
    assert cut(f"{line}\na\n") == [("", [(0, line), (1, "a")])]


def test_sections_over_blocks():
    """A section goes on in the next block, a name that comes again gets a number, and one without lines is none."""
    assert cut("==> a <==\n1\n", "2\n==> b <==\n==> a <==\n3\n", "4") == [
        ("a", [(1, "1"), (2, "2")]),
        ("a (2)", [(5, "3"), (6, "4")]),
    ]


START = "==== START logs for container {} of pod shop/web-0 ===="
END = "==== END logs for container {} of pod shop/web-0 ===="


def test_logs_of_a_cluster_dump():
    """Each log of a dump is a section; one that does not end with its line is cut where the mark of its end begins."""
    text = f"{START.format('app')}\n1\n{END.format('app')}\n{START.format('csi')}\n2{END.format('csi')}\n{{objects}}\n"
    assert cut(text) == [
        ("namespaces/shop/pods/web-0/app", [(1, "1")]),
        ("namespaces/shop/pods/web-0/csi", [(4, "2")]),
        ("objects", [(5, "{objects}")]),
    ]


def test_logs_far_into_a_cluster_dump():
    """An input that begins with objects of the cluster is looked through to its end, and no other is."""
    later = f"{START.format('app')}\n1\n"
    assert cut('{"metadata":{}}\n', later) == [
        ("", [(0, '{"metadata":{}}')]),
        ("namespaces/shop/pods/web-0/app", [(2, "1")]),
    ]
    assert [name for name, _ in cut("a\n", later)] == [""]


def test_what_stands_above_the_first_header():
    """Words above the first header are a section without a name; blanks are none."""
    assert cut("words\n==> a <==\n1\n") == [("", [(0, "words")]), ("a", [(2, "1")])]
    assert cut("\n* \n==> a <==\n1\n") == [("a", [(3, "1")])]


def test_no_more_than_a_thousand():
    """An input of nothing but headers does not make a log of each."""
    found = cut("==> a <==\nx\n" * (MOST_SECTIONS + 50))
    assert len(found) == MOST_SECTIONS
    assert len(found[-1][1]) == 101


@pytest.mark.parametrize(("name", "text"), [("Audit", True), ("describe nodes", True), ("kubelet", False), ("", False)])
def test_tables(name, text):
    """Sections that hold tables are known by their names."""
    assert is_text(name) is text


@given(st.lists(st.sampled_from(["==> a <==", "==> b <==", "x", "* ", "words"]), max_size=30), st.integers(1, 5))
def test_every_line_is_where_it_was(lines, size):
    """However an input is cut into blocks, no line but headers and blanks is lost, and each keeps its number."""
    texts = ["".join(f"{line}\n" for line in lines[at : at + size]) for at in range(0, len(lines), size)]
    given_out = [row for _, rows in cut(*texts) for row in rows]
    assert given_out == sorted(given_out)
    assert all(lines[number] == row for number, row in given_out)
    named = any(line.startswith("==>") for line in lines[:size])
    left = {number for number, line in enumerate(lines) if line in {"x", "words"} or not named}
    assert left <= {number for number, _ in given_out}
