r"""Words inside an error, whoever prints it: whom the line around them is about.

    E1120 … "CreatePodSandbox for pod failed" err="… failed to find plugin \"flannel\" in path …" pod="shop/web-0"

kubelet, runtime, CNI plug-in, crictl and a table of events tell one failure each in its own sentence around the same
inner words. An entry of the vocabulary without a component reads those; the pod stands elsewhere in the line.
"""

from __future__ import annotations

from kvdiag.base.regex import lazy_regex
from kvdiag.events.names import pods_in, refs_of
from kvdiag.events.raw_events import EventMatch, Match
from kvdiag.model.event import Ref

_SEARCHED = 16_384  # bytes of a line
_POD = lazy_regex(
    rb'[ ,"](?:pod\\*"?[=:]\\*"([-.0-9A-Za-z]{1,253}/[-.0-9A-Za-z]{1,253})\\*"'
    rb'|object=\\*"([-.0-9A-Za-z/]{1,507})\\*"(?: fieldPath=\\*"[^"]{0,300}")? kind=\\*"Pod)'
)
_UID = lazy_regex(rb'(?:[ ,"]podUID\\*"?[=:]|[(]UID: )\\*"?([0-9a-fA-F-]{32,36})(?![0-9a-fA-F-])')
_LEGACY = lazy_regex(
    rb"([0-9A-Za-z][-.0-9A-Za-z]{0,252}_[0-9A-Za-z][-.0-9A-Za-z]{0,252}"
    rb"\([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\))"
)
_LEGACY_UID = lazy_regex(rb"\([0-9a-f]{8}-")  # found in a twentieth of the time that the name before it takes

_BACKSLASH = ord("\\")
_QUOTE = lazy_regex(rb'(\\*)"')
_ESCAPED_QUOTE = lazy_regex(rb'\\+"')
_ESCAPED_SIGN = lazy_regex(rb"\\+u00(26|3[ce])")
_STACK = lazy_regex(rb"(?:\\+n)+goroutine \d")
_SOURCE_OF_EVENT = b",Source:EventSource{"  # what follows the message where an event is printed as a struct


def trim_to_string(found: Match, text: bytes) -> Match:
    r"""A match whose last value, where it goes on to the end of the line, ends with the string that it stands in.

    message\":\"… \\\"/bin/x\\\": no such file\",\"reason\":\"x\"}" for pod  →  … "/bin/x": no such file
    """
    number, values = found
    value = values[-1] if values else None
    if not value or len(text) > _SEARCHED:
        return found
    first, newline, below = value.partition(b"\n")
    if not text.endswith(first):
        return found
    begins = len(text) - len(first)
    depth = quotes_around(text, begins)
    quotes = _QUOTE.finditer(text, begins) if text.find(b'"', begins) >= 0 else ()  # the regex takes 10 µs
    end = next((quote.start() for quote in quotes if len(quote[1]) <= depth), len(text))
    words = text[begins:end].partition(_SOURCE_OF_EVENT)[0] + (newline + below if end == len(text) else b"")
    if depth >= 0:
        words = _ESCAPED_QUOTE.sub(b'"', _STACK.split(words, 1)[0])
        if words.startswith(b'"') and b"[" not in words:
            words = words.removesuffix(b"]")  # the last of several errors
        if words.count(b'"') == 1:
            words = words.removeprefix(b'"')  # its end was behind the stack
    words = _ESCAPED_SIGN.sub(lambda sign: bytes([int(sign[1], 16)]), words)
    return number, (*values[:-1], words)


def quotes_around(text: bytes, end: int) -> int:
    """How many backslashes the quote has that opened the innermost string at a place; -1 outside of all."""
    opened: list[int] = []
    at = text.find(b'"', 0, end)
    while at >= 0:
        before = at
        while before and text[before - 1] == _BACKSLASH:
            before -= 1
        escapes = at - before
        while opened and opened[-1] > escapes:
            opened.pop()
        if opened and opened[-1] == escapes:
            opened.pop()
        else:
            opened.append(escapes)
        at = text.find(b'"', at + 1, end)
    return opened[-1] if opened else -1


def with_pod(meaning: EventMatch, line: bytes) -> EventMatch:
    """What the words mean, and where they stand within an error the pod of the line, unless they name one."""
    if not meaning.entry.is_embedded or any(ref.kind in {"pod", "pod_uid"} for ref in meaning.refs):
        return meaning
    return EventMatch.known(meaning.entry, (*meaning.refs, *pod_around(line)), meaning.attrs)


def pod_around(line: bytes) -> tuple[Ref, ...]:
    """The pod that a line names, by name and UID as far as it does; none when it names none or several."""
    line = line[:_SEARCHED]
    found: dict[Ref, None] = {}
    forms = ((_POD, "pod"), (_UID, "pod_uid"), (_LEGACY, "pod"))
    for pattern, kind in forms if _LEGACY_UID.search(line) else forms[:2]:
        for name in pattern.finditer(line):
            found.update(dict.fromkeys(refs_of(kind, name[name.lastindex or 1])))
    found.update(dict.fromkeys(() if found else pods_in(line)))
    kinds = [ref.kind for ref in found]
    return tuple(found) if len(kinds) == len(set(kinds)) else ()
