r"""A text as its reader would see it, and where each of its characters stands in what was written.

    {&quot;password&quot;:…   {\u0022password\u0022:…   #033[1mpassword#033[0m=…   “password”: …   pass\0word=…

Entities, escapes and percent signs are taken for what they stand for, typographic quotes for plain ones, and what is
not seen (colours, NUL, marks of direction) for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kvdiag.regex import lazy_regex

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


class View(NamedTuple):
    """What is seen, and for each of its characters, and for its end, where that begins in what was written."""

    text: str
    at: Sequence[int]


def seen(text: str) -> View | None:
    """Give the text as it is seen; None where that is how it was written."""
    if not (any(mark in text for mark in _MARKS) or _UNPRINTED.search(text)):
        return None
    parts: list[str] = []
    places: list[int] = []
    end = 0
    for found in _ODD.finditer(text):
        stands_for = _character(found)
        if stands_for is None:
            continue
        parts += [text[end : found.start()], stands_for]
        places.extend(range(end, found.start()))
        places.extend([found.start()] * len(stands_for))
        end = found.end()
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
