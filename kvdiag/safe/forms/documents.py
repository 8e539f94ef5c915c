r"""Find secrets in documents: the environment of a container, Secrets, cloud-init, XML.

    envs:<key:"…" value:"…" >    EnvVar{Name:…,Value:…,}    kind: Secret    chpasswd: list: |    <password type="…">…</password>

All values of an environment are redacted; in other maps of this form only those whose key names a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.safe.forms.named import NAME_OF_SECRET, QUOTE, is_name, is_secret
from kvdiag.safe.forms.value_spans import Span, bare, bracketed, line_end, quoted

# A line that ends with a name, and the lines below with more indentation; the line may begin with a record's header.
_PADDED = r"(?m)^(?:(?P<pad>[ \t-]{0,40})|[^\n]*[ \"'=])"
_BLOCK = r"[ \t]*\n(?P<lines>(?:(?(pad)(?P=pad))[ \t]+[^\n]*(?:\n|$))+)"
# To the end of the line, or to the quote that ends the string that contains the document.
_TO_END = r"(?P<value>[{\[\"'][^\n]*|[^\n]+?(?=\\*\"(?:,\\*\"\w+\\*\":[^\n]*| [^\n]*|[}\]\)]*)$|$))"
_KIND_OF_SECRET = lazy_regex(r"(?m)(?:^|[ \t\"'=])kind:[ \t]*Secret(?:List)?[ \t]*(?=$|\\*[\"'])")
_BELOW_DATA = lazy_regex(rf"{_PADDED}(?:data|stringData):{_BLOCK}")
_SET = lazy_regex(rf"(?m)^[ \t]*(?:[\w.-]{{1,253}}:[ \t]*)?{_TO_END}")
_BELOW_ENVIRONMENT = lazy_regex(rf"{_PADDED}Environment:{_BLOCK}")
_DESCRIBED = lazy_regex(rf"(?m)^[ \t]*[\w.-]{{1,253}}:[ \t]+(?!<|[ \t]|$|[^\n]*\(v1:){_TO_END}")
_LIST = lazy_regex(rf"chpasswd:[^\n]*\n(?:[^\n]*\n){{0,3}}?[ \t]*list:[ \t]*(?={QUOTE})")
_LISTED = lazy_regex(r"(?:[\s\"']|\\{1,8}[n\"']){0,40}[\w.$-]{1,64}:(?P<value>[^\s\"'\\]+)")
_CHPASSWD = lazy_regex(r"chpasswd:[^\n]*\n(?:[^\n]*\n){0,3}?(?P<pad>[ \t]*)list:[ \t]*[|>]?[-+]?[ \t]*\n")
_ACCOUNT = lazy_regex(r"(?P<pad>[ \t]*)(?:- )?[\"']?[\w.$-]{1,64}:(?P<value>[^\s\"']+)[^\n]*(?:\n|$)")
# The same given to the command: quoted, below `<<EOF`, or echoed on a pipe, as `set -x` shows it.
_GIVEN_ACCOUNT = lazy_regex(
    r"(?:(?<=[\"'])|(?<=\n))[A-Za-z_][\w.$-]{0,63}:(?P<value>[^\s\"'\\,\]/][^\s\"'\\,\]]{2,255})"
)
_HERE = lazy_regex(
    r"\bchpasswd\b[^\n]*<<-?\s?\\*[\"']?(?P<mark>\w{1,32})\b[^\n]*\n(?P<lines>(?:(?!\s*(?P=mark)\b)[^\n]*\n?)*)"
)
_TRACED = lazy_regex(
    r"(?m)(?<=\+ )echo (?:-\w{1,3} )?[\"']?[\w.$-]{1,64}:(?P<value>[^\s\"']+)(?=[^\n]*\n[^\n]*\+ chpasswd\b)"
    r"|(?<=\+ )chpasswd\b[^\n]*\n[^\n]*\+ echo (?:-\w{1,3} )?[\"']?[\w.$-]{1,64}:(?P<behind>[^\s\"']+)"
)
_ENV_GO = lazy_regex(r"EnvVar\{Name:[^,{}]{1,256},Value:(?!,)|KeyValue\{Key:[^,{}]{1,256},Value:(?!,)")
_ENV_ENDS = lazy_regex(r",ValueFrom:|,\}|\bEnvVar\{Name:|\bKeyValue\{Key:")
_ENV = lazy_regex(
    rf"\b(?P<word>name|key)(?P<q>{QUOTE}?)\s{{0,4}}:\s{{0,4}}{QUOTE}?(?P<of>[\w.\- /]{{1,256}}){QUOTE}?(?P<gap>\s{{0,40}},?(?:\\{{1,8}}n)?\s{{0,200}}(?:- )?){QUOTE}?value{QUOTE}?\s{{0,4}}:\s{{0,4}}"
)
# The text before an entry of a map in prototext that is an environment or secrets.
_OF_ENVIRONMENT = lazy_regex(rf"(?i:\benvs?|secrets?){QUOTE}?\s{{0,4}}:?\s{{0,4}}(?:\[\s{{0,8}})?[<{{]\s{{0,40}}$")
_ENV_BACK = lazy_regex(rf"{QUOTE}value{QUOTE}\s{{0,4}}:\s{{0,4}}(?={QUOTE})")
_ENV_LIST = lazy_regex(rf"(?i:\benvs?(?:ironment)?){QUOTE}\s{{0,4}}:\s{{0,4}}(?=\[)")
_ENV_PRINTED = lazy_regex(r"(?i:\benv(?:ironment)?)(?:: ?|=)(?=\[[A-Za-z_]\w{0,255}=)")
_ASSIGNED = lazy_regex(rf"(?<=[\[,\s])(?={QUOTE}[A-Za-z_][\w.-]{{0,255}}=)")
_VARIABLE = lazy_regex(r"(?<![^\[\s])[A-Za-z_]\w{0,255}=(?P<value>(?:[^\s\]]|\s(?![A-Za-z_]\w{0,255}=))*)")
_VALUE = lazy_regex(rf"{QUOTE}value{QUOTE}\s{{0,4}}:\s{{0,4}}(?={QUOTE})")
_NAME_BEHIND = lazy_regex(rf"{QUOTE}\s{{0,40}},\s{{0,200}}{QUOTE}name{QUOTE}\s{{0,4}}:\s{{0,4}}{QUOTE}[A-Za-z_]")
_ATTRIBUTE = r"\s{1,8}[\w.:-]{1,64}\s?=\s?(?:\\{0,15}\"[^\"<>\n]{0,512}\"|\\{0,15}'[^'<>\n]{0,512}')"
_MARKUP = lazy_regex(
    rf"<[\w.:-]{{0,64}}?(?i:{NAME_OF_SECRET})(?:{_ATTRIBUTE}){{0,16}}\s?>(?:\s{{0,40}}<(?i:value|string)>)?(?:\s{{0,40}}<!\[CDATA\[)?(?P<value>(?!\s*<)[^<>\n]{{1,4096}})(?=</|\]\]>|$)"
    # the name in an element before that of the value
    rf"|<[\w:-]{{0,32}}(?i:name|key)>\s{{0,8}}[\w.:-]{{0,64}}?(?i:{NAME_OF_SECRET})\s{{0,8}}</[\w:-]{{1,40}}>\s{{0,40}}<[\w:-]{{0,32}}(?i:value|string|data)>(?P<behind>[^<>\n]{{1,4096}})(?=</|$)"
)
_ATTRIBUTES = lazy_regex(
    rf"\b(?i:key|name)=(?P<q>{QUOTE})(?P<name>[\w.:-]{{1,128}})(?P=q)(?:\s{{1,8}}value=(?=(?P=q))|>(?P<value>[^<>\n]{{1,4096}})(?:<|$))"
    rf"|\bkey{QUOTE}\s?:\s?{QUOTE}(?P<of>[\w.:-]{{1,128}}){QUOTE}\s?,\s?{QUOTE}value{QUOTE}\s?:\s?\{{\s?{QUOTE}\w{{1,8}}Value{QUOTE}\s?:\s?(?={QUOTE})"
)


def spans(text: str, words: frozenset[str]) -> Iterator[Span]:
    """Yield the spans of the values. `words` are the anchors in the text."""
    if "\n" in text:
        yield from _of_lines(text, words)
    if "chpasswd" in text:
        yield from _accounts(text)
    if "<" in text or "=" in text or "Value" in text:
        yield from _markup(text)
    if "value" in words or "env" in words:
        yield from _environment(text)


def _of_lines(text: str, words: frozenset[str]) -> Iterator[Span]:
    if "secret" in words and _KIND_OF_SECRET.search(text):
        for found in _BELOW_DATA.finditer(text):
            yield from (line.span("value") for line in _SET.finditer(text, *found.span("lines")))
    if "env" in words and "Environment:" in text:
        for found in _BELOW_ENVIRONMENT.finditer(text):
            yield from (line.span("value") for line in _DESCRIBED.finditer(text, *found.span("lines")))


def _accounts(text: str) -> Iterator[Span]:
    """Yield the passwords of cloud-init's `chpasswd` and of the command."""
    for found in _CHPASSWD.finditer(text):
        at = found.end()
        while (account := _ACCOUNT.match(text, at)) and len(account["pad"]) >= max(len(found["pad"]), 1):
            yield account.span("value")
            at = account.end()
    for found in _LIST.finditer(text):
        at = found.end()
        while account := _LISTED.match(text, at):
            yield account.span("value")
            at = account.end()
    for found in _HERE.finditer(text):
        yield from (account.span("value") for account in _ACCOUNT.finditer(text, *found.span("lines")))
    yield from (found.span(found.lastgroup or 0) for found in _TRACED.finditer(text))
    at = text.index("chpasswd")
    quoted_account = _GIVEN_ACCOUNT.search(text, at, line_end(text, at))
    while quoted_account:
        at = quoted_account.end()
        yield quoted_account.span("value")
        quoted_account = _GIVEN_ACCOUNT.match(text, at + 1) or _GIVEN_ACCOUNT.search(text, at, line_end(text, at))


