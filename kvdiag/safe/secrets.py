"""Redact passwords, tokens and keys in text from a log.

A secret is found by the name before it (`forms.named`), by the text around it (`forms.around`), by its own format
(`forms.tokens`), or by BEGIN and END of a key (`forms.pem`), in the original and in the decoded text
(`forms.decoded`). The name is kept, the value is redacted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache

from kvdiag.base.regex import lazy_regex
from kvdiag.safe.forms import around, commands, documents, encoded, named, pem, sentences, tokens
from kvdiag.safe.forms.anchors import Anchors, pairs_of
from kvdiag.safe.forms.decoded import View, decoded_view, exec_command_view, rejoined_lines, unescaped_lines
from kvdiag.safe.forms.named import MARK, REDACTED
from kvdiag.safe.forms.value_spans import Span

__all__ = ["REDACTED", "may_hold_secret", "redacted", "redacted_lines", "redacted_value"]

# Every text with the name of a secret contains one of these in lower case.
_NAME_ANCHORS = frozenset((
    "pass", "pwd", "pw", "token", "secret", "key", "cred", "auth", "cookie", "sig", "sas", "psk", "jwt", "otp", "dsn",
    "connection", "dockerc", "id_", "stringdata", "user", "sshpass", "saml", "srf", "sse-c", "salt", "seed", "nonce",
    "pin:", "pin=", "pin ", "pin-value", "identified", "securestring", "pscredential", "crumb", "activation",
    "protectedsettings", "sess", "kennwort", "contrase", "senha", "wachtwoord", "access code", "recovery code",
    "unlock code", "verification code", "security code", "oracle", ".login(", "authenticate(",
))  # fmt: skip
# Every sentence with a secret contains one of these.
_SENTENCE_ANCHORS = frozenset((
    "pass", "pwd", "pw", "token", "secret", "cred", "pin:", "pin=", "pin ", "pin-value", "identified", "psk", "seed",
    "securestring", "pscredential", "access code", "recovery code", "unlock code", "verification code", "security code",
    "oracle", ".login(", "auth",
))  # fmt: skip
_AROUND = frozenset(("bearer", "basic", "value", "@", "code=", "sid=", "env", "//", "jdbc:"))


@cache
def anchors() -> Anchors:
    """Return the words: each text with a secret has one of them, except tokens and keys."""
    return Anchors(_NAME_ANCHORS | _AROUND | commands.ANCHORS)


_VIEWS = 3  # levels of decoding
_ROUNDS = 8
SHORT = 64  # characters of a text whose result is cached
SHORTEST = 6  # characters of a text with a name and its secret
_ARROW = lazy_regex(r"\ufdd0\\*[\"']? -> \\*[\"']?(?P<value>[^\s\"'\\\ufdd0]+)")  # the old value, and the new one
# The rest of a secret that continues on the next line.
_GOES_ON = lazy_regex(r"(?<=\ufdd0\n)[ \t]{0,40}(?P<value>(?!-)[\w+/=.~%-]{8,}(?=\n|$|[\"',;\s]))")


# Parts of a text that are other ones in each line: names by UUID and in brief, ids of containers, times. No form of a
# secret depends on their digits, so that one text is looked through for all that differ only in these.
# All begin with two hexadecimal digits, for which the text is searched three times as fast as for the alternatives.
_VARIES = lazy_regex(
    r"[0-9a-f]{2}(?:(?P<time>:(?<=(?<![0-9])[0-9]{2}:)[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?(?![0-9]))"
    r"|(?P<uuid>(?<=\b..)[0-9a-f]{6}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b)"
    r"|(?P<id>(?<=(?<![0-9a-zA-Z])..)[0-9a-f]{62}(?![0-9a-zA-Z]))"
    r"|(?P<brief>(?<=-..)[0-9a-f]{6}(?<![0-9]{8})…))"
)
_TYPICAL = {
    "uuid": "7d1f0c9e-4b3a-4e8d-9a62-c05f7b91e3d4",
    "id": "9b1c4f07d2e85a36c7f0e1928d4b6a53f8e27c9014d5b3a6e0f19c82d7a4b563",
    "time": "20:39:21.779765",
    "brief": "7d1f0c9e…",
}
_LONGEST = 4_096  # characters; longer texts are rare, and would fill the cache


def redacted(text: str) -> str:
    """Return text without passwords, tokens and keys; earlier redactions are kept."""
    return _short(text) if len(text) < SHORT else _redacted_alike(text)


def _redacted_alike(text: str) -> str:
    """Redact a text: nothing to do if one that differs only in its ids and times has no secret."""
    is_clean = len(text) <= _LONGEST and _is_clean(_VARIES.sub(_typical, text))
    return text if is_clean else _redacted(text)


def _typical(found: re.Match[str]) -> str:
    return _TYPICAL[found.lastgroup or ""]


@lru_cache(8192)
def _is_clean(text: str) -> bool:
    return _redacted(text) == text


@lru_cache(8192)
def _short(text: str) -> str:
    """Cache the results for short texts: keys, levels, programs and callers repeat."""
    return _redacted_alike(text) if len(text) >= SHORTEST else text


def _redacted(text: str) -> str:
    marked = text.replace(REDACTED, MARK)
    for _ in range(_ROUNDS):
        replaced = _redact_once(marked)
        if replaced == marked:
            break
        marked = replaced
    return marked.replace(MARK, REDACTED)


def may_hold_secret(text: str) -> bool:
    """Return whether a text contains a secret, or a word that may precede one."""
    lowered = text.lower()
    return bool(anchors().present(lowered, pairs_of(lowered))) or redacted(text) != text


def redacted_value(name: str, value: str) -> str:
    """Return a named value, as in JSON, redacted: completely if the name is of a secret."""
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
    """Return the spans in a decoded text, which may itself need decoding."""
    found = _spans(text)
    view = decoded_view(text) if depth < _VIEWS else None
    return [*found, *_source_spans(view, _view_spans(view.text, depth + 1))] if view else found


def _source_spans(view: View, found: Iterable[Span]) -> list[Span]:
    """Return the spans of a view as spans of the original text."""
    return [(view.at[begins], view.at[ends]) for begins, ends in found]


def _marked(text: str) -> str:
    return redacted(text).replace(REDACTED, MARK)


def _holds_secret(text: str) -> bool:
    return redacted(text) != text


def redacted_lines(lines: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return the lines of one text without secrets, also those that a terminal wrapped.

    The widths include the carrier before the lines.
    """
    marked = [line.replace(REDACTED, MARK) for line in lines]
    text = "\n".join(marked)
    view = rejoined_lines(marked, widths) if len(lines) > 1 else None
    if view is not None:
        text = _redact_spans(text, _source_spans(view, _all_spans(view.text)))
    safe = redacted(text.replace(MARK, REDACTED)).split("\n")
    return safe if len(safe) == len(lines) else [redacted(line) for line in lines]


