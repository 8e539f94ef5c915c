r"""A wording's message → a matcher over the bytes of a line.

    UnmountVolume.TearDown succeeded for volume "{unique_name}"[[ (OuterVolumeSpecName: "{outer_name}")]] pod "{_}"

Text stands for itself; `{placeholder}` for a value, `{_}` for one that is not kept; `...` for anything; `[[…]]` for
what some versions leave out; `{{` and `}}` for braces. A `"` also stands for `\"` and `\\\"`: the same text is
printed raw, quoted by klog, and nested in the JSON of journald or docker. Every regex made here is linear: values are
possessive runs, and `...` commits to the first place where the text after it is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

from kvdiag.base.errors import PatternError
from kvdiag.base.regex import lazy_regex
from kvdiag.base.suggestions import suggestion
from kvdiag.events.names import PLACEHOLDERS
from kvdiag.model.vocabulary import Wording

MAX_SEARCHED = 16_384
"""How much of a line after its message is searched for fields that do not stand in the usual order."""

ENDS = frozenset(' "\\&<>')
"""What ends a value wherever it stands."""

_HEADER_END = "] "
_AFTER_HEADER = rb"(?:(?<=\] )|^)"
_TOKEN = lazy_regex(r"\{\{|\}\}|\{([a-z_]*)\}|\.\.\.|\[\[|\]\]|[{}]|[^{}.\[\]]+|.", re.DOTALL)
_QUOTED = rb'"([^"\\\n]*+(?>(?:\\.[^"\\\n]*+)*))"'
_FIELD = {
    "word": rb'\\*"?([^"\\ \t\r\n]*+)\\*"?',  # no \s: a class with a category in it is matched twice as slowly
    "id": rb"([^ \n]*+(?: ID:[^ \n]*+)?)",
    "list": rb'(\\*"?\[[^\]\n]*+\]\\*"?|[^ \n]*+)',
    "free": _QUOTED,
}
# key=value of klog and logrus; an opened quote or bracket that is not closed takes the rest, so the scan stays linear
_KEY_VALUE = lazy_regex(
    rb"[ ,]([A-Za-z_][-\w./]*+)="
    rb'(?:(\\*+)"(?:([^"\\\n]*+)\2"|(.*?)(?<!\\)\2"|(.*))'
    rb"|((?:&|map)?[{\[](?:.*?[}\]](?=\\*\"? [A-Za-z_][-\w./]*=|\s*$)|.*))"
    rb'|([^ "\\\n]*+))',
)
_JSON_KEY_VALUE = lazy_regex(rb'\\*"([A-Za-z_][-\w./]*+)\\*":(?:(\\*+)"(.*?)(?<!\\)\2"|([^,}\n]*+))')
_HTML = {b"&": rb"(?:&|\\+u0026)", b"<": rb"(?:<|\\+u003[cC])", b">": rb"(?:>|\\+u003[eE])"}


class _Token(NamedTuple):
    """A piece of a template: literal text, value, any, open or close; with its column from 0."""

    kind: str
    text: str
    column: int


class Matcher(NamedTuple):
    """A compiled wording; `names` are the placeholders in the order in which `match` gives their values.

    `full` begins `shift` bytes from the anchor, unless it `searches`; `message` is its regex without the fields `keys`.
    """

    wording: Wording
    names: tuple[str, ...]
    full: re.Pattern[bytes]
    message: bytes
    shift: int
    searches: bool
    keys: tuple[bytes, ...]

    @property
    def quick(self) -> tuple[Callable[[bytes, int], re.Match[bytes] | None], int] | None:
        """The regex to try first and the distance from the anchor to where it begins; None where it must search."""
        return None if self.searches else (self.full.match, self.shift)

    @property
    def otherwise(self) -> Callable[[bytes, int], tuple[bytes | None, ...] | None] | None:
        """What to try with the anchor's position where `quick` found nothing; None where nothing is left."""
        return self.match if self.searches else self._match_slowly if self.keys else None

    def match(self, line: bytes, at: int) -> tuple[bytes | None, ...] | None:
        """Give the values found when the anchor stands at `at` in `line`; None when the line says something else.

        A value is as the line spells it, without the quotes around a field; None where the line has none.
        """
        if self.searches:  # the text before the anchor varies in length
            found = self.full.search(line)
        else:
            begin = at + self.shift
            found = self.full.match(line, begin) if begin >= 0 else None
        if found:
            return found.groups()
        return self._match_slowly(line, at) if self.keys else None

    def _match_slowly(self, line: bytes, at: int) -> tuple[bytes | None, ...] | None:
        """Match the message alone, then find its fields in whatever order they stand."""
        begin = at + self.shift
        if not self.searches and begin < 0:
            return None
        message = _compiled(self.message)
        found = message.search(line) if self.searches else message.match(line, begin)
        if not found:
            return None
        fields = _fields(line, found.end())
        return found.groups() + tuple(fields.get(key) for key in self.keys)


