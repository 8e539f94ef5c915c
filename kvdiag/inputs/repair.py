"""Repair text that was damaged on its way: UTF-16, NUL bytes, typographic quotes, HTML entities, escapes.

The first block is searched for damage; of later blocks only the first and the last line that contain a repair's mark,
so that a sound log takes only 2 % longer. A repair that was needed once is applied to all later blocks. No repair adds
or removes a line.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.inputs.readers import read_up_to

if TYPE_CHECKING:
    from kvdiag.inputs.readers import Reader

_HEAD = 4096
_CHUNK = 64 << 10
_BOMS = ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_NEAR = 2048  # bytes before and after a mark
_FEWEST = 16  # bytes that are needed to detect UTF-16 without a byte order mark
_RUN = lazy_regex(rb"\0{8,}")
_BEGINS = rb'(?:[IWEF]\d{4} \d\d:|time="|\{"|<\d{1,3}>|[A-Z][a-z]{2} [ \d]\d \d\d:|\d{4}-\d\d-\d\d[T ]\d\d:)'
# An incomplete line from when the node went down, with the NUL bytes up to the line written after it.
_TORN = lazy_regex(rb"^[^\n\0]++\0{2,}(?=" + _BEGINS + rb")", re.MULTILINE)
# NUL bytes that a crash left in place of text. Fewer may be part of UTF-16 or UTF-32 text.
_LOST = lazy_regex(rb"\0{4,}|\0{2,}(?=" + _BEGINS + rb")")
_ENTITY = lazy_regex(rb"&(quot|apos|lt|gt|amp|nbsp|#\d{2,3}|#[xX][0-9a-fA-F]{2});")
_QUOTE_ENTITY = lazy_regex(rb"&(?:quot|#0?34|#[xX]22);")
_NAMED = {b"quot": b'"', b"apos": b"'", b"lt": b"<", b"gt": b">", b"amp": b"&", b"nbsp": b" "}
_ESCAPED = lazy_regex(
    rb'^[^"\\\n]{0,400}(?:[IWEF]\d{4} \d\d:\d\d:\d\d[^"\\\n]{0,200}|time=)(?:\\"[^"\\\n]*+)+$', re.MULTILINE
)
_BARE_QUOTE = lazy_regex(rb'(?<!\\)"')
_ESCAPE = lazy_regex(rb'\\(["\\/tr])')
_CURLY = lazy_regex(rb"\xe2\x80[\x9c\x9d]")
_WIDE, _NARROW = lazy_regex(rb"\xc2\xa0"), lazy_regex(rb"\xe2\x80\xaf")  # no-break spaces
_COLOURS = lazy_regex(rb"\x1b\[[0-9;]{0,20}[A-Za-z]")
# Colours and tabs as rsyslog escapes them.
_OCTAL = lazy_regex(rb"#033\[[0-9;]{0,20}[A-Za-z]|#011")
_JOURNAL = lazy_regex(rb'"MESSAGE" ?:')
_LISTED = lazy_regex(rb'("MESSAGE" ?: ?)\[([0-9, ]*+)\]')
_UNESCAPED = {b"t": b"\t", b"r": b""}


def utf16_encoding(head: bytes) -> str:
    """Return the UTF-16 codec, by the byte order mark, or if every other byte is NUL; empty for other encodings."""
    for bom, name in _BOMS:
        if head.startswith(bom):
            return name
    if len(head) < _FEWEST:
        return ""
    even, odd = head[::2], head[1::2]
    most, few = len(odd) * 7 // 10, len(odd) // 20
    if odd.count(0) > most and even.count(0) <= few:
        return "utf-16-le"
    return "utf-16-be" if even.count(0) > most and odd.count(0) <= few else ""


def decoded_head(head: bytes) -> bytes:
    """Return the first bytes of an input decoded, and without runs of NUL bytes."""
    name = utf16_encoding(head)
    return head[: len(head) & ~1].decode(name, "replace").encode() if name else _RUN.sub(b"", head)


class Transcoded:
    """Converts UTF-16 to UTF-8; passes other encodings through. Reads nothing before the first call."""

    def __init__(self, reader: Reader, most: int = _HEAD) -> None:
        """Detect the encoding by the first bytes, up to `most`."""
        self._reader, self._most = reader, min(most, _HEAD)
        self._decoder: codecs.IncrementalDecoder | None = None
        self._held = b""
        self._is_begun = False

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer with text; 0 at the end."""
        if not self._is_begun:
            self._begin()
        if not self._held:
            if self._decoder is None:
                return self._reader.readinto(buffer) or 0
            self._decode(self._decoder)
        chunk, self._held = self._held[: len(buffer)], self._held[len(buffer) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        """Close the wrapped reader."""
        self._reader.close()

    def _begin(self) -> None:
        self._is_begun = True
        head = read_up_to(self._reader, self._most)
        name = utf16_encoding(head)
        if name:
            self._decoder = codecs.getincrementaldecoder(name)("replace")
            head = self._decoder.decode(head).encode("utf-8", "replace")
        self._held = head.removeprefix(codecs.BOM_UTF8)

    def _decode(self, decoder: codecs.IncrementalDecoder) -> None:
        """Decode more bytes; a file may end inside a character."""
        while not self._held:
            chunk = bytearray(_CHUNK)
            got = self._reader.readinto(memoryview(chunk))
            self._held = decoder.decode(bytes(chunk[:got]), final=not got).encode("utf-8", "replace")
            if not got:
                return


class RepairedBlock(NamedTuple):
    """A repaired block, how many of its lines a crash truncated, and which lines, from 0, lost a part."""

    data: bytes
    cut: int = 0
    torn: tuple[int, ...] = ()


class TextRepair:
    """Detects and applies the repairs that an input needs."""

    def __init__(self) -> None:
        self._active: set[str] | None = None

    @property
    def is_active(self) -> bool:
        """Return whether a repair was needed, which later blocks get too."""
        return bool(self._active)

    def repair(self, data: bytes) -> RepairedBlock:
        """Return the block with the repairs that earlier blocks or its own text need."""
        cut, torn = 0, tuple[int, ...]()
        if b"\0" in data:  # 5 ms for 100 MB
            torn = tuple(_lines_with(_LOST, data))
            data, cut = _TORN.subn(b"", data)
            data = data.translate(None, b"\0")
        is_first, active = self._active is None, self._active or set()
        for name, candidate in _REPAIRS.items():
            if candidate.mark not in data:
                continue
            if name in active or (candidate.pattern.search(data) if is_first else _needs_repair(candidate, data)):
                active.add(name)
                data = candidate.apply(data)
        self._active = active
        return RepairedBlock(data, cut, torn)


def _lines_with(pattern: re.Pattern[bytes], data: bytes) -> Iterator[int]:
    """Yield the lines, from 0, that contain a match, each once."""
    line, at, last = 0, 0, -1
    for found in pattern.finditer(data):
        line += data.count(b"\n", at, found.start())
        at = found.end()
        if line != last:
            yield line
            last = line


class _Repair(NamedTuple):
    """A repair: the pattern of the damage, a mark that damaged blocks contain, the function, and its lines.

    The mark is one byte or empty: a search for one byte runs at 20 GB/s, for two at 1 GB/s.
    """

    pattern: re.Pattern[bytes]
    mark: bytes
    apply: Callable[[bytes], bytes]
    is_of_unquoted: bool = False


def _needs_repair(repair: _Repair, data: bytes) -> bool:
    """Return whether the first or the last line with the mark needs the repair."""
    lines = (_line_at(data, data.find(repair.mark)), _line_at(data, data.rfind(repair.mark, 0, -1)))
    return any(
        repair.pattern.search(line) for line in lines if not (repair.is_of_unquoted and _BARE_QUOTE.search(line))
    )


def _line_at(data: bytes, at: int) -> bytes:
    """Return the line at an offset; of a long line the part around it."""
    begins = data.rfind(b"\n", max(0, at - _NEAR), at) + 1 or max(0, at - _NEAR)
    ends = data.find(b"\n", at, at + _NEAR)
    return data[begins : ends if ends >= 0 else at + _NEAR]


def _by_lines(data: bytes, mark: bytes, mend: Callable[[bytes], bytes]) -> bytes:
    """Repair only lines with the mark and without an unescaped quote: a line with one is not damaged."""
    return b"\n".join(
        [mend(line) if mark in line and not _BARE_QUOTE.search(line) else line for line in data.split(b"\n")]
    )


def _from_octal(data: bytes) -> bytes:
    """Replace `#011` by tabs, and remove colours."""
    return _OCTAL.sub(lambda found: b"\t" if found[0] == b"#011" else b"", data)


def _unescaped(line: bytes) -> bytes:
    """Replace entities by their characters."""
    return _ENTITY.sub(_character, line)


def _straight(line: bytes) -> bytes:
    """Replace typographic quotes by ASCII quotes."""
    for curly in (b"\xe2\x80\x9c", b"\xe2\x80\x9d", b"\xe2\x80\x9e", b"\xe2\x80\x9f"):
        line = line.replace(curly, b'"')
    return line.replace(b"\xe2\x80\x98", b"'").replace(b"\xe2\x80\x99", b"'")


def _character(found: re.Match[bytes]) -> bytes:
    """Return `"` for `&quot;` and `&#34;`; entities of control characters are not replaced."""
    name = found.group(1)
    if name in _NAMED:
        return _NAMED[name]
    code = int(name[1:]) if name[1:].isdigit() else int(b"0" + name[1:], 0)
    return bytes((code,)) if 32 <= code < 127 else found.group()


def _once_less(line: bytes) -> bytes:
    r"""Remove one level of escapes, `\"Pod \\\"web\\\"\"` → `"Pod \"web\""`: of a line copied from a string."""
    return _ESCAPE.sub(lambda found: _UNESCAPED.get(found.group(1), found.group(1)), line)


def _as_text(data: bytes) -> bytes:
    """Convert a journal message that is a list of bytes to text, so that the scanner can search it."""
    return _LISTED.sub(lambda found: found.group(1) + _quoted(found.group(2)), data)


def _quoted(numbers: bytes) -> bytes:
    text = bytes(int(number) & 0xFF for number in numbers.replace(b" ", b"").split(b",") if 0 < len(number) < 4)
    return json.dumps(_COLOURS.sub(b"", text).decode("utf-8", "replace"), ensure_ascii=False).encode()


_REPAIRS = {
    "no-break blanks": _Repair(_WIDE, b"\xc2", lambda data: _WIDE.sub(b" ", data)),
    "narrow blanks": _Repair(_NARROW, b"\xe2", lambda data: _NARROW.sub(b" ", data)),
    "colours": _Repair(_COLOURS, b"\x1b", lambda data: _COLOURS.sub(b"", data)),
    "octal": _Repair(_OCTAL, b"#", _from_octal),
    "entities": _Repair(_QUOTE_ENTITY, b"&", partial(_by_lines, mark=b"&", mend=_unescaped), is_of_unquoted=True),
    "curly quotes": _Repair(_CURLY, b"\xe2", partial(_by_lines, mark=b"\xe2\x80", mend=_straight), is_of_unquoted=True),
    "escapes": _Repair(_ESCAPED, b"\\", partial(_by_lines, mark=b'\\"', mend=_once_less), is_of_unquoted=True),
    "lists of bytes": _Repair(_JOURNAL, b"", _as_text),
}