def _all_spans(text: str) -> list[Span]:
    """Return the spans in a text and in its decoded text."""
    lines = unescaped_lines(text)
    return [*_view_spans(text, 0), *(_source_spans(lines, _spans(lines.text)) if lines else ())]


def _spans(text: str) -> list[Span]:
    lowered = text.lower()
    if len(lowered) != len(text):  # for example İ, two characters in lower case
        lowered = text
    found = list(_found_spans(text, lowered, pairs_of(lowered)))
    return [(begins, ends) for begins, ends in found if text[begins:ends].replace(MARK, "").strip(" ,;\"'\\\n\t")]


def _found_spans(text: str, lowered: str, pairs: set[str]) -> Iterator[Span]:
    if words := frozenset(anchors().present(lowered, pairs)):
        places = list(named.name_regions(lowered)) if words & _NAME_ANCHORS else []
        yield from named.spans(text, places)
        if words & _SENTENCE_ANCHORS or " key" in lowered or "-key" in lowered:
            yield from sentences.spans(text, places)
        yield from around.spans(text, words)
        yield from documents.spans(text, words)
        yield from commands.spans(text, words)
    yield from tokens.spans(text, lowered, pairs)
    yield from encoded.spans(text, _holds_secret)
    if len(text) >= pem.SHORTEST_LINE:
        yield from pem.lines(text)
    if "PRIVATE KEY" in text:
        yield from pem.spans(text)


def _redact_spans(text: str, spans: list[Span]) -> str:
    """Return the text with a mark for each span, overlapping spans merged, and with all line ends."""
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
    """Return whether a word has digits or mixed case, so that it is the rest of a token."""
    return any(c.isdigit() for c in text) or (text != text.upper() and text[1:] != text[1:].lower())
