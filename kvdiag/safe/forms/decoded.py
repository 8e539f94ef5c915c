r"""A text as its reader would see it, and where each of its characters stands in what was written.

    {&quot;password&quot;:…   {\u0022password\u0022:…   #033[1mpassword#033[0m=…   “password”: …   pass\0word=…

Entities, escapes and percent signs are taken for what they stand for, typographic quotes for plain ones, and what is
not seen (colours, NUL, marks of direction) for nothing. A text of several lines may stand on one, its line ends escaped
(`\\n`, or `#012` of rsyslog); and a line may stand on several, broken at the last column of a terminal.
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
_NARROWEST = 40  # columns of a terminal
_USUAL = frozenset((80, 100, 120, 132, 160, 200, 240))
_SETTING = lazy_regex(r"\s|[\w.-]{1,64}(?: ?=|:) |$")  # begins a line of its own


_ARGUMENT = lazy_regex(r"[?&]command=")  # of `kubectl exec`, in the address that audit logs have


class View(NamedTuple):
    """What is seen, and for each of its characters, and for its end, where that begins in what was written."""

    text: str
    at: Sequence[int]


def decoded_view(text: str) -> View | None:
    """Give the text as it is seen; None where that is how it was written."""
    if not (any(mark in text for mark in _MARKS) or _UNPRINTED.search(text)):
        return None
    characters = ((found, _character(found)) for found in _ODD.finditer(text))
    return _replace_matches(
        text, ((found, replacement) for found, replacement in characters if replacement is not None)
    )


def unescaped_lines(text: str) -> View | None:
    """Give a text whose escaped line ends are ends of lines; None where it has none of them."""
    if "\\n" not in text and "#012" not in text:
        return None
    return _replace_matches(
        text, ((found, _BLANKS[found["kind"] or found["octal"]]) for found in _BLANK.finditer(text))
    )


def exec_command_view(text: str) -> View | None:
    """Give the address of a `kubectl exec` with its command as one line; None where the text has none."""
    if "&command=" not in text:
        return None
    return _replace_matches(text, ((found, " ") for found in _ARGUMENT.finditer(text)))


def rejoined_lines(lines: Sequence[str], widths: Sequence[int]) -> View | None:
    """Give lines as one text, in which those as wide as the widest go on in the next; None where none seems broken.

    The widths count what stood before the lines as well.
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
    """The text with what each match stands for in its place; None where nothing was found."""
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
    """What an escape stands for; None for what is none, or is a line end."""
    kind = found.lastgroup or ""
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind == "entity":
        return _ENTITIES[found[kind]]
    code = ord(found[kind]) - 0xFEE0 if kind == "wide" else int(found[kind], _BASES[kind])
    if 32 <= code < 127:
        return chr(code)
    return None if code in {9, 10, 13} or code > 255 else ""
