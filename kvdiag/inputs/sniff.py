"""Detect the format of an input by its first bytes."""

from __future__ import annotations

import re
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.inputs import folded
from kvdiag.inputs import repair as legible
from kvdiag.inputs.compressed import Budget, compression_of, decompressing_reader
from kvdiag.inputs.gzipped import DamagedError
from kvdiag.inputs.readers import FailingReader, Reader, ReplayReader

HEAD = 4096

_PICTURE = "a picture, not a log; name a log"
_HOLDERS: tuple[tuple[bytes, str], ...] = (
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"LPKSHHRH", "journal"),
)
_MAGICS: tuple[tuple[bytes, str], ...] = (
    (b"7z\xbc\xaf\x27\x1c", "7z archives are not read: unpack it first, or pack it as tar or zip"),
    (b"Rar!\x1a\x07", "rar archives are not read: unpack it first, or pack it as tar or zip"),
    (b"\x04\x22\x4d\x18", "lz4 is not read: unpack it with unlz4 first"),
    (b"]\0\0", "lzma is not read: unpack it with xz -d first"),
    (b"\x7fELF", "a program, not a log; name a log"),
    (b"\x89PNG\r\n", _PICTURE),
    (b"\xff\xd8\xff", _PICTURE),
    (b"GIF8", _PICTURE),
    (b"%PDF-", "a PDF, not a log; name a log"),
)
_TEXT = bytes(range(32, 256)) + b"\t\n\r\f\b\x1b"

_LOG_LINE = lazy_regex(
    rb"""
    .{0,100}? [IWEF]\d{4}\ \d\d:\d\d:\d\d\.\d               # klog, whatever stands before it
    | .{0,60}? \d{4}[-/]\d\d[-/]\d\d[T\ ]\d\d:\d\d:\d\d     # RFC 3339, logrus, CRI, journalctl -o short-iso
    | (?:<\d+>)? [A-Z][a-z]{2}\ [\ \d]\d\ \d\d:\d\d:\d\d    # syslog, journalctl
    | \{.* "(?:ts|time|timestamp|@timestamp|log|__REALTIME_TIMESTAMP)"\ ?:
    | __REALTIME_TIMESTAMP=                                 # journalctl -o export
    | \[\ *\d+\.\d+\]                                       # dmesg
    | \[[A-Z][a-z]{2}\ [A-Z][a-z]{2}\ [\ \d]\d\ \d\d:\d\d:\d\d\ \d{4}\]  # dmesg -T
    | (?:NAMESPACE\ +)?LAST\ ?SEEN\ +                       # kubectl get events
    | .{0,100}?\ \ (?:Normal|Warning)\ \ +[A-Z]\w+\ \ +\S     # a row of it, or of the end of kubectl describe
    """,
    re.VERBOSE,
)
_DESCRIBED = lazy_regex(rb"Name:\ {2,}\S+\s+(?:Namespace|Roles|Labels|Annotations|StorageClass|IsDefaultClass):")
_LOG_NAME = lazy_regex(r"(?:^|[^a-z])(?:logs?|syslog|messages|journal|dmesg)(?:[^a-z]|$)", re.IGNORECASE)
# System files of a host, as in a sosreport: settings and counters that contain dates or have names like logs.
_OF_HOST = lazy_regex(
    r"(?:(?:[^/]+/)?|(?:.*/)?sosreport-[^/]+/)(?:boot|dev|etc|proc|sys|usr)/(?!.*\.log\b).+", re.DOTALL
)
EMPTY = "it is empty; was it copied before anything was written?"
_DOCUMENT_NAME = lazy_regex(
    r"(?:readme|licen[cs]e|changelog|contributing).*|.*\.(?:md|rst|adoc|json|ya?ml|toml|html?|xml|csv|sh|py|go)(?:\.(?:gz|bz2|xz|zst))?",
    re.IGNORECASE,
)
# Notes about logs, whose lines may begin with times.
_NOTES = {"scenario.txt", "source.txt"}


