"""One clock for all sources: the year and zone klog does not write, and offsets between components.

    I0715 03:49:34.052729       1 server.go:101] GRPC call: …           a container, usually on UTC
    time="2024-07-15T11:49:34.060000000+08:00" level=info msg="…"        the host, on its own zone

The year comes from the journal's prefix (already in the stamp), a klog preamble, a time inside a message, `--year`, the
other sources, or the file's date; the zone from `--tz`, a time inside a message, or ids that two sources share and see
a fixed number of quarter hours apart. What had to be inferred is said.
"""

from __future__ import annotations

import calendar
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from kvdiag.clock import (
    DAY,
    FRAME_BEGINS,
    FRAME_ENDS,
    HOUR,
    MINUTE,
    PRINTED,
    SECOND,
    duration,
    from_datetime,
    in_year,
    is_adrift,
    is_age,
    is_place,
    is_since_boot,
    is_yearless,
    to_datetime,
)
from kvdiag.correlate.testimony import SHARED, Testimony
from kvdiag.model.values import NOTHING
from kvdiag.regex import regex

HALF_YEAR = 180 * DAY
QUARTER = 15 * MINUTE
NEAR = 2 * MINUTE  # how far two sources may be apart when they see the same id
MOST_HOLDERS = 100  # sources that are asked about one id: a bundle may have 100,000 logs
_MOMENT = regex(r"(\d{4})-(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:\.(\d+))? ([+-])(\d\d)(\d\d)")


class Anchor(NamedTuple):
    """What ties one kind of stamps that are adrift to the calendar: an offset in microseconds, and how it is known.

    `is_dated` when a line of the source says it, not only the date of the file.
    """

    holds: Callable[[int], bool]
    offset: int
    how: str
    is_dated: bool


class SourceClock(NamedTuple):
    """How one source's stamps become UTC: years by line, a zone east of UTC in microseconds, what holds the rest."""

    year: int | None = None
    zone: int = 0
    turns: tuple[tuple[int, int], ...] = ()
    year_how: str = ""
    zone_how: str = ""
    anchors: tuple[Anchor, ...] = ()

    def utc(self, stamp: int, line: int) -> int:
        """A stamp of the source's `line` as microseconds since 1970."""
        if not FRAME_BEGINS <= stamp < FRAME_ENDS:
            return next((stamp + one.offset for one in self.anchors if one.holds(stamp)), stamp)
        year = self.year or datetime.now(UTC).year
        return in_year(stamp, year + (_turn_at(self.turns, line) if self.turns else 0)) - self.zone

    @property
    def is_adrift(self) -> bool:
        """Whether nothing in the source says when any of it was."""
        return bool(self.anchors) and not any(one.is_dated for one in self.anchors)

    @property
    def is_unsure(self) -> bool:
        """Whether the zone is no more than assumed, and may turn out to be another."""
        return self.zone_how == "assumed"

    @property
    def settled(self) -> SourceClock:
        """The same for good: events were let go by a zone that was only assumed."""
        return self._replace(zone_how="assumed from the start") if self.is_unsure else self

    @property
    def says(self) -> str:
        """What had to be inferred, for people; empty when nothing was."""
        said = []
        if self.year is not None:
            said.append(f"year {self.year} {self.year_how}")
        if self.zone_how:
            said.append(f"zone {_say_zone(self.zone)} {self.zone_how}")
        said += [one.how for one in self.anchors]
        return "; ".join(said)


def set_clocks(
    testimonies: Sequence[Testimony],
    *,
    year: int | None = None,
    zone: int | None = None,
    known: Mapping[str, SourceClock] = NOTHING,
) -> Mapping[str, SourceClock]:
    """A clock for each source by its name; `year` and `zone` are what the user said (`--year`, `--tz`).

    Those that are `known` stay, but for New Years since and a zone that was only assumed: what told the rest may have
    been let go.
    """
    dated = _dated_span(testimonies)
    clocks = {
        t.source: known[t.source]._replace(turns=tuple(_turns(t)) if t.yearless else ())
        if t.source in known
        else _anchored(t, _clock(t, year, zone, dated))
        for t in testimonies
    }
    return _aligned(testimonies, clocks)


def _clock(testimony: Testimony, year: int | None, zone: int | None, dated: tuple[int, int] | None) -> SourceClock:
    if not testimony.yearless:
        return SourceClock()
    turns = tuple(_turns(testimony))
    told = _told(testimony)
    found_zone, zone_how = _zone(zone, told)
    first_year, how = _first_year(testimony, turns, told, year, dated)
    leap_day = _has_leap_day(testimony, turns)
    if leap_day is not None:
        first_year = _leap(first_year, leap_day)
    return SourceClock(first_year, found_zone, turns, how, zone_how)


