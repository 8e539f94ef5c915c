"""One clock for all sources: the year and zone klog does not write, and offsets between components.

    I0715 03:49:34.052729       1 server.go:101] GRPC call: …           a container, usually on UTC
    time="2024-07-15T11:49:34.060000000+08:00" level=info msg="…"        the host, on its own zone

The user's options (`--year`, `--tz`) come first. Then the evidence of all logs is combined (see `year_evidence`), and
then ids that exist on one node only, such as sandboxes: if two of its logs have them a whole zone offset apart, their
zones differ by it. The report describes what was inferred.
"""

from __future__ import annotations

import calendar
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from kvdiag.base.clock import (
    DAY,
    FRAME_BEGINS,
    FRAME_ENDS,
    LEAP_DAY,
    MINUTE,
    PRINTED,
    SECOND,
    YearRollovers,
    from_datetime,
    in_year,
    is_age,
    is_line_order,
    is_since_boot,
    is_unanchored,
    is_yearless,
    parse_duration,
    year_rollovers,
    years_at,
)
from kvdiag.events.raw_events import RawEvent
from kvdiag.history.correlate.year_evidence import (
    WEAK,
    Year,
    as_zone,
    dated_span,
    host_of,
    is_host_log,
    last_yearless,
    naive_utc,
    retry_moment,
    stated_year,
    stated_zone,
    utc_offset,
    year_beside,
    year_of_file,
)
from kvdiag.history.ingest.log_events import SHARED, LogEvents
from kvdiag.model.report import Scale, Undated

NEAR = 2 * MINUTE  # maximum difference of two sources for the same id
NEAR_ONE = 10 * SECOND  # the same, if they share only one id
MOST_HOLDERS = 100  # sources that are compared for one id: a bundle may have 100,000 logs

Spans: TypeAlias = Sequence[tuple[int, int]]  # first and last moment of each log whose year is known


_ON_SCALE: Mapping[Scale, Callable[[int], bool]] = {
    Scale.AGE: is_age,
    Scale.UPTIME: is_since_boot,
    Scale.LINE: is_line_order,
}


class Anchor(NamedTuple):
    """The offset in microseconds of one kind of unanchored stamps, and how it is known.

    `is_dated` if it is from a line of the source, and not from the date of the file.
    """

    scale: Scale
    offset: int
    how: str
    is_dated: bool


class SourceClock(NamedTuple):
    """Converts the stamps of one source to UTC: years by line, a zone east of UTC in microseconds, and anchors."""

    year: int | None = None
    zone: int = 0
    turns: YearRollovers = ()
    year_how: str = ""
    zone_how: str = ""
    anchors: tuple[Anchor, ...] = ()

    def utc(self, stamp: int, line: int) -> int:
        """Return a stamp of the source's `line` as microseconds since 1970."""
        if not FRAME_BEGINS <= stamp < FRAME_ENDS:
            return next((stamp + one.offset for one in self.anchors if _ON_SCALE[one.scale](stamp)), stamp)
        year = self.year or datetime.now(UTC).year
        return in_year(stamp, year + (years_at(self.turns, line, stamp) if self.turns else 0)) - self.zone

    def span(self, raw_events: Sequence[RawEvent]) -> tuple[int, int]:
        """Return when the first of these events began and the last ended, in UTC; there is at least one."""
        if self.turns or self.anchors:
            times = [self.utc(stamp, line) for stamp, _, line, *_ in raw_events]
            times += [self.utc(more[1], line) for _, _, line, _, _, more in raw_events if more]
            return min(times), max(times)
        stamps = [raw_event[0] for raw_event in raw_events]
        stamps += [raw_event[5][1] for raw_event in raw_events if raw_event[5]]
        dated = [stamp for stamp in stamps if not FRAME_BEGINS <= stamp < FRAME_ENDS]
        yearless = [stamp for stamp in stamps if FRAME_BEGINS <= stamp < FRAME_ENDS] if len(dated) < len(stamps) else []
        # The order of the stamps with a year, and of those without, is that of time.
        times = [self.utc(stamp, 0) for frame in (dated, yearless) if frame for stamp in (min(frame), max(frame))]
        return min(times), max(times)

    @property
    def is_unanchored(self) -> bool:
        """Return whether no line of the source has a date."""
        return bool(self.anchors) and not any(one.is_dated for one in self.anchors)

    @property
    def has_ages(self) -> bool:
        """Return whether the source has ages."""
        return any(one.scale is Scale.AGE for one in self.anchors)

    @property
    def has_ages_beside_dates(self) -> bool:
        """Return whether the source has ages beside lines with dates."""
        return self.has_ages and not self.is_unanchored

    def undated(self, raw_events: Iterable[RawEvent]) -> Undated | None:
        """Return how the source counts time if lines have no date."""
        scales = [Undated(one.scale, one.offset) for one in self.anchors]
        others = next((one for one in scales if one.scale is not Scale.AGE), None) if self.is_unanchored else None
        if not self.has_ages:
            return others
        aged = next(one._replace(zero=one.zero + PRINTED) for one in scales if one.scale is Scale.AGE)
        if others is None and self.is_unanchored:
            return aged
        if others and others.scale is Scale.LINE:
            others = others._replace(zero=aged.zero)  # as printed with the rows
        return aged._replace(lines=frozenset(one.line for one in raw_events if is_age(one.stamp)), others=others)

    @property
    def is_unsure(self) -> bool:
        """Return whether the zone is only assumed."""
        return self.zone_how == "assumed"

    @property
    def description(self) -> str:
        """Return a description of what was inferred; empty if nothing was."""
        parts = []
        if self.year is not None:
            parts.append(f"year {self.year} {self.year_how}")
        if self.zone_how:
            parts.append(f"zone {_format_zone(self.zone)} {self.zone_how}")
        parts += [one.how for one in self.anchors]
        return "; ".join(parts)


