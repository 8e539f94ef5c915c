"""Years and zones that a log does not write, and from where they are known."""

from __future__ import annotations

import itertools
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kvdiag.base.clock import (
    DAY,
    HOUR,
    MINUTE,
    SECOND,
    from_datetime,
    is_unanchored,
    stamp_of_age,
    stamp_of_line,
    to_datetime,
)
from kvdiag.events.raw_events import EventMatch, RawEvent
from kvdiag.events.timestamp_reader import Process
from kvdiag.history.correlate.clocks import SourceClock, set_clocks
from kvdiag.history.ingest.log_events import LogEvents as Source  # pytest collects what is called Test…
from kvdiag.model.event import Ref
from kvdiag.model.record import Provenance
from kvdiag.model.vocabulary import Entry, Wording

ENTRY = Entry(kind="k", component="kubelet", wordings=())
DRIVER = Entry(kind="d", component="csi-driver", wordings=())


def at(*parts):
    """Microseconds of a moment in UTC."""
    return from_datetime(datetime(*parts, tzinfo=UTC))


def seen(stamp, *, sandbox="", entry=ENTRY, **attrs):
    """Give a raw_event without its line."""
    refs = (Ref("sandbox_id", sandbox),) if sandbox else ()
    return RawEvent(
        stamp, EventMatch.known(entry, refs, {name: said for name, said in attrs.items() if said}), 0, 0, Process()
    )


def spoken(*raw_events, source="kubelet.log", **more):
    """Give a source whose lines are these raw_events, or just stamps; year-less where they are."""
    told = [one if isinstance(one, RawEvent) else seen(one) for one in raw_events]
    told = [one._replace(line=number) for number, one in enumerate(told, 1)]
    stamps = [one.stamp for one in told]
    said = {"first": stamps[0], "last": stamps[-1], "lines": len(told), "yearless": to_datetime(stamps[0]).year == 2000}
    return Source(source=source, raw_events=told, **(said | more))


def dated(logs, source="kubelet.log", **options):
    """Give the moments of a source's raw_events on the clock it is given, as text."""
    clock = set_clocks(logs, **options)[source]
    (told,) = [one for one in logs if one.source == source]
    return [to_datetime(clock.utc(one.stamp, one.line)).strftime("%Y-%m-%d %H:%M") for one in told.raw_events]


def says(logs, source="kubelet.log", **options):
    """Give what is said about a source's clock."""
    return set_clocks(logs, **options)[source].description


JULY = at(2000, 7, 15, 3, 49)
MODIFIED = at(2024, 7, 16) / SECOND


@pytest.mark.parametrize(
    ("more", "options", "year", "how"),
    [
        ({"preamble_year": 2021, "modified": MODIFIED}, {"year": 2022}, "2022", "as given"),
        ({"preamble_year": 2021, "modified": MODIFIED}, {}, "2021", "from the file's header"),
        (
            {"journal_span": (at(2021, 7, 1), at(2021, 9, 1)), "message_year": 2022},
            {},
            "2021",
            "from the journal's header",
        ),
        (
            {"journal_span": (at(2019, 7, 20), at(2020, 8, 1)), "message_year": 2022},
            {},
            "2020",
            "from the journal's header",
        ),
        (
            {"journal_span": (at(2019, 7, 15), at(2020, 8, 1)), "message_year": 2022},
            {},
            "2019",
            "from the journal's header",
        ),
        (
            {"mentioned_days": (at(2034, 1, 9), at(2021, 7, 10)), "modified": MODIFIED},
            {},
            "2021",
            "from a date in the log",
        ),
        ({"mentioned_days": (at(2021, 1, 9),), "modified": MODIFIED}, {}, "2024", "from the file's date"),
        ({"message_year": 2022, "modified": MODIFIED}, {}, "2022", "from a timestamp in a message"),
        ({"modified": MODIFIED}, {"year": 2022}, "2022", "as given"),
        ({"modified": MODIFIED}, {}, "2024", "from the file's date"),
        ({"modified": at(2024, 7, 14) / SECOND}, {}, "2023", "from the file's date"),
        ({"modified": at(2024, 7, 14, 12) / SECOND}, {}, "2024", "from the file's date"),
    ],
)
def test_the_year(more, options, year, how):
    """The year is as given, or in a header, or in a message, or the file's date tells it: no line is younger than its file."""
    told = [spoken(JULY, **more)]
    assert dated(told, **options) == [f"{year}-07-15 03:49"]
    assert says(told, **options) == f"year {year} {how}; zone +00:00 assumed"


