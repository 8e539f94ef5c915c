"""Build the timelines of the requested subjects."""

from __future__ import annotations

from collections.abc import Sequence

from kvdiag.analysis.case import Case, Note, read_with_notes
from kvdiag.base.clock import format_clock
from kvdiag.base.errors import UsageError
from kvdiag.history.correlate.entities import look_up, subject_names
from kvdiag.history.views.timeline import build_timeline
from kvdiag.model.lifecycle import TimelineView
from kvdiag.model.options import Options
from kvdiag.model.timeline import Timeline
from kvdiag.model.values import SubjectKind
from kvdiag.rules.findings import find
from kvdiag.rules.rank import rank

MOST_NAMED = 12


def timelines(
    kinds: Sequence[SubjectKind], ref: str, options: Options, note: Note, *, raw: bool = False
) -> list[TimelineView]:
    """Return the timeline of the subject `ref`; of all of them if a pod was recreated under the same name.

    Of several kinds the first one with such a subject counts. Problems and notes are passed to `note`. Raise UsageError
    if there is no such subject, or if a prefix is ambiguous.
    """
    case = Case(options)
    history = read_with_notes(case, note)
    found = next((some for kind in kinds if (some := look_up(history, kind, ref))), [])
    if not found:
        near = [name for kind in kinds for name in subject_names(history, kind)][:MOST_NAMED]
        what = f"no {kinds[0]} {ref!r}" if len(kinds) == 1 else f"nothing called {ref!r}"
        raise UsageError(f"{what} in these logs" + (f"; found {', '.join(near)}" if near else ""))
    names = {timeline.subject.name for timeline in found}
    if len(names) > 1:
        raise UsageError(f"{ref!r}: ambiguous prefix; matches {', '.join(map(_label, found[:MOST_NAMED]))}")
    patterns = case.patterns
    findings = rank(list(find(patterns.rules, history, patterns.vocabulary.kinds)), history)
    return [build_timeline(timeline, history, findings, raw=raw) for timeline in found]


def _label(timeline: Timeline) -> str:
    name, events = timeline.subject.name, timeline.events
    return f"{name} (from {format_clock(events[0].time)})" if events else name
