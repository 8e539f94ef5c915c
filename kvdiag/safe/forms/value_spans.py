r"""The span of a value after a name: to its closing quote or bracket, or to the end of the word.

    "password":"a \"b\" c"    password='…'    Secrets:map[user:a key:b]    secrets:<key:"a" value:"b}" >    pass=a,…

A value without an end, because the line is truncated, extends to the end of the line.
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
SHORTEST_CUT, LONGEST_CUT = 8, 2048  # characters of a word that may be a truncated secret


def line_end(text: str, at: int) -> int:
    """Return the end of the line at an offset."""
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def last_words(text: str) -> Iterator[Span]:
    """Yield the last word of each line, limited to LONGEST_CUT: it may be a truncated secret."""
    ends = len(text)
    while ends > 0:
        begins = text.rfind("\n", 0, ends) + 1
        word = max(text.rfind(" ", begins, ends) + 1, begins, ends - LONGEST_CUT)
        if ends - word >= SHORTEST_CUT:
            yield word, ends
        ends = begins - 1


def quoted(text: str, at: int) -> Span | None:
    """Return the span between quotes, at any depth of escapes; None if there is no quote at `at`."""
    opening = _OPENING.match(text, at)
    if opening is None:
        return None
    depth, quote = len(opening[1]), opening[2]
    # Escaped line ends do not end a value; a missing end quote means that the line is truncated.
    ends = line_end(text, at)
    for found in _QUOTE.finditer(text, opening.end(), ends):
        more = len(found[1]) - depth
        if found[2] == quote and (more <= 0 or more % (2 * (depth + 1)) == 0):
            return opening.end(), found.start() + max(more, 0)
    return opening.end(), ends


def bracketed(text: str, at: int) -> Span | None:
    """Return the span between balanced brackets, ignoring those in quotes; None if no bracket opens at `at`."""
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
    """Return where the string at `at` ends; `behind` for an apostrophe in a word, or a quote without an end."""
    inside = quoted(text, at)
    if inside is None or inside[1] >= line_end(text, at) or text[at - 1].isalnum():
        return behind
    ending = _QUOTE.match(text, inside[1])
    return ending.end() if ending else behind


def _is_cut(text: str, begins: int, at: int) -> bool:
    """Return whether the line ends here, and the next one does not continue a document of many lines."""
    above = text[max(begins - 1, at - 200) : at].rstrip()
    return not _GOES_ON.match(text, at) and above[-1:] not in {"{", "[", "(", ","}


def bare(text: str, at: int) -> Span | None:
    """Return the span of a word, up to the end of an option, query field or list item."""
    found = _BARE.match(text, at)
    return found.span() if found else None
