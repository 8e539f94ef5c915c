r"""Carriers of copied lines: grep's file names, CSV exports, a bullet, a date without a blank.

    /var/log/messages:21143:Nov 20 20:39:21 worker-1 kubelet[6175]: E1120 20:39:21.779765    6175 kubelet.go:2200] x
    2026-11-20T20:39:21.779Z,"E1120 20:39:21.779765    6175 kubelet.go:2200] ""SyncLoop ADD"" source=""api"" "

CloudWatch and Loki export rows of a time and a line; Rancher writes no blank after the time. Each counts only before a
log line or another carrier.
"""

from __future__ import annotations

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.goquote import unquote
from kvdiag.formats.carriers import openings
from kvdiag.formats.carriers.carrier import Peeled, epoch_stamp, program
from kvdiag.formats.timestamps import rfc3339

_LINE = lazy_regex(openings.LINE)
_LINE_OR_EVENT = lazy_regex(openings.LINE + rb"|" + openings.EVENT)
# A drive letter, then a path; with blanks only if it begins like a path.
_FILE = lazy_regex(
    rb"(?:(?:[A-Za-z]:|\.{0,2})[\\/][^:\n\"]{1,400}|[^\s:\"{}\[\]]{1,200}):(?:\d{1,9}:|(?! \S))(?="
    + openings.LINE
    + rb")"
)
# `grep -C` marks context lines with `-` instead of `:`; names may contain `-`, so only what looks like a file.
_AROUND = lazy_regex(
    rb"[^\s:\"{}\[\]]{0,200}[./][^\s:\"{}\[\]]{1,200}?-(?:\d{1,9}-)?(?=[ \t]{0,40}"
    + openings.HEAD
    + rb"|"
    + openings.CARRIER
    + rb")"
)
_DATE = rb"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})? ?(?:Z|UTC|[+-]\d\d:?\d\d)?"
_ROW = lazy_regex(rb'(?:"(' + _DATE + rb'|\d{13,19})"|(' + _DATE + rb"|\d{13,19})),(?=(\")?)")
_CELL = lazy_regex(rb'"((?>(?:[^"]++|"")*))"(?=,|$)')
_GLUED = lazy_regex(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d))(?=" + openings.HEAD + rb")")
_BULLET = lazy_regex(rb"[ \t]{0,8}(?:[*\-]|\d{1,4}\.) {1,3}(?=`?(?:" + openings.LINE + rb"|" + openings.EVENT + rb"))")
_ELEMENT = lazy_regex(
    rb'[ \t]{0,40}(?="(?:' + openings.KLOG + rb"|" + openings.TIMED + rb')[^\n]{1,16000}"[ \t]*,?[ \t]*$)'
)
# Without a blank before it: a `>` that ends a value of several lines is indented.
_QUOTE = lazy_regex(rb"(?>(?:> ?){1,5})(?=[ \t]{0,40}\S)")
_BAR = lazy_regex(rb"(?:\xe2\x94\x82|\|) {0,4}(?=" + openings.LINE + rb"|" + openings.EVENT + rb")")
_WRAPPED = lazy_regex(rb'time="([^"]{10,40})" level=[a-z]+ msg=(?="(?:[IWEF]\d{4} \d\d:|time=\\"|\{\\"))')
_COMPONENT = lazy_regex(rb'[^\n]*? component="?([\w.\-]{1,80})')
_VIEWED = lazy_regex(rb"[A-Z][a-z]{2}, [A-Z][a-z]{2} \d{1,2} \d{4} \d{1,2}:\d\d:\d\d [ap]m \| ?(?=\S)")
_BOM = b"\xef\xbb\xbf"


def filed(body: bytes) -> Peeled | None:
    r"""Read `kubelet.log:21143:`, `/var/log/messages:`, `C:\k\kubelet.log:7:`: grep -H, -Hn, and -C with its `-`."""
    found = _AROUND.match(body) or _FILE.match(body)
    return Peeled(body[found.end() :]) if found else None


