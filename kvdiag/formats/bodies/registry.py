"""All body formats: detect and read the format of a line, and render a body in klog's format.

    {"ts":1721015373850.919,"caller":"kubelet/kubelet.go:2168","msg":"SyncLoop ADD","v":2,"source":"api"}

Adding a format takes one module and one name in `FORMATS`.
"""

from __future__ import annotations

import re

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies import capnslog, eventobject, eventtable, gopanic, klog, klogjson, logrus, zap
from kvdiag.formats.bodies.bodyformat import Format
from kvdiag.formats.bodies.eventtable import UNKNOWN, Described
from kvdiag.formats.bodies.goquote import quote
from kvdiag.formats.carriers import envelopes
from kvdiag.formats.carriers.peel import chatter, peel
from kvdiag.model.record import Body

FORMATS: tuple[Format, ...] = (
    klog.FORMAT,
    klogjson.FORMAT,
    logrus.FORMAT,
    zap.FORMAT,
    capnslog.FORMAT,
    eventtable.FORMAT,
    eventobject.FORMAT,
)
"""All formats, the most likely first: the first one that reads a body is used."""

HEAD, CONTINUATION, CHATTER, UNREAD = "head", "continuation", "chatter", "unread"

_BY_FIRST = [tuple(one for one in FORMATS if not one.first or byte in one.first) for byte in range(256)]
_READERS = [tuple(one.read for one in formats) for formats in _BY_FIRST]
_STARTS = [tuple(one.starts for one in formats) for formats in _BY_FIRST]
_SURE = re.compile(b"|".join(one.sure for one in FORMATS if one.sure))
_SENT = re.compile(rb'(?:\]:| std(?:out|err) F) (?:[IWEF]\d{4} \d\d:\d\d:|time=")')
# Containers started by RKE trace their start script: `+ grep -q cloud-provider=azure`.
_TRACE = lazy_regex(rb"\+{1,4} \S")
_BULLETS = b"* \t"  # a line of only these separates sections of minikube's logs
# Printed about flags before the component has opened its log.
_DEPRECATED = lazy_regex(rb"Flag --[\w\-]{1,100} has been deprecated, ")
# A part of a journal entry with many lines, if an excerpt begins inside it.
_MEMBER = lazy_regex(
    rb'(?:    )?[A-Z_][A-Z0-9_]{1,63}=|\t"[A-Z_][A-Z0-9_]{1,63}" : |__CURSOR=s=[0-9a-f]|\{$|\}$|MESSAGE$'
    rb"|\S{2,12} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} \S{1,6} \[s=[0-9a-f]{8}"
)
# The names of the columns of a CSV export.
_COLUMNS = lazy_regex(rb'(?i)"?(?:@?timestamp|time|date)"?,"?(?:@?message|line)"?(?:,|$)')
# A field of what `kubectl describe` prints.
_DESCRIBED = lazy_regex(rb"[A-Z][A-Za-z /()\-]{1,40}:(?: {2,}\S|$)")
# Indented text, a path alone on a line (a command's output), the end of a block of lines, lines that the hostpath
# driver prints after one header, and parts of journal entries with many lines.
_CONTINUED = lazy_regex(
    rb"[\t ]|/[\w./\-]{1,200}'?$|>(?: |$)|[})\]](?:[.,]|$)"
    rb"|(?:Mounting (?:command|arguments)|Unmounting arguments|Output): "  # of mount-utils
    rb"|fstype |device |readonly (?:true|false)$|volumeId |attributes map\[|mountflags \["
)
# A line of another program, with a time and a level; a mark that lines were left out; a field of what `kubectl
# describe` prints; or the prompt of a shell. The output of Ceph and GlusterFS inside an error has times, but no such
# words.
_APART = lazy_regex(
    rb"[ \t]{0,40}(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,16} {1,8}\[?"
    rb"(?:TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)\b|\[?(?:\.{3}|\xe2\x80\xa6)\]?[ \t\r]{0,40}$"
    rb"|[A-Z][A-Za-z-]{1,40}: {2,}\S"
    rb"|[\w.-]{1,40}@[\w.-]{1,60}:\S{0,80}[#$] |\[[\w.-]{1,40}@[\w.-]{1,60} [^\]\n]{1,60}\][#$] )"
)


def is_separate(line: bytes) -> bool:
    """Return whether a line continues no error above it, although it begins no record of a known format."""
    return _APART.match(line) is not None


def read_body(body: bytes) -> Body | None:
    """Return a body in the first format that reads it; None if none does."""
    for read in _READERS[body[0]] if body else ():
        parsed = read(body)
        if parsed is not None:
            return parsed
    return None


def is_head(body: bytes) -> bool:
    """Return whether a peeled line begins a record of a known format."""
    for starts in _STARTS[body[0]] if body else ():  # noqa: SIM110  # `any` takes twice as long
        if starts(body):
            return True
    return False


def classify(line: bytes) -> str:
    """Return whether a line is a head, continuation, chatter or unread.

    Cheap enough for a sample of a file: it checks each line separately and reads no values.
    """
    if _SURE.match(line) or _SENT.search(line, 0, 120):
        return HEAD
    line = line.rstrip(b"\r\n")
    if envelopes.is_envelope(line) or line.lstrip().startswith(b"MESSAGE"):
        return HEAD
    if _is_chatter(line):
        return CHATTER
    peeled = peel(line)
    if is_head(peeled.body) or gopanic.is_start(peeled.body):
        return HEAD
    if _CONTINUED.match(peeled.body) or gopanic.is_part(peeled.body) or zap.FRAME.match(peeled.body):
        return CONTINUATION
    # A line with a journal or syslog prefix is a separate record: kernel, systemd, a program's plain text.
    return HEAD if peeled.ident or peeled.stamp is not None else UNREAD


def _is_chatter(line: bytes) -> bool:
    """Return whether a line has no message: empty, about the log, part of an entry, a shell trace, a table header."""
    return bool(
        not line.strip(_BULLETS)
        or chatter(line)
        or klog.preamble(line)
        or _TRACE.match(line)
        or _DEPRECATED.match(line)
        or eventtable.is_heading(line)
        or _COLUMNS.match(line)
        or _DESCRIBED.match(line)
        or _MEMBER.match(line)
    )


def canonical(body: Body, described: Described = UNKNOWN) -> bytes:
    r"""Render a body in klog's format, so that one matcher fits all formats.

    `"Volume detached for volume \"pvc-1\"" node="n1"`; `described` is the object of a row of events, if the table does
    not contain it.
    """
    if body.format in eventtable.FORMATS:
        return eventtable.as_logged(body, described)
    pairs = (key.encode("utf-8", "replace") + b"=" + quote(value) for key, value in body.fields.items())
    return b" ".join((quote(body.message), *pairs))
