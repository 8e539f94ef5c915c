"""Life cycles from `patterns/lifecycles/*.yaml`, through the cache; a machine is put together when first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from kvdiag.base.cache import cached, fingerprint
from kvdiag.base.errors import PatternError
from kvdiag.events.pattern_folder import builtin_patterns
from kvdiag.history.lifecycles.machine import ALL, NONE, Machine, OrderConstraint, State, Step
from kvdiag.model.values import SubjectKind

_KEYS = {"is": "flags", "ends-wait": "ends_wait"}
_SETS = {"keeps", "forgets", "may", "flags"}


class Span(NamedTuple):
    """A part of a life. `pairs` are (begin, end) kinds: the first pair is taken that was seen, else that began.

    In `a|b` a part begins with a, and again with b where that follows. `per` keeps apart the pods that share a volume
    or the containers of a pod; `once` takes the first such part of a life only; where `unless` was seen, only the
    first pair is tried. Where the part `fails`, only what ends the first pair ends it.
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    per: str = ""
    once: bool = False
    unless: str = ""
    fails: str = ""


class _Stored(NamedTuple):
    """What the cache keeps: the values of each file by its subject, labels and embedded kinds of the vocabulary."""

    files: Mapping[str, Any]
    labels: Mapping[str, str]
    asides: frozenset[str]


class Lifecycles:
    """All that the files of a folder say."""

    def __init__(
        self, files: Mapping[str, Mapping[str, Any]], labels: Mapping[str, str], asides: frozenset[str] = frozenset()
    ) -> None:
        """`files` are their values by subject; `labels` what each kind of event is called.

        `asides` are the kinds whose words stand within a line that may tell another event.
        """
        self._files, self.labels, self.asides = files, labels, asides
        self._machines: dict[tuple[str, tuple[str, ...]], Machine] = {}
        self._flagged: dict[tuple[str, str], frozenset[str]] = {}

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
            parts = self._files[subject]["parts"].values()
            steps = ((kind, step or {}) for part in parts for kind, step in part.get("steps", {}).items())
            found = self._flagged[subject, flag] = frozenset(kind for kind, step in steps if flag in step.get("is", ()))
        return found

    def errors(self, subject: SubjectKind) -> Mapping[str, list[str]]:
        """By detail, the texts in an error that mean it."""
        errors: Mapping[str, list[str]] = self._files[subject].get("errors", {})
        return errors

    def waits_by_error(self, subject: SubjectKind) -> Mapping[str, str]:
        """By a word of an error, what is waited for."""
        waits: Mapping[str, str] = self._files[subject].get("waits-by-error", {})
        return waits

    def spans(self, subject: SubjectKind) -> tuple[Span, ...]:
        """The parts of a life that begin and end with an event."""
        spans = self._files[subject].get("spans", ())
        return tuple(Span(**{**span, "pairs": tuple(map(tuple, span["pairs"]))}) for span in spans)

    def _compose(self, name: str, situations: Iterable[str]) -> Machine:
        """Parts are laid over one another: a later step or state's wait takes the place of an earlier one."""
        file = self._files[name.partition("/")[0]]
        variant = file["variants"][name]
        names = [*variant["parts"], *(part for situation in situations for part in variant.get(situation, ()))]
        parts = [file["parts"][part] for part in names]
        states = {state: _state(values) for state, values in file["states"].items()}
        for part in parts:
            for state, said in part.get("states", {}).items():
                more = _state({**file["states"][state], **said})
                before = states[state]
                waits = more.waits if "waits" in said else before.waits
                states[state] = State(waits, before.reboot, before.flags | more.flags)
        flagged = {flag: {s for s, state in states.items() if flag in state.flags} for flag in _flags(states)}
        steps = {kind: said or {} for part in parts for kind, said in part.get("steps", {}).items()}
        steps |= {kind: said for part in parts for kind, said in _detailed(steps, part.get("details", {}))}
        last = {key: part[key] for part in parts for key in ("outage", "hides") if key in part}
        return Machine(
            name=name,
            steps={kind: _step(said, flagged) for kind, said in steps.items()},
            states=states,
            orders=tuple(OrderConstraint(**order) for part in parts for order in part.get("orders", ())),
            outage=last.get("outage", "kubelet"),
            hides=ALL if last.get("hides") == "all" else frozenset(last.get("hides", ())),
            labels=self.labels,
        )


def _state(values: Mapping[str, Any]) -> State:
    return State(values.get("waits", ""), values.get("reboot", ""), frozenset(values.get("is", ())))


def _flags(states: Mapping[str, State]) -> frozenset[str]:
    return NONE.union(*(state.flags for state in states.values()))


def _step(values: Mapping[str, Any], flagged: Mapping[str, set[str]]) -> Step:
    """A step; a flag among the states that it keeps stands for all states that have it."""
    keys = {_KEYS.get(key, key): value for key, value in values.items()}
    for key in _SETS & keys.keys():
        keys[key] = ALL if keys[key] == "all" else frozenset(keys[key])
    keeps = keys.get("keeps", NONE)
    return Step(**{**keys, "keeps": NONE.union(*(flagged.get(word, {word}) for word in keeps))})


def _detailed(
    steps: Mapping[str, Mapping[str, Any]], details: Mapping[str, Mapping[str, Any]]
) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """`kind:detail` for each kind of a flag, told as the kind is."""
    for detail, values in details.items():
        for kind, step in steps.items():
            if set(step.get("is", ())) & set(values["of"]):
                label = {"label": step["label"]} if "label" in step else {}
                yield f"{kind}:{detail}", {"to": values["to"], "keeps": values["keeps"], **label}


@cache
def lifecycles() -> Lifecycles:
    """The life cycles that come with kvdiag. Raises PatternError for a file that cannot be used."""
    return load_lifecycles(builtin_patterns())


def load_lifecycles(patterns: Path) -> Lifecycles:
    """The life cycles of a folder of patterns, with the labels of its kinds of events. Uses the user's cache."""
    files = [path for part in ("lifecycles", "events") for path in sorted((patterns / part).glob("*.yaml"))]
    stored = cached("lifecycles", fingerprint(files), _Stored, lambda: _compile(patterns))
    return Lifecycles(stored.files, stored.labels, stored.asides)


def lint(patterns: Path) -> Iterable[PatternError]:
    """All that is wrong with the life cycles of a folder of patterns."""
    from kvdiag.history.lifecycles.schema import read_lifecycles

    return read_lifecycles(patterns / "lifecycles", _labels(patterns))[1]


def _compile(patterns: Path) -> _Stored:
    from kvdiag.events.vocabulary import load_vocabulary  # YAML, which a filled cache spares us
    from kvdiag.history.lifecycles.schema import read_lifecycles

    labels = _labels(patterns)
    files, faults = read_lifecycles(patterns / "lifecycles", labels)
    if faults:
        raise faults[0]
    kinds = load_vocabulary(patterns / "events").kinds
    return _Stored(files, labels, frozenset(kind for kind, entry in kinds.items() if entry.is_embedded))


def _labels(patterns: Path) -> dict[str, str]:
    from kvdiag.events.vocabulary import load_vocabulary

    return {kind: entry.label for kind, entry in load_vocabulary(patterns / "events").kinds.items()}
