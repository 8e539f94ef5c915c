"""Passwords, tokens and keys in the words of a log, redacted wherever they are shown.

A secret is told by what names it (`blot.named`) or stands around it (`blot.around`), by its own shape (`blot.tokens`),
or by the marks of a key (`blot.pem`), in what was written and in how that is seen (`blot.view`). The name stays, the
value goes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache

from kvdiag.redaction.forms import around, named, pem, tokens
from kvdiag.redaction.forms.named import MARK, REDACTED
from kvdiag.redaction.forms.values import Span
from kvdiag.redaction.forms.view import seen
from kvdiag.regex import lazy_regex

__all__ = ["REDACTED", "redacted", "redacted_value"]

# One of these, in lower case, is in every text that names a secret.
_ANCHORS = (
    "pass", "pwd", "pw", "token", "secret", "key", "cred", "auth", "cookie", "bearer", "basic", "value", "sig", "sas",
    "psk", "jwt", "otp", "dsn", "connection", "dockerc", "id_", "stringdata", "@", "-u ", "-user", "user", "code=",
    "mysql", "mariadb", "sshpass", "echo ", "curl", " login ", "ldap", "redis-cli", "openssl", "unzip", "ipmi", "mongo",
    "<<<", "7z ", "from-literal", "sid=", 'env"', "env\\", "saml", "srf", "sse-c", 'login"', '-u"', "-u\\",
)  # fmt: skip
_NAMING = frozenset(_ANCHORS) - {
    "bearer", "basic", "value", "@", "-u ", "-user", "code=", "mysql", "echo ", "curl", "ldap", "redis-cli", "openssl",
    "unzip", "ipmi", "mongo", "<<<", "7z ", "from-literal", "sid=", 'env"', "env\\", '-u"', "-u\\",
}  # fmt: skip
_ROUNDS = 8
SHORT = 64  # characters of what is remembered
SHORTEST = 6  # characters that name a secret and tell it
# Bytes as numbers, as the journal writes what is no plain text.
_LISTED = lazy_regex(r"\[ ?\d{1,3}(?: ?, ?\d{1,3}){7,65536} ?\]")
_PROCESS_TITLE = lazy_regex(r"(?<=proctitle=)[0-9A-F]{16,8192}")  # what auditd writes of a command, with NUL between
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
        replaced = _once(marked)
        if replaced == marked:
            break
        marked = replaced
    return marked.replace(MARK, REDACTED)


def redacted_value(name: str, value: str) -> str:
    """A value that goes by a name, as one of JSON does: nothing of it where the name says that it is secret."""
    if value and value != REDACTED and len(name) < 256 and named.is_secret(name, value):
        return REDACTED
    return redacted(value)


def _once(text: str) -> str:
    text = _cut(text, _spans(text))
    view = seen(text)
    if view is not None:
        found = [(view.at[begins], view.at[ends]) for begins, ends in _spans(view.text)]
        text = _cut(text, found)
    if "[" in text and "," in text:
        text = _LISTED.sub(lambda listed: _listed(listed[0]), text)
    if "proctitle=" in text:
        text = _PROCESS_TITLE.sub(lambda found: found[0] if _is_harmless(found[0]) else MARK, text)
    if " -> " in text and MARK in text:
        text = _cut(text, [found.span("value") for found in _ARROW.finditer(text)])
    if MARK + "\n" in text:
        text = _cut(text, [found.span("value") for found in _GOES_ON.finditer(text) if _is_rest(found["value"])])
    return text


def _spans(text: str) -> list[Span]:
    lowered = text.lower()
    if len(lowered) != len(text):  # İ is two characters in lower case
        lowered = text
    words = frozenset([anchor for anchor in _ANCHORS if anchor in lowered])
    found = list(_all(text, lowered, words))
    return [(begins, ends) for begins, ends in found if text[begins:ends].replace(MARK, "").strip(" ,;\"'\\\n\t")]


def _all(text: str, lowered: str, words: frozenset[str]) -> Iterator[Span]:
    if words:
        if words & _NAMING:
            yield from named.spans(text, lowered)
        yield from around.spans(text, words)
    yield from tokens.spans(text, lowered)
    if len(text) >= pem.SHORTEST_LINE:
        yield from pem.lines(text)
    if "PRIVATE KEY" in text:
        yield from pem.spans(text)


def _cut(text: str, spans: list[Span]) -> str:
    """Text with a blot for each span, those that overlap taken together, and with all of its lines."""
    parts: list[str] = []
    end = 0
    for begins, ends in sorted(spans):
        if ends <= end:
            continue
        if begins < end:
            end = ends
            continue
        parts += [text[end:begins], MARK + "\n" * text.count("\n", begins, ends)]
        end = ends
    return "".join([*parts, text[end:]]) if parts else text


def _listed(listed: str) -> str:
    """A list of bytes; the text of it, redacted, where that holds a secret."""
    numbers = [int(number) for number in listed.strip("[] ").split(",")]
    if max(numbers) > 255:
        return listed
    text = bytes(numbers).decode("utf-8", "replace")
    replaced = redacted(text)
    return (
        listed
        if replaced == text.replace(MARK, REDACTED)
        else json.dumps(replaced, ensure_ascii=False).replace(REDACTED, MARK)
    )


def _is_harmless(figures: str) -> bool:
    """Whether bytes that are written as figures hold no secret."""
    said = bytes.fromhex(figures[: len(figures) & ~1]).replace(b"\0", b" ").decode("utf-8", "replace")
    return redacted(said) == said


def _is_rest(text: str) -> bool:
    """Whether a word has figures or letters of both cases: the rest of a token, and no word of a message."""
    return any(c.isdigit() for c in text) or (text != text.upper() and text[1:] != text[1:].lower())
