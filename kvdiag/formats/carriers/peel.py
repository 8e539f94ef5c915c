"""Remove carriers: the text that the journal, syslog, a runtime or kubectl writes before a log line.

    2024-07-15T03:49:34.123456789Z stderr F Jul 15 03:49:33 minikube kubelet[1432]: I0715 03:49:33.850919 1432 a.go:1] x

Carriers are nested, so they are removed one after the other, at most five. Their formats are in `prefixes` (text) and
`envelopes` (JSON); this module only selects them by the first byte.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping

from kvdiag.base.clock import is_since_boot, is_yearless
from kvdiag.base.regex import lazy_regex
from kvdiag.formats.carriers import dmesg, envelopes, prefixes
from kvdiag.formats.carriers.carrier import Peeled
from kvdiag.formats.pasted import copied

__all__ = ["Peeled", "chatter", "peel", "repeel"]

_Reader = Callable[[bytes], Peeled | None]
_DEEPEST = 5
INDENTS = (b"\t", b"        ")  # before each line of a value of klog; journalctl prints a tab as blanks
# Not k0s, which puts the line of another program into `msg`, and not Talos, whose objects carry one.
_BARE = re.compile(
    rb'[IWEF]\d{4} \d\d:\d\d:|time="(?!.{10} [^"]{1,30}" level=[a-z]+ msg="(?:[IWEF]\d{4} |time=|\{))'
    rb'|\{"(?:ts":|level":|msg":(?!.*"talos-(?:service|time)" ?:))'
)
_CHATTER = lazy_regex(
    rb"(?:\* )?-- (?:(?P<begin>Logs begin at |Journal begins at )|(?P<boot>Boot [0-9a-f]{32} --|Reboot --)"
    rb"|(?P<none>No entries --))|(?P<gap>--)$|(?P<fence>(?:```|~~~)[\w+.\-]{0,20}$)"
)
_SIGNED = ("journal", "syslog", "dmesg", "talos-dmesg", "container-journal", "named", "console")
_NAMES = {"begin": "begin", "boot": "boot", "none": "no-entries", "gap": "gap", "fence": "fence"}
_LETTER: tuple[_Reader, ...] = (
    prefixes.syslog,
    prefixes.full,
    prefixes.local,
    copied.viewed,
    copied.filed,
    prefixes.named,
    prefixes.bare,
    prefixes.leading_words,
    envelopes.read_headless,
)
_LOWER: tuple[_Reader, ...] = (dmesg.talos, prefixes.decoded, prefixes.kail, *_LETTER)
_DIGIT: tuple[_Reader, ...] = (
    prefixes.dated,
    prefixes.slashed,
    prefixes.unix,
    prefixes.kmsg,
    prefixes.syslog,
    dmesg.talos,
    copied.glued,
    copied.listed,
    copied.row,
    prefixes.bare,
    copied.filed,
    prefixes.named,
    prefixes.leading_words,
    envelopes.read_headless,
)
_OTHER: tuple[_Reader, ...] = (
    prefixes.full,
    copied.filed,
    prefixes.named,
    prefixes.leading_words,
    envelopes.read_headless,
)
_BY_FIRST_BYTE: Mapping[bytes, tuple[_Reader, ...]] = {
    **dict.fromkeys((letter.encode() for letter in string.ascii_uppercase), _LETTER),
    **dict.fromkeys((letter.encode() for letter in string.ascii_lowercase), _LOWER),
    **dict.fromkeys((digit.encode() for digit in string.digits), _DIGIT),
    b"d": (envelopes.read_prefixed, *_LOWER),
    b"n": (dmesg.auditd, *_LOWER),
    b"t": (copied.supervised, dmesg.auditd, *_LOWER),
    b"*": (copied.listed, copied.bold, *_OTHER),
    b"-": (copied.listed, *_OTHER),
    b">": (copied.quoted, *_OTHER),
    b"|": (copied.boxed, *_OTHER),
    b"\xe2": (copied.boxed, *_OTHER),
    b'"': (copied.row, copied.element, *_OTHER),
    b"`": (copied.coded, *_OTHER),
    b"\xef": (copied.marked, *_OTHER),
    b"\x1e": (envelopes.read_prefixed,),
    b"{": (envelopes.read,),
    b"[": (
        dmesg.machined,
        prefixes.since_boot,
        prefixes.dmesg_dates,
        prefixes.console,
        prefixes.bracketed,
        envelopes.read_headless,
    ),
    b"<": (prefixes.bare,),
    b" ": (dmesg.talos, copied.element, prefixes.bare, copied.listed, envelopes.read_headless),
    b"\t": (copied.element, prefixes.bare),
    b"\x1b": (prefixes.coloured,),
    b"": (),
}


def peel(line: bytes) -> Peeled:
    """Remove all carriers from a line; a line without any is its own body."""
    # Most lines have none, which their first bytes show.
    if _BARE.match(line):
        return Peeled(line.rstrip(b"\r\n"))
    body = line.rstrip(b"\r\n")
    outer = _peel_once(body)
    if outer is None:
        return Peeled(body)
    return outer if _BARE.match(outer.body) else repeel(outer, _DEEPEST - 1)


def repeel(peeled: Peeled, most: int = _DEEPEST) -> Peeled:
    """Remove the remaining carriers from a body."""
    for _ in range(most):
        if _BARE.match(peeled.body):
            break
        inner = _peel_once(peeled.body)
        if inner is None:
            break
        peeled = _nested(peeled, inner)
    return peeled


def peel_to_indent(line: bytes) -> Peeled | None:
    """Remove the carriers before an indented text; return None if there is none."""
    peeled = Peeled(line.rstrip(b"\r\n"))
    for _ in range(_DEEPEST):
        if peeled.body.startswith(INDENTS):
            return peeled
        inner = _peel_once(peeled.body)
        if inner is None:
            return None
        peeled = _nested(peeled, inner)
    return None


def chatter(line: bytes) -> str | None:
    """Return the kind of a line between log lines: `begin`, `boot`, `no-entries`, `gap` (grep), `fence` (Markdown)."""
    found = _CHATTER.match(line)
    return _NAMES[found.lastgroup] if found and found.lastgroup else None


def _peel_once(body: bytes) -> Peeled | None:
    for read in _BY_FIRST_BYTE.get(body[:1], _OTHER):
        inner = read(body)
        if inner is not None:
            return inner
    return None


def _nested(outer: Peeled, inner: Peeled) -> Peeled:
    """Combine two carriers: the absolute time and name of the outer one, the sender of the inner one."""
    if outer.ident and _is_signed(outer) and _is_signed(inner):  # text of this program, which may contain other names
        return outer._replace(body=inner.body)
    stamp = outer.stamp
    if stamp is not None and inner.stamp is not None and is_since_boot(inner.stamp):
        pass  # syslog's time before the kernel's own
    elif stamp is None or (inner.stamp is not None and is_yearless(stamp) and not is_yearless(inner.stamp)):
        stamp = inner.stamp
    return Peeled(
        inner.body,
        stamp,
        inner.node or outer.node,
        inner.ident or outer.ident,
        outer.pid if inner.pid is None else inner.pid,
        inner.carrier if outer.carrier == "plain" or inner.carrier == "container-journal" else outer.carrier,
        outer.partial or inner.partial,
        outer.stream or inner.stream,
        outer.cut or inner.cut,
    )


def _is_signed(peeled: Peeled) -> bool:
    """Return whether a journal, syslog or the kernel ring buffer names the sender of the line."""
    return peeled.carrier.startswith(_SIGNED)
