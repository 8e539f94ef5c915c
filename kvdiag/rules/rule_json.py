"""Convert rules to plain JSON values and back, so that start-up reads a cache instead of parsing YAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvdiag.model.rule import (
    Absent,
    All,
    AnyOf,
    Bug,
    Chain,
    ChainStep,
    Condition,
    Fix,
    Healing,
    Not,
    Proof,
    Rule,
    Selector,
    Where,
)
from kvdiag.model.values import EMPTY, Role, Severity, SubjectKind
from kvdiag.model.vocabulary import Entry, Wording

PACKED_VERSION = 8
"""The version of the JSON format; a new number invalidates old caches."""

PackedRule = dict[str, Any]
TEXTS = (
    "same", "shows", "follows", "clocks", "cut", "references", "look_alikes",
    "breaks", "suffers", "explains", "never_explains", "collect", "tests",
)  # fmt: skip


def pack(rule: Rule) -> PackedRule:
    """Return a rule without its tests as JSON values."""
    return rule._asdict() | {
        "severity": int(rule.severity),
        "possible": None if rule.possible is None else int(rule.possible),
        "when": _pack_condition(rule.when),
        "events": {name: _pack_selector(selector) for name, selector in rule.events.items()},
        "proof": rule.proof and rule.proof._asdict(),
        "fix": [fix._asdict() for fix in rule.fix],
        "bugs": [bug._asdict() for bug in rule.bugs],
        "healed": rule.healed and rule.healed._asdict(),
        "lines": [pack_entry(entry) for entry in rule.lines],
        "tests": [],
        "survives": {},
        "places": {},
    }


def unpack(packed: Mapping[str, Any]) -> Rule:
    """Return the rule of the JSON values. Raise KeyError or TypeError if they are invalid."""
    fields = dict(packed)
    fields |= {
        "severity": Severity(fields["severity"]),
        "possible": _severity(fields["possible"]),
        "role": Role(fields["role"]),
        "per": SubjectKind(fields["per"]),
        "when": _unpack_condition(fields["when"]),
        "events": {name: _selector(name, *value) for name, value in fields["events"].items()},
        "proof": _proof(fields["proof"]),
        "fix": tuple(Fix(**value) for value in fields["fix"]),
        "bugs": tuple(map(_bug, fields["bugs"])),
        "healed": _healing(fields["healed"]),
        "alarm": tuple(fields.get("alarm", ())),
        "lines": tuple(map(unpack_entry, fields["lines"])),
    }
    for name in TEXTS:
        fields[name] = tuple(fields[name])
    return Rule(**fields)


def _proof(packed: Mapping[str, Any] | None) -> Proof | None:
    return None if packed is None else Proof(tuple(packed["by"]), packed["doubt"])


def _pack_selector(selector: Selector) -> list[Any]:
    rare = [selector.any_of] if selector.any_of else []
    return [selector.kinds, selector.where, *rare]


def _selector(name: str, kinds: list[str], where: Mapping[str, Any], *rare: Any) -> Selector:  # noqa: ANN401
    if not rare:
        return Selector(name, tuple(kinds), _where(where))
    (any_of,) = rare
    return Selector(name, tuple(kinds), _where(where), tuple(map(_where, any_of)))


def _where(packed: Mapping[str, Any]) -> Where:
    return {name: tuple(globs) for name, globs in packed.items()} if packed else EMPTY


def _bug(packed: Mapping[str, Any]) -> Bug:
    return Bug(**{**packed, "fixed": tuple(packed["fixed"]), "by": tuple(packed["by"])})


def _healing(packed: Mapping[str, Any] | None) -> Healing | None:
    return (
        None
        if packed is None
        else Healing(**{**packed, "by": tuple(packed["by"]), "severity": _severity(packed["severity"])})
    )


def _severity(packed: int | None) -> Severity | None:
    return None if packed is None else Severity(packed)


def pack_entry(entry: Entry) -> list[Any]:
    """Return an entry as a list of its values: this reads twice as fast as an object with names."""
    return list(entry)  # json.dumps writes a named tuple as a list


def unpack_entry(packed: list[Any]) -> Entry:
    """Return the entry of the JSON values. Raise TypeError or ValueError if they are invalid."""
    kind, component, wordings, *between, samples, place, also = packed
    read_wordings = tuple([Wording(*one) for one in wordings])
    return Entry._make([kind, component, read_wordings, *between, tuple(samples), place, tuple(also)])


def _pack_condition(condition: Condition) -> list[Any]:
    match condition:
        case Chain(steps, within):
            return ["chain", [list(step) for step in steps], within]
        case Absent(name, after, before, within, to_end):
            return ["absent", name, after, before, within, to_end]
        case Not(term):
            return ["not", _pack_condition(term)]
        case All(terms):
            return ["all", [_pack_condition(term) for term in terms]]
        case AnyOf(terms):
            return ["any", [_pack_condition(term) for term in terms]]


def _unpack_condition(packed: list[Any]) -> Condition:
    match packed:
        case ["chain", steps, within]:
            return Chain(tuple(ChainStep(*step) for step in steps), within)
        case ["absent", *parts]:
            return Absent(*parts)
        case ["not", term]:
            return Not(_unpack_condition(term))
        case ["all", terms]:
            return All(tuple(_unpack_condition(term) for term in terms))
        case ["any", terms]:
            return AnyOf(tuple(_unpack_condition(term) for term in terms))
        case _:
            raise TypeError(f"not a condition: {packed!r}")
