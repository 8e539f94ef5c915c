"""Text for terminals: colours and links, or ASCII where a terminal has neither."""

from __future__ import annotations

import codecs
import os
from collections.abc import Mapping
from functools import cache
from urllib.parse import quote

from kvdiag.base.regex import lazy_regex
from kvdiag.model.record import Origin
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
_LINK = lazy_regex(r"\x1b\]8;[^\x1b]*\x1b\\")
_ESCAPE = lazy_regex(r"\x1b\[[0-9;]*m|\x1b\]8;[^\x1b]*\x1b\\")


def styled(text: str, code: str) -> str:
    """Return the text in a colour; `code` is a key of `CODES` or an SGR parameter string."""
    return f"\x1b[{CODES.get(code, code)}m{text}\x1b[0m" if code and text else text


def linked(text: str, uri: str) -> str:
    """Return the text as a link to `uri`, or the text itself if `uri` is empty."""
    return f"\x1b]8;;{uri}\x1b\\{text}\x1b]8;;\x1b\\" if uri else text


def file_uri(origin: Origin, *, redact: bool) -> str:
    """Return a file URI for the place of a line; empty if the source is not a file on this machine.

    The URI contains the host name, so that a terminal in an ssh session opens no local file by mistake. The line number
    is added only for kitty, which understands it: other terminals would look for a file of that name.
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
    """Return the text with its colours and without its links, for a program that would print links literally."""
    return _LINK.sub("", text)


def without_styles(text: str) -> str:
    """Return the text without colours and links."""
    return _ESCAPE.sub("", text)


ERROR_HANDLER = "kvdiag.signs"
"""The name of the codec error handler."""

ASCII_FOR: Mapping[str, str] = dict(zip("▁▂▃▄▅▆▇█●━○·…×–—│◆→", ".:-=+*%#*-o-~x--|*>", strict=True))


def _replace_unencodable(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(ASCII_FOR.get(character) or _escaped(character) for character in found), error.end


def _escaped(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode("ascii")


codecs.register_error(ERROR_HANDLER, _replace_unencodable)