def _markup(text: str) -> Iterator[Span]:
    """Yield values in XML: between tags or in attributes."""
    if "<" in text:
        yield from (found.span(found.lastgroup or 0) for found in _MARKUP.finditer(text))
    for found in _ATTRIBUTES.finditer(text):
        span = found.span("value") if found["value"] else quoted(text, found.end())
        if span and span[1] > span[0] and is_name(found["name"] or found["of"]):
            yield span


def _environment(text: str) -> Iterator[Span]:
    """Yield the values of a container's environment, with any names."""
    for found in _ENV_GO.finditer(text):
        end = _ENV_ENDS.search(text, found.end())
        yield found.end(), end.start() if end else line_end(text, found.end())
    for found in _ENV.finditer(text):
        if found["q"] or found["gap"].strip(" ") or "\n" in found["gap"] or '"' in text[found.start() : found.end()]:
            is_below = "\n" in found["gap"] or "\\n" in found["gap"]
            span = quoted(text, found.end()) or (bare(text, found.end()) if is_below else None)
            if span and span[1] > span[0] and (found["word"] == "name" or _is_variable(text, found, span)):
                yield span
    yield from _variables(text)
    for found in _ENV_BACK.finditer(text):
        span = quoted(text, found.end())
        if span and span[1] > span[0] and _NAME_BEHIND.match(text, span[1]):
            yield span


