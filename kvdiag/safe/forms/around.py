r"""Find secrets by the text around them: CSI's `secrets`, HTTP headers, URLs.

secrets:<key:"…" value:"…" >    Authorization: Bearer …    //user:…@host    &sig=…&
"""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.safe.forms.named import MIXED, PROSE, QUOTE, WORDS_OF_PROSE
from kvdiag.safe.forms.value_spans import Span, bare, bracketed, last_words, line_end, quoted

_AUTHORIZATION = lazy_regex(
    rf"(?i:\b(?:proxy-)?authori[sz]ation|\bx-(?:auth|vault|subject|aws-ec2-metadata|amz-security|gitlab|registry)-?(?:token|auth)|\bx-(?:api-key|registry-auth))(?:{QUOTE}?\s{{0,4}}(?:[:=]|=>)\s{{0,4}})"
)
_SCHEME = lazy_regex(
    r"\\*[\"']?(?i:(?:bearer|basic|token|negotiate|ntlm|apikey|key|sso-key|splunk|kerberos|genie-?key)[ \t:]{1,3})?"
)
# Any other scheme, before a value with letters and digits.
_ANY_SCHEME = lazy_regex(r"[A-Za-z][\w-]{1,30}[ \t=]{1,2}(?=[^\s\"'\\,]*\d)(?=[^\s\"'\\,]*[A-Za-z])(?=[^\s\"'\\,]{8})")
_REDIS = lazy_regex(r"\bAUTH (?:default|PLAIN|LOGIN) (?=[\w+/=]{0,64}\d)([\w+/=.-]{8,})")
_PARAMETERS = lazy_regex(r"(?i:digest|hawk|oauth|signature) \w{1,32}=")
_COOKIE = lazy_regex(rf"(?i:\b(?:set-)?cookie{QUOTE}?\s{{0,2}}[:=]\s{{0,2}})")
_BEARER = lazy_regex(r"(?i:\b(?:bearer|basic)[ \t]{1,3}\\*[\"']?)([\w.~+/-]{8,}={0,3})")
_SECRETS = lazy_regex(
    rf"(?<![A-Za-z])(?P<name>[a-z_]{{0,40}}secrets|[A-Za-z]{{0,40}}Secrets|[A-Z_]{{0,40}}SECRETS){QUOTE}?\s{{0,4}}[:=]\s{{0,4}}"
)
_ONLY_NAMES = lazy_regex(
    r"\[?(?:\s*\{?\s*\\*\"?(?:name|Name)\\*\"?:\s?\\*\"?[\w.-]{1,253}\\*\"?\s*\}?,?\s*|LocalObjectReference|ObjectReference|SecretReference)*\]?$"
)
_DATA = lazy_regex(rf"(?<![\w.])(?:data|Data){QUOTE}?\s{{0,4}}:\s{{0,4}}(?=map\[|\{{)")
_OF_SECRET = lazy_regex(rf"\bkind{QUOTE}?\s{{0,4}}:\s{{0,4}}{QUOTE}?Secret(?:List)?\b|\bSecret(?:List)?\{{")
_USERINFO = lazy_regex(r"(?:\\{0,8}/){2}[^\s/:@\"'<>\\]{0,256}:(?=[^\s\"'<>@]{0,2048}@)")
_PLACE = lazy_regex(r"[^\s\"'<>`]{1,4096}")
_PORT = lazy_regex(r"\d{1,5}(?:[/?#]|$)|\[redacted\]$")
_HOSTED = lazy_regex(r"@(?=[\w\[.-])(?!sha\d)")
_DSN = lazy_regex(
    r"(?<![\w/])[\w.+-]{1,64}:([^\s:\"']{1,256})@(?=(?:tcp|udp|unix|cloudsql)\d?\()"
    r"|jdbc:oracle:\w{1,16}:[^\s/\"'@]{1,64}/([^\s@\"'/]{1,256})(?=@|\n|$)"
    r"|(?<![\w/.:@-])[\w.-]{1,64}@[\w.-]{1,253}:((?!\d{1,5}@)[^\s:@/\"']{4,256})@(?=[\w\[.-])"
    r"|//((?=[^\s/:@\"']*\d)(?=[\w.~-]*[A-Z])(?=[\w.~-]*[a-z])[\w.~-]{16,256})@(?=[\w.-])"  # a token in the place of a user
    r"|(?<![\w/.:@-])[\w.-]{1,64}:((?=[^\s:@/]*\d)(?=[^\s:@/]*[A-Za-z])[^\s:@/\"']{8,256})@(?!sha\d)[\w.-]{1,253}:\d{2,5}(?![\w.])"
)
# The same, truncated before the host; not a port, an image tag or a path.
_CUT = lazy_regex(
    r"(?<!docker:)(?<!oci:)(?<!daemon:)(?<!archive:)(?<!storage:)(?<!containerd:)(?<!cri-o:)(?<!pullable:)"
    r"(?:\\{0,8}/){2}(?:(?!localhost:[a-z-]+$)[^\s/:@\"'<>\\\[]{0,256}:((?!\d{0,5}(?:[^\w%]|$)|[/\[{$*])[^\s\"'<>@,;|]{1,2048})"
    r"|((?=[^\s]*\d)(?=[\w~-]*[A-Z])(?=[\w~-]*[a-z])[\w~-]{12,256}))(?=\n|$)"
)
_SIG = lazy_regex(
    r"(?i:[?&;,](?:sig|signature|x-(?:amz|goog|oss|ms|bz)-(?:signature|credential|security-token)|access_?token|code|auth|key|_?sid|awsaccesskeyid|googleaccessid)=)([^\s\"'&;,<>\\]{4,})"
)


