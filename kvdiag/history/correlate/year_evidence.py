"""Evidence in logs for the year and the zone that klog and syslog do not write, the strongest first.

    -- Logs begin at Fri 2022-03-04 06:20:01 UTC, end at … --          the journal's own header: from when until when
    Mar 04 12:00:00 host containerd[811]: time="2022-03-04T06:30:00.1Z" …        a dated line within: year and zone
    … No retries permitted until 2024-07-15 03:51:36.05 +0000 UTC m=+881         a time in a message: year and zone

A log without evidence has the year in which it is nearest to logs with evidence, since logs are collected together;
only if there are none, the date of its file is used. A zone is the host's: it applies to all programs of the host, and
not to containers.
"""

from __future__ import annotations

import calendar
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from kvdiag.base.clock import (
    DAY,
    HALF_YEAR,
    HOUR,
    MINUTE,
    SECOND,
    YearRollovers,
    from_datetime,
    in_year,
    is_unanchored,
    is_yearless,
    to_datetime,
    years_at,
)
from kvdiag.base.regex import lazy_regex
from kvdiag.history.ingest.log_events import LogEvents

QUARTER = 15 * MINUTE
NEAR_LOGS = 30 * DAY  # between two logs, of which one gets the other's year without doubt
WEAK = 5  # from this strength on, stronger evidence of other logs is used instead
_HALVES = ("-09:30", "-03:30", "+03:30", "+04:30", "+05:30", "+05:45", "+06:30", "+08:45", "+09:30", "+10:30", "+12:45")
_MOMENT = lazy_regex(
    r"((?:19|20|21)\d\d)-(0[1-9]|1[0-2])-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))? ([+-])(\d\d)(\d\d)"
)
HOSTS = frozenset({"kubelet", "containerd", "crio", "kernel"})  # programs that run on the host, in its zone


class Year(NamedTuple):
    """The year of a log's first line, its evidence, and the strength: a lower number is better."""

    year: int
    how: str
    strength: int


def _offset(text: str) -> int:
    sign = -1 if text[0] == "-" else 1
    return sign * (int(text[1:3]) * HOUR + int(text[4:6]) * MINUTE)


ZONES = frozenset([*(hour * HOUR for hour in range(-12, 15)), *map(_offset, _HALVES), _offset("+13:45")])
"""Every offset from UTC of any country, in microseconds."""


def as_zone(offset: int) -> int | None:
    """Return the zone within two minutes of an offset; None if there is none."""
    zone = round(offset / QUARTER) * QUARTER
    return zone if zone in ZONES and abs(zone - offset) <= 2 * MINUTE else None


def stated_year(log: LogEvents, turns: YearRollovers) -> Year | None:
    """Return the strongest evidence in a log for the year of its first line."""
    return min(_stated_years(log, turns), key=lambda candidate: candidate.strength, default=None)


def _stated_years(log: LogEvents, turns: YearRollovers) -> Iterator[Year]:
    for outer, inner in log.wrapped[:1]:
        yield Year(_nearest_year(outer, inner), "from the dated lines within it", 1)
    if log.preamble_year is not None:
        yield Year(log.preamble_year, "from the file's header", 2)
    for retry in _dated_retries(log):
        yield Year(retry.year - years_at(turns, retry.line), f"from a timestamp in the message of line {retry.line}", 3)
    if log.journal_span is not None and (year := _year_within(log, *log.journal_span)) is not None:
        yield Year(year, "from the journal's header", 4)
    span = dated_span(log)
    if span is not None and (year := year_beside(_first_yearless(log), [span])) is not None:
        yield Year(year, "from the log's dated lines", 4)
    if log.message_year is not None:
        yield Year(log.message_year, "from a timestamp in a message", WEAK)
    elif (year := year_beside(_first_yearless(log), ((day, day) for day in log.mentioned_days))) is not None:
        yield Year(year, "from a date in the log", WEAK + 1)


def _year_within(log: LogEvents, begins: int, ends: int) -> int | None:
    """Return the first year in which a log's first line is in the time range of its journal."""
    first = _first_yearless(log)
    years = range(to_datetime(begins).year, to_datetime(ends).year + 1)
    fitting = (year for year in years if begins - DAY <= in_year(first, year) <= ends + 2 * DAY)
    return next(fitting, years[0])


def _first_yearless(log: LogEvents) -> int:
    """Return the stamp of a log's first line without a year, or of its first line."""
    if log.first is not None and is_yearless(log.first):
        return log.first
    return next((one.stamp for one in log.raw_events if is_yearless(one.stamp)), last_yearless(log))


