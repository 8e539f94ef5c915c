"""Go values printed into messages: proto text, `%+v` and `%#v` structs, maps and lists.

    RunPodSandbox for &PodSandboxMetadata{Name:web-0,Uid:5f1c,Namespace:default,Attempt:0,} returns sandbox id "cf8d"

containerd from 2.2 on prints the other proto text instead: `name:"web-0" uid:"5f1c" namespace:"default"`, with one
or two spaces between fields (deliberately not stable) and without fields that are zero.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kvdiag.formats.bodies.goquote import unquote

if TYPE_CHECKING:
    import pyparsing

Value: TypeAlias = "str | tuple[Value, ...] | Mapping[str, Value]"

_LONGEST = 16384
_DEEPEST = 12
_KEY = r"[A-Za-z_][\w.\-/]{0,100}"
# Times contain spaces, and strings that gogo prints even commas and colons.
_TEXT = (
    rf"(?:(?!,\s{{0,8}}{_KEY}:(?!//)|\s{{1,8}}(?:[A-Z]\w{{0,100}}:|[a-z]+[A-Z]\w{{0,100}}:|[a-z][a-z0-9_]{{0,100}}:(?!//|\s))"
    r"|,?\s{0,8}[}\]]|[{\[]).)+"
)
_BRACES = re.compile(r"[{\[(]|[}\])]")
_GOGO = re.compile(r"PodSandboxMetadata\\?\{Name:(.*?),Uid:(.*?),Namespace:(.*?),Attempt:(\d{1,9})")
_GOOGLE = re.compile(r'name:"([^"]*)"\s{1,2}uid:"([^"]*)"\s{1,2}namespace:"([^"]*)"(?:\s{1,2}attempt:(\d{1,9}))?')


class Sandbox(NamedTuple):
    """The pod a sandbox was made for, and which attempt it is."""

    name: str
    namespace: str
    uid: str
    attempt: int


def sandbox_metadata(text: str) -> Sandbox | None:
    """Read the sandbox metadata in a containerd message, in either spelling, without a parser: it is a hot path."""
    found = _GOGO.search(text) or _GOOGLE.search(text)
    if found is None:
        return None
    name, uid, namespace, attempt = found.groups()
    return Sandbox(name, namespace, uid, int(attempt or 0))


def read_struct(text: str) -> Mapping[str, Value]:
    """Read the struct or the fields that `text` begins with.

    Nested structs and maps are mappings, lists and repeated proto fields tuples, everything else is text. What cannot
    be read ends the reading; text beyond 16 KB or 12 levels is not looked at.
    """
    from pyparsing import ParseException

    try:
        parsed = _grammar().parse_string(_shallow(text[:_LONGEST]))
    except (ParseException, RecursionError):
        return {}
    members: list[tuple[str | None, Value]] = parsed.as_list()
    if len(members) == 1 and members[0][0] is None and isinstance(members[0][1], Mapping):
        return members[0][1]
    return _mapping((key, value) for key, value in members if key is not None)


def _shallow(text: str) -> str:
    """Cut the text where it nests too deep."""
    depth = 0
    for brace in _BRACES.finditer(text):
        depth += 1 if brace.group() in "{[(" else -1
        if depth > _DEEPEST:
            return text[: brace.start()]
    return text


@cache
def _grammar() -> pyparsing.ParserElement:
    """Build the grammar of a list of members, each a pair of a key or None, and a value.

        member  := KEY ":" [told] | item
        told    := quoted | pointer | struct | listing | text up to the next key or brace
        item    := quoted | pointer | struct | listing | word
        struct  := [TYPE] "{" {member} ["}"]
        listing := ["map"] "[" {element} ["]"]
        element := KEY ":" [item] | item

    A closing brace may be missing, so that a truncated dump gives what it holds. Spaces mean something to Go, so
    that no token may skip them.
    """
    from pyparsing import Forward, Opt, Regex, Suppress, ZeroOrMore

    def token(pattern: str) -> pyparsing.ParserElement:
        return Regex(pattern).leave_whitespace()

    def members(value: pyparsing.ParserElement) -> pyparsing.ParserElement:
        pair = key + Opt(value, default="").leave_whitespace(recursive=False)
        pair.set_parse_action(lambda found: [(found[0].rstrip(": ").strip('"'), found[1])])
        alone = item.copy().set_parse_action(lambda found: [(None, found[0])])
        return ZeroOrMore(gap + (pair | alone)).leave_whitespace(recursive=False) + gap

    told, item = Forward(), Forward()
    gap = Suppress(token(r"[,;\s]*"))
    key = token(rf'(?:{_KEY}|"[^"\\]*"):(?: (?!{_KEY}:))?')
    quoted = token(r'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"').set_parse_action(lambda found: unquote(found[0].encode()).text)
    pointer = token(r"(?:\([*\w./]+\)|\[\][\w.*]+)\((?:0x[0-9a-f]+|nil)\)|0x[0-9a-f]+(?![\w.])|<nil>|nil\b")
    struct = Suppress(token(r"[&*]*(?:map\[[\w.]*\]|\[\])?[*\w./]*\{")) + members(told) + Suppress(token(r"\}|$"))
    listing = Suppress(token(r"(?:map)?\[")) + members(item) + Suppress(token(r"\]|$"))
    common = quoted | pointer | struct.set_parse_action(_gathered) | listing.set_parse_action(_gathered)
    told <<= common | token(_TEXT).set_parse_action(lambda found: found[0].rstrip())
    item <<= common | token(r"[^\s,;{}\[\]]+")
    told.leave_whitespace(recursive=False)
    item.leave_whitespace(recursive=False)
    return members(told)


def _gathered(found: pyparsing.ParseResults) -> list[Value]:
    """Make a mapping of pairs and a tuple of anything else."""
    members = list(found)
    if members and all(key is not None for key, _ in members):
        return [_mapping(members)]
    return [tuple(value for _, value in members)] if members else [""]


def _mapping(members: Iterable[tuple[str, Value]]) -> Mapping[str, Value]:
    """Of a key that occurs twice, as repeated proto fields do, a tuple of its values."""
    seen: dict[str, list[Value]] = {}
    for key, value in members:
        seen.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else tuple(values) for key, values in seen.items()}