def test_the_year_of_today():
    """Standard input has no date; the year is such that the log is not of tomorrow, and it is said to be assumed."""
    now = datetime.now(UTC)
    (told,) = dated([spoken(JULY)])
    assert told in {f"{now.year}-07-15 03:49", f"{now.year - 1}-07-15 03:49"}
    assert "assumed from today" in says([spoken(JULY)])


@pytest.mark.parametrize(
    ("stamp", "retry_at", "moment", "zone"),
    [
        (JULY, "2024-07-15 03:51:36.05345 +0000 UTC m=+881.48", "2024-07-15 03:49", "+00:00"),
        (JULY, "2024-07-15 03:51:36 +0800 CST m=+881.48", "2024-07-14 19:49", "+08:00"),
        (JULY, "2024-07-15 03:51:36 -0330 NST m=+881.48", "2024-07-15 07:19", "-03:30"),
        (at(2000, 12, 31, 23, 59), "2025-01-01 00:01:01 +0000 UTC m=+1", "2024-12-31 23:59", "+00:00"),
    ],
)
def test_a_time_inside_a_message(stamp, retry_at, moment, zone):
    """`No retries permitted until …` says year and zone."""
    told = [spoken(stamp - MINUTE, seen(stamp, retry_at=retry_at), modified=MODIFIED)]
    assert dated(told)[1] == moment
    assert says(told).endswith(f"from a timestamp in the message of line 2; zone {zone} from a timestamp in a message")


@pytest.mark.parametrize("retry_at", ["soon", "2024-07-15", "15 Jul 2024 03:51:36 +0000"])
def test_a_time_that_is_none(retry_at):
    """What does not look like Go's time is not believed."""
    assert dated([spoken(seen(JULY, retry_at=retry_at))], year=2020) == ["2020-07-15 03:49"]


def test_the_zone_given():
    """`--tz` is the zone of year-less logs, before a time inside a message, and of no other."""
    told = seen(JULY, retry_at="2024-07-15 03:51:36 +0000 UTC")
    assert dated([spoken(told)], zone=8 * HOUR) == ["2024-07-14 19:49"]
    assert says([spoken(told)], zone=8 * HOUR).endswith("zone +08:00 as given")
    assert dated([spoken(at(2024, 7, 15, 3, 49))], zone=8 * HOUR) == ["2024-07-15 03:49"]


def test_what_the_user_says_always_wins():
    """`--year` and `--tz` hold against every other evidence."""
    told = spoken(seen(JULY, retry_at="2024-07-15 03:51:36 +0800 CST"), preamble_year=2023, message_year=2022)
    sure = shared(0, source="containerd.log")
    assert dated([told, sure], year=2020, zone=HOUR) == ["2020-07-15 02:49"]
    assert says([told, sure], year=2020, zone=HOUR) == "year 2020 as given; zone +01:00 as given"


@pytest.mark.parametrize(
    ("ahead", "zone"), [(0, "+00:00"), (5 * HOUR + 30 * MINUTE, "+05:30"), (-8 * HOUR, "-08:00"), (8 * HOUR, "+08:00")]
)
def test_a_dated_line_within_a_carrier_without_a_year(ahead, zone):
    """`Mar 04 12:00:00 host containerd[1]: time="2022-03-04T06:30:00Z"` tells the year and the host's zone."""
    inner = at(2022, 7, 15, 3, 49)
    told = spoken(JULY + ahead, wrapped=((JULY + ahead, inner), (JULY + ahead + SECOND, inner)), modified=MODIFIED)
    assert dated([told]) == ["2022-07-15 03:49"]
    said = "from the dated lines within it"
    assert says([told]) == f"year 2022 {said}; zone {zone} {said}"


def test_the_year_of_one_log_is_that_of_all():
    """A log that says its year lends it to those of the same days; the strongest word holds for all of them."""
    kubelet = spoken(JULY, seen(JULY, retry_at="2024-07-15 03:51:36 +0000 UTC"))
    driver = spoken(JULY + MINUTE, source="driver.log", modified=at(2026, 11, 20) / SECOND)
    weak = spoken(JULY + MINUTE, source="weak.log", message_year=2019)
    for order in itertools.permutations([kubelet, driver, weak]):
        assert dated(order, "driver.log") == dated(order, "weak.log") == ["2024-07-15 03:50"]
    assert says([kubelet, driver], "driver.log").startswith("year 2024 from the other logs")


