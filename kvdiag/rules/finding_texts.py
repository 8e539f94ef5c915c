"""Fill the texts of a finding when they are asked for.

A log with 100,000 faults has as many findings, and a report shows a few of them in full: to fill the texts of all
takes as long as to find them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from kvdiag.base.clock import MINUTE, format_duration, rfc3339
from kvdiag.base.regex import lazy_regex
from kvdiag.model.error_anatomy import ErrorAnatomy
from kvdiag.model.event import Event, is_unnamed
from kvdiag.model.report import Evidence, FindingTexts
from kvdiag.model.rule import Fix, Rule
from kvdiag.model.timeline import Entity, History
from kvdiag.model.values import State, SubjectKind
from kvdiag.rules.absence import run_values
from kvdiag.rules.bugs import known_bugs
from kvdiag.rules.causes import ReadCause, cause_values, read_cause, with_check
from kvdiag.rules.distribution import Dialect, LogWindow
from kvdiag.rules.ending import End
from kvdiag.rules.fill import ANY_DRIVER, SOME_TIME, fixes, headings, sentence, slot_values

_STAGED = lazy_regex(r"[0-9a-f]{64}")  # the folder of a staging path: a hash of the handle, and no volume's name
BEFORE = 10 * MINUTE  # a call that failed may have begun this long before its error
MOST = 64  # findings whose texts are kept: an output asks several times for those of one finding


class TextInputs(NamedTuple):
    """What the texts of a finding are filled from.

    `events` are those of the match and the tries, `errors` those whose error is read for its cause, `bound` the names
    of the match, `span` the first and the last time, None if the logs count from several moments.
    Without `changes`, only steps that change nothing are part of the fix.
    """

    rule: Rule
    subject: Entity
    events: tuple[Event, ...]
    evidence: tuple[Evidence, ...]
    errors: tuple[Event, ...]
    bound: tuple[str, ...]
    tries: int
    span: tuple[int, int | None]
    end: End
    changes: bool
    history: History
    dialect: Callable[[str], Dialect]


class LazyTexts:
    """The texts of one finding, filled from its rule and its lines."""

    __slots__ = ("_cause", "_inputs", "_titles")

    def __init__(self, inputs: TextInputs) -> None:
        """Keep what the texts are filled from."""
        self._inputs = inputs
        self._cause: ReadCause | None = None if inputs.errors else ReadCause()
        self._titles: tuple[str, str] | None = None if inputs.rule.heading else ("", "")

    def __eq__(self, other: object) -> bool:
        """Return whether the texts are equal."""
        return self.all == (other.all if isinstance(other, LazyTexts) else other)

    def __hash__(self) -> int:
        """Return the hash of this object, so that it can be the key of a cache."""
        return id(self)

    @property
    def says(self) -> str:
        """Return the sentence of the finding, without filling the others."""
        return self._says(self._values())

    @property
    def titles(self) -> tuple[str, str]:
        """Return the title with the object and the title without it, without filling the other texts."""
        return self._titles or self._fill_titles(self._values())

    def _fill_titles(self, values: Mapping[str, str]) -> tuple[str, str]:
        if self._titles is None:
            self._titles = _titles(self._inputs.rule, self._inputs.subject, values)
        return self._titles

    @property
    def all(self) -> FindingTexts:
        """Return all texts."""
        return _filled(self)

    def fill(self) -> FindingTexts:
        """Fill all texts."""
        inputs, values = self._inputs, self._values()
        rule, subject, history = inputs.rule, inputs.subject, inputs.history
        node, dialect = subject.ids.get("node", ""), inputs.dialect(values.get("node", "")).of_rule(rule)
        title, row = self._fill_titles(values)
        steps = with_check(rule, self.anatomy, dialect)
        return FindingTexts(
            says=self._says(values),
            cause=sentence(dialect.expand(rule.cause), values),
            fix=tuple(fix for fix in self._fixes(steps, values, dialect) if inputs.changes or not fix.after),
            bugs=tuple(known_bugs(rule, history.versions, node, values, inputs.span[0], bound=inputs.bound)),
            heading=title,
            row=row,
            anatomy=self.anatomy,
        )

    @property
    def anatomy(self) -> ErrorAnatomy | None:
        """Return the innermost cause in the errors of the finding, if its rule reads it."""
        return self._read_cause().anatomy

    def _read_cause(self) -> ReadCause:
        if self._cause is None:  # read once: each text needs it, and reading takes as long as a hundred texts
            self._cause = read_cause(self._inputs.errors)
        return self._cause

    def _values(self) -> dict[str, str]:
        """Return the values of the slots."""
        inputs = self._inputs
        rule, subject, (begins, ends) = inputs.rule, inputs.subject, inputs.span
        values = slot_values(subject, inputs.events, inputs.tries, begins, ends)
        prelude = [row.event for row in inputs.evidence if row.step in rule.follows]
        if subject.kind is SubjectKind.VOLUME:
            values["volume"] = volume_phrase(subject)
        if is_unnamed(values.get("node", "")) and all(event.is_from_controller for event in inputs.events):
            del values["node"]  # a controller's log is not the node's: "this node" is another
        for event in prelude:
            for name, value in event.attrs.items():
                values.setdefault(name, value)
        values.update(run_values(prelude))
        values["lasted"] = SOME_TIME if ends is None else format_duration((inputs.end.at or ends) - begins)
        return values | cause_values(self._read_cause(), values["text"])

    def _fixes(self, steps: Rule, values: Mapping[str, str], dialect: Dialect) -> Iterator[Fix]:
        """Return the steps; commands have a word for any driver, and the time of the finding if it is known."""
        begins, ends = self._inputs.span
        values = {**values, "driver_sign": values.get("driver") or ANY_DRIVER}
        if not any(self._inputs.history.has_date(row.event) for row in self._inputs.evidence):
            return fixes(steps, values, dialect)
        values["since_time"] = rfc3339(begins - BEFORE, "seconds")
        is_local = self._inputs.history.is_local(row.event for row in self._inputs.evidence)
        return fixes(steps, values, dialect, LogWindow(begins, begins if ends is None else ends, is_local))

    def _says(self, values: Mapping[str, str]) -> str:
        rule, end = self._inputs.rule, self._inputs.end
        is_healed = rule.healed is not None and end.state is State.OVER and end.at is not None
        text = rule.healed.says if rule.healed and is_healed else rule.says
        return sentence(text, values)


@lru_cache(MOST)
def _filled(texts: LazyTexts) -> FindingTexts:
    return texts.fill()


def _titles(rule: Rule, subject: Entity, values: Mapping[str, str]) -> tuple[str, str]:
    """Return the heading with all names, and the one without the name of the subject, for a row that shows it."""
    name = values.get("volume", "") if subject.kind is SubjectKind.VOLUME else subject.name
    return headings(rule.heading, values, subject.part or name)


def volume_phrase(volume: Entity) -> str:
    """Return a volume's name, or what a line names in its place: a VolumeAttachment, or the folder it is staged in."""
    if volume.name == volume.ids.get("attachment"):
        return f"the volume of attachment {volume.name}"
    return f"the volume staged in {volume.name}" if _STAGED.fullmatch(volume.name) else volume.name