def spans(text: str, words: frozenset[str]) -> Iterator[Span]:
    """Yield the spans of the values. `words` are the anchors in the text; patterns without an anchor are skipped."""
    if "secret" in words:
        yield from _maps(text)
    if words & {"auth", "token", "key", "bearer", "basic", "cookie"}:
        yield from _headers(text)
    if ":" in text and ("@" in words or "//" in text or "jdbc:" in text):
        yield from _addresses(text)
    if words & {"sig", "sid=", "key", "token", "auth", "cred", "code="} and ("&" in text or "?" in text):
        yield from (found.span(1) for found in _SIG.finditer(text))


def _maps(text: str) -> Iterator[Span]:
    covered = 0
    for found in _SECRETS.finditer(text):
        if "pull" in found["name"].lower() or found.start() < covered:
            continue
        span = bracketed(text, found.end()) or _value_of_secrets(text, found.end())
        if span and text[span[0] : span[1]].strip() and not _ONLY_NAMES.match(text[span[0] - 1 : span[1] + 1]):
            covered = span[1]
            yield span
    if _OF_SECRET.search(text):
        covered = 0
        for found in _DATA.finditer(text):
            span = bracketed(text, found.end()) if found.start() >= covered else None
            if span and text[span[0] : span[1]].strip():
                covered = span[1]
                yield span


def _value_of_secrets(text: str, at: int) -> Span | None:
    """Return the span of secrets that are one text, unless it says that they were stripped."""
    span = quoted(text, at)
    return span if span and not PROSE.match(text, span[0]) and span[1] - span[0] > 3 else None


def _headers(text: str) -> Iterator[Span]:
    yield from _authorizations(text)
    for found in _COOKIE.finditer(text):
        span = quoted(text, found.end()) or bracketed(text, found.end())
        span = span or (found.end(), _header_end(text, found.end()))
        if span[1] - span[0] > 3 and "=" in text[slice(*span)]:
            yield span
    for found in _BEARER.finditer(text):
        if MIXED.search(found[1]) and not found[1].endswith("realm=") and not found[1].startswith(("error=", "scope=")):
            yield found.span(1)
    if "AUTH " in text:
        yield from (found.span(1) for found in _REDIS.finditer(text))


def _authorizations(text: str) -> Iterator[Span]:
    for found in _AUTHORIZATION.finditer(text):
        at, scheme = found.end(), None
        if text.startswith("[", at):
            span = bracketed(text, at)
        elif quote := quoted(text, at):
            span = quote
        else:
            scheme = _ANY_SCHEME.match(text, at) or _SCHEME.match(text, at)
            at = scheme.end() if scheme else at
            span = quoted(text, at) or bare(text, at)
            if not (scheme and scheme[0].strip("\\\"' ")) and span and text[span[1] : span[1] + 1] == " ":
                span = (at, line_end(text, at)) if "=" in text[span[1] : line_end(text, at)] else span
        is_open = span is not None and span[0] == at and not (scheme and scheme[0].strip("\\\"' "))
        is_open = is_open and not _PARAMETERS.match(text, at)
        if span and span[1] - span[0] > 3 and not (is_open and _is_prose(text, span)):
            yield span


def _is_prose(text: str, span: Span) -> bool:
    """Return whether there is prose in place of a value."""
    return bool(PROSE.match(text, span[0]) or WORDS_OF_PROSE.match(text, span[0]))


def _header_end(text: str, at: int) -> int:
    ends = [end for mark in ("\\n", "\\r", '"') if (end := text.find(mark, at)) >= 0]
    return min([line_end(text, at), *ends])


def _addresses(text: str) -> Iterator[Span]:
    """Yield passwords in URLs, also with `/` and `@` in them, and in the DSN of a Go driver."""
    for found in _USERINFO.finditer(text):
        place = _PLACE.match(text, found.end())
        if place is None or _PORT.match(place[0]):
            continue
        region = place[0].split("?", 1)[0] if "@" in place[0].split("?", 1)[0] else place[0]
        ends = [mark.start() for mark in _HOSTED.finditer(region)]
        if ends and ends[-1]:
            yield found.end(), found.end() + ends[-1]
    yield from (found.span(found.lastindex or 0) for found in _DSN.finditer(text))
    for word in last_words(text):
        yield from (found.span(found.lastindex or 0) for found in _CUT.finditer(text, *word))
