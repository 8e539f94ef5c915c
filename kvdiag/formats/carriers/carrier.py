"""The result of removing a carrier from a line.

    Jul 15 03:49:34 minikube kubelet[1432]: I0715 03:49:33.850919    1432 kubelet.go:2168] "SyncLoop ADD"

Here that is a time without year, the node, the program and its PID.
"""

from __future__ import annotations

from typing import NamedTuple

from kvdiag.base.regex import lazy_regex

ANSI = lazy_regex(rb"\x1b\[[0-9;]{0,20}[A-Za-z]")
# Microseconds until the year 5138; and the first number that, as milliseconds or nanoseconds, is a time of ours.
_MOST_DIGITS = 17
KERNEL = "kernel"  # the program of lines in dmesg
AUDIT = "audit"  # the kernel's audit records, by journald or auditd
LOGGER = "logger"  # of lines that a process sent under the name of the kernel
_MILLISECONDS, _MICROSECONDS, _NANOSECONDS = 10**11, 10**14, 10**17


class Peeled(NamedTuple):
    """The body of a line, and the fields of its carriers.

    `stamp` is the time of the outermost carrier that writes a year, else of the outermost that writes one at all, in
    the year-less frame. `ident` is the program's name without path. `carrier` names the outermost carrier. `partial`
    means that the next line of `stream` continues this one, `cut` that the beginning of the carrier is missing.
    """

    body: bytes
    stamp: int | None = None
    node: str = ""
    ident: str = ""
    pid: int | None = None
    carrier: str = "plain"
    partial: bool = False
    stream: str = ""
    cut: bool = False


def program(name: str) -> str:
    """Return `kubelet` for `/usr/bin/kubelet` and `kubelet.service`."""
    return name.rpartition("/")[2].removesuffix(".service")


def epoch_stamp(number: int) -> int | None:
    """Return microseconds since 1970 for a number of milli-, micro- or nanoseconds; None for any other."""
    if _MILLISECONDS <= number < _MICROSECONDS:
        return number * 1000
    if _MICROSECONDS <= number < _NANOSECONDS:
        return number
    return number // 1000 if _NANOSECONDS <= number < _NANOSECONDS * 100 else None


def text_field(value: object) -> str:
    """Return a text field; of a repeated one the first; empty for other types."""
    if isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, str) else ""


def parse_number(digits: str) -> int | None:
    """Return a number of at most seventeen digits; None for other text."""
    return int(digits) if digits.isdecimal() and len(digits) <= _MOST_DIGITS else None


def bytes_field(value: object) -> bytes:
    """Return a message that is a text, a list of bytes, or a list of messages (the first), without colours."""
    if isinstance(value, list) and value and not isinstance(value[0], int):
        value = value[0]
    if isinstance(value, list):
        text = bytes(item & 0xFF for item in value if isinstance(item, int))
    else:
        text = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else b""
    return (ANSI.sub(b"", text) if b"\x1b" in text else text).rstrip(b"\r\n")