class Sniffed(NamedTuple):
    """The format of an input according to its first bytes.

    `compression` is one of `compressed.MAGICS` or empty, `text` the first bytes decompressed; `content` is `log`,
    `tar`, `zip` or `journal`. `problem` is why it cannot be read and what to do, empty if it can.
    """

    compression: str
    text: bytes
    problem: str
    content: str = "log"


class Opened(NamedTuple):
    """The detected format of an input, and a reader of all its bytes, decompressed."""

    sniffed: Sniffed
    reader: Reader


def open_sniffed(packed: Reader, budget: Budget) -> Opened:
    """Detect the format by the first bytes; return it with a reader of all bytes."""
    first = _read_head(packed)
    compression = compression_of(first.text)
    if compression:
        first = _read_head(decompressing_reader(compression, ReplayReader(first.text, first.rest), budget))
    text = first.text
    if first.damage and not text:
        problem = f"{first.damage}; copy the file again"
    else:
        problem = "double-compressed; decompress it once" if compression and compression_of(text) else _problem(text)
    return Opened(Sniffed(compression, text, problem, _content_of(text)), ReplayReader(text, first.rest))


class _Head(NamedTuple):
    """The first bytes of a reader, the damage if they are truncated, and a reader of the following bytes."""

    text: bytes
    damage: DamagedError | None
    rest: Reader


def _read_head(reader: Reader) -> _Head:
    buffer, held = memoryview(bytearray(HEAD)), 0
    try:
        while held < HEAD and (got := reader.readinto(buffer[held:])):
            held += got
    except DamagedError as damage:
        return _Head(bytes(buffer[:held]), damage, FailingReader(damage, reader))
    return _Head(bytes(buffer[:held]), None, reader)


def _content_of(head: bytes) -> str:
    if head[257:262] == b"ustar":
        return "tar"
    return next((what for magic, what in _HOLDERS if head.startswith(magic)), "log")


def _problem(head: bytes) -> str:
    if not head:
        return EMPTY
    for magic, problem in _MAGICS:
        if head.startswith(magic):
            return problem
    if _content_of(head) == "log" and _is_binary(head):
        return "binary, not the text of a log; name a log, or take stray NUL bytes out with: tr -d '\\000'"
    return ""


def _is_binary(head: bytes) -> bool:
    """Return whether more than a tenth of the bytes are control characters; runs of NUL bytes are not counted."""
    text = legible.decoded_head(head)
    return not text or len(text.translate(None, _TEXT)) * 10 > len(text)


def begins_as_log(text: bytes) -> bool:
    """Return whether the first line is a log line."""
    return _LOG_LINE.match(text) is not None


def is_log_name(name: str) -> bool:
    """Return whether a file has the name of a log, and not of a document."""
    return _LOG_NAME.search(name) is not None and _DOCUMENT_NAME.fullmatch(name) is None


def looks_like_log(path: str, text: bytes) -> bool:
    """Return whether a file that was found is a log: by its name, else by its first lines, decompressed.

    `path` is below the folder that the user named; in a host's /etc, /proc and the like only .log files are logs.
    Documents are logs if most of their lines are log lines (of a journal exported as .json they are, of a README that
    quotes a log they are not), any other file if one line is, or output of `kubectl describe`, which ends with events.
    """
    name = path.rpartition("/")[2]
    if name in _NOTES or _OF_HOST.fullmatch(path):
        return False
    text = legible.decoded_head(text)
    if is_log_name(name):
        return True
    if folded.is_rewritable(text) or _DESCRIBED.match(text):
        return True
    lines = [line for line in text.split(b"\n")[:40] if line.strip()]
    logged = sum(_LOG_LINE.match(line) is not None for line in lines)
    return logged * 2 > len(lines) if _DOCUMENT_NAME.fullmatch(name) else logged > 0
