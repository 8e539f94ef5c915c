"""Dates with a year in the lines of a log: year and zone of lines without them follow from these."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvdiag.base.clock import DAY
from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.klog import preamble
from kvdiag.formats.timestamps import rfc3339
from kvdiag.inputs.scan.blocks import Block

PREAMBLE = 8
# Both begin with a literal that the regex engine searches fast; the begin of the line is checked afterwards.
_DMESG_DAY = lazy_regex(rb"\[(?<![^\n]\[)[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?P<year>20\d\d)\] ")
_DAY = rb"\b(20\d\d)-([01]\d)-([0-3]\d)(?!\d)"
_JOURNAL = lazy_regex(
    rb"-- (?<![^\n]-- )(?:Logs begin|Journal begins) at [^\n]{0,8}" + _DAY + rb"[^\n]{1,30}, ends? at [^\n]{0,8}" + _DAY
)
_NAMED_DAY = lazy_regex(_DAY)
MOST_DAYS = 32  # that are collected from the lines of a log
# `   Active: active (running) since Mon 2023-08-21 15:34:07 CST; 3 months 7 days ago`, as systemctl prints it.
_SINCE = lazy_regex(
    rb" Active: [^\n]{1,60} since [A-Z][a-z]{2} (?P<since>\d{4}-\d\d-\d\d) [^\n;]{1,40}; (?P<ago>[^\n]{1,60}) ago"
)
_SPAN = lazy_regex(rb"(\d{1,3}) ?(year|month|week|day)")
_AGO = {b"year": 365 * DAY, b"month": 30 * DAY, b"week": 7 * DAY, b"day": DAY}
_MESSAGE_DAY = lazy_regex(
    rb"^(?:[^\n]{0,80} )?[IWEF](?P<month>\d\d)(?P<day>\d\d) \d\d:"
    rb"[^\n]{0,1500}?\b(?P<year>20\d\d)-(?P=month)-(?P=day)[ T]\d\d:",
    re.MULTILINE,
)


def message_year(block: Block) -> int | None:
    """Return the year of a line with its own date: `I0917 10:02:19.1 … podCreationTimestamp="2024-09-17 …`."""
    return _year_in(_MESSAGE_DAY, block) or _year_in(_DMESG_DAY, block)


def mentioned_days(block: Block, most: int) -> Iterator[int]:
    """Yield up to `most` dates in a block, and the day of a `systemctl status` in it."""
    if most > 0 and (status_day := _status_day(block)) is not None:
        yield status_day
    found: dict[bytes, None] = {}
    for day in _NAMED_DAY.finditer(block.data) if most > 0 else ():
        found[day[0]] = None
        if len(found) >= most:
            break
    yield from (moment for day in found if (moment := rfc3339(day + b"T00:00Z")) is not None)


def _status_day(block: Block) -> int | None:
    """Return the day on which `systemctl status` ran: the day since which a unit is in its state, plus the age."""
    found = _SINCE.search(block.data)
    since = rfc3339(found["since"] + b"T00:00Z") if found else None
    if found is None or since is None:
        return None
    return since + sum(int(count) * _AGO[unit] for count, unit in _SPAN.findall(found["ago"]))


def journal_span(block: Block) -> tuple[int, int] | None:
    """Return the first and last day in a journal's header; the printed lines are between them."""
    found = _JOURNAL.search(block.data)
    days = [rfc3339(b"-".join(found.groups()[at : at + 3]) + b"T00:00Z") for at in (0, 3)] if found else []
    return (days[0], days[1]) if days and days[0] is not None and days[1] is not None else None


def _year_in(pattern: re.Pattern[bytes], block: Block) -> int | None:
    found = pattern.search(block.data)
    return int(found["year"]) if found else None


def preamble_year(block: Block) -> int | None:
    """Return the year in `Log file created at: 2024/07/15 03:49:33`, the only one in a klog file."""
    for line in block.data.split(b"\n", PREAMBLE)[:PREAMBLE]:
        entry = preamble(line)
        if entry and entry[0] == "Log file created at" and entry[1][:4].isdecimal():
            return int(entry[1][:4])
    return None