def _anchored(testimony: Testimony, clock: SourceClock) -> SourceClock:
    """The clock with what holds those of the source's stamps that are adrift."""
    stamps = [(line, stamp) for line, stamp in _stamps(testimony) if stamp is not None]
    if not any(is_adrift(stamp) for _, stamp in stamps):
        return clock
    dated = [clock.utc(stamp, line) for line, stamp in stamps if not is_adrift(stamp)]
    return clock._replace(anchors=tuple(_anchors(testimony, [stamp for _, stamp in stamps], dated)))


def _anchors(testimony: Testimony, stamps: Sequence[int], dated: Sequence[int]) -> Iterator[Anchor]:
    """One for each kind that there is; `stamps` are all of the source in the order of its lines, `dated` in UTC."""
    modified = testimony.modified
    moment = from_datetime(datetime.fromtimestamp(modified, UTC) if modified is not None else datetime.now(UTC))
    whose = "the file's date" if modified is not None else "now"
    last, last_how = (max(dated), "that of the last dated line") if dated else (moment, whose)
    first, first_how = (dated[0], "that of the first dated line") if dated else (moment, whose)
    if uptimes := [stamp for stamp in stamps if is_since_boot(stamp)]:
        yield Anchor(
            is_since_boot, last - max(uptimes), f"times since boot, the last taken for {last_how}", bool(dated)
        )
    if any(map(is_age, stamps)):
        yield Anchor(is_age, last - PRINTED, f"ages, counted back from {last_how}", bool(dated))
    told = next(_retries(testimony), None)
    if told is not None:
        line, stamp, tried = told
        yield Anchor(
            is_place, tried - stamp, f"lines without a time, taken for that told in line {line}", is_dated=True
        )
    elif places := [stamp for stamp in stamps if is_place(stamp)]:
        yield Anchor(is_place, first - max(places), f"lines without a time, taken for {first_how}", bool(dated))


def _turns(testimony: Testimony) -> Iterator[tuple[int, int]]:
    """(line, years since the first line) at each New Year that the log passes, in file order; backwards for -r."""
    before, years = None, 0
    for line, stamp in _stamps(testimony):
        if stamp is None or not is_yearless(stamp):
            continue
        if before is not None and abs(stamp - before) > HALF_YEAR:
            years += 1 if stamp < before else -1
            yield line, years
        before = stamp


def _stamps(testimony: Testimony) -> Iterator[tuple[int, int | None]]:
    """(line, time) of all that was dated; at the ends also what means nothing, which may lie in another year."""
    yield 0, testimony.first
    yield from ((sighting.line, sighting.stamp) for sighting in testimony.sightings)
    yield testimony.lines, testimony.last


def _retries(testimony: Testimony) -> Iterator[tuple[int, int, int]]:
    """(line, stamp, UTC) of lines without a time that say until when nothing is tried again, and since when."""
    for sighting in testimony.sightings:
        attrs = sighting.meaning.attrs
        found = _MOMENT.match(attrs.get("retry_at", "")) if is_place(sighting.stamp) else None
        if found:
            waits = duration(attrs.get("backoff", "")) or 0
            yield sighting.line, sighting.stamp, _naive(found) - _east(found) - waits


class _Told(NamedTuple):
    """A year-less stamp whose line also says the full time with its zone."""

    line: int
    year: int
    zone: int


def _told(testimony: Testimony) -> _Told | None:
    """From `No retries permitted until 2024-07-15 03:51:36.05 +0000 UTC m=+881`: later than its line, but not much."""
    for sighting in testimony.sightings:
        text = sighting.meaning.attrs.get("retry_at", "")
        found = _MOMENT.match(text) if text and is_yearless(sighting.stamp) else None
        if found:
            year = int(found[1])
            ahead = in_year(sighting.stamp, year) - _naive(found)
            return _Told(sighting.line, year - 1 if ahead > HALF_YEAR else year, _east(found))
    return None


def _naive(found: re.Match[str]) -> int:
    parts = [int(found[n]) for n in range(1, 7)]
    return calendar.timegm((*parts, 0, 0, 0)) * SECOND


def _east(found: re.Match[str]) -> int:
    sign = -1 if found[8] == "-" else 1
    return sign * (int(found[9]) * HOUR + int(found[10]) * MINUTE)


def _zone(given: int | None, told: _Told | None) -> tuple[int, str]:
    if given is not None:
        return given, "as given"
    if told is not None:
        return told.zone, "from a time inside a message"
    return 0, "assumed"


