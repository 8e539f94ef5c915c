"""Lines in the formats of kubelet, runtimes, drivers, the kernel and systemd are read as the table beside says."""

from __future__ import annotations

import csv
import errno
import os
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

from kvdiag.analysis.error_lines.lines import body_of
from kvdiag.anatomy.data import tables
from kvdiag.anatomy.decode import error_text, stated_level
from kvdiag.anatomy.entries import ANY
from kvdiag.anatomy.error import read_error
from kvdiag.model.error_anatomy import PLAIN, STRONG, ErrorAnatomy

LEAST_LINES = 400
LEAST_OF_STRONG, LEAST_OF_PLAIN = 3, 6
RARE = "the kernel answers "  # how the sentence of an errno begins that has none of its own

with (Path(__file__).parent / "lines.tsv").open(encoding="utf-8") as table:
    LINES = list(csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE))
BY_PRIMITIVE: dict[str, list[dict[str, str]]] = defaultdict(list)
for _row in LINES:
    BY_PRIMITIVE[_row["primitive"]].append(_row)
OF_NUMBER = {
    name: number
    for number, name in errno.errorcode.items()
    if name not in {"EDEADLOCK", "ENOTSUP"}  # other names of EDEADLK and EOPNOTSUPP
}


@cache
def anatomy(line: str) -> ErrorAnatomy:
    """Read a line as a report does."""
    body = body_of(line.encode())
    return read_error(error_text(body), level=stated_level(body))


@pytest.mark.parametrize("primitive", BY_PRIMITIVE, ids=lambda name: name or "none")
def test_table(primitive):
    """Each line has the primitive, object, operation and direction of the table, and says nothing that it must not."""
    wrong = []
    for row in BY_PRIMITIVE[primitive]:
        read = anatomy(row["line"])
        found = (read.primitive, str(read.strength), read.object_kind, read.object, read.operation, read.direction)
        wanted = tuple(row[name] for name in ("primitive", "strength", "kind", "object", "operation", "direction"))
        said = f"{read.sentence} {read.check}"
        if found != wanted or (row["must-not"] and row["must-not"] in said):
            wrong.append((found, wanted, said, row["line"]))
    assert not wrong


def test_table_is_complete():
    """The table has lines enough for each primitive that names a cause; rare errnos are tested below."""
    count = Counter(row["primitive"] for row in LINES)
    least = {STRONG: LEAST_OF_STRONG, PLAIN: LEAST_OF_PLAIN}
    short = {
        one.id: count[one.id]
        for one in tables().primitives
        if count[one.id] < least.get(one.strength, 0) and not one.says[ANY].startswith(RARE)
    }
    assert not short
    assert len(LINES) >= LEAST_LINES


def test_sentences_name_their_object():
    """A sentence that names a cause has its object in full."""
    forms = {one.id: one.says for one in tables().primitives}
    for row in LINES:
        read = anatomy(row["line"])
        if read.names_cause and "{object}" in forms.get(read.primitive, {}).get(read.object_kind, ""):
            assert read.object in read.sentence


@pytest.mark.parametrize("name", OF_NUMBER)
def test_errno_of_glibc(name):
    """Each text of strerror is read as its errno, in the spelling of C and of Go."""
    text = os.strerror(OF_NUMBER[name])
    name = {"EDEADLOCK": "EDEADLK"}.get(name, name)
    for words in (text, text.lower()):
        assert read_error(f"open /srv/widget: {words}").primitive == name


MUSL = {
    "EDOM": "Argument outside domain",
    "ERANGE": "Result not representable",
    "ENOTTY": "Not a tty",
    "ENOMEM": "Out of memory",
    "EAGAIN": "Operation would block",
    "EXDEV": "Cross-device link",
    "EIO": "I/O error",
    "ENAMETOOLONG": "Filename too long",
    "ENFILE": "File table overflow",
    "EBADF": "Bad file number",
    "ENOLCK": "No record locks available",
    "ENOSYS": "Function not supported",
    "EDEADLK": "Resource deadlock would occur",
    "EBADMSG": "Not a data message",
    "ESTALE": "Stale NFS file handle",
    "ENOTCONN": "Socket is not connected",
    "EISCONN": "Socket is connected",
    "ESHUTDOWN": "Cannot send after socket shutdown",
    "ENETRESET": "Network dropped connection because of reset",
    "EILSEQ": "Illegal byte sequence",
    "EOPNOTSUPP": "Operation not supported on socket",
    "EINTR": "Interrupted system call",
}


@pytest.mark.parametrize("name", MUSL)
def test_errno_of_musl(name):
    """Where musl spells an errno in its own way, that is read as well."""
    assert read_error(f"open /srv/widget: {MUSL[name]}").primitive == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("read of widget failed (os error 5)", "EIO"),
        ("mount error 22 = Unknown words", "EINVAL"),
        ("widget_probe: error -12 in the queue", "ENOMEM"),
        ("probe of 0000:01:00.0 failed: ret=-19", "ENODEV"),
        ("errno: 111", "ECONNREFUSED"),
        ("err=-110", "ETIMEDOUT"),
    ],
)
def test_errno_by_number(text, name):
    """The number of an errno alone, as Rust, mount helpers and the kernel print it, is read too."""
    assert read_error(text).primitive == name