def set_clocks(
    logs: Sequence[LogEvents], *, year: int | None = None, zone: int | None = None
) -> Mapping[str, SourceClock]:
    """Return a clock for each source by its name; `year` and `zone` are the user's options (`--year`, `--tz`)."""
    turns = {t.source: tuple(year_rollovers(_stamps(t))) if t.yearless else () for t in logs}
    years = _years(logs, turns, year)
    zones = _zones(logs, zone)
    clocks = {}
    for t in logs:
        if t.yearless:
            found_zone, zone_how = zones.get(t.source, (0, "assumed"))
            first = _with_leap_day(years[t.source], t, turns[t.source])
            clocks[t.source] = SourceClock(first.year, found_zone, turns[t.source], first.how, zone_how)
        else:
            clocks[t.source] = SourceClock()
    newest: dict[str, int] = {}
    for t in logs:
        if t.last is not None and not is_unanchored(t.last):
            end = clocks[t.source].utc(t.last, t.lines)
            for folder in ("", _folder(t)):
                newest[folder] = max(end, newest.get(folder, end))
    for t in logs:
        clocks[t.source] = _anchored(t, clocks[t.source], newest.get(_folder(t), newest.get("")))
    return _aligned(logs, clocks)


def _folder(log: LogEvents) -> str:
    """Return the folder of a log; the logs in it were collected together."""
    return f"{(log.input or log.source).rpartition('/')[0]}/"


def _years(logs: Sequence[LogEvents], turns: Mapping[str, YearRollovers], given_year: int | None) -> Mapping[str, Year]:
    """Return the year of the first line of each year-less log: as given, else by the strongest evidence of all logs."""
    yearless = [t for t in logs if t.yearless]
    if given_year is not None:
        return {t.source: Year(given_year, "as given", 0) for t in yearless}
    evidence = {t.source: stated for t in yearless if (stated := stated_year(t, turns[t.source]))}
    spans = [span for t in logs if (span := dated_span(t))]
    days = [(day, day) for t in logs for day in t.mentioned_days]
    found: dict[str, Year] = {}
    for t in sorted((t for t in yearless if t.source in evidence), key=lambda t: evidence[t.source].strength):
        found[t.source] = _by_evidence(t, evidence[t.source], turns[t.source], spans)
        spans.append(_span(t, found[t.source].year, turns[t.source]))
    for t in yearless:
        if t.source not in found:
            found[t.source] = _by_others(t, turns[t.source], spans, days)
    return found


def _by_evidence(log: LogEvents, evidence: Year, turns: YearRollovers, spans: Spans) -> Year:
    """Return the year by a log's own evidence, unless it is weak and other logs of that time have better evidence."""
    beside = year_beside(last_yearless(log), spans) if evidence.strength >= WEAK else None
    if beside is None or beside - _passed(turns) == evidence.year:
        return evidence
    return Year(beside - _passed(turns), "from the other logs", evidence.strength)


