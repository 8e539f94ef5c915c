"""How much of an input is understood, exactly where it is small and by a sample where it is not."""

from __future__ import annotations

from io import BytesIO

import pytest

from kvdiag.history.ingest.log_reader import begins_record
from kvdiag.history.ingest.survey import EVERY, WHOLE, Survey
from kvdiag.inputs.scan.blocks import Block, blocks

KLOG = b'I0715 03:49:33.850919    1432 kubelet.go:2168] "SyncLoop ADD" source="api" pods=["shop/web-0"]\n'
JOURNAL = b"Jul 15 03:49:33 worker-1 kubelet[1432]: " + KLOG
LOGRUS = b'time="2024-07-15T03:49:34.06Z" level=info msg="x"\n'
NOISE = b"\x8f\x00\x12 what is this\n"


def survey(data):
    """Give the survey of an input."""
    made = Survey()
    for block in blocks(BytesIO(data), begins=begins_record):
        made.add(block)
    made.close()
    return made


def sampled(number, data):
    """Give the survey of so many equal blocks."""
    made, lines = Survey(), data.count(b"\n")
    for index in range(number):
        made.add(Block(data=data, first_line=index * lines, lines=lines, truncated=0))
    made.close()
    return made


@pytest.mark.parametrize(
    ("data", "heads", "unread"),
    [
        (KLOG * 3, 3, 0),
        (KLOG + NOISE + KLOG, 2, 1),
        (NOISE * 4, 0, 4),
        (KLOG + b"\tgoes on\n" + KLOG, 2, 0),
        (b"-- Logs begin at Mon --\n" + JOURNAL, 1, 0),
        (KLOG[:-1], 1, 0),
        (b"", 0, 0),
    ],
)
def test_small_inputs_are_counted_exactly(data, heads, unread):
    """Every line of a small input is looked at."""
    made = survey(data)
    assert (made.scaled("head"), made.scaled("unread"), made.sampled) == (heads, unread, False)
    assert made.lines == len(data.splitlines())


def test_a_half_binary_file_shows():
    """A file whose second half is damaged is seen to be half unread, however few lines were of interest."""
    made = survey(KLOG * 4000 + NOISE * 4000)
    assert (made.scaled("head"), made.scaled("unread")) == (4000, 4000)


@pytest.mark.parametrize(
    ("data", "format_", "nodes"),
    [
        (KLOG * 3, "klog", []),
        (JOURNAL * 3, "journal-short/klog", ["worker-1"]),
        (LOGRUS * 2 + KLOG, "logrus", []),
        (b"2024-07-15T03:49:34.052Z stderr F " + KLOG, "cri/klog", []),
        (NOISE, "unknown", []),
    ],
)
def test_the_format(data, format_, nodes):
    """The format is the commonest body in the commonest carrier, and the nodes those of the carrier."""
    made = survey(data)
    assert (made.format, list(made.nodes)) == (format_, nodes)


def test_large_inputs_are_sampled():
    """After the first blocks every sixteenth is looked at, and the counts are scaled to the whole."""
    number = WHOLE + 10 * EVERY
    made = sampled(number, KLOG + NOISE)
    assert made.sampled
    assert made.lines == 2 * number
    assert made.looked_at < made.lines / 4
    assert (made.scaled("head"), made.scaled("unread")) == (number, number)


def test_the_last_block_is_always_looked_at():
    """Damage at the very end of a large input shows."""
    made = Survey()
    for index in range(WHOLE + 5):
        made.add(Block(data=KLOG, first_line=index, lines=1, truncated=0))
    made.add(Block(data=NOISE, first_line=WHOLE + 5, lines=1, truncated=0))
    assert made.classes["unread"] == 0
    made.close()
    assert made.classes["unread"] == 1


def test_cut_lines_are_counted():
    """Lines that were cut for their length are counted in every block, looked at or not."""
    made = Survey()
    for index in range(WHOLE + 5):
        made.add(Block(data=KLOG, first_line=index, lines=1, truncated=1))
    made.close()
    assert made.truncated == WHOLE + 5
