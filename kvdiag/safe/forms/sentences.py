r"""Find secrets in sentences, and in settings without a separator between name and value.

    A temporary password is generated for root@localhost: …    login failed with password '…'    requirepass …

Prose after such a word is kept: a value is quoted, or contains digits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvdiag.base.regex import lazy_regex
from kvdiag.safe.forms.named import PROSE, QUOTE
from kvdiag.safe.forms.value_spans import Span, bare, quoted

REACH = 256  # characters after a word in which its value may follow
_STRONG = r"(?:pass(?:word|wd|phrase|code)|pwd|(?<=[_-])pass|requirepass)"
# No word of prose: with digits among its letters, or with capitals before lower case.
_MIX = r"(?=[^\s\"'|<]{6})(?:(?=[^\s\"'|<]*\d)(?=[^\s\"'|<]*[A-Za-z])|(?=[A-Za-z]*[A-Z]{3}[a-z]{3}))"
# The same without separators of names, versions or paths; or long, with digits and both cases.
_RANDOM = (
    r"(?:(?=[^\s\"'|<./:-]{8,}(?:[\s\"'|<,;.)\\]|$))(?=\S*\d)(?=\S*[A-Za-z])|(?=[A-Za-z]*[A-Z]{3}[a-z]{3})"
    r"|(?=[^\s\"'|<]{12})(?=[^\s\"'|<]*\d)(?=[^\s\"'|<]*[A-Z])(?=[^\s\"'|<]*[a-z]))"
)
_CREDENTIAL = (
    r"(?:(?=[\w+/=.~-]{12})(?=[\w+/=.~-]*\d)(?=[\w+/=.~-]*[A-Z])(?=[\w+/=.~-]*[a-z])|(?=[A-Za-z]*[A-Z]{3}[a-z]{3})"
    r"|(?=[0-9a-f]{32}(?![\w-])))"
)
_SENTENCE = lazy_regex(
    rf"(?i:(?:{_STRONG}|secret|token)(?: for [\w.@/-]{{1,64}})?(?: (?:is|was):?| (?:(?:is|was|has been) )?(?:re)?(?:set|changed|updated) to:?|[ \t]+REG_SZ[ \t]*|:) {QUOTE}?)(?={_MIX})"
    rf"|(?i:\bunseal key \d{{1,2}}: |\b(?:bind|root)pw |\blogin [^\s]{{1,128}} password )(?={_MIX})"
    # a list or a table with the value next to its name
    rf"|(?i:(?:password|passwd|passphrase|passcode|secret|token|access.?key)(?:{QUOTE}, ?{QUOTE}| {{0,80}}\| {{0,8}}| -> {QUOTE}?))(?={_MIX})"
    # a message with a new password
    rf"|(?i:{_STRONG}s?\b(?:[ (](?!fail|invalid|wrong|incorrect|error|denied|reject|expired|missing|not\b|cannot|unable)[^\s:(]{{1,64}}){{1,12}}:\s{{1,4}}){QUOTE}?(?={_MIX})"
    rf"|(?i:{_STRONG}[ \t]{{1,4}}(?:\d )?)(?={_RANDOM})"
    rf"|(?i:(?:token|secret|api.?key|access.?key|credentials?|masterauth|(?:pre-?shared|private|encryption|account|shared|master|auth|signing|recovery|unlock)[-_ ]?key|psk|seed)(?:[ \t]{{1,2}}|[ \t](?:is|was):?[ \t])(?:(?<=credentials )[\w.@-]{{1,64}}[:/])?){QUOTE}?(?={_CREDENTIAL})"
    rf"|(?i:\bpin(?:[- ]?(?:code|value))?\s?[:=]\s?){QUOTE}?(?:(?=\d{{4,12}}\b)|(?={_MIX}))"
    rf"|(?i:\b(?:access|recovery|unlock|verification|security) codes?(?: (?:is|was):?|:) {QUOTE}?)(?={_MIX})"
    rf"|(?i:\bidentified by )(?={_MIX})"
    rf"|(?i:\bcertificate[- ]key:?\s{{1,2}})(?=[0-9a-f]{{8,}})"
)
_QUOTED = lazy_regex(
    rf"(?i:(?<!key )(?<!field )(?<!for )(?<!secret )(?:{_STRONG}|\bpsk|\bConvertTo-SecureString|\bidentified (?:with \S{{1,40}} )?by(?: values)?)[ \t]{{1,4}}|\bpassword\(\s?|(?:\bPSCredential|NetworkCredential|\.auth|\.login|\.authenticate|racle(?:db)?\.connect)\(\s?{QUOTE}[^\"'\n]{{1,128}}{QUOTE},\s{{0,4}})(?={QUOTE}[^\s\"'`\\])"
)
# A name of another value: `podName:1f0c…`, `StatusCode=403`, `AADSTS700016: …`.
_FIELD = lazy_regex(r"[A-Za-z_]{2,64}[:=]|\w{2,64}:(?=\s|$)")
_MIXED = lazy_regex(r"(?=[^\s\"'.-]*\d)(?=[^\s\"'.-]*[A-Z])(?=[^\s\"'.-]*[a-z])")
_OF_A_NAME = lazy_regex(r"\\*[\"'`]\s{0,2}(?:not|is|does|has|must|was|in|of|for|from|field|key|could|cannot|:|=|\()")


def spans(text: str, places: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans of values in these regions of a text."""
    for begins, ends in places:
        yield from _sentence_spans(text, begins, ends + REACH)


def _sentence_spans(text: str, begins: int, ends: int) -> Iterator[Span]:
    for found in _SENTENCE.finditer(text, begins, ends):
        span = bare(text, found.end())
        if span and not PROSE.match(text, span[0]) and not _FIELD.match(text, span[0]):
            yield span
    for found in _QUOTED.finditer(text, begins, ends):
        span = quoted(text, found.end())
        if span is None or span[1] - span[0] < 4 or PROSE.match(text, span[0]):
            continue
        if _MIXED.match(text, span[0]) or not _OF_A_NAME.match(text, span[1]):
            yield span