def _by_others(log: LogEvents, turns: YearRollovers, spans: Spans, days: Spans) -> Year:
    """Return the year by logs with known dates, else by the `days` in any log, else by the date of the file."""
    last = last_yearless(log)
    beside = year_beside(last, spans)
    if beside is None and (named := year_beside(last, days)) is not None:
        return Year(named - _passed(turns), "from a date in the logs", WEAK)
    if beside is None and log.modified is None:
        beside = year_beside(last, spans, at_any_distance=True)
    if beside is not None:
        return Year(beside - _passed(turns), "from the other logs", WEAK)
    year, how = year_of_file(log, last)
    return Year(year - _passed(turns), how, WEAK)


def _span(log: LogEvents, year: int, turns: YearRollovers) -> tuple[int, int]:
    """Return begin and end of a log with a known year, as if its zone were UTC."""
    last = in_year(last_yearless(log), year + _passed(turns))
    first = log.first
    begins = in_year(first, year) if first is not None and is_yearless(first) else last
    return min(begins, last), max(begins, last)


def _passed(turns: YearRollovers) -> int:
    return turns[-1].years if turns else 0


def _with_leap_day(first: Year, log: LogEvents, turns: YearRollovers) -> Year:
    """Return the year, moved back to a leap year if the log contains 29 February."""
    turn = _has_leap_day(log, turns)
    return first if turn is None else first._replace(year=_leap(first.year, turn))


def _zones(logs: Sequence[LogEvents], given_zone: int | None) -> Mapping[str, tuple[int, str]]:
    """Return the zone of each year-less log, if known: as given, by its own evidence, or that of its host."""
    yearless = [t for t in logs if t.yearless]
    if given_zone is not None:
        return {t.source: (given_zone, "as given") for t in yearless}
    stated_zones = {t.source: stated for t in logs if (stated := stated_zone(t))}
    of_host: dict[str, dict[int, str]] = defaultdict(dict)
    for t in logs:
        if t.source in stated_zones and is_host_log(t):
            of_host[host_of(t)].setdefault(stated_zones[t.source][0], t.source)
    hosts = {host_of(t) for t in logs if is_host_log(t)}
    found = dict(stated_zones)
    for t in yearless:
        zones = of_host.get(host_of(t)) or (of_host.get("") if len(hosts) <= 1 else None)
        if t.source not in stated_zones and is_host_log(t) and zones and len(zones) == 1:
            zone, source = next(iter(zones.items()))
            found[t.source] = (zone, f"as in {source}, same host")
    return found


def _anchored(log: LogEvents, clock: SourceClock, newest: int | None) -> SourceClock:
    """Return the clock with anchors for unanchored stamps; `newest` is the end of the logs in the same folder."""
    if min((stamp for _, stamp in _stamps(log) if stamp is not None), default=FRAME_ENDS) > PRINTED:
        return clock
    stamps = [(line, stamp) for line, stamp in _stamps(log) if stamp is not None]
    if not any(is_unanchored(stamp) for _, stamp in stamps):
        return clock
    dated = [clock.utc(stamp, line) for line, stamp in stamps if not is_unanchored(stamp)]
    return clock._replace(anchors=tuple(_anchors([stamp for _, stamp in stamps], dated, log, newest)))


def _anchors(stamps: Sequence[int], dated: Sequence[int], log: LogEvents, newest: int | None) -> Iterator[Anchor]:
    """Yield an anchor for each kind of stamps; `stamps` are all of the source in order of lines, `dated` in UTC."""
    moment, whose = _collected(log, newest)
    last, last_how = (max(dated), "the last dated line") if dated else (moment, whose)
    first, first_how = (dated[0], "the first dated line") if dated else (moment, whose)
    if uptimes := [stamp for stamp in stamps if is_since_boot(stamp)]:
        yield Anchor(Scale.UPTIME, last - max(uptimes), f"uptimes, the last one set to {last_how}", bool(dated))
    if any(map(is_age, stamps)):
        yield Anchor(Scale.AGE, last - PRINTED, f"ages, counted back from {last_how}", bool(dated))
    retry = next(_retries(log), None)
    if retry is not None:
        line, stamp, tried = retry
        yield Anchor(
            Scale.LINE,
            tried - stamp,
            f"lines without a time, set to the one in line {line}",
            is_dated=True,
        )
    elif places := [stamp for stamp in stamps if is_line_order(stamp)]:
        yield Anchor(Scale.LINE, first - max(places), f"lines without a time, set to {first_how}", bool(dated))


