"""Damaged text is made legible, a sound one is left as it is."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.inputs.paths import sources
from kvdiag.inputs.repair import TextRepair, Transcoded, utf16_encoding

KLOG = b'I0715 03:49:33.850919    1432 kubelet.go:2168] "SyncLoop ADD" source="api"'


def mended(data: bytes) -> bytes:
    """Give a block as it is read."""
    return TextRepair().repair(data).data


def transcoded(data: bytes, size: int) -> bytes:
    """Give an input as it is read, in pieces."""
    reader, buffer, text = Transcoded(io.BytesIO(data)), bytearray(size), b""
    while got := reader.readinto(memoryview(buffer)):
        text += buffer[:got]
    return text


@pytest.mark.parametrize(
    "sound",
    [
        KLOG,
        b'time="2024-07-15T03:49:33Z" level=error msg="open \xe2\x80\x98x\xe2\x80\x99: no such file"',
        b'I0715 03:49:33.850919 1432 a.go:1] "GET /x?a=1&amp;b=\\"2\\"" \xe2\x80\x9cq\xe2\x80\x9d &quot;',
        b'I0715 03:49:33.850919 1432 a.go:1] "a \\"b\\"" c="d"',
        b'{"MESSAGE":"[1,2]","x":[1,2]}',
        b"a & b &c; &unknown; &#9; &#300;",
    ],
)
def test_sound_text(sound):
    """Words that look like damage beside quotes that are whole are words."""
    assert mended(sound) == sound


@pytest.mark.parametrize(
    ("damaged", "whole"),
    [
        (b"\0" * 40 + KLOG, KLOG),
        (KLOG + b"\0" * 40 + b"\n" + KLOG, KLOG + b"\n" + KLOG),
        (KLOG[:60] + b"\0" * 40 + KLOG, KLOG),
        (b"a\0b", b"ab"),
        (KLOG.replace(b'"', b"&quot;") + b" &lt;&amp;lt;&#39;", KLOG + b" <&lt;'"),
        (KLOG.replace(b'"', b"&#x22;"), KLOG),
        (KLOG.replace(b'"', "“".encode()) + "‘".encode(), KLOG + b"'"),
        (KLOG.replace(b" ", b"\xc2\xa0"), KLOG),
        (KLOG.replace(b'"', b'\\"'), KLOG),
        (b"\x1b[33m" + KLOG.replace(b"kube", b"\x1b[1mkube\x1b[0m") + b"\x1b[0m", KLOG),
        (KLOG.replace(b'"', b'\\"') + b'\\\\\\"x', KLOG + b'\\"x'),
        (b'{"MESSAGE":[73,48,34]}', b'{"MESSAGE":"I0\\""}'),
        (b'{"MESSAGE" : [ 73, 48 ]}', b'{"MESSAGE" : "I0"}'),
        (b'{"MESSAGE":[]}', b'{"MESSAGE":""}'),
        (b'{"MESSAGE":[99999999999999,255,73]}', '{"MESSAGE":"\ufffdI"}'.encode()),
    ],
)
def test_mending(damaged, whole):
    """What a crash, a browser, a word processor or an export did to a line is undone."""
    first = damaged.split(b"\n")[0]
    if damaged == KLOG.replace(b'"', b'\\"') + b'\\\\\\"x':
        first = KLOG.replace(b'"', b'\\"') + b"\n" + damaged  # what is escaped twice does not show by itself
        assert mended(first).split(b"\n")[1] == whole
        return
    assert mended(damaged) == whole


def test_torn_lines_are_counted():
    """What was being written in a crash is given up for the line behind it, and counted."""
    made = TextRepair().repair((KLOG[:60] + b"\0" * 40 + KLOG + b"\n") * 3)
    assert made == ((KLOG + b"\n") * 3, 3, (0, 1, 2))


SOUND = (KLOG + b' err="a \\"b\\" & c"\n') * 5


@pytest.mark.parametrize(
    "damaged",
    [
        b"\0" * 9 + KLOG,
        KLOG.replace(b'"', b"&quot;"),
        KLOG.replace(b'"', b"&#34;"),
        KLOG.replace(b'"', "“".encode()),
        KLOG.replace(b" ", b"\xc2\xa0"),
        KLOG.replace(b" ", b"\xe2\x80\xaf"),
        KLOG.replace(b'"', b'\\"'),
        KLOG.replace(b"kube", b"\x1b[01;31m\x1b[Kkube\x1b[m\x1b[K"),
        KLOG.replace(b"kube", b"#033[31mkube#033[0m"),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_damage_in_a_later_block(damaged, place):
    """Damage may begin anywhere, also within a block; what was needed once is done to the end."""
    mender = TextRepair()
    mender.repair(SOUND)
    between = [[damaged, SOUND], [SOUND, damaged], [SOUND, damaged, b"", SOUND.replace(b"\\", b"").replace(b"&", b"")]]
    block = b"\n".join(between[place])
    assert mender.repair(block).data == block.replace(damaged, KLOG)
    assert mender.repair(SOUND + damaged + b"\n" + SOUND).data == SOUND + KLOG + b"\n" + SOUND


def test_lists_of_bytes_in_a_later_block():
    """A journal writes as bytes what has colours in it, wherever it comes."""
    mender = TextRepair()
    mender.repair(b'{"MESSAGE":"x"}\n')
    listed = b'{"MESSAGE":"x"}\n{"MESSAGE":[73,27,91,51,49,109,48]}\n{"MESSAGE":"x"}\n'
    assert mender.repair(listed).data == b'{"MESSAGE":"x"}\n{"MESSAGE":"I0"}\n{"MESSAGE":"x"}\n'


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (b"#011/usr/lib/go/a.go:7", b"\t/usr/lib/go/a.go:7"),
        (b"#033[1;31mred#033[0m #0110", b"red \t0"),
        (b"#01 #1", b"#01 #1"),
    ],
)
def test_what_rsyslog_makes_of_control_characters(written, meant):
    """Tabs come back, colours do not."""
    assert mended(written) == meant


@given(st.binary(max_size=200).flatmap(lambda some: st.just(some) | st.just(KLOG.replace(b'"', b"&quot;") + some)))
def test_lines_stay_lines(data):
    """No repair adds a line or takes one, and none raises."""
    assert mended(data).count(b"\n") == data.count(b"\n")


@pytest.mark.parametrize("name", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("size", [3, 10_000])
def test_utf16(name, size):
    """UTF-16 is read in any size of pieces, also a character that is halved between two."""
    text = (KLOG.decode() + " \U0001f4a5 größe\r\n") * 300
    assert transcoded(text.encode(name), size).decode() == text
    assert transcoded(text.encode(name) + b"x", size).decode() == text + "\ufffd"


@given(st.binary(max_size=64))
def test_other_bytes(data):
    """What is not UTF-16 passes as it is, but for the mark at the beginning."""
    if not utf16_encoding(data):
        assert transcoded(data, 5) == data.removeprefix(b"\xef\xbb\xbf")


def test_a_small_log_with_a_run_of_nul_bytes(tmp_path):
    """A log is no binary file for the NUL bytes that a crash has left in it, however few its lines."""
    path = tmp_path / "kubelet.log"
    path.write_bytes(KLOG + b"\n" + b"\0" * 3000 + KLOG + b"\n")
    problems: list[object] = []
    assert [source.name for source in sources([str(path)], problems.append)] == [str(path)]
    assert problems == []
