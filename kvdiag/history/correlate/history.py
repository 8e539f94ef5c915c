"""Build the `History` of all logs: one clock, and one timeline per pod, volume, sandbox, container, driver and node."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from kvdiag.base.clock import PRINTED
from kvdiag.events.raw_events import RawEvent
from kvdiag.events.snapshots.fact import Snapshot
from kvdiag.events.timestamp_reader import Process
from kvdiag.formats.authors import COMBINED, DRIVER, Attribution, file_of
from kvdiag.formats.bodies.eventtable import FORMATS as ROWS
from kvdiag.formats.bodies.registry import read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.history.correlate.clocks import SourceClock
from kvdiag.history.correlate.coverage import STARTING, SourceCoverage, coverages, inferred, printed
from kvdiag.history.correlate.event_filter import (
    EVERYTHING,
    STARTS,
    Scope,
    filter_events,
    join_polls,
    without_copies,
    without_records,
)
from kvdiag.history.correlate.handover import handovers
from kvdiag.history.correlate.identity import Identities
from kvdiag.history.correlate.nodes import set_nodes
from kvdiag.history.correlate.skew import disagreements, skews
from kvdiag.history.correlate.snapshots import snapshot_events
from kvdiag.history.correlate.timelines import LogTimelines, divide, of_logs
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.model.event import CONTROLLER_CALLS, CONTROLLERS, Event, event_order
from kvdiag.model.record import Origin
from kvdiag.model.timeline import Coverage, Gap, History, SeenVersion, Skew
from kvdiag.model.values import SubjectKind

CONTROLLER = "csi-controller"  # a driver's controller part: it may run on any node, and gets no calls from kubelet
NODE_CALLS = ("csi.nodestage", "csi.nodeunstage", "csi.nodepublish", "csi.nodeunpublish", "csi.nodegetvolumestats")


def build_history(
    logs: Sequence[LogEvents],
    clocks: Mapping[str, SourceClock],
    spans: Mapping[str, Iterable[str]],
    given_versions: Sequence[SeenVersion] = (),
    scope: Scope = EVERYTHING,
    snapshots: Sequence[Snapshot] = (),
) -> History:
    """Correlate all logs. `spans` are the version ranges of the wordings seen; `given_versions` are `--component`.

    `snapshots` are the files collected with the logs.
    """
    is_part = scope.kinds is not None and scope.is_any_time and not snapshots
    found = list(_events(logs, clocks, scope.kinds if is_part else None))
    if not scope.is_any_time:
        found = [event for event in found if scope.covers(event.time, event.ends)]
    found += list(snapshot_events(snapshots, found))
    entries = {id(s.match.entry): s.match.entry for t in logs for s in t.raw_events}.values()
    places = {one.source: one.place for one in logs} | {one.source: one.place for one in snapshots}
    found.sort(key=event_order)
    polls = {entry.kind for entry in entries if entry.poll}
    events = join_polls(without_records(without_copies(found)), polls)
    del found
    set_nodes(events, places)
    wide = {entry.kind for entry in entries if entry.scope == "node"}
    coverage = tuple(coverages(_parts_by_component(logs, clocks, events), _suppressed(events), _started(events)))
    history = joined_history(events, wide, coverage, (*given_versions, *printed(events), *inferred(spans)))
    begins, ends = _reach(logs, clocks) if is_part else (history.begins, history.ends)
    unanchored = frozenset(source for source, clock in clocks.items() if clock.is_unanchored)
    undated = {one.source: clocks[one.source].undated(one.raw_events) for one in logs}
    rows = {source: found.lines for source, found in undated.items() if found and found.lines and not found.others}
    listed = {one.source: clocks[one.source].utc(PRINTED, one.lines) for one in logs if clocks[one.source].has_ages}
    return history._replace(
        begins=begins,
        ends=ends,
        unanchored=unanchored,
        rows=rows,
        listed=listed,
        zoneless=frozenset(source for source, clock in clocks.items() if clock.is_unsure),
    )


def joined_history(
    events: Sequence[Event],
    wide: AbstractSet[str],
    coverage: Sequence[Coverage],
    versions: Sequence[SeenVersion],
) -> History:
    """Return the history of events with time and node, in order of time; `wide` are kinds about a node."""
    identities = Identities(events)
    by_subject = divide(events, identities, wide)
    volumes = [events for (kind, _), events in by_subject.items() if kind is SubjectKind.VOLUME]
    disagree = disagreements(volumes, events)
    clock_skews = _add_handovers(volumes)
    begins, ends = _span_of(events)
    return History(
        events=tuple(events),
        timelines=LogTimelines(of_logs(by_subject), identities),
        coverage=tuple(coverage),
        versions=tuple(versions),
        begins=begins,
        ends=ends,
        skews=clock_skews,
        disagreements=disagree,
    )


def _events(
    logs: Sequence[LogEvents], clocks: Mapping[str, SourceClock], kinds: AbstractSet[str] | None
) -> Iterator[Event]:
    for log in logs:
        clock, by = clocks[log.source], log.attribution
        for raw_event in log.raw_events if kinds is None else filter_events(log.raw_events, kinds):
            yield _event(raw_event, log, by, clock)


def _span_of(events: Sequence[Event]) -> tuple[int, int]:
    return min((event.time for event in events), default=0), max((event.ends for event in events), default=0)


def _reach(logs: Sequence[LogEvents], clocks: Mapping[str, SourceClock]) -> tuple[int, int]:
    """Return when the first event of all logs began and the last ended, including filtered ones."""
    spans = [clocks[log.source].span(log.raw_events) for log in logs if log.raw_events]
    return min((begins for begins, _ in spans), default=0), max((ends for _, ends in spans), default=0)


def _event(raw_event: RawEvent, log: LogEvents, by: Attribution, clock: SourceClock) -> Event:
    stamp, match, line, text_at, process, more = raw_event
    time, (refs, attrs) = clock.utc(stamp, line), match.meaning
    component, origin = _component_of(raw_event, log, by), Origin(log.source, line)
    kind, node = match.entry.kind, process.node
    if more is None:
        return Event(time, kind, component, refs, attrs, origin, node, log.texts, time, 1, text_at)
    return Event(
        time, kind, component, refs, attrs, origin, node, log.texts, clock.utc(more[1], line), more[0], text_at
    )


def _component_of(raw_event: RawEvent, log: LogEvents, by: Attribution) -> str:
    """Return the component of an event; of a crash the crashed program. In a process of several, the file decides."""
    _, match, _, text_at, process, _ = raw_event
    entry = match.entry
    known = entry.component or match.attr("program")
    caller = file_of(log.texts[text_at]) if not known and process.ident in COMBINED else ""
    return by.author_of_words(known, process.ident, caller, is_call=entry.is_call)


def _add_handovers(volumes: Sequence[list[Event]]) -> tuple[Skew, ...]:
    """Add the hand-overs to each volume's events; return the clock skews of the nodes."""
    moved = [events for events in volumes if len({event.node for event in events if event.node}) > 1]
    found = tuple(skews(volumes)) if moved else ()
    clocks = {skew.node: skew for skew in found}
    for events in moved:
        events.extend(list(handovers(events, clocks)))
        events.sort(key=event_order)
    return found


