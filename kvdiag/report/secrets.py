"""Passwords, tokens and keys in the words of a log, blotted out wherever they are shown.

A secret is told by what names it (`password=`, `Authorization:`, a map of CSI's `secrets`, the environment of a
container) or by its own shape (a JWT, a key of AWS, a private key). The name stays, the value goes.
"""

from __future__ import annotations

import re

from kvdiag.regex import regex

BLOT = "[redacted]"
_NAMED = (
    r"(?i:pass(?:word|wd|phrase)|(?<![a-z])pass|secret[-_]?(?:access[-_]?)?key|client[-_]?secret|api[-_]?key|token|"
    r"account[-_]?key|user[-_]?key|client-key-data|x-amz-signature|(?<=[?&])sig)"
)
# The quote that opens a value ends it, at whatever depth of escapes: \"pass \\\"word\\\"\".
_QUOTE = r"(?P<quote>\\{0,6}[\"'])"
_TO_QUOTE = r"(?:(?!(?P=quote))[^\n]){4,}"
_STRING = r"(?P<quote>\\{0,6}\")(?>(?:(?!(?P=quote)).)*)(?P=quote)"
_AUTHORIZATION = (
    r"(?P<key>(?i:authorization)\\{0,6}[\"']?\s?[:=]\s?+(?>(?:\[(?!redacted\]))?)\\{0,6}[\"']?+(?>(?:\w+ )?))"
    r"(?P<value>[^\s\"'\\,;}\]]{4,})"
)
_VARIABLE = (
    r"(?P<key>\b(?:name|key)(?P<quote>\\{0,6}\"):(?P=quote)[\w.-]{1,256}(?P=quote),(?P=quote)value(?P=quote):(?P=quote))"
    r"(?P<value>(?:(?!(?P=quote)).){1,65536})"
)
_PATTERNS = (
    # key: value and key=value, quoted or bare, as JSON, YAML, a flag or an option of mount
    rf"(?P<key>{_NAMED}\\{{0,6}}[\"']?\s?[:=]\s?{_QUOTE}(?=\S))(?P<value>{_TO_QUOTE})",
    rf"(?P<key>{_NAMED}\\{{0,6}}[\"']?\s?[:=]\s?|--(?:password|token)\s)(?P<value>(?![\\\"'])[^\s\"'\\,;&}}\])]{{4,}})",
    _AUTHORIZATION,
    r"(?P<key>(?i:bearer) )(?P<value>[\w.~+/=-]{8,})",
    r"(?P<key>\"auth\\{0,6}\"\s?:\s?\\{0,6}\")(?P<value>[\w+/=-]{8,})",
    # a map of secrets: JSON, Go, and the text of a protobuf
    rf"(?P<key>[sS]ecrets\\{{0,6}}\"?:\s?(?:map\[|[{{<]))(?P<value>(?:{_STRING}|[^}}\]>])+)",
    # the environment of a container, whatever its variables are called: Go's dump, the runtime's, and the API's JSON
    r"(?P<key>EnvVar\{Name:[^,{}]{1,256},Value:)(?P<value>(?:(?!,ValueFrom:|EnvVar\{Name:).)+)",
    r"(?P<key>KeyValue\{Key:[^,{}]{1,256},Value:)(?P<value>[^,}]{1,65536})",
    _VARIABLE,
    r"(?P<key>\benvs:\{key:\\{0,6}\"[\w.-]{1,256}\\{0,6}\" {1,2}value:\\{0,6}\")(?P<value>[^\"\\]{1,65536})",
    # by their own shape: JWT, keys of AWS, the user of a URL, a private key, also in base64
    r"(?P<key>\b)(?P<value>eyJ[\w-]{10,}\.[\w-]{10,}\.?[\w-]*)",
    r"(?P<key>\b)(?P<value>(?:AKIA|ASIA)[0-9A-Z]{16})\b",
    r"(?P<key>//[^\s/:@\"]{1,64}:)(?P<value>[^\s/@\"]{1,256})(?=@)",
    r"(?P<key>-----BEGIN [A-Z ]{0,32}PRIVATE KEY-----)(?P<value>(?s:.)+?(?:-----END|$))",
    r"(?P<key>\b)(?P<value>LS0tLS1CRUdJTi(?:BQUklW|BSU0Eg|BFQyBQ|BPUEVOU1NI)[\w+/]{8,}=*)",
)
# What was blotted out once is no secret any more, and does not hide the one behind it.
_SECRETS = tuple(regex(pattern.replace("(?P<value>", rf"(?P<value>(?!{re.escape(BLOT)})")) for pattern in _PATTERNS)
_WORTH_A_LOOK = regex(r"(?i)pass|envvar|\"value|secret|token|key|authori|bearer|auth|sig|eyJ|AKIA|ASIA|//|LS0t")


def redacted(text: str) -> str:
    """Text without passwords, tokens and keys; what was redacted before stays as it is."""
    if not _WORTH_A_LOOK.search(text):
        return text
    for secret in _SECRETS:
        text = secret.sub(lambda found: found["key"] + BLOT, text)
    return text
