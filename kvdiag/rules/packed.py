"""Rules as plain JSON values and back, so that start-up reads a cache instead of YAML and grammar."""

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
)
from kvdiag.model.values import Role, Severity, SubjectKind
from kvdiag.model.vocabulary import Entry, Wording

Packed = dict[str, Any]


def pack(rule: Rule) -> Packed:
    """A rule without its tests, in JSON's types."""
    return rule._asdict() | {
        "severity": int(rule.severity),
        "possible": None if rule.possible is None else int(rule.possible),
        "when": _pack_condition(rule.when),
        "events": {name: selector._asdict() for name, selector in rule.events.items()},
        "proof": rule.proof and rule.proof._asdict(),
        "fix": [fix._asdict() for fix in rule.fix],
        "bugs": [bug._asdict() for bug in rule.bugs],
        "healed": rule.healed and rule.healed._asdict(),
        "lines": [e._asdict() | {"wordings": [wording._asdict() for wording in e.wordings]} for e in rule.lines],
        "tests": [],
        "survives": {},
    }


def unpack(packed: Mapping[str, Any]) -> Rule:
    """The rule that was packed. Raises KeyError or TypeError for anything else."""
    said = dict(packed)
    said |= {
        "severity": Severity(said["severity"]),
        "possible": _severity(said["possible"]),
        "role": Role(said["role"]),
        "per": SubjectKind(said["per"]),
        "when": _unpack_condition(said["when"]),
        "events": {name: _selector(value) for name, value in said["events"].items()},
        "proof": _proof(said["proof"]),
        "fix": tuple(Fix(**value) for value in said["fix"]),
        "bugs": tuple(map(_bug, said["bugs"])),
        "healed": _healing(said["healed"]),
        "alarm": tuple(said.get("alarm", ())),
        "lines": tuple(_entry(value) for value in said["lines"]),
    }
    for name in ("same", "shows", "follows", "clocks", "references", "look_alikes", "explains", "collect", "tests"):
        said[name] = tuple(said[name])
    return Rule(**said)


def _proof(packed: Mapping[str, Any] | None) -> Proof | None:
    return None if packed is None else Proof(tuple(packed["by"]), packed["doubt"])


def _selector(packed: Mapping[str, Any]) -> Selector:
    where = {name: tuple(globs) for name, globs in packed["where"].items()}
    return Selector(name=packed["name"], kinds=tuple(packed["kinds"]), where=where)


def _bug(packed: Mapping[str, Any]) -> Bug:
    return Bug(**{**packed, "fixed": tuple(packed["fixed"])})


def _healing(packed: Mapping[str, Any] | None) -> Healing | None:
    return None if packed is None else Healing(tuple(packed["by"]), packed["says"], _severity(packed["severity"]))


def _severity(packed: int | None) -> Severity | None:
    return None if packed is None else Severity(packed)


def _entry(packed: Mapping[str, Any]) -> Entry:
    wordings = tuple(Wording(**value) for value in packed["wordings"])
    return Entry(**{**packed, "wordings": wordings, "samples": tuple(packed["samples"]), "also": tuple(packed["also"])})


def _pack_condition(condition: Condition) -> list[Any]:
    match condition:
        case Chain(steps, within):
            return ["chain", [[s.name, s.at_least, s.lasting] for s in steps], within]
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
