"""Colours and links of a terminal: a few of its own colours, legible on a light ground as well as on a dark one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from urllib.parse import quote

from kvdiag.base.regex import lazy_regex
from kvdiag.model.record import Origin
from kvdiag.model.values import Severity
from kvdiag.safe.clean import clean

CODES: Mapping[str, str] = {
    "dim": "2",
    "bold": "1",
    "place": "35",
    "command": "32",
    "long": "35",
    "very long": "31",
    "bad": "1;31",
    "state": "36",
}
BADGES: Mapping[Severity, str] = {
    Severity.CRITICAL: "1;37;45",
    Severity.HIGH: "1;37;41",
    Severity.MEDIUM: "30;43",
    Severity.LOW: "30;46",
    Severity.INFO: "37;44",
}
_LINK = lazy_regex(r"\x1b\]8;;[^\x1b]*\x1b\\")
_ESCAPE = lazy_regex(r"\x1b\[[0-9;]*m|\x1b\]8;;[^\x1b]*\x1b\\")


def styled(text: str, code: str) -> str:
    """Text in a colour; `code` is one of `CODES`, or what stands in an escape itself."""
    return f"\x1b[{CODES.get(code, code)}m{text}\x1b[0m" if code and text else text


def linked(text: str, uri: str) -> str:
    """Text that leads to `uri`; itself where that is empty."""
    return f"\x1b]8;;{uri}\x1b\\{text}\x1b]8;;\x1b\\" if uri else text


def file_uri(origin: Origin, *, redact: bool) -> str:
    """Where a line of a log stands, for terminals; empty for what is no file of its own.

    The name of the machine is part of it, so that nothing else is opened over ssh. A line is named only to the terminal
    that is known to take one: others would look for a file of that name.
    """
    if clean(origin.source, redact=redact) != origin.source:
        return ""
    uri = _uri(origin.source)
    return f"{uri}#{origin.line}" if uri and os.environ.get("TERM") == "xterm-kitty" else uri


@cache
def _uri(source: str) -> str:
    try:
        path = os.path.abspath(source) if os.path.isfile(source) else ""  # noqa: PTH100, PTH113 (as the shell names it)
    except ValueError:  # no name of a file has a NUL
        return ""
    return f"file://{quote(os.uname().nodename)}{quote(os.fsencode(path))}" if path else ""


def without_links(text: str) -> str:
    """The text in its colours, for what would show links as they are written."""
    return _LINK.sub("", text)


def without_styles(text: str) -> str:
    """The text alone."""
    return _ESCAPE.sub("", text)
