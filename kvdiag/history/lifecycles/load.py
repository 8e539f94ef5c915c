"""Life cycles from `patterns/lifecycles/*.yaml`, through the cache; a machine is put together when first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from kvdiag.base.cache import cached, fingerprint
from kvdiag.base.codec import Codec
from kvdiag.base.errors import PatternError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import load_vocabulary
from kvdiag.history.lifecycles.definition import Definition, Detail
from kvdiag.history.lifecycles.machine import NONE, Machine, State, Step
from kvdiag.model.values import SubjectKind

_CODEC = Codec(Definition)


class _Stored(NamedTuple):
    """What the cache keeps: each definition as JSON by its subject, labels and embedded kinds of the vocabulary."""

    definitions: Mapping[str, str]
    labels: Mapping[str, str]
    embedded: frozenset[str]


class Lifecycles:
    """All life cycles of a folder of patterns, each decoded on first use."""

    def __init__(
        self,
        definitions: Mapping[str, Definition | str],
        labels: Mapping[str, str],
        asides: frozenset[str] = frozenset(),
    ) -> None:
        """Take definitions by subject, as values or as JSON, and the label of each kind of event.

        `asides` are the kinds whose words are part of a line that may be another event.
        """
        self._definitions, self.labels, self.asides = dict(definitions), labels, asides
        self._machines: dict[tuple[str, tuple[str, ...]], Machine] = {}
        self._flagged: dict[tuple[str, str], frozenset[str]] = {}

    def definition(self, subject: str) -> Definition:
        """Return the definition of a subject's life cycle."""
        found = self._definitions[subject]
        if isinstance(found, str):
            found = self._definitions[subject] = _CODEC.decode(found.encode())
        return found

    def machine(self, name: str, *situations: str) -> Machine:
        """The variant of that name, with the parts that it has for the situations."""
        machine = self._machines.get((name, situations))
        if machine is None:
            machine = self._machines[name, situations] = self._compose(name, situations)
        return machine

    def kinds(self, subject: SubjectKind, flag: str) -> frozenset[str]:
        """The kinds of events, `kind:detail` too, of which a step of the subject's life has the flag."""
        found = self._flagged.get((subject, flag))
        if found is None:
            steps = (step for part in self.definition(subject).parts.values() for step in part.steps.items())
            found = self._flagged[subject, flag] = frozenset(kind for kind, step in steps if flag in step.flags)
        return found

    def _compose(self, name: str, situations: tuple[str, ...]) -> Machine:
        """Return the machine of a variant: a later part replaces steps, and waits of states, of an earlier one."""
        definition = self.definition(name.partition("/")[0])
        parts = [definition.parts[part] for part in definition.variants[name].parts_in(situations)]
        states = dict(definition.states)
        for part in parts:
            for state, change in part.states.items():
                before = states[state]
                waits = before.waits if change.waits is None else change.waits
                states[state] = State(waits, before.reboot, before.flags | change.flags)
        steps = {kind: step for part in parts for kind, step in part.steps.items()}
        steps |= {kind: step for part in parts for kind, step in _detailed(steps, part.details)}
        flagged = {flag: frozenset(s for s in states if flag in states[s].flags) for flag in _flags(states)}
        return Machine(
            name=name,
            steps={kind: _with_states(step, flagged) for kind, step in steps.items()},
            states=states,
            orders=tuple(order for part in parts for order in part.orders),
            outage=next((part.outage for part in reversed(parts) if part.outage is not None), "kubelet"),
            hides=next((part.hides for part in reversed(parts) if part.hides is not None), NONE),
            labels=self.labels,
        )


def _flags(states: Mapping[str, State]) -> frozenset[str]:
    return NONE.union(*(state.flags for state in states.values()))


def _with_states(step: Step, flagged: Mapping[str, frozenset[str]]) -> Step:
    """Return the step with the states that it keeps: a flag means all states that have it."""
    return step._replace(keeps=NONE.union(*(flagged.get(word, {word}) for word in step.keeps)))


def _detailed(steps: Mapping[str, Step], details: Mapping[str, Detail]) -> Iterator[tuple[str, Step]]:
    """Yield a step for `kind:detail` of each kind with one of the detail's flags, with the label of the kind's step."""
    for detail, values in details.items():
        for kind, step in steps.items():
            if step.flags & values.of:
                yield f"{kind}:{detail}", Step(values.to, values.keeps, label=step.label)


@cache
def lifecycles() -> Lifecycles:
    """The life cycles that come with kvdiag. Raises PatternError for a file that cannot be used."""
    return load_lifecycles(builtin_patterns())


def load_lifecycles(patterns: Path) -> Lifecycles:
    """The life cycles of a folder of patterns, with the labels of its kinds of events. Uses the user's cache."""
    files = [path for part in ("lifecycles", "events") for path in sorted((patterns / part).glob("*.yaml"))]
    stored = cached("lifecycles", fingerprint(files), _Stored, lambda: _compile(patterns))
    return Lifecycles(stored.definitions, stored.labels, stored.embedded)


def lint(patterns: Path) -> Iterable[PatternError]:
    """All that is wrong with the life cycles of a folder of patterns."""
    from kvdiag.history.lifecycles.schema import read_lifecycles

    return read_lifecycles(patterns / "lifecycles", _labels(patterns))[1]


def _compile(patterns: Path) -> _Stored:
    from kvdiag.history.lifecycles.schema import read_lifecycles

    labels = _labels(patterns)
    found, faults = read_lifecycles(patterns / "lifecycles", labels)
    if faults:
        raise faults[0]
    kinds = load_vocabulary(patterns / "events").kinds
    definitions = {subject: _CODEC.encode(definition).decode() for subject, definition in found.items()}
    return _Stored(definitions, labels, frozenset(kind for kind, entry in kinds.items() if entry.is_embedded))


def _labels(patterns: Path) -> dict[str, str]:
    return {kind: entry.label for kind, entry in load_vocabulary(patterns / "events").kinds.items()}