def _collected(log: LogEvents, newest: int | None) -> tuple[int, str]:
    """Return when a log was collected, and how that is known: by other logs if they end long before the file's date."""
    modified = log.modified
    moment = from_datetime(datetime.fromtimestamp(modified, UTC) if modified is not None else datetime.now(UTC))
    if newest is not None and newest < moment - DAY:
        return newest, "the last line of the other logs"
    return moment, "the file's date" if modified is not None else "now"


def _stamps(log: LogEvents) -> Iterator[tuple[int, int | None]]:
    """Yield (line, stamp) of all events, and of the first and last line with a time, which may be in another year."""
    yield 0, log.first
    yield from ((raw_event.line, raw_event.stamp) for raw_event in log.raw_events)
    yield log.lines, log.last


def _retries(log: LogEvents) -> Iterator[tuple[int, int, int]]:
    """Yield (line, stamp, UTC) of lines without a time that contain the time of the next retry and the backoff."""
    for raw_event in log.raw_events:
        attrs = raw_event.match.attrs
        found = retry_moment(attrs) if is_line_order(raw_event.stamp) else None
        if found:
            waits = min(parse_duration(attrs.get("backoff", "")) or 0, DAY)  # kubelet waits 2m2s at most
            yield raw_event.line, raw_event.stamp, naive_utc(found) - utc_offset(found) - waits


def _has_leap_day(log: LogEvents, turns: YearRollovers) -> int | None:
    """Return how many years after its first line the log contains 29 February; None if it does not."""
    for raw_event in log.raw_events:
        if LEAP_DAY <= raw_event[0] < LEAP_DAY + DAY:
            return years_at(turns, raw_event.line)
    return None


def _leap(first_year: int, turn: int) -> int:
    year = first_year
    while not calendar.isleap(year + turn):
        year -= 1
    return year


def _aligned(logs: Sequence[LogEvents], clocks: Mapping[str, SourceClock]) -> Mapping[str, SourceClock]:
    """Return the clocks; assumed zones are corrected by ids that are shared with a source of known zone."""
    aligned = dict(clocks)
    if len(logs) < 2 or not any(clock.is_unsure for clock in clocks.values()):
        return aligned
    order = sorted(logs, key=lambda t: (clocks[t.source].is_unsure, not t.component.startswith("csi")))
    seen = {t.source: _first_seen(t, clocks[t.source]) for t in logs}
    holders: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, log in enumerate(order):
        ids = seen[log.source]
        surer = sorted({other for ref in ids for other in holders[ref]}) if clocks[log.source].is_unsure else ()
        for ref in ids:
            if len(holders[ref]) < MOST_HOLDERS:
                holders[ref].append(number)
        for other in (order[n] for n in surer):
            offset = _offset(seen[log.source], seen[other.source])
            if offset:
                clock = aligned[log.source]
                how = f"from ids shared with {other.source}, {_format_zone(offset)} apart"
                aligned[log.source] = clock._replace(zone=clock.zone + offset, zone_how=how)
                seen[log.source] = {ref: t - offset for ref, t in seen[log.source].items()}
                break
    return aligned


def _first_seen(log: LogEvents, clock: SourceClock) -> dict[tuple[str, str], int]:
    seen: dict[tuple[str, str], int] = {}
    for raw_event in log.raw_events:
        for ref in raw_event.match.refs:
            if ref.kind in SHARED and ref not in seen:
                seen[ref] = clock.utc(raw_event.stamp, raw_event.line)
    return seen


def _offset(mine: Mapping[tuple[str, str], int], theirs: Mapping[tuple[str, str], int]) -> int:
    """Return the zone offset by which `mine` is ahead, if the shared ids agree about it; else 0."""
    ahead = [mine[ref] - theirs[ref] for ref in mine.keys() & theirs.keys()]
    if not ahead:
        return 0
    offset = as_zone(sorted(ahead)[len(ahead) // 2])
    if offset is None:
        return 0
    near = NEAR if len(ahead) > 1 else NEAR_ONE
    agree = sum(abs(a - offset) <= near for a in ahead)
    return offset if agree >= max(1, 0.8 * len(ahead)) else 0


def _format_zone(zone: int) -> str:
    sign = "-" if zone < 0 else "+"
    hours, minutes = divmod(abs(zone) // MINUTE, 60)
    return f"{sign}{hours:02}:{minutes:02}"