def _parts_by_component(
    logs: Sequence[LogEvents], clocks: Mapping[str, SourceClock], events: list[Event]
) -> dict[tuple[str, str], list[SourceCoverage]]:
    """Return by component and node the coverage of each source, from its first to its last line."""
    nodes = {event.origin.source: event.node for event in events if not event.is_from_controller}
    by_component: dict[tuple[str, str], list[SourceCoverage]] = defaultdict(list)
    for log in logs:
        clock, by = clocks[log.source], log.attribution
        parts: dict[tuple[str, str], SourceCoverage] = {}
        illegible = tuple(_illegible(log, clock))
        is_controller = not _serves(log, NODE_CALLS) and _serves(log, CONTROLLER_CALLS)
        for first, last in _edges_by_process(log):
            process = first.process
            component = _component_of(first, log, by)
            if component == DRIVER and (is_controller or first.match.entry.component == CONTROLLER):
                component = CONTROLLER
            key = (component, "" if component in CONTROLLERS else process.node or nodes.get(log.source, ""))
            if key not in parts:
                parts[key] = SourceCoverage(*_span(log, clock), gaps=illegible)
            times = sorted((clock.utc(first.stamp, first.line), clock.utc(last.stamp, last.line)))
            is_row = _is_row(first, log.texts) and _is_row(last, log.texts)
            parts[key].add(times[0], times[1], 0 if is_row else _verbosity(first), process.pid)
            parts[key].is_events &= is_row
        for key, part in parts.items():
            by_component[key].append(part)
    return by_component