def row(body: bytes) -> Peeled | None:
    """Read `2026-11-20T20:39:21.779Z,line`: a time and a line of CloudWatch, Loki or Grafana, quoted as CSV or not."""
    found = _ROW.match(body)
    if found is None:
        return None
    quoted, bare, mark = found.groups()
    line = body[found.end() :]
    if mark:
        cell = _CELL.match(line)
        line = cell.group(1).replace(b'""', b'"').rstrip(b"\r\n") if cell else b""
    date = quoted or bare
    return (
        Peeled(line, epoch_stamp(int(date)) if date.isdigit() else rfc3339(date), carrier="csv")
        if _LINE.match(line)
        else None
    )


def glued(body: bytes) -> Peeled | None:
    """Read `2026-11-20T20:39:21.779999789ZE1120 …`: Rancher's download has no blank after the time."""
    found = _GLUED.match(body)
    return Peeled(body[found.end() :], rfc3339(found.group(1)), carrier="timestamps") if found else None


def listed(body: bytes) -> Peeled | None:
    """Read `* Nov 20 …`, `- E1120 …`, `13. E1120 …`: minikube's list of problems, an item of a bug report."""
    found = _BULLET.match(body)
    return Peeled(body[found.end() :]) if found else None


def element(body: bytes) -> Peeled | None:
    r"""Read `    "Jun 06 15:09:11 worker-1 kubelet[811]: …",`: a line in a JSON list, as of Ansible's stdout_lines."""
    found = _ELEMENT.match(body)
    inner = unquote(body, found.end()) if found else None
    return Peeled(inner.text.encode("utf-8", "surrogatepass")) if inner and inner.terminated else None


def quoted(body: bytes) -> Peeled | None:
    """Read `> E1120 …`: a quoted line in Markdown or mail."""
    found = _QUOTE.match(body)
    return Peeled(body[found.end() :]) if found else None


def boxed(body: bytes) -> Peeled | None:
    """Read `│ E1120 … │`: a line inside the frame of k9s."""
    found = _BAR.match(body)
    if found is None:
        return None
    return Peeled(body[found.end() :].rstrip().removesuffix(b"\xe2\x94\x82").removesuffix(b"|").rstrip())


def viewed(body: bytes) -> Peeled | None:
    """Read `Thu, Jan 28 2021 7:57:21 pm | E0128 …`: a line of Rancher's log view, in the viewer's zone."""
    found = _VIEWED.match(body)
    return Peeled(body[found.end() :]) if found else None


def bold(body: bytes) -> Peeled | None:
    """Read `**E1120 …**`: a line in bold type in Markdown."""
    line = body[2:].removesuffix(b"**")
    return Peeled(line) if body.startswith(b"**") and _LINE_OR_EVENT.match(line) else None


def coded(body: bytes) -> Peeled | None:
    """Read `` `E1120 …` ``: a line of inline code in Markdown."""
    line = body[1:].removesuffix(b"`")
    return Peeled(line) if _LINE_OR_EVENT.match(line) else None


def marked(body: bytes) -> Peeled | None:
    """Remove the byte order mark at the beginning of a Windows file."""
    return Peeled(body[len(_BOM) :]) if body.startswith(_BOM) else None


def supervised(body: bytes) -> Peeled | None:
    r"""`time="2026-11-20 20:39:21" level=info msg="E1120 … \"Pod\"" component=kubelet`: what k0s makes of its children.

    Without `component`, a program has logged a line of another one, as containerd does with its shim.
    """
    found = _WRAPPED.match(body)
    if found is None:
        return None
    inner = unquote(body, found.end())
    component = _COMPONENT.match(body, inner.end)
    if not inner.terminated or component is None:
        return None
    line = inner.text.rstrip("\r\n").encode("utf-8", "surrogatepass")
    return Peeled(line, rfc3339(found.group(1)), ident=program(component.group(1).decode()), carrier="supervisor")