def test_a_log_of_other_days_beside_one_that_says_its_year():
    """Of a log without a date of its own the last year counts in which it is not later than the others."""
    sure = spoken(at(2022, 3, 4), source="containerd.log")
    assert dated([spoken(at(2000, 11, 20)), sure]) == ["2021-11-20 00:00"]
    assert dated([spoken(at(2000, 1, 2)), sure]) == ["2022-01-02 00:00"]


def test_the_zone_of_one_hosts_log_is_that_of_its_others():
    """What the host's programs write is in one zone; what runs in containers has its own."""
    words = Entry(kind="k", component="kubelet", wordings=(Wording("words", "words"),))
    kubelet = spoken(JULY, seen(JULY, entry=words, retry_at="2024-07-15 11:51:36 +0800 CST"))
    older = spoken(seen(JULY - DAY, entry=words), source="kubelet.log.1")
    driver = spoken(JULY, seen(JULY, entry=DRIVER), seen(JULY, entry=DRIVER), source="driver.log")
    told = [kubelet, older, driver]
    assert says(told, "kubelet.log.1").endswith("zone +08:00 as in kubelet.log, same host")
    assert says(told, "driver.log").endswith("zone +00:00 assumed")
    elsewhere = [replace(one, place=Provenance(f"{number}")) for number, one in enumerate(told)]
    assert says(elsewhere, "kubelet.log.1").endswith("zone +00:00 assumed")


def test_a_log_that_writes_its_year_is_taken_at_its_word():
    """Nothing is inferred, and nothing said, about a log with full times."""
    assert says([spoken(at(2024, 7, 15, 3, 49))], year=2020) == ""
    assert dated([spoken(at(2024, 7, 15, 3, 49))], year=2020) == ["2024-07-15 03:49"]


@pytest.mark.parametrize(
    ("month", "day", "sibling", "year"),
    [
        (7, 15, (at(2022, 7, 10), at(2022, 7, 20)), "2022"),
        (7, 25, (at(2022, 7, 10), at(2022, 7, 20)), "2022"),
        (12, 30, (at(2023, 1, 1), at(2023, 1, 9)), "2022"),
        (1, 2, (at(2022, 12, 20), at(2022, 12, 31)), "2023"),
        (7, 15, (at(2022, 12, 20), at(2022, 12, 31)), "2024"),
    ],
)
def test_the_year_from_sibling_sources(month, day, sibling, year):
    """The year is that in which the log lies beside logs that say theirs, when it lies near them at all."""
    log = spoken(at(2000, month, day), modified=MODIFIED)
    other = spoken(*sibling, source="containerd.log")
    assert dated([log, other])[0].startswith(year)
    assert ("from the other logs" in says([log, other])) == (year != "2024")


def test_new_year():
    """A log that passes New Year goes on in the next year, once for each time it passes."""
    stamps = [
        at(2000, 12, 30),
        at(2000, 12, 31, 23, 59),
        at(2000, 1, 1),
        at(2000, 6, 1),
        at(2000, 11, 1),
        at(2000, 2, 1),
    ]
    assert [text[:10] for text in dated([spoken(*stamps)], year=2022)] == [
        "2022-12-30",
        "2022-12-31",
        "2023-01-01",
        "2023-06-01",
        "2023-11-01",
        "2024-02-01",
    ]


def test_new_year_before_a_file_was_closed():
    """The file's date is that of its last line; what stands before New Year is a year older."""
    log = spoken(at(2000, 12, 31, 23), at(2000, 1, 1, 1), modified=at(2024, 1, 1, 2) / SECOND)
    assert dated([log]) == ["2023-12-31 23:00", "2024-01-01 01:00"]


def test_lines_out_of_order_at_midnight():
    """A line that a slower process wrote after midnight keeps its own year."""
    log = spoken(at(2000, 12, 31, 23, 58), at(2000, 1, 1), at(2000, 12, 31, 23, 59), at(2000, 1, 1, 0, 1))
    assert [text[:4] for text in dated([log], year=2022)] == ["2022", "2023", "2022", "2023"]


def test_newest_first():
    """`journalctl -r` goes back over New Year; the file's date is that of its first line."""
    log = spoken(
        at(2000, 1, 2), at(2000, 1, 1), at(2000, 12, 31), at(2000, 12, 30), modified=at(2024, 1, 2, 1) / SECOND
    )
    assert [text[:10] for text in dated([log])] == ["2024-01-02", "2024-01-01", "2023-12-31", "2023-12-30"]


def test_new_year_before_the_first_event():
    """A year may turn among lines that mean nothing: the first and the last line of the file are looked at too."""
    before = spoken(at(2000, 1, 2), first=at(2000, 12, 31), preamble_year=2023)
    assert dated([before]) == ["2024-01-02 00:00"]
    after = spoken(at(2000, 12, 30), last=at(2000, 1, 2), lines=9, modified=at(2024, 1, 2, 1) / SECOND)
    assert dated([after]) == ["2023-12-30 00:00"]