@cache
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    """The regex of a message alone, which few wordings ever need: compiling one takes half a millisecond."""
    return re.compile(pattern)


def compile_wording(wording: Wording) -> Matcher:
    """Compile a wording. Raises PatternError, with the place in the file and a caret, for a faulty template."""
    tokens = tuple(_joined(_tokens(wording)))
    _check(tokens, wording)
    start, tokens, shift = _begin(tokens, wording)
    pattern, names = _pattern(tokens, wording)
    fields, keys = _fields_pattern(wording)
    tail = rb' ?\\*"?' if wording.fields else b""  # the quote that klog puts around a message
    return Matcher(
        wording=wording,
        names=(*names, *wording.fields),
        full=re.compile(start + pattern + tail + fields),
        message=start + pattern,
        shift=shift or 0,
        searches=shift is None,
        keys=keys,
    )


def template_fault(wording: Wording) -> PatternError | None:
    """What is wrong with the template of a wording."""
    try:
        compile_wording(wording)
    except PatternError as fault:
        return fault
    return None


def _fields(line: bytes, end: int) -> dict[bytes, bytes]:
    """Find all `key=value` after `end`; the last wins, as in klog. In a line of JSON, all `"key":value`."""
    fields: dict[bytes, bytes] = {}
    for found in _KEY_VALUE.finditer(line, end, end + MAX_SEARCHED):
        fields[found[1]] = next((value for value in found.group(3, 4, 5, 6, 7) if value is not None), b"")
    if b'msg\\":' in line or b'"msg":' in line:
        for found in _JSON_KEY_VALUE.finditer(line, 0, MAX_SEARCHED):
            fields.setdefault(found[1], found[3] if found[3] is not None else found[4])
    return fields


def _tokens(wording: Wording) -> Iterator[_Token]:
    text = wording.message
    for found in _TOKEN.finditer(text):
        piece = found[0]
        if piece in {"{{", "}}"}:
            yield _Token("text", piece[0], found.start())
        elif piece == "...":
            yield _Token("any", piece, found.start())
        elif piece in {"[[", "]]"}:
            yield _Token("open" if piece == "[[" else "close", piece, found.start())
        elif found[1]:
            yield _Token("value", found[1], found.start())
        elif piece in {"{", "}", "{}"}:
            raise _fault(wording, f"'{piece}' is no placeholder; a brace itself is written twice", found.start())
        else:
            yield _Token("text", piece, found.start())


def _joined(tokens: Iterable[_Token]) -> Iterator[_Token]:
    """Make one token of neighbouring text."""
    text = ""
    column = 0
    for token in tokens:
        if token.kind == "text":
            column = column if text else token.column
            text += token.text
            continue
        if text:
            yield _Token("text", text, column)
            text = ""
        yield token
    if text:
        yield _Token("text", text, column)


