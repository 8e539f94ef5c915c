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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from kvdiag.clock import (
    BOOT_ENDS,
    DAY,
    FRAME_BEGINS,
    FRAME_ENDS,
    HOUR,
    MINUTE,
    SECOND,
    from_datetime,
    in_year,
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


class SourceClock(NamedTuple):
    """How one source's stamps become UTC: years by line, a zone east of UTC in microseconds, the moment of boot."""

    year: int | None = None
    zone: int = 0
    turns: tuple[tuple[int, int], ...] = ()
    year_how: str = ""
    zone_how: str = ""
    boot: int = 0
    boot_how: str = ""

    def utc(self, stamp: int, line: int) -> int:
        """A stamp of the source's `line` as microseconds since 1970."""
        if not FRAME_BEGINS <= stamp < FRAME_ENDS:
            return stamp + self.boot if stamp < BOOT_ENDS else stamp
        year = self.year or datetime.now(UTC).year
        return in_year(stamp, year + (_turn_at(self.turns, line) if self.turns else 0)) - self.zone

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
        if self.boot_how:
            said.append(f"times since boot, {self.boot_how}")
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
        else _booted(t, _clock(t, year, zone, dated))
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


def _booted(testimony: Testimony, clock: SourceClock) -> SourceClock:
    """The clock with the moment of boot, where lines count from it: the last is taken for the latest known moment."""
    stamps = [(line, stamp) for line, stamp in _stamps(testimony) if stamp is not None]
    uptimes = [stamp for _, stamp in stamps if is_since_boot(stamp)]
    if not uptimes:
        return clock
    dated = [clock.utc(stamp, line) for line, stamp in stamps if not is_since_boot(stamp)]
    if dated:
        return clock._replace(boot=max(dated) - max(uptimes), boot_how="the last taken for that of the last dated line")
    modified = testimony.modified
    moment = datetime.fromtimestamp(modified, UTC) if modified is not None else datetime.now(UTC)
    how = "the last taken for the file's date" if modified is not None else "the last taken for now"
    return clock._replace(boot=from_datetime(moment) - max(uptimes), boot_how=how)


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
            sign = -1 if found[8] == "-" else 1
            east = sign * (int(found[9]) * HOUR + int(found[10]) * MINUTE)
            return _Told(sighting.line, year - 1 if ahead > HALF_YEAR else year, east)
    return None


def _naive(found: re.Match[str]) -> int:
    parts = [int(found[n]) for n in range(1, 7)]
    return calendar.timegm((*parts, 0, 0, 0)) * SECOND


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
        if stamp is not None and not is_yearless(stamp) and not is_since_boot(stamp)
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
