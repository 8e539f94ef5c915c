"""Read the files of life cycles; every error has file:line:column and names what was meant."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from kvdiag.base.decode import Record, each, error_at, known, one_of, set_of, table
from kvdiag.base.errors import PatternError
from kvdiag.base.suggestions import suggestion
from kvdiag.base.yamlread import Node, Word, read_text, read_yaml
from kvdiag.history.lifecycles.definition import Definition, Detail, Part, PartState, Span, Variant
from kvdiag.history.lifecycles.machine import ALL, OrderConstraint, State, Step
from kvdiag.model.values import SubjectKind

STATE_FLAGS = frozenset(
    {
        *("first", "settled", "resting", "passing", "past", "trouble", "unseen"),  # of all life cycles
        *("coming", "running", "backing-off", "retrying", "looping", "stopping", "finished", "gone", "over"),  # of pods
    }
)
STEP_FLAGS = frozenset(
    {
        *("explains", "lasts", "starts", "reboots", "told-late"),  # of nodes and drivers
        *(
            "comes",
            "deletes",
            "removes",
            "fails-sync",
            "start-fails",
            "backs-off",
            "creates",
            "made-sandbox",
        ),  # of pods
        *("makes-sandbox", "starts-container", "ends-container", "ends-sandbox", "pull-begins", "pull-ends"),
        *("patches-status", "changes-probe"),
    }
)


def _all_or_words(node: Node) -> frozenset[str]:
    return ALL if node.value == "all" else _WORDS(node)


def _pair(node: Node) -> tuple[str, ...]:
    if len(node.sequence()) != 2:
        raise node.error("a pair is two kinds: what begins and what ends")
    return tuple(one.word() for one in node.sequence())


def _holds(node: Node) -> int:
    if node.integer() not in {1, -1}:
        raise node.error("holds is 1 or -1")
    return node.integer()


_WORDS = set_of(Node.word)
_STATE = Record(State, keys={"flags": "is"}, waits=Node.scalar, reboot=Node.word, flags=_WORDS)
_STEP = Record(
    Step,
    keys={"flags": "is"},
    to=Node.word,
    keeps=_WORDS,
    holds=_holds,
    forgets=_all_or_words,
    may=_WORDS,
    flags=_WORDS,
)
_PART = Record(
    Part,
    hides=_all_or_words,
    states=table(Record(PartState, keys={"flags": "is"}, waits=Node.scalar)),
    steps=table(_STEP),
    orders=each(Record(OrderConstraint, to=Node.word, after=Node.word, through=Node.word)),
    details=table(Record(Detail, of=_WORDS, to=Node.word, keeps=_WORDS)),
)
_SPAN = Record(
    Span, pairs=each(_pair), per=one_of(("container", "image", "pod"), "holder"), unless=Node.word, fails=Node.word
)
_WORD_LIST = each(Node.word)
_DEFINITION = Record(
    Definition,
    subject=one_of([str(kind) for kind in SubjectKind], "subject"),
    states=table(_STATE),
    parts=table(_PART),
    variants=table(Record(Variant, parts=_WORD_LIST, no_controller=_WORD_LIST, driver_alone=_WORD_LIST)),
    spans=each(_SPAN),
)


def read_lifecycles(folder: Path, kinds: Collection[str]) -> tuple[dict[str, Definition], list[PatternError]]:
    """Return the definitions by subject, and all errors in them; `kinds` are those of events."""
    found: dict[str, Definition] = {}
    errors: list[PatternError] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            definition = _DEFINITION(read_yaml(read_text(path), str(path)))
        except PatternError as error:
            errors.append(error)
            continue
        if definition.subject in found:
            errors.append(error_at(definition.subject, f"another file defines the life of a {definition.subject}"))
        wrong = list(_Checks(definition, kinds).errors())
        errors += wrong
        if not wrong:
            found.setdefault(str(definition.subject), definition)
    missing = [str(kind) for kind in SubjectKind if kind not in found] if not errors else []
    errors += [PatternError(f"{folder}:1:1", f"no file tells the life of a {kind}") for kind in missing]
    return found, errors


class _Checks(NamedTuple):
    """What must hold in a definition beyond the types of its values; `kinds` are the events that it may name."""

    definition: Definition
    kinds: Collection[str]

    def errors(self) -> Iterator[PatternError]:
        """Yield all errors."""
        parts = self.definition.parts.values()
        for part in parts:
            yield from self._part(part)
        yield from self._states()
        yield from self._variants()
        for span in self.definition.spans:
            yield from self._kinds([one for pair in span.pairs for one in pair])
            yield from self._kinds([kind for kind in (span.unless, span.fails) if kind])
        details = {kind.partition(":")[2] for part in parts for kind in part.steps}
        for detail in self.definition.errors:
            if detail not in details:
                yield error_at(detail, f"no step has the detail '{detail}'{suggestion(detail, details)}")

    def _part(self, part: Part) -> Iterator[PatternError]:
        states = self.definition.states
        words = {*states, *(flag for state in states.values() for flag in state.flags)}
        marks = {step.marks for one in self.definition.parts.values() for step in one.steps.values() if step.marks}
        yield from self._kinds(part.steps)
        for step in part.steps.values():
            yield from known([step.to] if step.to else (), states, "state")
            yield from known(step.keeps, words, "state or flag of states")
            yield from known((*step.may, *(step.forgets - ALL), *step.waits), states, "state")
            yield from known(step.flags, STEP_FLAGS, "flag of a step")
        for name, detail in part.details.items():
            yield from known(detail.of, STEP_FLAGS, f"flag of a step for the detail '{name}'")
            yield from known([detail.to], states, "state")
            yield from known(detail.keeps, words, "state")
        for order in part.orders:
            yield from known((order.to, order.through), states, "state")
            yield from known([order.after], {*states, *marks}, "state or mark")
        yield from known(part.states, states, "state")
        yield from self._kinds((part.hides or ALL) - ALL)

    def _kinds(self, names: Collection[str]) -> Iterator[PatternError]:
        """Yield an error for each kind that no event has; a name is `kind`, `kind:detail` or `kind|kind`."""
        for name in names:
            for kind in name.split("|"):
                base_kind = kind.partition(":")[0]
                place = name.place if isinstance(name, Word) else ""
                yield from known([Word.at(base_kind, place)], self.kinds, "kind of event")

    def _states(self) -> Iterator[PatternError]:
        """Check that one state is the first, that a step leads to each, and that each says what it waits for."""
        states = self.definition.states
        parts = self.definition.parts.values()
        targets = {step.to for part in parts for step in part.steps.values()}
        targets |= {detail.to for part in parts for detail in part.details.values()}
        reached = targets | {state.reboot for state in states.values()}
        kept_sets = [step.keeps for part in parts for step in part.steps.values()]
        kept_states = frozenset().union(*kept_sets, *(one.keeps for part in parts for one in part.details.values()))
        for name, state in states.items():
            if name not in reached and not {"first", "unseen"} & state.flags:
                yield error_at(name, f"no step leads to the state '{name}'")
            if "settled" not in state.flags and not state.waits:
                yield error_at(name, f"the state '{name}' is not settled and does not say what it waits for")
            yield from known(state.flags, STATE_FLAGS | kept_states, "flag of a state")
            yield from known([state.reboot] if state.reboot else (), states, "state")
        firsts = [name for name, state in states.items() if "first" in state.flags]
        if len(firsts) != 1:
            yield error_at(next(iter(states), ""), f"one state is the first, not {len(firsts)}")

    def _variants(self) -> Iterator[PatternError]:
        subject, parts = self.definition.subject, self.definition.parts
        used: set[str] = set()
        for name, variant in self.definition.variants.items():
            if not name.startswith(f"{subject}/"):
                yield error_at(name, f"the name of a variant begins with '{subject}/'")
            listed = [part for names in variant for part in names]
            yield from known(listed, parts, "part")
            used.update(listed)
        yield from (error_at(name, f"no variant has the part '{name}'") for name in parts if name not in used)
