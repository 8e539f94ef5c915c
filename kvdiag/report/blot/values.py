r"""How far a value goes that follows a name: to the quote that ends it, the bracket that closes it, or its last word.

    "password":"a \"b\" c"    password='…'    Secrets:map[user:a key:b]    secrets:<key:"a" value:"b}" >    pass=a,…

A value that is not ended, because the line was cut, goes to the end of the line.
"""

from __future__ import annotations

from kvdiag.regex import regex

_QUOTE = regex(r"(\\*)([\"'`])")
_OPENING = regex(r"(\\{0,15})([\"'`])")
_MAP = regex(
    r"&?(?:\*?[\w.]{0,40})?(?:map\[\w{0,20}\](?:\w{1,20}|\[\]byte|interface ?\{\})|map(?=\[)|\[\]\w{1,40})?(?=[\[{<(])"
)
_NEXT = regex(r"\\*[\"'`]|[\[\](){}<>\n]")
_CLOSES = {"[": "]", "{": "}", "<": ">", "(": ")"}
_BARE = regex(
    r"(?:[^\s\"'`\\,;&)\]}>|]"
    r"|\\(?!\\{0,7}(?:[nrt](?![a-z])|[\"'`]))"
    r"|&(?![\w.\[\]-]{1,64}=)|;(?=[^\s;,\"'\\=]{2,}(?:[\s,\"'\\]|$))(?![\w.-]{1,64}[=:])|[)\]}>](?=\w)|\|(?=\S))+"
)
Span = tuple[int, int]


def line_end(text: str, at: int) -> int:
    """Where the line ends in which this place is."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def quoted(text: str, at: int) -> Span | None:
    """What stands between quotes, at whatever depth of escapes, if a quote is here."""
    opening = _OPENING.match(text, at)
    if opening is None:
        return None
    depth, quote = len(opening[1]), opening[2]
    # Escaped line ends of one line are no ends; a quote that is not ended is cut off with its line.
    ends = line_end(text, at)
    for found in _QUOTE.finditer(text, opening.end(), ends):
        more = len(found[1]) - depth
        if found[2] == quote and (more <= 0 or more % (2 * (depth + 1)) == 0):
            return opening.end(), found.start() + max(more, 0)
    return opening.end(), ends


def bracketed(text: str, at: int) -> Span | None:
    """What stands between brackets, those within it balanced and those in quotes not counted, if one opens here."""
    opening = _MAP.match(text, at)
    if opening is None:
        return None
    begins = opening.end() + 1
    awaited, at = [_CLOSES[text[opening.end()]]], begins
    while found := _NEXT.search(text, at):
        sign, at = found[0], found.end()
        if sign[-1] in "\"'`":
            inside = quoted(text, found.start())
            # An apostrophe within a word is no quote; a quote that is not ended is a character.
            if inside and inside[1] < line_end(text, found.start()) and not text[found.start() - 1].isalnum():
                at = _QUOTE.match(text, inside[1]).end()  # type: ignore[union-attr]  # a quote ended it
        elif sign in _CLOSES:
            awaited.append(_CLOSES[sign])
        elif sign == awaited[-1]:
            awaited.pop()
            if not awaited:
                return begins, found.start()
        elif sign in awaited and sign != ">":
            while awaited.pop() != sign:
                pass
            if not awaited:
                return begins, found.start()
    return begins, len(text) if text.find("\n", begins) < 0 else _paragraph(text, begins)


def bare(text: str, at: int) -> Span | None:
    """A word, to what ends an option, a field of a query, or a member of a list."""
    found = _BARE.match(text, at)
    return found.span() if found else None


def _paragraph(text: str, at: int) -> int:
    """Where something that was cut off ends at the latest: a document of JSON spreads over lines."""
    end = text.find("\n\n", at)
    return len(text) if end < 0 else end
