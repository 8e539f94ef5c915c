"""When a fault began, how long it lasted, and where it stands, in words.

A log without dates has ages, uptimes or no times at all. They are printed as what they are: the date that was assumed
to put them in order with other logs is no fact of the fault.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from kvdiag.base.clock import DAY, SECOND, format_clock, format_duration, to_datetime
from kvdiag.model.record import Origin
from kvdiag.model.report import Finding, Reading, Scale, Undated
from kvdiag.model.values import State
from kvdiag.report.incidents import Incident, merged_finding

UndatedLogs: TypeAlias = Mapping[str, Undated]  # by the name of the log
NONE_UNDATED: UndatedLogs = MappingProxyType({})

_BEFORE = "before the rows were printed"
_SCALES = {Scale.AGE: "ages", Scale.UPTIME: "uptimes"}
_WITHOUT_TIME = {Scale.LINE, Scale.MIXED}
_MIXED = Undated(Scale.MIXED, 0)


def undated_logs(readings: Sequence[Reading]) -> UndatedLogs:
    """Return how the logs with lines without dates count their time."""
    return {reading.source: reading.undated for reading in readings if reading.undated is not None}


def undated_incident(incident: Incident, logs: UndatedLogs) -> Undated | None:
    """Return how the lines of an incident count time; None if its first line has a date."""
    undated = _undated_in_all(incident, logs)
    events = [one.event for finding in incident for one in finding.evidence]
    if undated == _MIXED and events and undated_at(min(events, key=lambda event: event.time).origin, logs) is None:
        return None
    return undated


def _undated_in_all(incident: Incident, logs: UndatedLogs) -> Undated | None:
    shown = {one.event.origin for finding in incident for one in finding.evidence}
    return undated_in(shown, (source for finding in incident for source in finding.sources), logs)


def undated_at(origin: Origin, logs: UndatedLogs) -> Undated | None:
    """Return how a line counts time; None if it has a date, or lines of its log have."""
    found = logs.get(origin.source)
    if found is None or found.lines is None:
        return found
    return found._replace(lines=None, others=None) if origin.line in found.lines else found.others


def undated_in(shown: Collection[Origin], sources: Iterable[str], logs: UndatedLogs) -> Undated | None:
    """Return how the `shown` lines, and the logs without any of them, count time; None if they have dates.

    Lines without a time that were printed with rows of ages do not change how these count.
    """
    others = {*sources} - {origin.source for origin in shown}
    found = {undated_at(origin, logs) for origin in (*shown, *(Origin(source, 0) for source in others))}
    found -= {one for one in found if one and one.scale is Scale.LINE and one._replace(scale=Scale.AGE) in found}
    if len(found) > 1:
        return _MIXED
    return found.pop() if found else None


def span_sentence(incident: Incident, logs: UndatedLogs = NONE_UNDATED) -> str:
    """Return the state at the end of the logs, the start, the count and the duration of a fault as a sentence."""
    finding = merged_finding(incident)
    undated = _undated_in_all(incident, logs)
    begins, lasted = moment_text(finding.begins, undated_incident(incident, logs)), finding.ends - finding.begins
    took = f" in {format_duration(lasted)}" if lasted >= SECOND and undated != _MIXED else ""
    state = _state(finding, undated)
    if not begins:
        times = f"{finding.count} times" if finding.count > 1 else "Once"
        return f"{state} {times}{'; no common time' if undated == _MIXED else ''}.".lstrip()
    if finding.count < 2 and finding.healed is None and finding.deleted is None:
        once = f"Once, {begins}." if not took else f"Began {begins}, seen for {format_duration(lasted)}."
        return f"{once} {state}".rstrip()
    if finding.count < 2:
        return f"{state} Began {begins}."
    if undated is not None and undated.scale is Scale.AGE and took and finding.healed is None is finding.deleted:
        first, last = (format_duration(abs(stamp - undated.zero)) for stamp in (finding.begins, finding.ends))
        return f"{finding.count} times, from {first} to {last} {_BEFORE}."
    return f"{state} Began {begins}: {finding.count} times{took}.".lstrip()


def _state(finding: Finding, undated: Undated | None) -> str:
    """Return a sentence on how the fault ended; empty if the logs do not show it."""
    if finding.healed is not None:
        at = _later_text(finding.healed, finding.begins, undated)
        return f"Over since {at}." if at else "Over at the end of the logs."
    if finding.deleted is not None:
        at = _later_text(finding.deleted, finding.begins, undated)
        return f"Not recovered: the pod was removed{' ' if at else ''}{'at ' if undated is None else ''}{at}."
    if finding.state is not State.ONGOING:
        return ""
    if finding.count > 1:
        return "Still failing at the end of the logs."
    return "The logs end soon after." if undated is None else ""


def moment_text(stamp: int, undated: Undated | None = None) -> str:
    """Return a time as `2026-11-20 20:39:21 UTC`, `3m before the rows were printed`, `2h after boot`; or nothing."""
    if undated is None:
        return f"{format_time(stamp)} UTC"
    if undated.scale in _WITHOUT_TIME:
        return ""
    took = format_duration(abs(stamp - undated.zero))
    return f"{took} {_BEFORE}" if undated.scale is Scale.AGE else f"{took} after boot"


def clock_text(stamp: int, undated: Undated | None = None) -> str:
    """Return the time beside a line: `20:39:21.779`, `age 3m`, `uptime 2h5m`, or nothing if the line has none."""
    return format_clock(stamp) if undated is None else scale_text(stamp, undated)


def scale_text(stamp: int, undated: Undated) -> str:
    """Return `age 3m`, `uptime 2h5m`, or nothing."""
    if undated.scale in _WITHOUT_TIME:
        return ""
    return f"{undated.scale} {format_duration(abs(stamp - undated.zero))}"


def read_span(readings: Sequence[Reading]) -> str:
    """Return the time from the first to the last line of the logs with dates; without any, what they have instead."""
    dated = [reading for reading in readings if reading.is_dated]
    begins = [reading.begins for reading in dated if reading.begins is not None]
    ends = [reading.ends for reading in dated if reading.ends is not None]
    if begins and ends:
        return format_span(min(begins), max(ends))
    undated = [one.undated for one in readings if one.undated is not None]
    scales = dict.fromkeys(scale for one in undated for scale in (one.scale, one.others and one.others.scale))
    names = " and ".join(_SCALES[scale] for scale in scales if scale in _SCALES)
    return f"{names}, no dates" if names else ""


def short_span(begins: int | None, ends: int | None, undated: Undated | None = None) -> str:
    """Return the time span in the shortest clear form: the date only if the span crosses midnight."""
    if begins is None or ends is None or (undated is not None and undated.scale in _WITHOUT_TIME):
        return ""
    if undated is not None:
        first_text, last_text = clock_text(begins, undated), clock_text(ends, undated)
        return first_text if first_text == last_text else f"{first_text}–{last_text.partition(' ')[2]}"
    first, last = to_datetime(begins), to_datetime(ends)
    if ends - begins >= DAY or first.date() != last.date():
        return f"{first:%m-%d %H:%M}–{last:%m-%d %H:%M}"
    if f"{first:%H:%M}" == f"{last:%H:%M}":
        return f"{first:%H:%M:%S}" if f"{first:%S}" == f"{last:%S}" else f"{first:%H:%M:%S}–{last:%S}"
    return f"{first:%H:%M}–{last:%H:%M}"


def _later_text(stamp: int, begins: int, undated: Undated | None) -> str:
    """Return a time without its date if that is the date of `begins`."""
    if undated is not None:
        return moment_text(stamp, undated)
    day, time = format_time(stamp).split(" ")
    return time if format_time(begins).startswith(day) else f"{day} {time}"


def format_time(stamp: int) -> str:
    """Return a time as `2026-11-20 20:39:21`."""
    return to_datetime(stamp).strftime("%Y-%m-%d %H:%M:%S")


def format_span(begins: int, ends: int) -> str:
    """Return a time span; the date is printed once if both times share it."""
    first, last = format_time(begins), format_time(ends)
    return f"{first} to {last.partition(' ')[2] if first[:10] == last[:10] else last} UTC"
