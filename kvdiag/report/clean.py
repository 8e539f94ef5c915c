"""Words from a log made safe to show: nothing that moves a cursor, reverses text, or opens a door.

Everything in a log is hostile: a pod's name may clear the screen, and a driver may print its secrets.
"""

from __future__ import annotations

import re

from kvdiag.regex import regex

BLOT = "[redacted]"
_CONTROL = regex("[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_SECRETS = (
    # key: value and key=value, quoted or escaped or bare; only the value goes
    regex(
        r"(?P<key>(?i:\b|_)(?i:password|passwd|passphrase|secret[-_]?(?:access[-_]?)?key|client[-_]?secret|api[-_]?key|"
        r"access[-_]?token|refresh[-_]?token|id[-_]?token|auth[-_]?token|token|client-key-data|user[-_]?key)"
        r"\\{0,6}[\"']?\s?[:=]\s?\\{0,6}[\"']?)(?P<value>[^\s\"'\\,;&}\])]{4,})"
    ),
    regex(r"(?P<key>(?i:authorization)\\{0,6}[\"']?\s?[:=]\s?\\{0,6}[\"']?(?:\w+ )?)(?P<value>[^\s\"'\\,;}]{4,})"),
    regex(r"(?P<key>(?i:bearer) )(?P<value>[\w.~+/=-]{8,})"),
    # a JSON or Go object of secrets
    regex(r"(?P<key>\\{0,6}\"?\b[sS]ecrets\\{0,6}\"?:\s?(?:map\[|\{))(?P<value>[^}\]]+)"),
    # the environment of a container, whatever its variables are called: Go's dump, the runtime's, and the API's JSON
    regex(r"(?P<key>EnvVar\{Name:[^,{}]{1,256},Value:)(?P<value>(?:(?!,ValueFrom:|EnvVar\{Name:).)+)"),
    regex(r"(?P<key>KeyValue\{Key:[^,{}]{1,256},Value:)(?P<value>[^,}]{1,65536})"),
    regex(
        r"(?P<key>\b(?:name|key)(?P<quote>\\{0,6}\"):(?P=quote)[\w.-]{1,256}(?P=quote),(?P=quote)value(?P=quote):(?P=quote))"
        r"(?P<value>(?:(?!(?P=quote)).){1,65536})"
    ),
    regex(r"(?P<key>\benvs:\{key:\\{0,6}\"[\w.-]{1,256}\\{0,6}\" {1,2}value:\\{0,6}\")(?P<value>[^\"\\]{1,65536})"),
    regex(r"(?P<key>\b)(?P<value>eyJ[\w-]{10,}\.[\w-]{10,}\.?[\w-]*)"),
    regex(r"(?P<key>\b)(?P<value>(?:AKIA|ASIA)[0-9A-Z]{16})\b"),
    regex(r"(?P<key>://[^\s/:@\"]{1,64}:)(?P<value>[^\s/@\"]{1,256})(?=@)"),
    regex(r"(?P<key>-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----)(?P<value>.+?(?:-----END|$))", re.DOTALL),
)
_WORTH_A_LOOK = regex(r"(?i)passw|passph|envvar|\"value|secret|token|key|authorization|bearer|eyJ|AKIA|ASIA|://")


def clean(text: str, *, redact: bool = True, newlines: bool = False) -> str:
    """Text safe for a terminal: control and direction characters shown as escapes, secrets blotted out.

    `newlines` keeps line ends, for text of our own that has log words in it.
    """
    if redact:
        text = redacted(text)
    return _CONTROL.sub(lambda found: "\n" if newlines and found[0] == "\n" else _escape(found[0]), text)


def shortened(text: str, most: int) -> str:
    """The beginning and the end of a long text: an error says what happened first and why last."""
    if len(text) <= most:
        return text
    head = most // 3
    return f"{text[:head]} … {text[head - most + 3 :]}"


def json_safe(text: str) -> str:
    """JSON whose strings hold no control or direction characters as they are; its own line ends stay."""
    return _CONTROL.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", text)


def redacted(text: str) -> str:
    """Text without passwords, tokens and keys."""
    if not _WORTH_A_LOOK.search(text):
        return text
    for secret in _SECRETS:
        text = secret.sub(lambda found: found["key"] + BLOT, text)
    return text


def _escape(character: str) -> str:
    code = ord(character)
    return {"\n": "\\n", "\r": "\\r"}.get(character) or (f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}")
