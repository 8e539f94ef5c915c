"""Passwords, tokens and keys in the words of a log, redacted wherever they are shown.

A secret is told by what names it (`blot.named`) or stands around it (`blot.around`), by its own shape (`blot.tokens`),
or by the marks of a key (`blot.pem`), in what was written and in how that is seen (`blot.view`). The name stays, the
value goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from kvdiag.base.regex import lazy_regex
from kvdiag.safe.forms import around, commands, documents, encoded, named, pem, sentences, tokens
from kvdiag.safe.forms.decoded import View, decoded_view, exec_command_view, rejoined_lines, unescaped_lines
from kvdiag.safe.forms.named import MARK, REDACTED
from kvdiag.safe.forms.value_spans import Span

__all__ = ["REDACTED", "may_hold_secret", "redacted", "redacted_lines", "redacted_value"]

# One of these, in lower case, is in every text that names a secret.
_NAME_ANCHORS = frozenset((
    "pass", "pwd", "pw", "token", "secret", "key", "cred", "auth", "cookie", "sig", "sas", "psk", "jwt", "otp", "dsn",
    "connection", "dockerc", "id_", "stringdata", "user", "sshpass", "saml", "srf", "sse-c", "salt", "seed", "nonce",
    "pin:", "pin=", "pin ", "pin-value", "identified", "securestring", "pscredential", "crumb", "activation",
    "protectedsettings",
))  # fmt: skip
# And one of these in every text that tells one in a sentence.
_SENTENCE_ANCHORS = frozenset((
    "pass", "pwd", "pw", "token", "secret", "cred", "pin:", "pin=", "pin ", "pin-value", "identified", "psk", "seed",
    "securestring", "pscredential",
))  # fmt: skip
_AROUND = frozenset(("bearer", "basic", "value", "@", "code=", "sid=", "env", "//", "jdbc:"))
_ANCHORS = tuple(_NAME_ANCHORS | _AROUND | commands.ANCHORS)
_VIEWS = 3  # of what stands for something else, one after the other
_ROUNDS = 8
SHORT = 64  # characters of what is remembered
SHORTEST = 6  # characters that name a secret and tell it
_ARROW = lazy_regex(r"\ufdd0\\*[\"']? -> \\*[\"']?(?P<value>[^\s\"'\\\ufdd0]+)")  # the old value, and the new one
# What a secret that was told at the end of a line goes on with on the next one.
_GOES_ON = lazy_regex(r"(?<=\ufdd0\n)[ \t]{0,40}(?P<value>(?!-)[\w+/=.~%-]{8,}(?=\n|$|[\"',;\s]))")


def redacted(text: str) -> str:
    """Text without passwords, tokens and keys; what was redacted before stays as it is."""
    return _short(text) if len(text) < SHORT else _redacted(text)


@lru_cache(8192)
def _short(text: str) -> str:
    """Keys, levels, programs and callers come again and again."""
    return _redacted(text) if len(text) >= SHORTEST else text


def _redacted(text: str) -> str:
    marked = text.replace(REDACTED, MARK)
    for _ in range(_ROUNDS):
        replaced = _redact_once(marked)
        if replaced == marked:
            break
        marked = replaced
    return marked.replace(MARK, REDACTED)


def may_hold_secret(text: str) -> bool:
    """Whether a text holds a secret, or a word that may name one behind it."""
    lowered = text.lower()
    return any(anchor in lowered for anchor in _ANCHORS) or redacted(text) != text


def redacted_value(name: str, value: str) -> str:
    """A value that goes by a name, as one of JSON does: nothing of it where the name says that it is secret."""
    if value and value != REDACTED and len(name) < 256 and named.is_secret(name, value):
        return REDACTED
    return redacted(value)


def _redact_once(text: str) -> str:
    lines = unescaped_lines(text)
    if lines is not None:
        text = _redact_spans(text, _source_spans(lines, _spans(lines.text)))
    command = exec_command_view(text)
    if command is not None:
        text = _redact_spans(text, _source_spans(command, _view_spans(command.text, 0)))
    text = _redact_spans(text, _spans(text))
    view = decoded_view(text)
    if view is not None:
        text = _redact_spans(text, _source_spans(view, _view_spans(view.text, 1)))
    if "[" in text and "," in text:
        text = encoded.rewritten(text, _marked)
    if " -> " in text and MARK in text:
        text = _redact_spans(text, [found.span("value") for found in _ARROW.finditer(text)])
    if MARK + "\n" in text:
        text = _redact_spans(
            text, [found.span("value") for found in _GOES_ON.finditer(text) if _is_rest(found["value"])]
        )
    return text


def _view_spans(text: str, depth: int) -> list[Span]:
    """The spans of a text that is seen where another was written, which may again be so."""
    found = _spans(text)
    view = decoded_view(text) if depth < _VIEWS else None
    return [*found, *_source_spans(view, _view_spans(view.text, depth + 1))] if view else found


def _source_spans(view: View, found: Iterable[Span]) -> list[Span]:
    """Where spans of a view stand in what was written."""
    return [(view.at[begins], view.at[ends]) for begins, ends in found]


def _marked(text: str) -> str:
    return redacted(text).replace(REDACTED, MARK)


def _holds_secret(text: str) -> bool:
    return redacted(text) != text


def redacted_lines(lines: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Lines of one text without secrets, also those that a line end breaks where a terminal had no more columns.

    The widths are those that the lines had with what their carrier wrote before them.
    """
    marked = [line.replace(REDACTED, MARK) for line in lines]
    text = "\n".join(marked)
    view = rejoined_lines(marked, widths) if len(lines) > 1 else None
    if view is not None:
        text = _redact_spans(text, _source_spans(view, _all_spans(view.text)))
    safe = redacted(text.replace(MARK, REDACTED)).split("\n")
    return safe if len(safe) == len(lines) else [redacted(line) for line in lines]