def _is_row(raw_event: RawEvent, texts: Sequence[bytes]) -> bool:
    """Return whether it is a row of kubectl events, and not a log line."""
    body = read_body(peel(texts[raw_event.text_at]).body)
    return body is not None and body.format in ROWS


def _illegible(log: LogEvents, clock: SourceClock) -> Iterator[Gap]:
    """Yield gaps for the damaged lines: between the events around them."""
    if not log.damaged or not log.raw_events:
        return
    begins, ends = _span(log, clock)
    for first, last in log.damaged:
        before = bisect_left(log.raw_events, first, key=lambda raw_event: raw_event.line)
        after = bisect_right(log.raw_events, last, key=lambda raw_event: raw_event.line)
        near = [event.ends for event in log.raw_events[max(0, before - 1) : before]]
        times = [clock.utc(stamp, first) for stamp in near] or [begins]
        times += [clock.utc(event.stamp, last) for event in log.raw_events[after : after + 1]] or [ends]
        lines = f"line {first} is" if first == last else f"lines {first} to {last} are partly"
        yield Gap(min(times), max(times) + 1, f"{log.source}: {lines} unreadable,")


def _serves(log: LogEvents, calls: str | tuple[str, ...]) -> bool:
    """Return whether a driver's log contains such calls."""
    return any(s.match.entry.is_call and s.match.entry.kind.startswith(calls) for s in log.raw_events)


def _edges_by_process(log: LogEvents) -> Iterator[list[RawEvent]]:
    """Yield the first and last raw event of each kind and process."""
    groups: dict[tuple[int, Process], list[RawEvent]] = {}
    for raw_event in log.raw_events:
        key = (id(raw_event[1].entry), raw_event[4])
        group = groups.get(key)
        if group is None:
            groups[key] = [raw_event, raw_event]
        else:
            group[1] = raw_event
    yield from groups.values()


def _verbosity(raw_event: RawEvent) -> int:
    """Return the -v that a line proves: the dumped flag, or the minimum of its wording."""
    if raw_event.match.entry.kind != "kubelet.flag":
        return raw_event.match.entry.min_verbosity
    value = raw_event.match.attrs.get("verbosity", "")
    return int(value) if value.isdecimal() and len(value) < 3 else 0


def _span(log: LogEvents, clock: SourceClock) -> tuple[int, int]:
    stamps = [log.raw_events[0].stamp, log.raw_events[-1].stamp]
    first = log.first if log.first is not None else stamps[0]
    last = log.last if log.last is not None else stamps[1]
    begins, ends = clock.utc(first, 0), clock.utc(last, log.lines)
    return min(begins, ends), max(begins, ends)


def _started(events: Iterable[Event]) -> dict[tuple[str, str], list[tuple[int, int]]]:
    """Return by component and node the starts that it logged, each with the time of its last line before."""
    activity: dict[tuple[str, str], list[int]] = defaultdict(list)
    started: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        times = activity[event.component, event.node]
        if event.kind in STARTS:
            before = next((time for time in reversed(times) if time < event.time - STARTING), None)
            if before is not None:
                started[event.component, event.node].append((before, event.time))
            times.clear()
        times.append(event.ends)
    return started


def _suppressed(events: Iterable[Event]) -> Iterator[tuple[str, int, str]]:
    for event in events:
        if event.kind == "journal.suppressed":
            yield event.node, event.time, f"journald suppressed {event.attrs.get('count', 'some')} lines"