def _is_variable(text: str, found: re.Match[str], span: Span) -> bool:
    """Return whether an entry of a map belongs to an environment or to secrets, or its key names a secret."""
    before = text[max(0, found.start() - 120) : found.start()].rstrip("\\\"'")
    return _OF_ENVIRONMENT.search(before) is not None or is_secret(found["of"].strip(), text[slice(*span)])


def _variables(text: str) -> Iterator[Span]:
    """Yield the values of a list of assignments or entries in a container's configuration."""
    covered = 0
    for found in _ENV_LIST.finditer(text):
        if found.start() < covered:
            continue
        listed = bracketed(text, found.end())
        covered = listed[1] if listed else 0
        for variable in _ASSIGNED.finditer(text, listed[0] - 1, listed[1]) if listed else ():
            inside = quoted(text, variable.end())
            if inside and inside[1] > (value := text.index("=", inside[0]) + 1):
                yield value, inside[1]
        for entry in _VALUE.finditer(text, *listed) if listed else ():
            inside = quoted(text, entry.end())
            if inside and inside[1] > inside[0]:
                yield inside
    for found in _ENV_PRINTED.finditer(text):
        listed = bracketed(text, found.end())
        if listed:
            yield from (one.span("value") for one in _VARIABLE.finditer(text, *listed) if one["value"].strip())