def _check(tokens: tuple[_Token, ...], wording: Wording) -> None:
    """Refuse what can be wrong with the template as a whole."""
    if not wording.message.strip():
        raise _fault(wording, "the message is empty")
    if not wording.anchor or wording.anchor not in _unbraced(tokens):
        raise _fault(wording, f"the anchor '{wording.anchor}' is not part of the message's text")
    _check_brackets(tokens, wording)
    values = [token for token in tokens if token.kind == "value" and token.text != "_"]
    for token in values:
        _check_name(token.text, wording, token.column)
    for name in wording.fields:
        _check_name(name, wording)
    _check_twice([*(token.text for token in values), *wording.fields], wording)


def _check_brackets(tokens: tuple[_Token, ...], wording: Wording) -> None:
    depth = 0
    for token in tokens:
        depth += {"open": 1, "close": -1}.get(token.kind, 0)
        if depth not in {0, 1}:
            problem = "an optional part inside another" if depth > 1 else "']]' closes nothing"
            raise _fault(wording, problem, token.column)
    if depth:
        raise _fault(wording, "'[[' is not closed", wording.message.rfind("[["))


def _check_name(name: str, wording: Wording, column: int = 0) -> None:
    if name not in PLACEHOLDERS:
        raise _fault(wording, f"unknown placeholder '{name}'{suggestion(name, PLACEHOLDERS)}", column)


def _check_twice(names: list[str], wording: Wording) -> None:
    for name in names:
        if names.count(name) > 1:
            raise _fault(wording, f"the placeholder '{name}' is used twice", wording.message.rfind("{" + name))


def _unbraced(tokens: Iterable[_Token]) -> str:
    """Give the literal text of a template, with a NUL wherever something else stands."""
    return "".join(token.text if token.kind == "text" else "\0" for token in tokens)


def _fault(wording: Wording, problem: str, column: int = 0) -> PatternError:
    return PatternError(wording.place, problem, wording.message, max(column, 0))


def _pattern(tokens: tuple[_Token, ...], wording: Wording) -> tuple[bytes, list[str]]:
    """Give the regex of the message, and the names of its groups."""
    parts: list[bytes] = []
    names: list[str] = []
    atomic = False
    for index, token in enumerate(tokens):
        if atomic and token.kind != "text":
            parts.append(b")")  # the text that `...` looked for ends here
            atomic = False
        if token.kind == "text":
            # behind `...` the backslashes before a quote are eaten already; to look for them again were quadratic
            quoted = atomic and token.text.startswith('"')
            parts.append(b'"' + _literal(token.text[1:]) if quoted else _literal(token.text))
        elif token.kind == "value":
            is_captured = token.text != "_"
            parts.append((b"(" if is_captured else b"(?:") + _value(tokens, index, wording) + b")")
            names += [token.text] * is_captured
        elif token.kind == "any":
            atomic = _opens_atomic(tokens, index, wording)
            parts.append(rb"(?>[^\n]*?" if atomic else b"")
        else:
            parts.append(b"(?:" if token.kind == "open" else b")?")
    return b"".join(parts) + (b")" if atomic else b""), names


def _opens_atomic(tokens: tuple[_Token, ...], index: int, wording: Wording) -> bool:
    """Tell whether `...` has text after it to look for; at the end of the message it stands for the rest."""
    if index + 1 == len(tokens):
        return False
    if tokens[index + 1].kind != "text":
        raise _fault(wording, "'...' must be followed by text or end the message", tokens[index].column)
    return True


def _literal(text: str) -> bytes:
    r"""`"` at any depth of escaping; `&`, `<`, `>` also as JSON encoders of Go write them, `\u0026`."""
    pieces = re.split(rb'(["&<>])', text.encode())
    return b"".join(rb'\\*"' if piece == b'"' else _HTML.get(piece) or re.escape(piece) for piece in pieces)