@pytest.mark.parametrize(
    ("stamps", "modified", "first"),
    [
        ([at(2000, 2, 29)], at(2024, 3, 1), "2024-02-29"),
        ([at(2000, 2, 29)], at(2026, 3, 1), "2024-02-29"),
        ([at(2000, 12, 31), at(2000, 1, 1), at(2000, 2, 29)], at(2026, 3, 1), "2023-12-31"),
        ([at(2000, 2, 28), at(2000, 3, 1)], at(2026, 3, 2), "2026-02-28"),
    ],
)
def test_29_february(stamps, modified, first):
    """A log that has a 29 February is of a leap year, whatever the file's date says."""
    assert dated([spoken(*stamps, modified=modified / SECOND)])[0][:10] == first


IDS = [f"{number:064x}" for number in range(5)]


def shared(offset, *, source, year=2024, entry=ENTRY, ids=IDS, jitter=0):
    """Give a source that saw each id once a minute, its clock so far ahead; year-less when the year is 2000."""
    return spoken(
        *(
            seen(at(year, 7, 15, 12) + number * MINUTE + offset + number % 2 * jitter, sandbox=one, entry=entry)
            for number, one in enumerate(ids)
        ),
        source=source,
    )


@pytest.mark.parametrize("offset", [8 * HOUR, -5 * HOUR, 5 * HOUR + 45 * MINUTE, -(3 * HOUR + 30 * MINUTE)])
def test_the_zone_from_shared_ids(offset):
    """A log without a zone that shares ids with a dated one, quarter hours apart, is moved to it, and this is said."""
    sure = shared(0, source="containerd.log")
    log = shared(offset, source="kubelet.log", year=2000, jitter=SECOND)
    for order in itertools.permutations([log, sure]):
        assert dated(order)[0] == "2024-07-15 12:00"
        sign = "-" if offset < 0 else "+"
        hours, minutes = divmod(abs(offset) // MINUTE, 60)
        zone = f"{sign}{hours:02}:{minutes:02}"
        assert says(order).endswith(f"zone {zone} from ids shared with containerd.log, {zone} apart")


@pytest.mark.parametrize(
    "log",
    [
        shared(0, source="kubelet.log", year=2000),
        shared(SECOND, source="kubelet.log", year=2000),
        shared(7 * MINUTE, source="kubelet.log", year=2000),
        shared(8 * HOUR, source="kubelet.log", year=2000, ids=["f" * 64]),
        shared(8 * HOUR, source="kubelet.log", year=2000, jitter=30 * MINUTE),
        shared(15 * HOUR, source="kubelet.log", year=2000),
        shared(5 * HOUR + 15 * MINUTE, source="kubelet.log", year=2000),
        shared(-15 * MINUTE, source="kubelet.log", year=2000),
        shared(8 * HOUR + 30 * SECOND, source="kubelet.log", year=2000, ids=IDS[:1]),
    ],
)
def test_what_is_no_zone(log):
    """Ids that are not shared, do not agree, or lie at no distance of two zones, move nothing."""
    assert says([log, shared(0, source="containerd.log")]).endswith("zone +00:00 assumed")


def test_a_known_zone_is_not_moved():
    """A zone that was given or read stays, whatever shared ids say."""
    log = shared(8 * HOUR, source="kubelet.log", year=2000)
    assert says([log, shared(0, source="containerd.log")], zone=HOUR).endswith("zone +01:00 as given")


def test_of_two_unsure_sources_one_is_moved_to_the_other():
    """Where no source is sure, the driver's log is believed: containers are on UTC more often than hosts."""
    kubelet = shared(8 * HOUR, source="kubelet.log", year=2000)
    driver = shared(0, source="driver.log", year=2000, entry=DRIVER)
    both = [kubelet, driver]
    moments = [dated(both, source, year=2024)[0] for source in ("kubelet.log", "driver.log")]
    assert moments[0] == moments[1]


def test_a_clock_without_a_year_is_of_this_year():
    """A clock of which nothing is known puts the current year on."""
    assert to_datetime(SourceClock().utc(JULY, 1)).year == datetime.now(UTC).year
    assert SourceClock().utc(at(2024, 1, 1), 1) == at(2024, 1, 1)


def test_empty_sources():
    """A source without a single time has a clock all the same."""
    empty = Source(source="empty", raw_events=(), first=None, last=None, lines=0)
    clock = set_clocks([empty], year=2024)["empty"]
    assert clock.utc(at(2024, 1, 1) + DAY, 1) == at(2024, 1, 2)


UPTIME = 337_533 * SECOND


def test_times_since_boot():
    """The last line of a dmesg is taken for the file's date, and the others stand as long before it as they say."""
    source = spoken(UPTIME, UPTIME + 2 * MINUTE, source="dmesg", modified=MODIFIED)
    assert dated([source], "dmesg") == ["2024-07-15 23:58", "2024-07-16 00:00"]
    assert says([source], "dmesg") == "uptimes, the last one set to the file's date"


def test_times_since_boot_below_a_log():
    """Where lines with a date stand beside them, the last line since boot is taken for the last of those."""
    source = spoken(JULY, UPTIME, UPTIME + MINUTE, modified=MODIFIED)
    assert dated([source], year=2024) == ["2024-07-15 03:49", "2024-07-15 03:48", "2024-07-15 03:49"]


def test_times_since_boot_beside_an_old_log():
    """Logs are collected together: a file that was copied years later says less than the log beside it."""
    dmesg = spoken(UPTIME, source="dmesg", modified=MODIFIED)
    kubelet = spoken(at(2021, 7, 15, 3, 49), at(2021, 7, 15, 4), modified=MODIFIED)
    assert dated([dmesg, kubelet], "dmesg") == ["2021-07-15 04:00"]
    assert says([dmesg, kubelet], "dmesg") == "uptimes, the last one set to the last line of the other logs"
    fresh = spoken(at(2024, 7, 15, 4), modified=MODIFIED)
    assert dated([dmesg, fresh], "dmesg") == ["2024-07-16 00:00"]


def test_times_since_boot_tell_no_year():
    """A dmesg is no witness of the year of other logs."""
    alone = [spoken(JULY, modified=MODIFIED)]
    both = [*alone, spoken(UPTIME, source="dmesg", modified=MODIFIED)]
    assert dated(both) == dated(alone)


def test_ages():
    """Ages count back from the file's date, and from the last line that has one where there is one."""
    source = spoken(stamp_of_age(23 * MINUTE), stamp_of_age(0), stamp_of_age(11 * DAY), modified=MODIFIED)
    assert dated([source]) == ["2024-07-15 23:37", "2024-07-16 00:00", "2024-07-05 00:00"]
    assert says([source]) == "ages, counted back from the file's date"
    below = spoken(JULY, stamp_of_age(HOUR), modified=MODIFIED)
    assert dated([below], year=2024) == ["2024-07-15 03:49", "2024-07-15 02:49"]
    assert says([below], year=2024).endswith("; ages, counted back from the last dated line")


def test_an_age_beyond_all_measure():
    """The oldest age stays one."""
    assert is_unanchored(stamp_of_age(1000 * 365 * DAY))
    assert is_unanchored(stamp_of_line(10**18))


def test_lines_without_a_time():
    """They stand in the order of their lines at the date of the file, or right above the first line that has one."""
    source = spoken(stamp_of_line(1), stamp_of_line(2), modified=MODIFIED)
    assert dated([source]) == ["2024-07-15 23:59", "2024-07-16 00:00"]
    assert says([source]) == "lines without a time, set to the file's date"
    above = spoken(stamp_of_line(1), JULY, JULY + HOUR, modified=MODIFIED, yearless=True)
    assert dated([above], year=2024) == ["2024-07-15 03:49", "2024-07-15 03:49", "2024-07-15 04:49"]


def test_a_line_without_a_time_that_tells_one():
    """A failed operation says until when it is not tried again, and how long that is after the failure."""
    failed = seen(stamp_of_line(2), retry_at="2021-07-15 09:44:56.65 +0200 CEST m=+67549.92", backoff="2m2s")
    source = spoken(stamp_of_line(1), failed, modified=MODIFIED)
    assert dated([source]) == ["2021-07-15 07:42", "2021-07-15 07:42"]
    assert says([source]) == "lines without a time, set to the one in line 2"
    assert not set_clocks([source])["kubelet.log"].is_unanchored


def test_a_log_without_any_date_is_adrift():
    """A single dated line holds all others."""
    assert set_clocks([spoken(stamp_of_age(HOUR), modified=MODIFIED)])["kubelet.log"].is_unanchored
    assert not set_clocks([spoken(JULY, stamp_of_age(HOUR), modified=MODIFIED)])["kubelet.log"].is_unanchored
    assert not set_clocks([spoken(JULY, modified=MODIFIED)])["kubelet.log"].is_unanchored
