"""Read the files of patterns/anatomy into plain values; errors have file:line:column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kvdiag.anatomy.entries import (
    ANY,
    COMMAND_SLOTS,
    GUARDS,
    MAKE,
    QUERY,
    REMOVE,
    Operation,
    Owner,
    Part,
    Peer,
    Primitive,
    Tables,
)
from kvdiag.anatomy.objects import KINDS
from kvdiag.base.decode import Reader, Record, each, matching, one_of
from kvdiag.base.errors import PatternError
from kvdiag.base.regex import lazy_regex
from kvdiag.base.suggestions import suggestion
from kvdiag.base.yamlread import Node, read_yaml
from kvdiag.model.error_anatomy import PLAIN, STRONG, WEAK
from kvdiag.model.values import EMPTY

GAP = 300  # characters between two parts of a text: the longest quoted name between them
NO_FILE = "patterns/anatomy"  # the place of a fault if there is no file
NEAR = 100  # the same, where both parts must be in one clause
SHORTEST = 3  # letters of a text; a shorter one is in every record
SENTENCE_SLOTS = frozenset(
    [
        "object",
        "owner",
        "missing",
        "server",
        "package",
        "text",
        "clause",
        "program",
        "callee",
        "component",
        "address",
        "port",
    ]
)
_GAPS = lazy_regex(r"( ?\.{2,3}) ?")
_ID = lazy_regex(r"[A-Z][A-Z0-9_]+|[a-z][a-z0-9_]+")
_WORD = lazy_regex(r"[a-z][a-z0-9-]+")
_SLOT = lazy_regex(r"\{([a-z_]+)\}")


def _strength(node: Node) -> int:
    strength = node.integer()
    if not WEAK <= strength <= STRONG:
        raise node.error(f"a strength is {WEAK} (weak), {PLAIN} or {STRONG} (a cause by itself)")
    return strength


def _forms(slots: frozenset[str]) -> Reader[dict[str, str]]:
    """Return a reader of a sentence or command by kind of object; a text alone is the form `any`."""

    def read(node: Node) -> dict[str, str]:
        forms = {ANY: node.text()} if isinstance(node.value, str) else dict(node.texts())
        for text in forms.values():
            _check_slots(text, slots, node)
        return forms

    return read


def _command(node: Node) -> str:
    _check_slots(node.text(), COMMAND_SLOTS, node)
    return node.text()


def _check_slots(text: str, slots: frozenset[str], node: Node) -> None:
    commands = {"host", "crictl", "ctr"} if slots is COMMAND_SLOTS else set()
    for slot in _SLOT.findall(text):
        if slot not in {*slots, *commands}:
            raise node.error(f"unknown slot {{{slot}}}{suggestion(slot, slots)}")


def _texts(node: Node) -> tuple[tuple[Part, ...], ...]:
    """Return each text as literals: `...` between two is a gap of any words, `..` one within a clause.

    A space before the gap ends a word: `volume .. not found` is not about volumesnapshots.
    """
    found = []
    for item in node.sequence():
        pieces = _GAPS.split(item.text().lower())
        parts = [Part(pieces[0])]
        for gap, text in zip(pieces[1::2], pieces[2::2], strict=True):
            parts[-1] = parts[-1]._replace(ends_word=gap.startswith(" "))
            is_wide = gap.endswith("...")
            parts.append(Part(text, GAP if is_wide else NEAR, not is_wide))
        if any(len(part.literal) < SHORTEST for part in parts):
            raise item.error(f"{item.text()!r}: each part of a text has at least {SHORTEST} characters")
        found.append(tuple(parts))
    return tuple(found)


def _lower(node: Node) -> tuple[str, ...]:
    return tuple(item.text().lower() for item in node.sequence())


_NAMED = matching(_ID, "an id is a word of letters, digits and _")
_PRIMITIVE = Record(
    Primitive,
    missing={
        "strength": PLAIN,
        "owner": "",
        "gone": False,
        "quotes": False,
        "number": 0,
        "says": EMPTY,
        "check": EMPTY,
        "objects": (),
        "where": (),
        "unless_before": (),
        "unless_after": (),
    },
    id=_NAMED,
    strength=_strength,
    texts=_texts,
    objects=each(one_of(KINDS, "kind of object")),
    says=_forms(SENTENCE_SLOTS),
    check=_forms(COMMAND_SLOTS),
    unless_before=_lower,
    unless_after=_lower,
)
_OPERATION = Record(
    Operation,
    missing={"callee": "", "kinds": ()},
    id=_NAMED,
    direction=one_of((MAKE, REMOVE, QUERY), "direction"),
    texts=_texts,
)
_PEER = Record(
    Peer,
    missing={"match": (), "objects": (), "operations": ()},
    id=matching(_WORD, "a peer is words of small letters joined by -"),
    objects=each(one_of(KINDS, "kind of object")),
)
_OWNER = Record(Owner, missing={"check": "", "missing": "", "where": ()}, check=_command)


def _primitive(node: Node) -> Primitive:
    read = _PRIMITIVE(node)
    says = read.says or {ANY: f"the kernel answers {read.id}: {{text}}" if read.number else ""}
    if ANY not in says or (read.strength > WEAK and not says[ANY]):
        raise node.error(f"{read.id}: 'says' needs the form 'any', for an error that names no object")
    for form in (*says, *read.check):
        if form not in {ANY, *read.objects}:
            raise node.error(f"{read.id}: the form {form!r} is of no kind in 'objects'{suggestion(form, read.objects)}")
    return read._replace(says=says)


class _File(NamedTuple):
    """One file: some of the tables and guards, and the source of what they say."""

    source: str
    primitives: tuple[Primitive, ...] = ()
    operations: tuple[Operation, ...] = ()
    owners: tuple[Owner, ...] = ()
    peers: tuple[Peer, ...] = ()
    groups: Mapping[str, tuple[str, ...]] = EMPTY
    programs: Mapping[str, Mapping[str, str]] = EMPTY
    packages: Mapping[str, str] = EMPTY
    guards: Mapping[str, tuple[str, ...]] = EMPTY


_FILE = Record(
    _File,
    given=("guards",),
    others=GUARDS,
    primitives=each(_primitive),
    operations=each(_OPERATION),
    owners=each(_OWNER),
    peers=each(_PEER),
)


def _file(text: str, path: str) -> _File:
    node = read_yaml(text, path)
    table = _FILE.table(node)
    return _FILE(node, guards={name: _lower(table[name]) for name in GUARDS if name in table})


def parse(files: Mapping[str, str]) -> Tables:
    """Return the tables in the files, by their paths. Raise PatternError at the first error."""
    read = [_file(text, path) for path, text in files.items()]
    found = Tables(
        primitives=tuple(one for file in read for one in file.primitives),
        operations=tuple(one for file in read for one in file.operations),
        owners=tuple(one for file in read for one in file.owners),
        peers=tuple(one for file in read for one in file.peers),
        groups={name: ids for file in read for name, ids in file.groups.items()},
        programs={name: codes for file in read for name, codes in file.programs.items()},
        packages={name: text for file in read for name, text in file.packages.items()},
        guards={name: words for file in read for name, words in file.guards.items()},
    )
    _check_references(found, files)
    return found


def _check_references(found: Tables, files: Mapping[str, str]) -> None:
    """Raise PatternError if an id or text occurs twice, or an operation is unknown."""
    place = f"{next(iter(files), NO_FILE)}:1:1"
    operations = {one.id for one in found.operations}
    asked = [
        *(one.where for one in found.primitives),
        *(one.where for one in found.owners),
        *(one.operations for one in found.peers),
    ]
    for name in (name for names in asked for name in names):
        if name not in operations:
            raise PatternError(place, f"unknown operation {name!r}{suggestion(name, operations)}")
    ids = {one.id for one in found.primitives}
    for group, names in found.groups.items():
        for name in names:
            if name not in ids:
                raise PatternError(place, f"group {group!r}: unknown primitive {name!r}{suggestion(name, ids)}")
    seen: dict[str, str] = {}
    for one in found.primitives:
        for word in (one.id, *(" ... ".join(part.literal for part in parts) for parts in one.texts)):
            if word in seen:
                raise PatternError(place, f"{word!r} is of both {seen[word]} and {one.id}")
            seen[word] = one.id