def _all_spans(text: str) -> list[Span]:
    """The spans of a text and of all that is seen in it."""
    lines = unescaped_lines(text)
    return [*_view_spans(text, 0), *(_source_spans(lines, _spans(lines.text)) if lines else ())]


def _spans(text: str) -> list[Span]:
    lowered = text.lower()
    if len(lowered) != len(text):  # İ is two characters in lower case
        lowered = text
    words = frozenset([anchor for anchor in _ANCHORS if anchor in lowered])
    found = list(_found_spans(text, lowered, words))
    return [(begins, ends) for begins, ends in found if text[begins:ends].replace(MARK, "").strip(" ,;\"'\\\n\t")]


def _found_spans(text: str, lowered: str, words: frozenset[str]) -> Iterator[Span]:
    if words:
        places = list(named.name_regions(lowered)) if words & _NAME_ANCHORS else []
        yield from named.spans(text, places)
        if words & _SENTENCE_ANCHORS or " key" in lowered or "-key" in lowered:
            yield from sentences.spans(text, places)
        yield from around.spans(text, words)
        yield from documents.spans(text, words)
        yield from commands.spans(text, words)
    yield from tokens.spans(text, lowered)
    yield from encoded.spans(text, _holds_secret)
    if len(text) >= pem.SHORTEST_LINE:
        yield from pem.lines(text)
    if "PRIVATE KEY" in text:
        yield from pem.spans(text)


def _redact_spans(text: str, spans: list[Span]) -> str:
    """Text with a blot for each span, those that overlap taken together, and with all of its lines."""
    parts: list[str] = []
    end = 0
    for begins, ends in sorted(spans):
        if ends <= end:
            continue
        if begins < end:
            parts.append("\n" * text.count("\n", end, ends))
            end = ends
            continue
        parts += [text[end:begins], MARK + "\n" * text.count("\n", begins, ends)]
        end = ends
    return "".join([*parts, text[end:]]) if parts else text


def _is_rest(text: str) -> bool:
    """Whether a word has figures or letters of both cases: the rest of a token, and no word of a message."""
    return any(c.isdigit() for c in text) or (text != text.upper() and text[1:] != text[1:].lower())
