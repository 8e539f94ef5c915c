"""Read the files of patterns/anatomy into plain values; errors have file:line:column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kvdiag.anatomy.entries import ANY, GUARDS, MAKE, QUERY, REMOVE, TABLES, Operation, Owner, Part, Primitive, Tables
from kvdiag.anatomy.objects import KINDS
from kvdiag.base.errors import PatternError
from kvdiag.base.regex import lazy_regex
from kvdiag.base.suggestions import suggestion
from kvdiag.base.yamlread import Node, read_yaml
from kvdiag.model.error_anatomy import PLAIN, STRONG, WEAK

GAP = 300  # characters between two parts of a text: the longest quoted name between them
NO_FILE = "patterns/anatomy"  # the place of a fault if there is no file
NEAR = 100  # the same, where both parts must be in one clause
SHORTEST = 3  # letters of a text; a shorter one is in every record
PRIMITIVE_KEYS = (
    *("id", "number", "strength", "texts", "objects", "owner", "says", "check", "where", "unless-before"),
    *("gone", "quotes"),
)
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
COMMAND_SLOTS = frozenset(["object", "name", "address", "port", "user", "verb", "resource", "node"])
_GAPS = lazy_regex(r" ?(\.{2,3}) ?")
_ID = lazy_regex(r"[A-Z][A-Z0-9_]+|[a-z][a-z0-9_]+")
_SLOT = lazy_regex(r"\{([a-z_]+)\}")


def parse(files: Mapping[str, str]) -> Tables:
    """Return the tables in the files, by their paths. Raise PatternError at the first error."""
    tops = [read_yaml(text, path).mapping(("source", *TABLES, *GUARDS), ("source",)) for path, text in files.items()]
    found = Tables(
        primitives=tuple(_primitive(item) for top in tops for item in _items(top, "primitives")),
        operations=tuple(_operation(item) for top in tops for item in _items(top, "operations")),
        owners=tuple(_owner(item) for top in tops for item in _items(top, "owners")),
        programs={
            name: dict(node.texts())
            for top in tops
            if "programs" in top
            for name, node in top["programs"].table().items()
        },
        packages={name: text for top in tops if "packages" in top for name, text in top["packages"].texts().items()},
        guards={name: _lower(top[name]) for top in tops for name in GUARDS if name in top},
    )
    _check_references(found, files)
    return found


def _items(top: Mapping[str, Node], key: str) -> Iterable[Node]:
    return top[key].sequence() if key in top else ()


def _primitive(node: Node) -> Primitive:
    keys = node.mapping(PRIMITIVE_KEYS, ("id", "texts"))
    strength = keys["strength"].integer() if "strength" in keys else PLAIN
    if not WEAK <= strength <= STRONG:
        raise keys["strength"].error(f"a strength is {WEAK} (weak), {PLAIN} or {STRONG} (a cause by itself)")
    name = _name(keys["id"])
    says = _forms(keys, "says", SENTENCE_SLOTS) or {
        ANY: f"the kernel answers {name}: {{text}}" if "number" in keys else ""
    }
    if ANY not in says or (strength > WEAK and not says[ANY]):
        raise node.error(f"{name}: 'says' needs the form 'any', for an error that names no object")
    objects = tuple(_kind(item) for item in _items(keys, "objects"))
    check = _forms(keys, "check", COMMAND_SLOTS)
    for form in (*says, *check):
        if form not in {ANY, *objects}:
            raise node.error(f"{name}: the form {form!r} is of no kind in 'objects'{suggestion(form, objects)}")
    return Primitive(
        id=name,
        strength=strength,
        texts=_texts(keys["texts"]),
        objects=objects,
        owner=keys["owner"].text() if "owner" in keys else "",
        says=says,
        check=check,
        where=tuple(item.text() for item in _items(keys, "where")),
        unless_before=_lower(keys["unless-before"]) if "unless-before" in keys else (),
        gone=keys["gone"].flag() if "gone" in keys else False,
        quotes=keys["quotes"].flag() if "quotes" in keys else False,
        number=keys["number"].integer() if "number" in keys else 0,
    )


def _operation(node: Node) -> Operation:
    keys = node.mapping(("id", "label", "direction", "callee", "texts"), ("id", "label", "direction", "texts"))
    direction = keys["direction"].text()
    if direction not in {MAKE, REMOVE, QUERY}:
        raise keys["direction"].error(f"unknown direction {direction!r}; it is {MAKE}, {REMOVE} or {QUERY}")
    callee = keys["callee"].text() if "callee" in keys else ""
    label = keys["label"].text()
    return Operation(_name(keys["id"]), label, direction, callee, _texts(keys["texts"]))


def _owner(node: Node) -> Owner:
    keys = node.mapping(("match", "owner", "check", "missing", "where"), ("match", "owner"))
    check = keys["check"].text() if "check" in keys else ""
    _known_slots(check, COMMAND_SLOTS, keys.get("check", node))
    return Owner(
        match=tuple(item.text() for item in keys["match"].sequence()),
        owner=keys["owner"].text(),
        check=check,
        missing=keys["missing"].text() if "missing" in keys else "",
        where=tuple(item.text() for item in _items(keys, "where")),
    )


def _forms(keys: Mapping[str, Node], key: str, slots: frozenset[str]) -> dict[str, str]:
    """Return the forms of a sentence or command by kind of object; a text alone is the form `any`."""
    if key not in keys:
        return {}
    node = keys[key]
    forms = {ANY: node.text()} if isinstance(node.value, str) else dict(node.texts())
    for text in forms.values():
        _known_slots(text, slots, node)
    return forms


def _known_slots(text: str, slots: frozenset[str], node: Node) -> None:
    commands = {"host", "crictl"} if slots is COMMAND_SLOTS else set()
    for slot in _SLOT.findall(text):
        if slot not in {*slots, *commands}:
            raise node.error(f"unknown slot {{{slot}}}{suggestion(slot, slots)}")


def _texts(node: Node) -> tuple[tuple[Part, ...], ...]:
    """Return each text as literals: `...` between two is a gap of any words, `..` one within a clause."""
    found = []
    for item in node.sequence():
        pieces = _GAPS.split(item.text().lower())
        gaps = zip(pieces[1::2], pieces[2::2], strict=True)
        parts = (Part(pieces[0]), *(Part(text, NEAR if gap == ".." else GAP, gap == "..") for gap, text in gaps))
        if any(len(part.literal) < SHORTEST for part in parts):
            raise item.error(f"{item.text()!r}: each part of a text has at least {SHORTEST} characters")
        found.append(parts)
    return tuple(found)


def _lower(node: Node) -> tuple[str, ...]:
    return tuple(item.text().lower() for item in node.sequence())


def _kind(node: Node) -> str:
    if node.text() not in KINDS:
        raise node.error(f"unknown kind of object {node.text()!r}{suggestion(node.text(), KINDS)}")
    return node.text()


def _name(node: Node) -> str:
    if not _ID.fullmatch(node.text()):
        raise node.error(f"{node.text()!r}: an id is a word of letters, digits and _")
    return node.text()


def _check_references(found: Tables, files: Mapping[str, str]) -> None:
    """Raise PatternError if an id or text occurs twice, or an operation is unknown."""
    place = f"{next(iter(files), NO_FILE)}:1:1"
    operations = {one.id for one in found.operations}
    asked = [one.where for one in found.primitives] + [one.where for one in found.owners]
    for name in (name for names in asked for name in names):
        if name not in operations:
            raise PatternError(place, f"unknown operation {name!r}{suggestion(name, operations)}")
    seen: dict[str, str] = {}
    for one in found.primitives:
        for word in (one.id, *(" ... ".join(part.literal for part in parts) for parts in one.texts)):
            if word in seen:
                raise PatternError(place, f"{word!r} is of both {seen[word]} and {one.id}")
            seen[word] = one.id
