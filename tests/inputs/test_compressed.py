"""Of a packed log every byte is read that can be had, whichever way it was packed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import random
import sys
from functools import cache
from pathlib import Path

import pytest

from kvdiag.inputs import compressed
from kvdiag.inputs.paths import sources

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

CHECKED = {zstd.CompressionParameter.checksum_flag: 1}  # as the zstd command has it
PACK = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lambda text: lzma.compress(text, preset=0),
    "zstd": lambda text: zstd.compress(text, options=CHECKED),
}
LOST = {"gzip": 200, "bzip2": 900_000, "xz": 100_000, "zstd": 200_000}  # bytes a cut costs: what is packed together
CHANCE = random.Random(7)  # noqa: S311
LOG = b"".join(
    b"I0919 11:11:20.%06d  190330 kubelet.go:2130] %x\n" % (n, CHANCE.getrandbits(200)) for n in range(20_000)
)
each_way = pytest.mark.parametrize("way", PACK)


@cache
def packed_log(way: str) -> bytes:
    """Give the log as it is packed."""
    return PACK[way](LOG)


def text_of(given: list) -> tuple[dict[str, bytes], list[str]]:
    """Read all that paths give; their texts and the problems."""
    problems, texts = [], {}
    buffer = memoryview(bytearray(100_000))
    for source in sources(given, problems.append):
        text = io.BytesIO()
        with source.open() as reader:
            while got := reader.readinto(buffer):
                text.write(buffer[:got])
        texts[source.name] = text.getvalue()
    return texts, [str(problem) for problem in problems]


def read(path: Path, content: bytes) -> tuple[bytes, list[str]]:
    """Write and read one file."""
    path.write_bytes(content)
    texts, problems = text_of([str(path)])
    return texts.get(str(path), b""), problems


def pretend_stdin(monkeypatch, content: bytes) -> None:
    """Give the process another standard input."""
    stdin = io.TextIOWrapper(io.BytesIO(content))
    stdin.isatty = lambda: False
    monkeypatch.setattr(sys, "stdin", stdin)


@each_way
def test_whole(tmp_path, way):
    """A packed file is known by its first bytes, and read whole."""
    assert read(tmp_path / "kubelet.log", packed_log(way)) == (LOG, [])
    (source,) = sources([str(tmp_path / "kubelet.log")], pytest.fail)
    assert source.compression == way


@each_way
def test_stream(monkeypatch, way):
    """So is standard input."""
    pretend_stdin(monkeypatch, packed_log(way))
    assert text_of(["-"]) == ({"stdin": LOG}, [])


@each_way
def test_several(tmp_path, way):
    """What `cat a.xz b.xz` makes is read to its end, an empty one in the middle and padding behind."""
    content = packed_log(way) + PACK[way](b"") + PACK[way](b"more\n") + bytes(8)
    assert read(tmp_path / "two", content) == (LOG + b"more\n", [])


@each_way
@pytest.mark.parametrize("kept", [0.5, 0.999])
def test_cut(tmp_path, way, kept):
    """A file that was copied while it was written gives what there is, and says that it ends too early."""
    packed = packed_log(way)
    text, (problem,) = read(tmp_path / "cut", packed[: int(len(packed) * kept)])
    assert LOG.startswith(text)
    assert len(text) > len(LOG) * kept - LOST[way]
    assert "the compressed data is truncated; " in problem
    assert problem.endswith("copy it again for the rest")


@each_way
def test_damaged(tmp_path, way):
    """Damage in the middle is told, and what was packed before it is given."""
    broken = bytearray(packed_log(way))
    at = int(len(broken) * 0.7)
    broken[at : at + 50] = random.Random(3).randbytes(50)  # noqa: S311
    text, (problem,) = read(tmp_path / "broken", bytes(broken))
    assert "its compressed data is damaged (" in problem
    assert text[:800_000] == LOG[:800_000]


@each_way
def test_something_behind(tmp_path, way):
    """What follows and is packed in no way is told, and costs nothing."""
    text, (problem,) = read(tmp_path / "tail", packed_log(way) + b"garbage that is no frame of anything")
    assert text == LOG
    assert "its compressed data is damaged (" in problem


def test_too_much_memory(tmp_path, monkeypatch):
    """A file that wants more memory to be unpacked than there is a reason for is refused, not obeyed."""
    monkeypatch.setattr(compressed, "MOST_MEMORY", 1 << 20)
    text, (problem,) = read(tmp_path / "kubelet.log.xz", lzma.compress(LOG[:100_000]))
    assert text == b""
    assert "memory usage limit exceeded" in problem


@each_way
def test_bomb(tmp_path, monkeypatch, way):
    """What unpacks to far more than any log does is read up to the bound and no further."""
    monkeypatch.setattr(compressed, "FREE", 1 << 20)
    text, (problem,) = read(tmp_path / "kubelet.log", PACK[way](LOG[:10_000] + b"a" * (16 << 20)))
    assert text.startswith(LOG[:10_000])
    assert len(text) < 12 << 20
    assert (
        "it decompresses to more than 250 times its size; no log compresses that well; what came before it was read"
        in problem
    )
    assert problem.endswith("if you trust it, unpack it yourself and name the logs")
