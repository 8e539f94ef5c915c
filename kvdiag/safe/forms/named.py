r"""Find secrets by the name before them: a key, a flag, a variable, a mount option.

    password="…"    --token …    DB_PASS=…    -o user=…,secret=…    "stringData":{…}    the password is …

The name is kept, the value is redacted. Similar text is kept: `token: not found`, `secretName: db`, `key="shop/web-0"`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from kvdiag.base.regex import lazy_regex
from kvdiag.safe.forms.value_spans import Span, bare, bracketed, line_end, quoted

REDACTED = "[redacted]"
MARK = "\ufdd0"  # marks a redacted value while a text is processed; a noncharacter, which no text contains
QUOTE = r"(?:\\{0,15}[\"'`])"
MOST_LOOKED_AT, MOST_TIMES = 100_000, 20  # limit of examined value characters: constant, and factor of the length
BEFORE, BEHIND = 64, 40  # characters before and after a stem that may belong to the name and its separator
_STEM = lazy_regex(
    "pass|pwd|pw|srf|cookie|saml|sse-c|token|secret|key|sess|kennwort|contrase|senha|wachtwoord|(?:access|recovery|unlock|verification|security) code|oracle|\\.login\\(|cred|auth|sas|signature|psk|jwt|otp|dsn|connection|dockerc|id_|stringdata|user|activationcode|protectedsettings|pin(?:[ :=]|-value)|identified|securestring|pscredential|crumb|salt|seed|nonce"
)
# The end of a name; a prefix such as `db_` may precede it.
_WORD = (
    r"(?:passwords?|(?<!ch)passwd|pass[-_ ]?phrase|passcode|pwd|(?<![a-z])pass|(?-i:(?<=[a-z])Pass)"
    r"|(?-i:(?<=[A-Z])(?<!BY)(?<!COM)(?<!TRES)PASS)|(?:require|store|key|ssh|db|sql|pg|user|root|admin|ldap|smtp|mail|ftp|http|proxy|bind|login|vnc)pass"
    r"|passwort|kennwort|mot[ _]de[ _]passe|contrase(?:ñ|n)a|senha|wachtwoord"
    r"|masterauth|(?<![a-z])pw|(?:bind|root|db|user|admin|ldap)_?pw|authtok"
    r"|(?:secret|access|account|api|user|admin|storage|private|shared|encryption|encrypt|decryption|master|auth|signing|session"
    r"|unseal|recovery|integration|license|certificate|jwt|wireguard|crypto|service|client|subscription|host|webhook|luks|crypt|hmac|ssh|pull|deploy"
    r"|registration|s3|root|chap|dek|kek|ceph|replication)[-_. ]?keys?(?:[-_]?(?:id(?=[^a-z]{1,8}(?:AKIA|ASIA))|base|data|value))?"
    r"|client-key-data|tls\.key|ssh-privatekey|id_(?:rsa|dsa|ecdsa|ed25519)|keyring|\.dockerconfigjson|\.dockercfg"
    r"|dockerconfigjson|tokens?|secret|credentials?|signature|(?<=[-_])creds?|(?<=[-_])auth|identitytoken|psk|jwt|otp"
    r"|shared_?access_?signature|sas|vault[-_]?pass|dsn|connection_?string|stringdata|pass_?code|activation[-_ ]?(?:code|key)|protected_?settings|[cx]srf|erlang[-_ ]cookie|samlresponse|crumb)"
)
_SUFFIX = r"(?:[-_]?(?:in|out|old|new|current|previous|value|data|text|plain|string|raw|b64|base64|\d{1,3})(?![a-z]))?"
NAME_OF_SECRET = _WORD + _SUFFIX
_NAME = lazy_regex(
    rf"(?i:{_WORD}{_SUFFIX})(?P<sep>{QUOTE}?[ \t]{{0,8}}(?:=>|:=|={{1,2}}|:{{1,2}})[ \t]{{0,8}}(?P<line>\n?)[ \t]{{0,8}})"
)
_VARIABLE = lazy_regex(
    r"(?<![A-Za-z0-9])[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*_(?:KEY|PW|AUTH|DSN|APIKEY|SAS|CREDS?)(?:_[A-Z0-9]{1,8})?(?P<sep>=|\\*[\"']?:[ \t]{1,8}(?=\S)|\\*[\"']:)"
)
_CEPH = lazy_regex(
    rf"(?<![\w.-])(?:--)?key(?P<sep>{QUOTE}?\s{{0,2}}[:=]\s{{0,2}})(?={QUOTE}?AQ[\w+/]{{8,}}=)|(?<![\w-])--key(?P<flag>[= ]|{QUOTE}, ?)"
)
_FLAG = lazy_regex(
    rf"(?:(?<![\w-])--?(?P<name>[A-Za-z][\w.-]{{1,80}})|\.(?i:password|passwd)(?:_in)?{QUOTE}?,?\s{{0,4}}{QUOTE}?(?:-v|--value))"
    rf"(?:{QUOTE},?[ \t]{{0,4}}|,?[ \t=]{{1,4}})(?:a\d{{1,3}}=)?(?={QUOTE}?[^-\s\"'`\\])"
)
_OF_FLAG = lazy_regex(rf"(?i:{NAME_OF_SECRET}|(?:^|-)(?:pass|creds|sse-c))$")
# Any other key whose value has digits and letters of both cases, as no Kubernetes name has.
_ANY_KEY = lazy_regex(
    r"(?i:[a-z_]key|auth|cred|salt|seed|nonce|sess(?:ion)?[-_]?id|(?<![\w-])key(?=\W{1,12}[A-Za-z0-9+/=]{24}))"
    r"(?P<sep>\\*[\"']?\s?[:=]\s?\\*[\"']?)(?=[\w+/=~-]{20})(?=(?:[\w+/=~-]*\d){2})(?=(?:[\w+/=~-]*[A-Z]){2})(?=(?:[\w+/=~-]*[a-z]){2})(?!/|eyJ)"
    r"(?P<value>[\w+/=~-]{20,4096})(?![/.:])"
)
# What Go prints before a value: its type, length and address.
_TYPED = lazy_regex(
    r"\(\*?[\w.\[\]{}*]{1,64}\)(?:\(0x[0-9a-f]{1,16}\))? ?(?:\((?:len|cap)=\d{1,9}(?: cap=\d{1,9})?\) ?)?\(?"
)
# What a language writes around a string: `Some("…")`, `SecretStr('…')`, `N'…'`, `b'…'`.
_AROUND_STRING = lazy_regex(rf"(?:[A-Za-z_][\w.:]{{0,40}}\(\s?)?(?:[NbruBRU](?=[\\\"']))?(?={QUOTE})")
_BELOW = lazy_regex(r"[|>][-+]?\d?[ \t]{0,8}(?P<end>\n|\\{1,8}n)[ \t]{1,40}")  # a block of YAML
_BEHIND_COMMA = lazy_regex(r"(?:,(?=[^\s,=:\"']*[A-Z!@#$%^&*])[^\s,=:\"'\\()\[\]{}]{3,64}(?=[,\s]|$))+")
_OPTION = lazy_regex(r"(?:,|(?<![\w-])-o[ =]?\\*[\"']?)secret=")
_AUTH = lazy_regex(
    rf"(?<![\w-])_?auth(?:Token)?{QUOTE}\s{{0,4}}:\s{{0,4}}(?={QUOTE})|\b_auth(?:Token)?\s{{0,2}}=\s{{0,2}}|\b_password\s{{0,2}}=\s{{0,2}}"
    rf"|(?<![\w-])auth\s{{0,2}}=\s{{0,2}}(?={QUOTE}[A-Za-z0-9+/]{{8}})"
)
# Text that is no value: it says that there is none, or where it is stored.
PROSE = lazy_regex(
    r"(?i:(?:not|no|is|was|has|have|does|did|must|can|could|cannot|couldn't|unable|failed|fail|error|err|invalid|expired|"
    r"missing|required|empty|none|nil|null|true|false|yes|unset|undefined|unauthorized|forbidden|denied|rejected|unknown|"
    r"eof|timeout|timed|context|rpc|get|post|put|patch|stat|open|read|write|dial|lookup|the|a|an|for|from|of|in|on|at|to|with|"
    r"and|or|by|if|authentication|auth|received|got|want|expected|unexpected|wrong|bad|too|will|should|may|might|this|that|"
    r"please|check|secret|secrets|configmap|key|token|password|string|bool|int|bytes|x509|<nil>|<none>|<masked>|<redacted>|"
    r"masked|redacted|hidden|stripped|omitted|removed|xxx+|\*+(?:stripped)?\**|-+)(?![\w/+=@$!%^~-]))"
)
_NOTHING = lazy_regex(
    r"(?i:none|nil|null|true|false|yes|no|unset|undefined|<\w+>|masked|redacted|hidden|stripped|omitted|removed|xxx+|\*+(?:stripped)?\**|-+)(?![\w/+=@$!%^~-])"
)
_PATH = r"\\*[\"']?(?:file://)?/(?:etc|Users|system|nix|snap|workspace|kind|boot|config|var|run|home|root|tmp|usr|opt|mnt|proc|sys|dev|data|bin|lib|host|csi|hostfs|rootfs|secrets?|certs?|pki|tokens?|c|srv|private|keys?)(?:/[\w.@:+~-]*)+\\*[\"']?(?=[\s,;)\]}\"'\\&]|$)|[A-Z]:\\"
_FILE = lazy_regex(_PATH)
# An error about a file of such a name, `/etc/passwd: input/output error`, whose first word is no word of prose.
_ELSEWHERE = lazy_regex(rf"{_PATH}|<(?:set to|unset)|(?i:input/output error|read-only file system)(?![\w/+=@$!%^~-])")
WORDS_OF_PROSE = lazy_regex(r"[a-zA-Z][a-z]*(?:'[a-z]+)?[,.:;]?(?= [\w\"'(\\]|$)")
_OBJECT = lazy_regex(r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?/[a-z0-9][-a-z0-9.]{0,252}$|[a-z][a-z]*(?:[-.][a-z0-9]+)*$")
_EXCEPT = lazy_regex(
    r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))(?i:pull|tls|image|initial.cluster|public|pub|known|host|continue|next|page|count|max|num|total|foreign|primary|sort|partition|cache)[-_.]?$|non-existent $"
)
_PUBLIC = lazy_regex(
    r"(?i:(?:pub(?:lic)?|known|host|cache|etag|authorized|signature|partition|sort|lock|idempotency)[-_. ]?(?:\w{0,8}[-_ ])?(?:key|auth|cred)s?$)"
)
# A reference to a Kubernetes object, as controllers log it, and an HTTP status.
_REFERENCE = lazy_regex(
    rf"(?=[^\n]{{0,600}}{QUOTE}name{QUOTE})(?:\s{{0,8}}{QUOTE}(?:name|namespace|kind|apiVersion|uid|resourceVersion|group|key|optional){QUOTE}"
    rf"\s{{0,4}}:\s{{0,4}}(?:{QUOTE}[\w./-]{{0,253}}{QUOTE}|true|false)\s{{0,8}},?)+\s{{0,8}}$|[1-5]\d\d$|(?:[A-Z][a-z]+)+=\w|HTTP\b"
)
_PAM = lazy_regex(r"(?:auth|account|session|chauthtok|setcred)\)")  # `pam_unix(passwd:chauthtok)`
_FIELD = lazy_regex(r"[A-Z]\w{1,40}:(?:\S|\s|$)")  # the next field of a Go struct
_FLOW = lazy_regex(
    r"(?:simple(?!\w)|jwt,|\\*[\"']?(?:path|audience|expirationSeconds)\\*[\"']?:|&|\*|nil\b|<nil>|\$\(|\$\{\w|v1\.|\ufdd0|0x)"
)
MIXED = lazy_regex(r"[0-9+/=_~-]|[a-z][A-Z]|[A-Z]{2}[a-z]|.{24}")
_STRONG = lazy_regex(r"(?i)pass|pwd|pw")


class _ValueScanner:
    """Finds the spans of values in order; skips values inside the last accepted one.

    Limits the work in a text of nested names, each of which has all the following text as its value.
    """

    def __init__(self, text: str) -> None:
        """Begin at the start of the text."""
        self._text = text
        self._left = MOST_LOOKED_AT + MOST_TIMES * len(text)
        self._last: Span = (0, 0)

    @property
    def is_spent(self) -> bool:
        """Return whether the limit of examined characters is exceeded."""
        return self._left < 0

    def value(self, at: int, begins: int) -> Span | None:
        """Return the span of the value at `at` of the name at `begins`; None if the name is inside the last value."""
        if self.is_spent or self._last[0] <= begins < self._last[1]:
            return None
        span = _value(self._text, at, begins)
        self._left -= span[1] - span[0] if span else 0
        return span

    def accept(self, span: Span) -> Span:
        """Store a value that is redacted, and return it."""
        self._last = span
        return span


def spans(text: str, places: Sequence[Span]) -> Iterator[Span]:
    """Yield the spans of the values of names in these regions of a text."""
    reach = _ValueScanner(text)
    for begins, ends in places:
        yield from _named(text, begins, ends, reach)
        if reach.is_spent:
            yield begins, len(text)
            return


def name_regions(lowered: str) -> Iterator[Span]:
    """Yield regions that may contain a name, by its stem: the full patterns take twenty times as long."""
    begins = ends = 0
    for found in _STEM.finditer(lowered):
        if found.start() - BEFORE > ends:
            if ends:
                yield begins, ends
            begins = max(0, found.start() - BEFORE)
        ends = found.end() + BEHIND
    if ends:
        yield begins, ends


@lru_cache(1024)
def is_name(name: str) -> bool:
    """Return whether values of this name are secret."""
    text = f"{name}="
    return any(found.end() == len(text) for pattern in (_NAME, _VARIABLE) for found in pattern.finditer(text))


def is_secret(name: str, value: str) -> bool:
    """Return whether a value must be redacted because of its name."""
    if not is_name(name) or not value.strip():
        return False
    text = f'{name}="{value}"'
    at = len(name) + 2
    return _is_secret_value(text, _begins(text, len(name) + 1), (at, len(text) - 1), "=")


def _begins(text: str, ends: int) -> int:
    """Return where the name that ends at `ends` begins."""
    found = [f.start() for pattern in (_NAME, _VARIABLE) for f in pattern.finditer(text, 0, ends) if f.end() == ends]
    return min(found, default=0)


def _named(text: str, begins: int, ends: int, reach: _ValueScanner) -> Iterator[Span]:
    """Yield the values whose names are in this region."""
    for pattern in (_NAME, _VARIABLE):
        for found in pattern.finditer(text, begins, ends):
            span = reach.value(found.end(), found.start())
            if span and _is_secret_value(text, found.start(), span, found["sep"]):
                yield reach.accept(span)
    for found in _CEPH.finditer(text, begins, ends + BEHIND):
        span = reach.value(found.end(), found.start())
        if span and not _FILE.match(text, found.end()) and (found["sep"] or span[1] - span[0] > 7):
            yield reach.accept(span)
    for pattern in (_OPTION, _AUTH):
        for found in pattern.finditer(text, begins, ends):
            span = reach.value(found.end(), found.end())
            if span and span[1] > span[0] and not _FILE.match(text, span[0]):
                yield reach.accept(span)
    yield from _flagged(text, begins, ends, reach)
    yield from (reach.accept(span) for span in _random(text, begins, ends + BEHIND))


def _random(text: str, begins: int, ends: int) -> Iterator[Span]:
    for found in _ANY_KEY.finditer(text, begins, ends):
        if not _PUBLIC.search(text[max(0, found.start() - 40) : found.start("sep")]):
            yield found.span("value")


def _value(text: str, at: int, begins: int) -> Span | None:
    """Return the span of the value at `at`, of the name at `begins`."""
    typed = _TYPED.match(text, at) if text.startswith("(", at) else None
    at = typed.end() if typed else at
    wrapped = _AROUND_STRING.match(text, at)
    at = wrapped.end() if wrapped else at
    below = _BELOW.match(text, at)
    if below:
        return below.end(), _block_end(text, below.end(), below["end"])
    span = quoted(text, at)
    if span is not None:
        return span
    if text[at : at + 1] in {"{", "["} or text.startswith("map[", at):
        return bracketed(text, at)
    # "DB_PASS=a b" ends with the quote before its name.
    before = text[max(0, begins - 64) : begins]
    head = before.rstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.")
    if head[-1:] in {'"', "'"} and text[at - 1] == "=":
        inside = quoted(text, begins - len(before) + len(head) - 1 - (len(head[:-1]) - len(head[:-1].rstrip("\\"))))
        if inside and inside[1] > at:
            return at, inside[1]
    word = bare(text, at)
    # Text after a comma with capitals or special characters is part of the value, not a mount option.
    more = _BEHIND_COMMA.match(text, word[1]) if word and text[at - 1] == "=" else None
    return (word[0], more.end()) if word and more else word


def _block_end(text: str, at: int, line_end_as: str) -> int:
    """Return where a block of YAML ends: after its last indented line."""
    while (end := text.find(line_end_as, at)) >= 0 and text.startswith((" ", "\t"), end + len(line_end_as)):
        at = end + len(line_end_as)
    return end if end >= 0 else line_end(text, at)


def _is_secret_value(text: str, name_at: int, span: Span, separator: str) -> bool:
    """Return whether a value is a secret, and not a message, a path or a name."""
    begins, ends = span
    value, name, before = text[begins:ends], text[name_at:begins], text[max(0, name_at - 16) : name_at]
    is_strong = _STRONG.match(name) is not None
    is_quoted = text[begins - 1] in "\"'`"
    if not value.strip() or value == MARK or _ELSEWHERE.match(text, begins):
        return False
    if not is_strong and (
        _is_other(name, before, separator)
        or _FLOW.match(value)
        or (not is_quoted and ":" in separator and _REFERENCE.match(value))
        or _is_path(text, name_at, separator)
    ):
        return False
    is_pam = _PAM.match(text, begins) and "pam_" in text[max(0, name_at - 48) : name_at]
    if is_pam or (not is_quoted and " " in separator and _FIELD.match(value)):
        return False
    prose = (_NOTHING if separator.strip().endswith("=") else PROSE).match(value)
    if prose and (not is_quoted or prose.end() == len(value)):
        return False
    if is_quoted:
        return is_strong or (len(value) >= 4 and not (_is_plain(name, before) and _OBJECT.match(value)))
    return _is_bare(text, (name_at, begins), value, separator)


def _is_other(name: str, before: str, separator: str) -> bool:
    """Return whether a name is not of a secret: `imagePullSecret`, `hostKey`, the signature of an image."""
    is_signature = name[:9].lower() == "signature" and not separator.endswith("=")
    return is_signature or _EXCEPT.search(before or " ") is not None


def _is_path(text: str, name_at: int, separator: str) -> bool:
    """Return whether the name is the last part of a path or image that a tag or message follows."""
    at = name_at
    while at and (text[at - 1].isalnum() or text[at - 1] in "-_."):
        at -= 1
    return text[at - 1 : at] == "/" and separator.rstrip()[-1:] == ":" and text[at - 2 : at] != "//"


def _is_bare(text: str, at: Span, value: str, separator: str) -> bool:
    """Return whether an unquoted value is a secret, by its characters."""
    name_at, begins = at
    name, before = text[name_at:begins], text[max(0, name_at - 16) : name_at]
    is_strong = _STRONG.match(name) is not None
    if text[begins - 1] in "{[\n":
        return True
    if len(value) < (2 if is_strong else 4) or _FLOW.match(value):
        return False
    if ":" in separator and " " in separator:
        return not _is_sentence(text, name_at, begins)
    if _is_plain(name, before) and _OBJECT.match(value):
        return bool(MIXED.search(value)) and "/" not in value and not value.isalpha() and "-" not in value
    return is_strong or not value.isdecimal() or len(value) > 7


def _is_plain(name: str, before: str) -> bool:
    """Return whether the name is only `secret`, which may also precede the name of a Secret."""
    return (
        name[:6].lower() == "secret"
        and not name[6:7].isalpha()
        and name[6:7] not in {"_", "-"}
        and not before[-1:].isalnum()
        and before[-1:] not in {"_", "-", ","}
    )


def _is_sentence(text: str, name_at: int, begins: int) -> bool:
    """Return whether prose follows `token: `: more than one word, without digits."""
    word = WORDS_OF_PROSE.match(text, begins)
    if word is None:
        return False
    line = text.rfind("\n", 0, name_at) + 1
    is_setting = not text[line:name_at].rstrip("- \t")
    return word.end() < line_end(text, begins) or (not is_setting and word[0][-1] in ".,:;")


@lru_cache(1024)
def _is_flag(name: str) -> bool:
    return _OF_FLAG.search(name) is not None and not name.endswith("initial-cluster-token")


def _flagged(text: str, begins: int, ends: int, reach: _ValueScanner) -> Iterator[Span]:
    for found in _FLAG.finditer(text, begins, ends):
        if found["name"] and not _is_flag(found["name"]):
            continue
        span = reach.value(found.end(), found.end())
        if span is None or _FILE.match(text, found.end()) or _FLOW.match(text, span[0]):
            continue
        if span[1] - span[0] > 2 and not PROSE.match(text, span[0]):
            yield reach.accept(span)