def _first_year(
    testimony: Testimony,
    turns: tuple[tuple[int, int], ...],
    told: _Told | None,
    given: int | None,
    dated: tuple[int, int] | None,
) -> tuple[int, str]:
    """The year of the first line, and how it is known."""
    if testimony.preamble_year is not None:
        return testimony.preamble_year, "from the file's header"
    if told is not None:
        return told.year - _turn_at(turns, told.line), f"from a time inside line {told.line}"
    if testimony.said_year is not None:
        return testimony.said_year, "from a time inside a message"
    if given is not None:
        return given, "as given"
    passed = turns[-1][1] if turns else 0
    last = testimony.last if testimony.last is not None and is_yearless(testimony.last) else None
    if last is None:
        last = testimony.sightings[-1].stamp if testimony.sightings else 0
    beside = _beside(last, dated)
    if beside is not None:
        return beside - passed, "from the other logs"
    modified = testimony.modified
    moment = datetime.fromtimestamp(modified, UTC) if modified is not None else datetime.now(UTC)
    year = moment.year
    if is_yearless(last) and in_year(last, year) > from_datetime(moment) + DAY:
        year -= 1
    return year - passed, "from the file's date" if modified is not None else "assumed from today"


def _turn_at(turns: tuple[tuple[int, int], ...], line: int) -> int:
    return next((years for begins, years in reversed(turns) if line >= begins), 0)


def _beside(last: int, dated: tuple[int, int] | None) -> int | None:
    """The year in which a source's last line lies nearest to the sources that say their year."""
    if dated is None or not is_yearless(last):
        return None
    begins, ends = dated
    years = range(to_datetime(begins).year - 1, to_datetime(ends).year + 2)
    far = {year: max(begins - in_year(last, year), in_year(last, year) - ends, 0) for year in years}
    best = min(far, key=lambda year: far[year])
    return best if far[best] < 30 * DAY else None


def _dated_span(testimonies: Iterable[Testimony]) -> tuple[int, int] | None:
    stamps = [
        stamp
        for testimony in testimonies
        for stamp in (testimony.first, testimony.last)
        if stamp is not None and not is_yearless(stamp) and not is_adrift(stamp)
    ]
    return (min(stamps), max(stamps)) if stamps else None


def _has_leap_day(testimony: Testimony, turns: tuple[tuple[int, int], ...]) -> int | None:
    """How many years after its first line the log shows a 29 February; None when it shows none."""
    for sighting in testimony.sightings:
        if is_yearless(sighting.stamp):
            moment = to_datetime(sighting.stamp)
            if (moment.month, moment.day) == (2, 29):
                return _turn_at(turns, sighting.line)
    return None


def _leap(first_year: int, turn: int) -> int:
    year = first_year
    while not calendar.isleap(year + turn):
        year -= 1
    return year


def _aligned(testimonies: Sequence[Testimony], clocks: Mapping[str, SourceClock]) -> Mapping[str, SourceClock]:
    """Clocks whose zone was only assumed, moved by what the ids they share with a surer source say."""
    aligned = dict(clocks)
    order = sorted(testimonies, key=lambda t: (clocks[t.source].is_unsure, not t.component.startswith("csi")))
    seen = {t.source: _first_seen(t, clocks[t.source]) for t in testimonies}
    holders: dict[tuple[str, str], list[int]] = defaultdict(list)
    for number, testimony in enumerate(order):
        own = seen[testimony.source]
        surer = sorted({other for ref in own for other in holders[ref]}) if clocks[testimony.source].is_unsure else ()
        for ref in own:
            if len(holders[ref]) < MOST_HOLDERS:
                holders[ref].append(number)
        for other in (order[n] for n in surer):
            offset = _offset(seen[testimony.source], seen[other.source])
            if offset:
                clock = aligned[testimony.source]
                how = f"since the ids it shares with {other.source} are {_say_zone(offset)} apart"
                aligned[testimony.source] = clock._replace(zone=clock.zone + offset, zone_how=how)
                seen[testimony.source] = {ref: t - offset for ref, t in seen[testimony.source].items()}
                break
    return aligned


def _first_seen(testimony: Testimony, clock: SourceClock) -> dict[tuple[str, str], int]:
    seen: dict[tuple[str, str], int] = {}
    for sighting in testimony.sightings:
        for ref in sighting.meaning.refs:
            if ref.kind in SHARED and ref not in seen:
                seen[ref] = clock.utc(sighting.stamp, sighting.line)
    return seen


def _offset(mine: Mapping[tuple[str, str], int], theirs: Mapping[tuple[str, str], int]) -> int:
    """How far mine runs ahead in whole quarter hours, when the ids seen in both agree about it; else 0."""
    ahead = [mine[ref] - theirs[ref] for ref in mine.keys() & theirs.keys()]
    if not ahead:
        return 0
    offset = round(sorted(ahead)[len(ahead) // 2] / QUARTER) * QUARTER
    agree = sum(abs(a - offset) <= NEAR for a in ahead)
    return offset if agree >= max(1, 0.8 * len(ahead)) and abs(offset) <= 14 * HOUR else 0


def _say_zone(zone: int) -> str:
    sign = "-" if zone < 0 else "+"
    hours, minutes = divmod(abs(zone) // MINUTE, 60)
    return f"{sign}{hours:02}:{minutes:02}"