def _value(tokens: tuple[_Token, ...], index: int, wording: Wording) -> bytes:
    """Give the regex of a placeholder: its own, or everything up to what may follow it."""
    pattern = PLACEHOLDERS[tokens[index].text].pattern if tokens[index].text in PLACEHOLDERS else None
    if pattern is not None:
        return pattern
    stops = _stops(tokens, index + 1, wording)
    if not stops:
        return rb"[^\n]*+"
    if len(stops) == 1 and (whole := _whole_literal(tokens, index)):
        return whole
    if stops & set('"&<>'):
        stops |= {"\\"}
    # a message that begins with a value is tried at every place of the line: bounded, or that were quadratic
    repeat = b"{0,256}+" if index == 0 else b"*+"
    return rb"[^" + b"".join(re.escape(stop.encode()) for stop in sorted(stops)) + rb"\n]" + repeat


def _whole_literal(tokens: tuple[_Token, ...], index: int) -> bytes:
    """Give the regex of a value that ends where all of the next text stands: `{image}: output` of `a/b:1.2: output`.

    A blank, a quote and what JSON escapes end a value by themselves.
    """
    text = tokens[index + 1].text if tokens[index + 1].kind == "text" else ""
    if len(text) < 2 or text[0] in ENDS:
        return b""
    stop = re.escape(text[0].encode())
    piece = rb"[^" + stop + rb"\n]" + (b"++" if index else b"")
    return b"(?>(?:" + piece + b"|" + stop + b"(?!" + _literal(text[1:]) + b"))" + (b"*)" if index else b"{0,256})")


def _stops(tokens: tuple[_Token, ...], index: int, wording: Wording) -> set[str]:
    """Give the characters that may follow a value: of the next text, and of the text behind an optional part."""
    if index >= len(tokens):
        return set()
    token = tokens[index]
    if token.kind == "text":
        return {token.text[0]}
    if token.kind == "close":
        return _stops(tokens, index + 1, wording)
    if token.kind == "open":
        close = next(i for i in range(index, len(tokens)) if tokens[i].kind == "close")
        return _stops(tokens, index + 1, wording) | _stops(tokens, close + 1, wording)
    raise _fault(wording, "a value must be followed by text or end the message", token.column)


def _begin(tokens: tuple[_Token, ...], wording: Wording) -> tuple[bytes, tuple[_Token, ...], int | None]:
    """Say what the regex starts with, the tokens it is made of, and where it starts, counted from the anchor.

    The anchor was found already, so a message that begins with it is matched behind it, and a quote before it is
    looked back at, as is the end of klog's header; where a line is pasted without its header, the message begins it.
    None says that what stands before the anchor varies in length and has to be searched for.
    """
    before = _unbraced(tokens).partition(wording.anchor)[0]
    if not before:
        rest = _Token("text", tokens[0].text[len(wording.anchor) :], tokens[0].column)
        return b"", ((rest,) if rest.text else ()) + tokens[1:], len(wording.anchor)
    if before == '"':
        return b'(?<=")', (_Token("text", tokens[0].text[1:], tokens[0].column), *tokens[1:]), 0
    if before.startswith(_HEADER_END) and tokens[0].text.startswith(_HEADER_END):
        rest = _Token("text", tokens[0].text[len(_HEADER_END) :], tokens[0].column)
        before, tokens = before[len(_HEADER_END) :], (rest, *tokens[1:])
        return _AFTER_HEADER, tokens, None if set(before) & set('\0"&<>') else -len(before.encode())
    return b"", tokens, None if set(before) & set('\0"&<>') else -len(before.encode())


def _fields_pattern(wording: Wording) -> tuple[bytes, tuple[bytes, ...]]:
    """Give the regex of the fields in their usual order, and their keys."""
    keys = tuple(key.encode() for key in wording.fields.values())
    shapes = (PLACEHOLDERS[name].shape for name in wording.fields)
    return b"".join(b" " + re.escape(key) + b"=" + _FIELD[shape] for key, shape in zip(keys, shapes, strict=True)), keys