def stated_zone(log: LogEvents) -> tuple[int, str] | None:
    """Return a log's zone by its own evidence, in microseconds east of UTC, and the evidence."""
    ahead = Counter(
        zone
        for outer, inner in log.wrapped
        if (zone := as_zone(in_year(outer, _nearest_year(outer, inner)) - inner)) is not None
    )
    if ahead:
        return ahead.most_common(1)[0][0], "from the dated lines within it"
    return next(((retry.zone, "from a timestamp in a message") for retry in _dated_retries(log)), None)


def is_host_log(log: LogEvents) -> bool:
    """Return whether a log was written in the zone of its host: by a program of the host, or through its journal."""
    return log.process.carrier.startswith(("journal", "syslog")) or log.component in HOSTS


def host_of(log: LogEvents) -> str:
    """Return the host of a log: the group in which it was collected, or the name in its lines."""
    return log.place.group or log.process.node


def year_beside(last: int, spans: Iterable[tuple[int, int]], *, at_any_distance: bool = False) -> int | None:
    """Return the year in which a log's last line is nearest to logs with known dates; None if all are far.

    With `at_any_distance`, return the last year in which that line is not later than those logs.
    """
    known = list(spans)
    if not known or not is_yearless(last):
        return None
    begins, ends = min(begin for begin, _ in known), max(end for _, end in known)
    years = range(to_datetime(begins).year - 1, to_datetime(ends).year + 2)
    far = {
        year: min(max(begin - in_year(last, year), in_year(last, year) - end, 0) for begin, end in known)
        for year in years
    }
    best = min(far, key=lambda year: far[year])
    if far[best] < NEAR_LOGS:
        return best
    return max((y for y in years if in_year(last, y) <= ends + DAY), default=None) if at_any_distance else None


def year_of_file(log: LogEvents, last: int) -> tuple[int, str]:
    """Return the year of a log's last line by the date of its file: no line is newer."""
    modified = log.modified
    moment = datetime.fromtimestamp(modified, UTC) if modified is not None else datetime.now(UTC)
    year = moment.year
    if is_yearless(last) and in_year(last, year) > from_datetime(moment) + DAY:
        year -= 1
    return year, "from the file's date" if modified is not None else "assumed from today"


def last_yearless(log: LogEvents) -> int:
    """Return the stamp of a log's last line without a year, as far as it is known; or of its last event."""
    if log.last is not None and is_yearless(log.last):
        return log.last
    last = log.raw_events[-1].stamp if log.raw_events else 0
    return last if is_yearless(last) or log.first_yearless is None else log.first_yearless


def dated_span(log: LogEvents) -> tuple[int, int] | None:
    """Return begin and end of a log's lines with full dates."""
    stamps = [stamp for stamp in (log.first, log.last) if stamp is not None and _is_dated(stamp)]
    if len(stamps) < 2:
        stamps += [raw_event.stamp for raw_event in log.raw_events if _is_dated(raw_event.stamp)]
    return (min(stamps), max(stamps)) if stamps else None


def _is_dated(stamp: int) -> bool:
    return not is_yearless(stamp) and not is_unanchored(stamp)


def _nearest_year(outer: int, inner: int) -> int:
    """Return the year in which a year-less stamp is nearest to a dated one."""
    year = to_datetime(inner).year
    return min((year - 1, year, year + 1), key=lambda one: abs(in_year(outer, one) - inner))


class _DatedRetry(NamedTuple):
    """A year-less stamp whose line also contains a full time with its zone."""

    line: int
    year: int
    zone: int


def _dated_retries(log: LogEvents) -> Iterator[_DatedRetry]:
    """Yield the first line with `No retries permitted until 2024-07-15 03:51:36.05 +0000 UTC m=+881`.

    That time is shortly after the line's.
    """
    for raw_event in log.raw_events:
        text = raw_event[1].attr("retry_at")
        found = _MOMENT.match(text) if text and is_yearless(raw_event.stamp) else None
        if found:
            year = int(found[1])
            ahead = in_year(raw_event.stamp, year) - naive_utc(found)
            yield _DatedRetry(raw_event.line, year - 1 if ahead > HALF_YEAR else year, utc_offset(found))
            return


def retry_moment(attrs: Mapping[str, str]) -> re.Match[str] | None:
    """Match the time of the next retry, if a line contains it in full."""
    return _MOMENT.match(attrs.get("retry_at", ""))


def naive_utc(found: re.Match[str]) -> int:
    """Return a time as if it were UTC, without its fraction."""
    parts = [int(found[n]) for n in range(1, 7)]
    return calendar.timegm((*parts, 0, 0, 0)) * SECOND


def utc_offset(found: re.Match[str]) -> int:
    """Return the zone of a time in microseconds east of UTC."""
    return _offset(f"{found[8]}{found[9]}:{found[10]}")
