"""What the first bytes of an input say it is."""

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
# What a host is made of, as a sosreport copies it: settings and counters, which quote dates and are called as logs are.
_OF_HOST = lazy_regex(
    r"(?:(?:[^/]+/)?|(?:.*/)?sosreport-[^/]+/)(?:boot|dev|etc|proc|sys|usr)/(?!.*\.log\b).+", re.DOTALL
)
EMPTY = "it is empty; was it copied before anything was written?"
_DOCUMENT_NAME = lazy_regex(
    r"(?:readme|licen[cs]e|changelog|contributing).*|.*\.(?:md|rst|adoc|json|ya?ml|toml|html?|xml|csv|sh|py|go)(?:\.(?:gz|bz2|xz|zst))?",
    re.IGNORECASE,
)
# What lies beside logs and tells about them, with times at the line begins.
_NOTES = {"scenario.txt", "source.txt"}


class Sniffed(NamedTuple):
    """What the first bytes of an input say.

    `compression` is one of `compressed.MAGICS` or empty, `text` the first bytes unpacked; `holds` says what that is:
    `log`, `tar`, `zip` or `journal`. `problem` is why it cannot be read and what to do, empty when it can.
    """

    compression: str
    text: bytes
    problem: str
    content: str = "log"


class Opened(NamedTuple):
    """An input that was looked at, and all its bytes, unpacked."""

    sniffed: Sniffed
    reader: Reader


def open_sniffed(packed: Reader, budget: Budget) -> Opened:
    """Look at the first bytes of an input, and give them again with what follows."""
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
    """The first bytes of a reader, what is wrong when they are cut short, and a reader of those that follow."""

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
    """Whether there are more control characters than stray ones; NUL bytes among words, as a crash leaves, are some."""
    text = legible.decoded_head(head)
    return not text or len(text.translate(None, _TEXT)) * 10 > len(text)


def begins_as_log(text: bytes) -> bool:
    """Whether the first line is one of a log."""
    return _LOG_LINE.match(text) is not None


def is_log_name(name: str) -> bool:
    """Whether a file is called as logs are, and not as documents are."""
    return _LOG_NAME.search(name) is not None and _DOCUMENT_NAME.fullmatch(name) is None


def looks_like_log(path: str, text: bytes) -> bool:
    """Whether a file that nobody named is worth reading: by its name, else by its first lines, unpacked.

    `path` is below what was named: of a host's /etc, /proc and the like only what is called .log is one. Documents are
    read when most of their lines look logged (a journal exported as .json does, a README that quotes a log does not),
    any other file when one line does, or what kubectl describes, whose events stand at the end.
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
