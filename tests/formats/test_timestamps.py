"""Times as log lines write them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.clock import from_datetime, is_yearless, to_datetime
from kvdiag.formats.carriers.prefixes import zoned
from kvdiag.formats.timestamps import klog_minute, rfc3339, syslog_minute, within_minute


@pytest.mark.parametrize(
    ("text", "time"),
    [
        (b"2024-07-15T03:49:34Z", datetime(2024, 7, 15, 3, 49, 34, tzinfo=UTC)),
        (b"2024-07-15T03:49:34.052729123Z", datetime(2024, 7, 15, 3, 49, 34, 52729, tzinfo=UTC)),
        (b"2024-07-15T03:49:34.05+08:00", datetime(2024, 7, 14, 19, 49, 34, 50000, tzinfo=UTC)),
        (b"2024-07-15T03:49:34+0000", datetime(2024, 7, 15, 3, 49, 34, tzinfo=UTC)),
        (b"2024-07-15T03:49:34-0530", datetime(2024, 7, 15, 9, 19, 34, tzinfo=UTC)),
        (b"2024-07-15 03:49:34.1+08:00", datetime(2024, 7, 14, 19, 49, 34, 100000, tzinfo=UTC)),
        (b"2024-07-15T03:49:34", datetime(2024, 7, 15, 3, 49, 34, tzinfo=UTC)),
        (b"2024-07-15T03:49+01", datetime(2024, 7, 15, 2, 49, tzinfo=UTC)),
    ],
)
def test_dates_with_a_year(text: bytes, time: datetime) -> None:
    """Every spelling of RFC 3339 in logs is read, digits below a microsecond are cut off."""
    assert rfc3339(text) == from_datetime(time)


@pytest.mark.parametrize(
    "text", [b"", b"0001", b"2024-02-30T00:00:00Z", b"2024-01-01T25:00:00Z", b"x2024-01-01T00:00:00Z"]
)
def test_what_is_no_date(text: bytes) -> None:
    """What is no date, or a day that does not exist, gives nothing."""
    assert rfc3339(text) is None


def test_dates_without_a_year_are_in_the_frame() -> None:
    """Both klog and syslog count in the year-less frame, which has a 29 February."""
    for stamp in (klog_minute(b"0229 23:59"), syslog_minute(b"Feb 29 23:59"), syslog_minute("2月 29 23:59".encode())):
        assert stamp is not None
        assert is_yearless(stamp)
        assert to_datetime(stamp) == datetime(2000, 2, 29, 23, 59, tzinfo=UTC)


def test_a_day_that_does_not_exist() -> None:
    """The 31 February of a damaged line has no time."""
    assert klog_minute(b"0231 00:00") is None
    assert syslog_minute(b"Feb 31 00:00") is None
    assert syslog_minute(b"Foo 01 00:00") is None


def test_fractions_are_padded_and_cut() -> None:
    """Fractions count from their first digit, whatever their length."""
    assert within_minute(b"01", b"5") == 1_500_000
    assert within_minute(b"01", b"123456789") == 1_123_456
    assert within_minute(b"01", None) == 1_000_000


def test_zone_names() -> None:
    """A zone name that means one zone is applied, one that means several leaves the clock on the wall."""
    assert zoned(b"2024-07-15 05:00:00", b"CEST") == from_datetime(datetime(2024, 7, 15, 3, tzinfo=UTC))
    assert zoned(b"2024-07-15 05:00:00", b"IST") == from_datetime(datetime(2000, 7, 15, 5, tzinfo=UTC))


@given(st.binary())
def test_any_bytes(text: bytes) -> None:
    """No input raises."""
    rfc3339(text)
