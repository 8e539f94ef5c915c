"""The innermost cause in the errors of a finding, for rules that recognize a failure and not its cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kvdiag.anatomy.decode import without_wrappers
from kvdiag.model.error_anatomy import STRONG, ErrorAnatomy
from kvdiag.model.event import Event
from kvdiag.model.rule import Fix, Rule
from kvdiag.rules.distribution import Dialect
from kvdiag.rules.fill import CAUSE_CLAUSE, command, limited
from kvdiag.rules.selection import Selected

if TYPE_CHECKING:
    from kvdiag.anatomy.error import Candidate

MOST_READ = 20  # different errors of a finding; a fault that is tried again prints the same one
CAUSE, STEP = "cause", "cause_step"
"""Slots of a rule with `cause-from`: the sentence of the cause, or the error if it names none; what its check shows."""
_TEXTS = ("error", "message", "reason")


def errors_of(rule: Rule, selected: Selected, begins: int, ends: int) -> tuple[Event, ...]:
    """Return the events of the first different errors that the rule reads causes from, between two times."""
    found: list[Event] = []
    errors: set[str] = set()
    for event in selected.of_names(rule.cause_from):
        if begins <= event.ends and event.time <= ends:
            error = _error(event)
            if error in errors or len(errors) < MOST_READ:
                errors.add(error)
                found.append(event)
    return tuple(found)


LONGEST_ERROR = 240  # characters; of a longer error a report would show the callers and cut off the reason


class ReadCause(NamedTuple):
    """The strongest error of a finding, and the sentences of all errors that name a cause, if there are several."""

    anatomy: ErrorAnatomy | None = None
    each: str = ""


def read_cause(events: Sequence[Event]) -> ReadCause:
    """Return the strongest error among the events."""
    from kvdiag.anatomy.error import Candidate, read_part, strongest_error  # slow: not for every log

    counts: Counter[str] = Counter()
    for event in events:
        counts[_error(event)] += event.count
    firsts = {_error(event): event for event in reversed(events)}
    errors = [
        Candidate(event.time, read_part(error, event.text, event.component), counts[error])
        for error, event in firsts.items()
    ]
    best = strongest_error(errors)
    return ReadCause(best, _each(best, errors) if best and best.strength == STRONG else "")


def _each(best: ErrorAnatomy, errors: Sequence[Candidate]) -> str:
    """Return each cause with how often it was reported, that of the finding first; empty if there is only one."""
    times: Counter[str] = Counter()
    sentences = {best.primitive: best.sentence}
    for one in errors:
        if one.anatomy.strength == STRONG:
            times[one.anatomy.primitive] += one.times
            sentences.setdefault(one.anatomy.primitive, one.anatomy.sentence)
    if len(set(sentences.values())) < 2:
        return ""
    return "; ".join(f"{sentence} ({_times(times[primitive])})" for primitive, sentence in sentences.items())


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _error(event: Event) -> str:
    """Return the error of an event, or its line if it has none."""
    return next((value for name in _TEXTS if (value := event.value(name))), event.text)


def cause_values(cause: ReadCause, text: str) -> dict[str, str]:
    """Return the values of the slots for the cause; `text` is the error, shown whole if it is short."""
    anatomy = cause.anatomy
    if anatomy is None:
        return {}
    is_prose = len(text) > LONGEST_ERROR and not anatomy.sentence.endswith("}")  # else a value of a structure
    sentence = anatomy.sentence if anatomy.names_cause or is_prose else without_wrappers(text) or anatomy.sentence
    return {CAUSE: cause.each or sentence, CAUSE_CLAUSE: anatomy.sentence, STEP: anatomy.step}


def with_command(anatomy: ErrorAnatomy, dialect: Dialect) -> ErrorAnatomy:
    """Return the anatomy with its check as a command of a distribution, for an error without a finding."""
    return anatomy._replace(check=command(dialect.expand(limited(anatomy.check, {})), {}))


_OF_NODE_PLUGIN, _OF_CONTROLLER = "{logs:driver}", "{logs:controller}"
_CONTROLLER_CALLS = frozenset(("attach", "detach", "provision", "delete", "snapshot"))
_NODE_CALLS = frozenset(("stage", "publish", "unmount", "resize"))


def _is_of_controller(anatomy: ErrorAnatomy) -> bool:
    """Return whether a call to the driver's controller failed: then the pods of its node plug-in have no line of it."""
    operations = frozenset(anatomy.operations)
    return not operations.isdisjoint(_CONTROLLER_CALLS) and operations.isdisjoint(_NODE_CALLS)


def with_check(rule: Rule, anatomy: ErrorAnatomy | None, dialect: Dialect) -> Rule:
    """Return the rule with the check of the cause as its first step; a step of its own with that command is moved.

    Steps for other causes are left out.
    """
    if anatomy is not None and anatomy.names_cause:
        kept = tuple(fix for fix in rule.fix if not fix.causes or anatomy.primitive in fix.causes)
        rule = rule._replace(fix=kept)
    if anatomy is not None and _is_of_controller(anatomy):
        moved = (fix._replace(run=fix.run.replace(_OF_NODE_PLUGIN, _OF_CONTROLLER)) for fix in rule.fix)
        rule = rule._replace(fix=tuple(moved))
    if anatomy is None or not anatomy.check:
        return rule
    check = dialect.expand(anatomy.check).strip()
    same = [fix for fix in rule.fix if dialect.expand(fix.run).strip() == check]
    first = same[:1] or [Fix(f"{{{STEP}}}", anatomy.check)]
    return rule._replace(fix=(*first, *(fix for fix in rule.fix if fix not in same)))
