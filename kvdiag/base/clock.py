"""Time stamps without year or zone, time zones, and durations.

    I0919 11:11:20.322601  190330 kubelet.go:2130] "SyncLoop DELETE" …     no year, no zone

Hot code handles time as whole microseconds. A stamp that carries year and zone counts from 1970 in UTC. A stamp
without them is counted in the *year-less frame*: as if it were in the leap year 2000, in UTC. No real log is that
old, so the two never overlap, and a source's clock moves the second kind once the year and the zone are known.

Three kinds of stamps are unanchored until that clock finds a moment for them: the kernel's, which count from boot (less
than ten years); ages, as kubectl prints them, which count back from the moment of printing (the 1990s); and the line
numbers of lines without any time, a microsecond apart (the last day of 1989).
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple, TypeAlias, overload

from kvdiag.base.regex import lazy_regex

FRAME_YEAR = 2000
FRAME_BEGINS = calendar.timegm((FRAME_YEAR, 1, 1, 0, 0, 0)) * 1_000_000
FRAME_ENDS = calendar.timegm((FRAME_YEAR + 1, 1, 1, 0, 0, 0)) * 1_000_000
LEAP_DAY = calendar.timegm((FRAME_YEAR, 2, 29, 0, 0, 0)) * 1_000_000
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
HALF_YEAR = 180 * DAY  # a stamp without a year that is further from the one before is of another year
CLOCKS_DIFFER = 5 * SECOND  # between two machines; events of two machines that are closer have no proven order

# What the calendar holds: a year less than `datetime`, since zones and New Years are added.
CALENDAR_ENDS = calendar.timegm((9999, 1, 1, 0, 0, 0)) * 1_000_000
LAST_YEAR = 9998

BOOT_ENDS = 10 * 365 * DAY
PRINTED = FRAME_BEGINS - 1  # the stamp of age 0
AGES_BEGIN = FRAME_BEGINS - 10 * 365 * DAY
PLACES_BEGIN = AGES_BEGIN - DAY

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_STAMP = calendar.timegm((9999, 12, 31, 23, 59, 59)) * 1_000_000 + 999_999
_DURATION = lazy_regex(r"(\d{1,18}(?:\.\d{1,18})?)(ns|us|µs|ms|s|m|h|d)")
_UNITS = {"ns": 0.001, "us": 1, "µs": 1, "ms": 1_000, "s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY}


def calendar_stamp(stamp: int) -> int | None:
    """Return a time that a log line gives, in microseconds since 1970; None before 1970 and from year 9999 on."""
    return stamp if 0 <= stamp < CALENDAR_ENDS else None


def uptime_stamp(stamp: int) -> int | None:
    """Return a time since boot that a log line gives, in microseconds; None from ten years on."""
    return stamp if 0 <= stamp < BOOT_ENDS else None


def is_yearless(stamp: int) -> bool:
    """Return whether a stamp is counted in the year-less frame."""
    return FRAME_BEGINS <= stamp < FRAME_ENDS


def is_since_boot(stamp: int) -> bool:
    """Return whether a stamp counts from the boot of a node, whose time is not known yet."""
    return stamp < BOOT_ENDS


def is_age(stamp: int) -> bool:
    """Return whether a stamp counts back from the moment at which a table was printed."""
    return AGES_BEGIN <= stamp <= PRINTED


def is_line_order(stamp: int) -> bool:
    """Return whether a stamp is only a line number."""
    return PLACES_BEGIN <= stamp < AGES_BEGIN


def is_unanchored(stamp: int) -> bool:
    """Return whether the moment that a stamp counts from is not known yet."""
    return stamp < BOOT_ENDS or PLACES_BEGIN <= stamp <= PRINTED


def stamp_of_age(age: int) -> int:
    """Return the stamp of an event that was `age` microseconds old when it was printed; at most ten years."""
    return max(PRINTED - age, AGES_BEGIN)


def stamp_of_line(line: int) -> int:
    """Return the stamp of a line without a time, by its number from 1, in a log without times before it."""
    return min(PLACES_BEGIN + line, AGES_BEGIN - 1)


def in_year(stamp: int, year: int) -> int:
    """Return a year-less stamp as UTC in `year`, 1970 to 9998; 29 February becomes 1 March if the year has none."""
    day, rest = divmod(stamp, DAY)
    return _day_in_year(day, min(max(year, 1970), LAST_YEAR)) + rest


@lru_cache(4096)
def _day_in_year(day: int, year: int) -> int:
    date = (_EPOCH + timedelta(days=day)).date()
    leap_day = (date.month, date.day) == (2, 29) and not calendar.isleap(year)
    month, number = (3, 1) if leap_day else (date.month, date.day)
    return calendar.timegm((year, month, number, 0, 0, 0)) * SECOND


class YearRollover(NamedTuple):
    """A New Year in a log that writes no years: it passed after the line `after`, at `line` at the latest.

    `before` and `stamp` are the stamps of the two lines; from `line` on, it is `years` later than at the first line.
    """

    after: int
    before: int
    line: int
    stamp: int
    years: int


YearRollovers: TypeAlias = tuple[YearRollover, ...]


def year_rollovers(stamps: Iterable[tuple[int, int | None]]) -> Iterator[YearRollover]:
    """Yield each New Year between the (line, stamp) pairs of a log, in file order; backwards if it is in reverse."""
    after, before, years = 0, None, 0
    for line, stamp in stamps:
        if stamp is None or not is_yearless(stamp):
            continue
        if before is not None and abs(stamp - before) > HALF_YEAR:
            years += 1 if stamp < before else -1
            yield YearRollover(after, before, line, stamp, years)
        after, before = line, stamp


def years_at(rollovers: YearRollovers, line: int, stamp: int | None = None) -> int:
    """Return how many New Years a log passed before a line; between the two lines of a rollover, `stamp` decides."""
    for one in reversed(rollovers):
        if line >= one.line:
            return one.years
        if stamp is not None and line > one.after and abs(stamp - one.stamp) < abs(stamp - one.before):
            return one.years
    return 0


def to_datetime(stamp: int) -> datetime:
    """Return microseconds since 1970 as an aware UTC datetime; a value out of range becomes the nearest one."""
    return _EPOCH + timedelta(microseconds=min(max(stamp, 0), _LAST_STAMP))


@overload
def rfc3339(moment: int | datetime, timespec: str = ...) -> str: ...
@overload
def rfc3339(moment: None, timespec: str = ...) -> None: ...
def rfc3339(moment: int | datetime | None, timespec: str = "microseconds") -> str | None:
    """Return a time in UTC, which may be in microseconds, as `2026-11-20T20:39:21.779765Z`; None stays None."""
    when = to_datetime(moment) if isinstance(moment, int) else moment
    return None if when is None else when.isoformat(timespec=timespec).replace("+00:00", "Z")


def format_clock(stamp: int) -> str:
    """Return the time of day in UTC as `20:39:21.779`."""
    return to_datetime(stamp).strftime("%H:%M:%S.%f")[:-3]


def from_datetime(moment: datetime) -> int:
    """Return an aware datetime as microseconds since 1970."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


