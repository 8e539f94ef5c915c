r"""How far a value goes that follows a name: to the quote that ends it, the bracket that closes it, or its last word.

    "password":"a \"b\" c"    password='…'    Secrets:map[user:a key:b]    secrets:<key:"a" value:"b}" >    pass=a,…

A value that is not ended, because the line was cut, goes to the end of the line.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex

_QUOTE = lazy_regex(r"(\\*)([\"'`])")
_OPENING = lazy_regex(r"(\\{0,15})([\"'`])")
_MAP = lazy_regex(
    r"&?(?:\*?(?!map\[)[\w.]{0,40})?"
    r"(?:map\[\w{0,20}\](?:\w{1,20}|\[\]byte|\[\]uint8|interface ?\{\})(?=[{(])|map(?=\[)|\[\]\w{1,40})?(?=[\[{<(])"
)
_NEXT = lazy_regex(r"\\*[\"'`]|[\[\](){}<>\n]")
_GOES_ON = lazy_regex(r"[ \t]+\S|[\]})>]")
_CLOSES = {"[": "]", "{": "}", "<": ">", "(": ")"}
_BARE = lazy_regex(
    r"(?:[^\s\"'`\\,;&)\]}>|]"
    r"|\\(?!\\{0,7}(?:[nrt](?![a-z])|[\"'`]))"
    r"|&(?![\w.\[\]-]{1,64}=)|;(?=[^\s;,\"'\\=]{2,}(?:[\s,\"'\\]|$))(?![\w.-]{1,64}[=:])|[)\]}>](?=\w)|\|(?=\S))+"
)
Span = tuple[int, int]
SHORTEST_CUT, LONGEST_CUT = 8, 2048  # characters of a word that was cut off


def line_end(text: str, at: int) -> int:
    """Where the line ends in which this place is."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def last_words(text: str) -> Iterator[Span]:
    """The last word of each line, or as much of it as a secret may be that was cut off there."""
    ends = len(text)
    while ends > 0:
        begins = text.rfind("\n", 0, ends) + 1
        word = max(text.rfind(" ", begins, ends) + 1, begins, ends - LONGEST_CUT)
        if ends - word >= SHORTEST_CUT:
            yield word, ends
        ends = begins - 1


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
            at = _behind_quotes(text, found.start(), at)
        elif sign in _CLOSES:
            awaited.append(_CLOSES[sign])
        elif sign == "\n" and _is_cut(text, begins, at):
            return begins, found.start()
        elif sign in awaited and (sign != ">" or sign == awaited[-1]):
            del awaited[len(awaited) - 1 - awaited[::-1].index(sign) :]
            if not awaited:
                return begins, found.start()
    return begins, len(text)


def _behind_quotes(text: str, at: int, behind: int) -> int:
    """Where a string ends that begins here; an apostrophe within a word, or a quote that nothing ends, begins none."""
    inside = quoted(text, at)
    if inside is None or inside[1] >= line_end(text, at) or text[at - 1].isalnum():
        return behind
    ending = _QUOTE.match(text, inside[1])
    return ending.end() if ending else behind


def _is_cut(text: str, begins: int, at: int) -> bool:
    """Whether a line ends here that does not go on below, as a document does that is spread over lines."""
    above = text[max(begins - 1, at - 200) : at].rstrip()
    return not _GOES_ON.match(text, at) and above[-1:] not in {"{", "[", "(", ","}


def bare(text: str, at: int) -> Span | None:
    """A word, to what ends an option, a field of a query, or a member of a list."""
    found = _BARE.match(text, at)
    return found.span() if found else None
