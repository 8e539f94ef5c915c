"""Of a compressed log every byte is read that can be had."""

from __future__ import annotations

import gzip
import io
import random

import pytest

from kvdiag.inputs.paths import sources

LOG = b"".join(b"I0919 11:11:20.%06d  190330 kubelet.go:2130] %d\n" % (n, n * 7919 % 1000) for n in range(20_000))
PACKED = gzip.compress(LOG)


def read(path, content, step=1 << 18):
    """Write and read a file; give its text and the problems."""
    path.write_bytes(content)
    problems, text = [], io.BytesIO()
    (source,) = sources([str(path)], problems.append)
    assert source.compression == "gzip"
    buffer = memoryview(bytearray(step))
    with source.open() as reader:
        while got := reader.readinto(buffer):
            text.write(buffer[:got])
        assert reader.readinto(buffer) == 0
    return text.getvalue(), [str(problem) for problem in problems]


@pytest.mark.parametrize("step", [100, 4096, 1 << 20])
def test_whole_file(tmp_path, step):
    """A compressed file is read whole, whatever its name and the size of the buffer."""
    assert read(tmp_path / "kubelet.log", PACKED, step) == (LOG, [])


def test_members_and_padding(tmp_path):
    """What `cat a.gz b.gz` makes is read to its end, zeros that a tape or disk added are not."""
    content = PACKED + gzip.compress(b"") + gzip.compress(b"more\n") + bytes(100_000)
    assert read(tmp_path / "two.gz", content) == (LOG + b"more\n", [])


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.999])
def test_cut_file(tmp_path, kept):
    """A file that was copied while it was written gives what there is, and says that it ends too early."""
    text, problems = read(tmp_path / "cut.gz", PACKED[: int(len(PACKED) * kept)])
    assert LOG.startswith(text)
    assert len(text) > len(LOG) * (kept - 0.09)
    (problem,) = problems
    assert problem.startswith(f"{tmp_path}/cut.gz: the compressed data is truncated; what came before")


def test_damaged_file(tmp_path):
    """Damage in the middle: all before it is given."""
    broken = bytearray(PACKED)
    middle = len(broken) // 2
    broken[middle : middle + 50] = random.Random(1).randbytes(50)  # noqa: S311
    text, (problem,) = read(tmp_path / "broken.gz", bytes(broken))
    assert len(text) > len(LOG) * 0.45
    assert LOG.startswith(text[: len(LOG) * 4 // 10])
    assert "its compressed data is damaged" in problem


def test_wrong_checksum(tmp_path):
    """A checksum that is wrong loses not a byte."""
    text, (problem,) = read(tmp_path / "sum.gz", PACKED[:-8] + b"\0\0\0\0" + PACKED[-4:])
    assert text == LOG
    assert "its compressed data is damaged (incorrect data check)" in problem


def test_something_behind(tmp_path):
    """What follows and is not gzip is told."""
    text, (problem,) = read(tmp_path / "tail.gz", PACKED + b"garbage")
    assert text == LOG
    assert "its compressed data is damaged (incorrect header check)" in problem


def test_nothing_but_the_magic(tmp_path):
    """A file that is damaged where it begins is told before it is read."""
    path = tmp_path / "head.gz"
    path.write_bytes(b"\x1f\x8b\xff" + bytes(20))
    problems = []
    assert list(sources([str(path)], problems.append)) == []
    assert "damaged" in str(problems[0])