@lru_cache(1024)
def parse_duration(text: str) -> int | None:
    """Return a Go duration (`2m2s`, `500ms`, `1h0m0.5s`) in microseconds; None if the text is not one."""
    parts = _DURATION.findall(text)
    if not parts or "".join(n + u for n, u in parts) != text.strip():
        return None
    return round(sum(float(n) * _UNITS[u] for n, u in parts))


def format_duration(microseconds: int) -> str:
    """Return a duration with its two largest units: `1m29s`, `3h5m`, `250ms`."""
    if microseconds < SECOND:
        return f"{microseconds // 1000}ms"
    seconds = microseconds // SECOND
    days, seconds = divmod(seconds, 86400)
    hours, seconds = divmod(seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "m"), (seconds, "s")]
    shown = [f"{n}{u}" for n, u in parts if n]
    return "".join(shown[:2]) or "0s"


_AGO = lazy_regex(r"-?\s*(\d{1,9})\s*(s|sec|second|m|min|minute|h|hour|d|day|w|week)s?(?:\s+ago)?")
_TIME_OF_DAY = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")
_AGO_UNITS = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}


def moment(text: str, now: datetime, zone: int = 0) -> int:
    """Parse a time that a user wrote: RFC 3339, `2 hours ago`, `-3h`, `yesterday`, `Jul 15 03:49`.

    Return microseconds UTC. `zone` (microseconds east) applies if the text names none. Raises ValueError.
    """
    from dateutil import parser

    lowered = text.strip().lower()
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    named_times = {"now": now, "today": midnight, "yesterday": midnight - timedelta(days=1)}
    if lowered in named_times:
        return from_datetime(named_times[lowered])
    ago = _AGO.fullmatch(lowered)
    if ago and (lowered.startswith("-") or lowered.endswith("ago")):
        return from_datetime(now) - int(ago[1]) * _AGO_UNITS[ago[2][0]]
    default = midnight.replace(tzinfo=None)
    try:
        parsed = parser.parse(text, default=default)
    except (ValueError, ArithmeticError) as error:
        raise ValueError(
            f"{text[:80]!r} is not a time; write 2026-11-20T20:39:21Z, '2 hours ago', -3h or today"
        ) from error
    if parsed.tzinfo is None:
        return from_datetime(parsed.replace(tzinfo=UTC)) - zone
    return from_datetime(parsed)


def time_of_day(text: str, zone: int = 0) -> int | None:
    """Return `20:31` or `20:31:05`, a time without a date in a zone (microseconds east), in microseconds of a UTC day.

    None for any other text; `moment` reads that.
    """
    found = _TIME_OF_DAY.fullmatch(text.strip())
    if not found:
        return None
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return (hours * HOUR + minutes * MINUTE + seconds * SECOND - zone) % DAY


def zone_offset(text: str, now: datetime) -> int:
    """Return `+08:00`, `UTC`, `Europe/Berlin` (at `now`) or `local` in microseconds east of UTC. Raises ValueError."""
    found = re.fullmatch(r"([+-])(\d\d):?(\d\d)?", text.strip())
    if found:
        east = int(found[2]) * HOUR + int(found[3] or 0) * MINUTE
        return -east if found[1] == "-" else east
    if text in {"local", "UTC", "Z"}:
        offset = now.astimezone().utcoffset() if text == "local" else timedelta()
    else:
        offset = _named_zone(text, now)
    return (offset or timedelta()) // timedelta(microseconds=1)


def _named_zone(text: str, now: datetime) -> timedelta | None:
    from zoneinfo import ZoneInfo

    try:
        return now.astimezone(ZoneInfo(text)).utcoffset()
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(
            f"{text[:80]!r} is not a time zone; write +08:00, UTC, local or a name such as Asia/Shanghai"
        ) from error
