"""What the first bytes of an input say it is."""

from __future__ import annotations

import re
from typing import NamedTuple

from kvdiag.inputs import folded, gzipped, legible
from kvdiag.inputs.readers import Replayed

HEAD = 4096

_ARCHIVE = "archives are not read yet: unpack it first"
_PICTURE = "a picture, not a log; name a log"
_MAGICS: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", _ARCHIVE),
    (b"BZh", "bzip2 is not read yet: unpack it with bunzip2 first"),
    (b"\xfd7zXZ\0", "xz is not read yet: unpack it with unxz first"),
    (b"\x28\xb5\x2f\xfd", "zstd is not read yet: unpack it with unzstd first"),
    (b"7z\xbc\xaf\x27\x1c", _ARCHIVE),
    (b"LPKSHHRH", "a binary journal; export it with: journalctl --file FILE -o short-precise"),
    (b"\x7fELF", "a program, not a log; name a log"),
    (b"\x89PNG\r\n", _PICTURE),
    (b"\xff\xd8\xff", _PICTURE),
    (b"GIF8", _PICTURE),
    (b"%PDF-", "a PDF, not a log; name a log"),
)
_TEXT = bytes(range(32, 256)) + b"\t\n\r\f\b\x1b"

_LOG_LINE = re.compile(
    rb"""
    .{0,100}? [IWEF]\d{4}\ \d\d:\d\d:\d\d\.\d               # klog, whatever stands before it
    | .{0,60}? \d{4}[-/]\d\d[-/]\d\d[T\ ]\d\d:\d\d:\d\d     # RFC 3339, logrus, CRI, journalctl -o short-iso
    | (?:<\d+>)? [A-Z][a-z]{2}\ [\ \d]\d\ \d\d:\d\d:\d\d    # syslog, journalctl
    | \{.* "(?:ts|time|timestamp|@timestamp|log|__REALTIME_TIMESTAMP)"\ ?:
    | __REALTIME_TIMESTAMP=                                 # journalctl -o export
    | \[\ *\d+\.\d+\]                                       # dmesg
    """,
    re.VERBOSE,
)
_LOG_NAME = re.compile(r"(?:^|[^a-z])(?:logs?|syslog|messages|journal|dmesg)(?:[^a-z]|$)", re.IGNORECASE)
_DOCUMENT_NAME = re.compile(
    r"(?:readme|licen[cs]e|changelog|contributing).*|.*\.(?:md|rst|adoc|json|ya?ml|toml|html?|xml|csv|sh|py|go)(?:\.gz)?",
    re.IGNORECASE,
)
# What lies beside logs and tells about them, with times at the line begins.
_NOTES = {"scenario.txt", "source.txt"}


class Look(NamedTuple):
    """What the first bytes of an input say.

    `compression` is `gzip` or empty, `text` the first bytes unpacked, `problem` why it cannot be read and what to do
    about it, empty when it can.
    """

    compression: str
    text: bytes
    problem: str


def look(head: bytes) -> Look:
    """Look at the first bytes of an input, up to HEAD of them."""
    if not head.startswith(gzipped.MAGIC):
        return Look("", head, _problem(head))
    text = bytearray(HEAD)
    try:
        got = gzipped.GzipReader(Replayed(head)).readinto(memoryview(text))
    except gzipped.DamagedError as damage:
        return Look("gzip", b"", f"{damage}; copy it again")
    return Look("gzip", bytes(text[:got]), _problem(bytes(text[:got])))


def _problem(head: bytes) -> str:
    if not head:
        return "it is empty; was it copied before anything was written?"
    for magic, problem in _MAGICS:
        if head.startswith(magic):
            return problem
    if head[257:262] == b"ustar":
        return _ARCHIVE
    text = legible.plain(head)
    if len(text.translate(None, _TEXT)) * 10 > len(text):  # stray NUL bytes, not this many
        return "binary, not the text of a log; name a log, or take stray NUL bytes out with: tr -d '\\000'"
    return ""


def looks_like_log(name: str, text: bytes) -> bool:
    """Whether a file that nobody named is worth reading: by its name, else by its first lines, unpacked.

    Documents are read when most of their lines look logged (a journal exported as .json does, a README that quotes a
    log does not), any other file when one line does.
    """
    if name in _NOTES:
        return False
    text = legible.plain(text)
    is_document = _DOCUMENT_NAME.fullmatch(name) is not None
    if not is_document and _LOG_NAME.search(name):
        return True
    if folded.is_folded(text):
        return True
    lines = [line for line in text.split(b"\n")[:40] if line.strip()]
    logged = sum(_LOG_LINE.match(line) is not None for line in lines)
    return logged * 2 > len(lines) if is_document else logged > 0
