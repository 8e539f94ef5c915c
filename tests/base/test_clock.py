"""Years, durations, points in time and zones."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.clock import (
    DAY,
    FRAME_BEGINS,
    FRAME_ENDS,
    HOUR,
    MINUTE,
    SECOND,
    format_duration,
    from_datetime,
    in_year,
    is_yearless,
    moment,
    parse_duration,
    to_datetime,
    zone_offset,
)

NOW = datetime(2026, 11, 20, 20, 39, 21, 500_000, tzinfo=UTC)


def at(*parts):
    """Microseconds of a moment in UTC."""
    return from_datetime(datetime(*parts, tzinfo=UTC))


@given(st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1)).map(lambda naive: naive.replace(tzinfo=UTC)))  # noqa: DTZ001
def test_a_moment_is_its_microseconds(told):
    """Microseconds and moment are two spellings of one time."""
    assert to_datetime(from_datetime(told)) == told


@pytest.mark.parametrize(
    ("stamp", "yearless"),
    [
        (FRAME_BEGINS - 1, False),
        (FRAME_BEGINS, True),
        (FRAME_ENDS - 1, True),
        (FRAME_ENDS, False),
        (at(2024, 1, 1), False),
    ],
)
def test_the_yearless_frame(stamp, yearless):
    """A stamp without a year lies in the leap year 2000, and nothing else does."""
    assert is_yearless(stamp) is yearless


@pytest.mark.parametrize(
    ("stamp", "year", "moved"),
    [
        (at(2000, 7, 15, 3, 49, 34, 52_729), 2024, at(2024, 7, 15, 3, 49, 34, 52_729)),
        (at(2000, 1, 1), 2025, at(2025, 1, 1)),
        (at(2000, 12, 31, 23, 59, 59, 999_999), 2023, at(2023, 12, 31, 23, 59, 59, 999_999)),
        (at(2000, 2, 29, 12), 2024, at(2024, 2, 29, 12)),
        (at(2000, 2, 29, 12), 2023, at(2023, 3, 1, 12)),
    ],
)
def test_a_year_is_put_on(stamp, year, moved):
    """Day and time stay when the year is put on; 29 February becomes 1 March where there is none."""
    assert in_year(stamp, year) == moved


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("2m2s", 122 * SECOND),
        ("500ms", SECOND // 2),
        ("1h0m0.5s", HOUR + SECOND // 2),
        ("1.5h", 90 * MINUTE),
        ("100µs", 100),
        ("100us", 100),
        ("1500ns", 2),
        ("2d", 2 * DAY),
        (" 30s ", 30 * SECOND),
        ("0s", 0),
        ("", None),
        ("30", None),
        ("s", None),
        ("30s later", None),
        ("30 s", None),
        ("-30s", None),
    ],
)
def test_go_durations(text, microseconds):
    """Durations are read as Go prints them, and nothing else is."""
    assert parse_duration(text) == microseconds


@pytest.mark.parametrize(
    ("microseconds", "said"),
    [
        (0, "0ms"),
        (250_000, "250ms"),
        (SECOND, "1s"),
        (89 * SECOND, "1m29s"),
        (120 * SECOND, "2m"),
        (3 * HOUR + 5 * MINUTE + 7 * SECOND, "3h5m"),
        (2 * DAY + SECOND, "2d1s"),
    ],
)
def test_durations_for_people(microseconds, said):
    """A duration is told by its two largest parts."""
    assert format_duration(microseconds) == said


@pytest.mark.parametrize(
    ("text", "zone", "meant"),
    [
        ("2026-11-20T20:39:21Z", 0, at(2026, 11, 20, 20, 39, 21)),
        ("2026-11-20T20:39:21+08:00", 0, at(2026, 11, 20, 12, 39, 21)),
        ("2026-11-20T20:39:21", 8 * HOUR, at(2026, 11, 20, 12, 39, 21)),
        ("2026-11-20T20:39:21Z", 8 * HOUR, at(2026, 11, 20, 20, 39, 21)),
        ("Jul 15 03:49", 0, at(2026, 7, 15, 3, 49)),
        ("03:49", 0, at(2026, 11, 20, 3, 49)),
        ("now", 0, from_datetime(NOW)),
        ("today", 0, at(2026, 11, 20)),
        ("yesterday", 0, at(2026, 11, 19)),
        ("2 hours ago", 0, from_datetime(NOW) - 2 * HOUR),
        ("1 hour ago", 0, from_datetime(NOW) - HOUR),
        ("90 min ago", 0, from_datetime(NOW) - 90 * MINUTE),
        ("-3h", 0, from_datetime(NOW) - 3 * HOUR),
        ("- 2 weeks", 0, from_datetime(NOW) - 14 * DAY),
    ],
)
def test_points_in_time(text, zone, meant):
    """A point in time is what a person means by it; the zone given counts only where the text names none."""
    assert moment(text, NOW, zone) == meant


@pytest.mark.parametrize("text", ["soon", "25:99", "2026-13-01", ""])
def test_no_point_in_time(text):
    """What is no time is refused with examples of what is."""
    with pytest.raises(ValueError, match=r"is not a time; write 2026-11-20T20:39:21Z, '2 hours ago', -3h or today"):
        moment(text, NOW)


@pytest.mark.parametrize(
    ("text", "east"),
    [
        ("+08:00", 8 * HOUR),
        ("-0330", -(3 * HOUR + 30 * MINUTE)),
        ("+05", 5 * HOUR),
        ("UTC", 0),
        ("Z", 0),
        ("Europe/Berlin", HOUR),
        ("Asia/Kathmandu", 5 * HOUR + 45 * MINUTE),
    ],
)
def test_zones(text, east):
    """A zone is an offset or a name, as it is at that time."""
    assert zone_offset(text, NOW) == east


def test_a_named_zone_follows_the_season():
    """A name is the offset that holds at the time asked for."""
    assert zone_offset("Europe/Berlin", datetime(2026, 7, 1, tzinfo=UTC)) == 2 * HOUR


def test_the_local_zone():
    """`local` is the zone of the machine."""
    there = NOW.astimezone().utcoffset()
    assert zone_offset("local", NOW.astimezone(timezone(timedelta(hours=3)))) == there // timedelta(microseconds=1)


@pytest.mark.parametrize("text", ["Mars/Olympus", "8", "+8", "", "../etc/passwd"])
def test_no_zone(text):
    """What is no zone is refused with examples of what is."""
    with pytest.raises(ValueError, match=r"is not a time zone; write \+08:00, UTC, local or a name"):
        zone_offset(text, NOW)
