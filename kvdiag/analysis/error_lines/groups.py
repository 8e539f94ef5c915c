"""Count and group error lines by what explains them and by their message."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from kvdiag.analysis.error_lines.histogram import LogHistogram, histogram
from kvdiag.analysis.error_lines.lines import MOST_SUBJECTS, NO_TIME, ErrorLines, LineGroup, body_of
from kvdiag.analysis.error_lines.wording import cause_of, fold_message
from kvdiag.base.clock import HOUR, MINUTE, is_unanchored
from kvdiag.formats.authors import COMBINED, DRIVER, SIDECARS, Attribution
from kvdiag.formats.carriers.carrier import KERNEL
from kvdiag.history.correlate.clocks import SourceClock
from kvdiag.history.correlate.event_filter import Scope
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.model.error_groups import ErrorGroup, Errors
from kvdiag.model.record import Origin
from kvdiag.model.values import Level
from kvdiag.safe.secrets import redacted, redacted_value

MOST_LISTED = 1_000
FEW = 15 * MINUTE  # after this long without a line a group has stopped, however rare its lines were
LEAST_CUT = 12  # characters; fewer may be the begin of any other message
OFTEN = 3  # a group may be ongoing for this many average pauses after its last line
# kubelet's events of a failed pull besides `Failed to pull image "…": …`, which says why.
WITHOUT_REASON = ("Error: ErrImagePull", "Error: ImagePullBackOff")
PULL = ("pull",)
NODE = frozenset(("kubelet", "containerd", "crio", "dockerd", "cri-dockerd", KERNEL, DRIVER, *SIDECARS, *COMBINED))
CONTROLLERS = frozenset(("kube-controller-manager", "cloud-controller-manager"))


class Explanation(NamedTuple):
    """What explains a line: the rule of a finding, an entry of harmless lines, or nothing."""

    explained_by: str = ""
    benign: str = ""


UNEXPLAINED = Explanation()


class ExplainedCopies:
    """Explained lines of all logs, to recognize copies of them in other logs."""

    def __init__(self, *, is_needed: bool) -> None:
        """Store nothing unless `is_needed`."""
        self._is_needed = is_needed
        self._explanations: dict[tuple[int, int], Explanation] = {}

    def add(self, lines: ErrorLines, clock: SourceClock, explanations: Mapping[int, Explanation]) -> None:
        """Add the explained lines of a log."""
        for words, stamp, number in zip(lines.words, lines.stamps, lines.lines, strict=True) if self._is_needed else ():
            if words in explanations:
                self._explanations[words, clock.utc(stamp, number)] = explanations[words]

    def explanation(self, words: int, stamp: int, number: int, clock: SourceClock) -> Explanation | None:
        """Return what explains a line with these words in another log at that time; None if nothing does."""
        return self._explanations.get((words, clock.utc(stamp, number))) if self._explanations else None


@dataclass(slots=True)
class _Part:
    """Lines of one group in one log with one explanation; stamps are on the log's clock.

    `times` is the number of occurrences: a row of kubectl events may stand for many.
    """

    line: int
    first: int
    last: int
    count: int = 0
    times: int = 0

    def add(self, stamp: int, count: int = 1, repeated: tuple[int, int] | None = None) -> None:
        """Add lines, the last of them at `stamp`; or one row with its number of occurrences and their time span."""
        times, span = repeated or (count, 0)
        self.count += count
        self.times += times
        first = stamp - span if stamp != NO_TIME else stamp
        self.first, self.last = min(self.first, first), max(self.last, stamp)


@dataclass(slots=True)
class _Row:
    """Lines of one group in all logs with one explanation; times are UTC."""

    group: LineGroup
    origin: Origin
    count: int = 0
    times: int = 0
    begins: int | None = None
    ends: int | None = None
    goes_on: bool = False
    sources: dict[str, None] = field(default_factory=dict)
    subjects: dict[str, None] = field(default_factory=dict)


class _RowKey(NamedTuple):
    component: str
    level: Level
    where: str
    words: str
    fate: Explanation


class ErrorGroups:
    """Counts and groups the lines of one log after the other."""

    def __init__(self, scope: Scope, *, has_findings: bool) -> None:
        """Take the time span; other lines are ignored."""
        self._scope, self._has_findings, self._logs = scope, has_findings, 0
        self._rows: dict[_RowKey, _Row] = {}
        self._times = Counter[int]()

    def add(
        self,
        log: LogEvents,
        lines: ErrorLines,
        clock: SourceClock,
        by: Attribution,
        explanations: Iterable[Explanation],
    ) -> None:
        """Count the lines of a log, each with its explanation; `by` determines their component."""
        self._logs += 1
        parts: dict[tuple[int, Explanation], _Part] = {}
        components = [by.author_of_line(group.key.ident, group.key.where) for group in lines.groups]
        moments = LogHistogram(log)
        is_any_time = self._scope.is_any_time
        rows = zip(lines.group_of, explanations, lines.stamps, lines.lines, strict=True)
        for at, (group, fate, stamp, line) in enumerate(rows):
            if is_any_time or self._covers(clock, stamp, line):
                part = parts.get((group, fate))
                if part is None:
                    part = parts[group, fate] = _Part(line, stamp, stamp)
                part.add(stamp, repeated=lines.repeated.get(at))
                if stamp != NO_TIME and not fate.benign:
                    moments.add(stamp, line)
        self._times.update(moments.in_utc(clock))
        self._add_beyond(log, lines, clock, parts)
        for (group, fate), part in parts.items():
            place = _RowKey(components[group], *lines.groups[group].key[1:], fate)
            self._join(place, log, lines.groups[group], part, clock)

    def errors(self) -> Errors:
        """Return the totals and the groups."""
        rows = sorted(_with_explained_causes(self._loudest()), key=_order)
        rest = [(place, row) for place, row in rows if place.fate == UNEXPLAINED and place.words][:MOST_LISTED]
        known = [(place, row) for place, row in rows if place.fate != UNEXPLAINED and place.words][:MOST_LISTED]
        lines = sum(row.count for _, row in rows)
        return Errors(
            lines=lines,
            explained=sum(row.count for place, row in rows if place.fate.explained_by),
            benign=sum(row.count for place, row in rows if place.fate.benign),
            groups=tuple(_group(place, row) for place, row in rest),
            known=tuple(_group(place, row) for place, row in known),
            unlisted=lines - sum(row.count for _, row in (*rest, *known)),
            when=histogram(self._times),
        )

    def _loudest(self) -> Mapping[_RowKey, _Row]:
        """Return the rows without failures at level info, unless they are all that one log has to say."""
        loud = {place: row for place, row in self._rows.items() if place.level is not Level.INFO}
        if loud or self._logs > 1 or self._has_findings:
            return loud
        return {place._replace(level=Level.WARNING): row for place, row in self._rows.items()}

    def _covers(self, clock: SourceClock, stamp: int, line: int) -> bool:
        if stamp == NO_TIME:
            return True
        time = clock.utc(stamp, line)
        return self._scope.covers(time, time)

    def _add_beyond(
        self, log: LogEvents, lines: ErrorLines, clock: SourceClock, parts: dict[tuple[int, Explanation], _Part]
    ) -> None:
        """Count lines beyond the quota, which were not stored: explained if all lines of their group are, else not."""
        known: dict[int, set[Explanation]] = {}
        for group, fate in parts if lines.beyond else ():
            known.setdefault(group, set()).add(fate)
        for place, count in lines.beyond.items():
            stamp = place.hour * HOUR
            if not self._covers(clock, stamp, log.lines):
                continue
            fates = known.get(place.group, set())
            fate = next(iter(fates)) if len(fates) == 1 else UNEXPLAINED
            part = parts.setdefault((place.group, fate), _Part(lines.groups[place.group].line, stamp, stamp))
            part.add(stamp, count)

    def _join(self, place: _RowKey, log: LogEvents, group: LineGroup, part: _Part, clock: SourceClock) -> None:
        row = self._rows.get(place)
        if row is None:
            row = self._rows[place] = _Row(group, Origin(log.source, part.line))
        row.sources[log.source] = None
        row.count += part.count
        row.times += part.times
        for name in group.subjects:
            if len(row.subjects) < MOST_SUBJECTS:
                row.subjects[name] = None
        if part.first == NO_TIME:
            return
        begins, ends = clock.utc(part.first, part.line), clock.utc(part.last, log.lines)
        if is_unanchored(begins):
            return
        row.goes_on = row.goes_on or is_ongoing(part.times, begins, ends, end_of(log, clock, self._scope))
        row.begins = begins if row.begins is None else min(row.begins, begins)
        row.ends = ends if row.ends is None else max(row.ends, ends)


def _with_explained_causes(rows: Mapping[_RowKey, _Row]) -> Iterator[tuple[_RowKey, _Row]]:
    """Yield the rows; an unexplained row gets the explanation of a row that ends in the same clauses at that time.

    Each layer of a program wraps the error of the layer below in words of its own. A line whose end was cut off is the
    same failure as the whole line.
    """
    explained: dict[tuple[str, ...], list[tuple[_RowKey, _Row]]] = {}
    whole: dict[str, list[tuple[_RowKey, _Row]]] = {}  # by their place in the code
    for place, row in rows.items():
        if place.fate.explained_by and row.begins is not None:
            whole.setdefault(place.where, []).append((place, row))
            for key in (_cause(row), PULL) if _is_pull(row) else (_cause(row),):
                explained.setdefault(key, []).append((place, row))
    for place, row in rows.items():
        causes = explained.get(_cause(row), ()) if place.fate == UNEXPLAINED and explained else ()
        cut_from = whole.get(place.where, ()) if place.fate == UNEXPLAINED and place.where else ()
        causes = [*causes, *(other for other in cut_from if _is_cut(place.words, other[0].words))]
        same = next((cause for cause, other in causes if _overlap(row, other)), None)
        yield (place if same is None else place._replace(fate=same.fate)), row


def _is_cut(cut: str, whole: str) -> bool:
    """Return whether the words of a row end within a word of another row."""
    if not LEAST_CUT <= len(cut) < len(whole):
        return False
    return whole.startswith(cut) and cut[-1].isalnum() and whole[len(cut)].isalnum()


def _cause(row: _Row) -> tuple[str, ...]:
    """Return the last clauses of a row; those of an event that only says that a pull failed stand for its reason."""
    body = body_of(row.group.sample)
    return PULL if body.caller == "Failed" and body.message in WITHOUT_REASON else cause_of(body)


def _is_pull(row: _Row) -> bool:
    body = body_of(row.group.sample)
    return body.caller == "Failed" and body.message.startswith("Failed to pull image ")


def _overlap(row: _Row, other: _Row) -> bool:
    """Return whether two rows overlap in time, or nearly."""
    if row.begins is None or row.ends is None or other.begins is None or other.ends is None:
        return False
    return row.begins <= other.ends + MINUTE and other.begins <= row.ends + MINUTE


def end_of(log: LogEvents, clock: SourceClock, scope: Scope) -> int | None:
    """Return the end of a log, or of the requested time if that is earlier."""
    stamps = [(log.last, log.lines), (log.first, 0)]
    end = max((clock.utc(stamp, line) for stamp, line in stamps if stamp is not None), default=None)
    return end if end is None or scope.until is None else min(end, scope.until)


def is_ongoing(count: int, begins: int, ends: int, end: int | None) -> bool:
    """Return whether lines with this frequency had not stopped when the log ended."""
    if end is None or count < 2:
        return False
    pause = (ends - begins) // (count - 1)
    return end - ends <= min(FEW, max(MINUTE, OFTEN * pause))


def is_other(component: str) -> bool:
    """Return whether a program is neither of the node nor a controller, as far as it is known."""
    return component not in NODE and component not in CONTROLLERS and component != ""


def _order(one: tuple[_RowKey, _Row]) -> tuple[bool, bool, int, int, str, str, str]:
    """Sort key: components of the node and controllers first, then ongoing groups, then by count."""
    place, row = one
    return (
        is_other(place.component),
        not row.goes_on,
        -row.count,
        row.begins or 0,
        place.component,
        place.where,
        place.words,
    )


def _group(place: _RowKey, row: _Row) -> ErrorGroup:
    body = body_of(row.group.sample)
    shown = body._replace(
        message=redacted(body.message),
        fields={name: redacted_value(name, value) for name, value in body.fields.items()},
    )
    return ErrorGroup(
        component=place.component,
        where=place.where,
        level=place.level,
        message=fold_message(shown).text,
        count=row.times,
        begins=row.begins,
        ends=row.ends,
        is_ongoing=row.goes_on,
        subjects=tuple(row.subjects),
        origin=row.origin,
        sample=row.group.sample.decode("utf-8", "replace"),
        explained_by=place.fate.explained_by,
        benign=place.fate.benign,
        sources=tuple(row.sources),
    )
