"""Make text from a log safe to print: no control characters, no bidirectional text, no commands for CI systems.

Everything in a log is hostile: a pod's name may clear the screen, a driver may print its secrets, and a line may be a
command to the CI that prints it: `::set-output name=x::y` of GitHub at the beginning of a line, which wrapping may make
of any place; `##[command]`, `##vso[…]` and `##teamcity[…]` anywhere.
"""

from __future__ import annotations

import re

from kvdiag.base.regex import lazy_regex
from kvdiag.safe.secrets import redacted

_ASCII = "\x00-\x08\x0b-\x1f\x7f"
_UNSAFE = (
    f"{_ASCII}\x80-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
)
# By whether line ends are kept; most texts are ASCII, which is looked through in a fifth of the time.
_CONTROL = {False: lazy_regex(f"[\n{_UNSAFE}]"), True: lazy_regex(f"[{_UNSAFE}]")}
_ASCII_CONTROL = {False: lazy_regex(f"[\n{_ASCII}]"), True: lazy_regex(f"[{_ASCII}]")}
# actions/runner, ActionCommand.cs: TryParseV2 trims the line and wants `::name properties::`; TryParse finds `##[`.
_COMMAND = lazy_regex(r"#(?=#\w{0,20}\[)|:(?=:[A-Za-z][\w-]{0,40}(?: [^:\n]{0,4000})?::)")


class SafeText(str):
    """Text that is safe to print: secrets redacted, control characters escaped. Only this module creates it."""

    __slots__ = ()


def clean(text: str, *, redact: bool = True, newlines: bool = False) -> SafeText:
    """Return text that is safe for a terminal: control and direction characters escaped, secrets redacted.

    `newlines` keeps line ends, for text of our own that has log words in it.
    """
    if not redact:
        return SafeText(_escaped(text, newlines=newlines))
    redacted_text = redacted(text)
    shown = _escaped(redacted_text, newlines=newlines)
    # An escape is longer than what it stands for: a value too short to be a secret may now look like one.
    return SafeText(shown if shown == redacted_text else redacted(shown))


def shortened(text: SafeText, most: int) -> SafeText:
    """The beginning and the end of a long text: an error says what happened first and why last.

    A text is redacted before it is cut, since half of a secret may not look like one.
    """
    if len(text) <= most:
        return text
    head = most // 3
    return SafeText(f"{text[:head]} … {text[head - most + 3 :]}")


def excerpt(text: SafeText, most: int, about: str) -> SafeText:
    """Return at most `most` characters around the first `about`; without it, the beginning and the end."""
    at = text.find(about) if about else -1
    if len(text) <= most or at < most // 2 or at > len(text) - most // 2:
        return shortened(text, most)
    return SafeText(f"… {text[at - most // 2 : at + most // 2 - 4]} …")


def json_safe(text: str) -> str:
    """Escape control and direction characters in JSON; its own line ends are kept."""
    text = _control(text, newlines=True).sub(lambda found: _units(found[0]), text)
    return _COMMAND.sub(lambda found: _units(found[0]), text) if "##" in text else text


def _control(text: str, *, newlines: bool) -> re.Pattern[str]:
    return (_ASCII_CONTROL if text.isascii() else _CONTROL)[newlines]


def _units(character: str) -> str:
    """Return a character as JSON escapes it, in UTF-16 code units."""
    written = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{written[at : at + 4]}" for at in range(0, len(written), 4))


def _escaped(text: str, *, newlines: bool) -> str:
    text = _control(text, newlines=newlines).sub(lambda found: _escape(found[0]), text)
    return _COMMAND.sub(lambda found: _escape(found[0]), text) if "##" in text or "::" in text else text


def _escape(character: str) -> str:
    code = ord(character)
    return {"\n": "\\n", "\r": "\\r"}.get(character) or (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )
