"""The capabilities of patterns/capabilities.yaml: a graph along which failures spread from a capability upwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from kvdiag.base.cache import cached, fingerprint
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.base.suggestions import suggestion
from kvdiag.model.capability import Capability
from kvdiag.model.rule import Rule
from kvdiag.model.values import Role
from kvdiag.rules.library import CAPABILITIES


class Capabilities:
    """All capabilities by name, with their direct and indirect needs."""

    def __init__(self, items: Iterable[Capability]) -> None:
        """Take the capabilities; their needs must exist and must not form a cycle."""
        self.by_name = {one.name: one for one in items}
        self._all_needs: dict[str, frozenset[str]] = {}
        self._depth: dict[str, int] = {}
        for name in self.by_name:
            self._resolve_needs(name)

    def __iter__(self) -> Iterator[Capability]:
        return iter(self.by_name.values())

    def needs_of(self, name: str) -> frozenset[str]:
        """Return everything that a capability needs, directly or indirectly; empty for an unknown one."""
        return self._all_needs.get(name, frozenset())

    def spreads(self, failed: str, name: str) -> bool:
        """Return whether a failure of the first capability affects the second, or is the same."""
        return failed == name or failed in self.needs_of(name)

    def depth(self, rule: Rule) -> int:
        """Return how many levels of needs are below what the rule breaks or suffers from. The deepest cause has 0."""
        names = rule.breaks or rule.suffers
        return min((self._depth.get(name, 0) for name in names), default=0)

    def to_collect(self, rule: Rule) -> list[str]:
        """Return commands that show why the capabilities that the rule suffers from fail, the nearest first."""
        queue, seen = list(rule.suffers), set(rule.suffers)
        commands: list[str] = list(rule.collect)
        while queue:
            one = self.by_name.get(queue.pop(0))
            for name in one.needs if one else ():
                if name not in seen:
                    seen.add(name)
                    queue.append(name)
            commands.extend(one.collect if one else ())
        return list(dict.fromkeys(commands))

    def _resolve_needs(self, name: str) -> None:
        needs = self.by_name[name].needs
        for need in needs:
            if need not in self._all_needs:
                self._resolve_needs(need)
        self._all_needs[name] = frozenset(needs).union(*(self._all_needs[need] for need in needs))
        self._depth[name] = max((self._depth[need] + 1 for need in needs), default=0)


def capability_faults(rule: Rule, known: Capabilities) -> Iterator[str]:
    """Yield each error in the capabilities of a rule."""
    if not rule.breaks and not rule.suffers:
        yield "give 'breaks' or 'suffers'; patterns/capabilities.yaml lists the capabilities"
    for name in (*rule.breaks, *rule.suffers):
        if name not in known.by_name:
            yield f"unknown capability {name!r}{suggestion(name, known.by_name)}"
    for broken in rule.breaks:
        for name in rule.suffers:
            if known.spreads(broken, name):
                yield f"it suffers from {name}, which needs {broken}, that it breaks itself"
    if rule.breaks and rule.role is Role.SYMPTOM:
        yield "a symptom cannot have 'breaks'; use 'suffers'"


@cache
def capabilities() -> Capabilities:
    """Return the built-in capabilities. Raise PatternError if the file is invalid."""
    path = builtin_patterns() / CAPABILITIES
    return Capabilities(cached("capabilities", fingerprint([path]), tuple[Capability, ...], lambda: _read(path)))


def _read(path: Path) -> tuple[Capability, ...]:
    from kvdiag.rules.capability_file import read_capabilities  # slow import (YAML), not needed if the cache is filled

    return read_capabilities(path.read_text("utf-8"), str(path))
