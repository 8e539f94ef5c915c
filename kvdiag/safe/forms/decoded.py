r"""Decode a text to what its reader sees, with the offset of each character in the original.

    {&quot;password&quot;:…   {\u0022password\u0022:…   #033[1mpassword#033[0m=…   “password”: …   pass\0word=…

Entities, escapes and percent encoding are decoded, typographic quotes become ASCII quotes, and invisible characters
(colours, NUL, direction marks) are removed. Several lines may be in one with escaped line ends (`\\n`, or `#012` of
rsyslog); and a line may be on several, wrapped at the last column of a terminal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex

_UNSEEN = "\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
_COLOUR = r"\[[0-9;?]{0,20}[A-Za-z]"
_ODD = lazy_regex(
    rf"(?P<colour>(?:\x1b|\\{{1,8}}(?:x1[bB]|u001[bB]|033|e)|#033){_COLOUR})"
    r"|&(?:amp;){0,3}(?:(?P<entity>quot|apos|lt|gt|amp|nbsp)|#(?P<decimal>\d{2,3})|#[xX](?P<hexadecimal>[0-9a-fA-F]{2}));"
    r"|\\{1,8}(?:u(?P<four>[0-9a-fA-F]{4})|x(?P<two>[0-9a-fA-F]{2}))|#(?P<octal>[01][0-7]{2})"
    r"|%(?P<percent>[2-7][0-9a-fA-F])"
    rf"|(?P<unseen>[{_UNSEEN}\ud800-\udfff\U000e0000-\U000e01ef]+)"
    r"|(?P<double>[“”„‟«»＂])|(?P<single>[‘’‚‛＇])|(?P<blank>[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000])"
    r"|(?P<wide>[\uff03-\uff06\uff08-\uff5e])"
)
_ENTITIES = {"quot": '"', "apos": "'", "lt": "<", "gt": ">", "amp": "&", "nbsp": " "}
_BASES = {"decimal": 10, "hexadecimal": 16, "four": 16, "two": 16, "octal": 8, "percent": 16}
_PLAIN = {"colour": "", "unseen": "", "double": '"', "single": "'", "blank": " "}
_MARKS = ("\\u", "\\x", "&", "#", "%", "\\033", "\\e")
_UNPRINTED = lazy_regex(r"[^\n\t\r -~\ufdd0]")
_BLANK = lazy_regex(r"\\{1,8}(?P<kind>[nrt])|#0(?P<octal>1[125])")
_BLANKS = {"n": "\n", "r": "", "t": "\t", "12": "\n", "15": "", "11": "\t"}
_NARROWEST = 40  # columns of a terminal; narrower lines are not wrapped
_USUAL = frozenset((80, 100, 120, 132, 160, 200, 240))
_SETTING = lazy_regex(r"\s|[\w.-]{1,64}(?: ?=|:) |$")  # the beginning of a separate line


_ARGUMENT = lazy_regex(r"[?&]command=")  # of `kubectl exec`, in the URL in audit logs


class View(NamedTuple):
    """The decoded text, and the offset in the original of each of its characters and of its end."""

    text: str
    at: Sequence[int]


def decoded_view(text: str) -> View | None:
    """Return the decoded text; None if it equals the original."""
    if not (any(mark in text for mark in _MARKS) or _UNPRINTED.search(text)):
        return None
    characters = ((found, _character(found)) for found in _ODD.finditer(text))
    return _replace_matches(
        text, ((found, replacement) for found, replacement in characters if replacement is not None)
    )


def unescaped_lines(text: str) -> View | None:
    """Return the text with escaped line ends as line ends; None if it has none."""
    if "\\n" not in text and "#012" not in text:
        return None
    return _replace_matches(
        text, ((found, _BLANKS[found["kind"] or found["octal"]]) for found in _BLANK.finditer(text))
    )


def exec_command_view(text: str) -> View | None:
    """Return the URL of a `kubectl exec` with its command as one line; None if there is none."""
    if "&command=" not in text:
        return None
    return _replace_matches(text, ((found, " ") for found in _ARGUMENT.finditer(text)))


def rejoined_lines(lines: Sequence[str], widths: Sequence[int]) -> View | None:
    """Join lines that are as wide as the widest with the next one; return None if none seems wrapped.

    The widths include the text before the lines.
    """
    widest = max(widths[:-1], default=0)
    if widest < _NARROWEST or widest < widths[-1]:
        return None
    any_broken = False
    is_sure = widest in _USUAL or widths[:-1].count(widest) > 1
    parts: list[str] = []
    places: list[int] = []
    at = 0
    for line, width, below in zip(lines, widths, [*lines[1:], ""], strict=True):
        is_broken = width == widest and bool(below) and (is_sure or not _SETTING.match(below))
        any_broken = any_broken or is_broken
        ended = line if is_broken else line + "\n"
        parts.append(ended)
        places.extend(range(at, at + len(ended)))
        at += len(line) + 1
    places[-1:] = [at - 1]
    return View("".join(parts).removesuffix("\n"), places) if any_broken else None


def _replace_matches(text: str, found: Iterable[tuple[re.Match[str], str]]) -> View | None:
    """Return the text with each match replaced; None without a match."""
    parts: list[str] = []
    places: list[int] = []
    end = 0
    for match, replacement in found:
        parts += [text[end : match.start()], replacement]
        places.extend(range(end, match.start()))
        places.extend([match.start()] * len(replacement))
        end = match.end()
    if not end:
        return None
    places.extend(range(end, len(text) + 1))
    return View("".join([*parts, text[end:]]), places)


def _character(found: re.Match[str]) -> str | None:
    """Return the character of an escape; None if it is no escape, or a line end."""
    kind = found.lastgroup or ""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind == "entity":
        return _ENTITIES[found[kind]]
    code = ord(found[kind]) - 0xFEE0 if kind == "wide" else int(found[kind], _BASES[kind])
    if 32 <= code < 127:
        return chr(code)
    return None if code in {9, 10, 13} or code > 255 else ""
