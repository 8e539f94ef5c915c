"""When a fault began, how long it lasted, and where it stands, in words."""

from __future__ import annotations

from kvdiag.base.clock import SECOND, format_duration, to_datetime
from kvdiag.model.report import Finding
from kvdiag.model.values import State


def span_sentence(finding: Finding) -> str:
    """Return the state at the end of the logs, the start, the count and the duration of a fault as a sentence."""
    begins, lasted = format_time(finding.begins), finding.ends - finding.begins
    took = f" in {format_duration(lasted)}" if lasted >= SECOND else ""
    state = _state(finding)
    if finding.count < 2 and finding.healed is None and finding.deleted is None:
        once = f"Once, {begins} UTC." if not took else f"Began {begins} UTC, seen for {format_duration(lasted)}."
        return f"{once} {state}".rstrip()
    if finding.count < 2:
        return f"{state} Began {begins} UTC."
    return f"{state} Began {begins} UTC: {finding.count} times{took}.".lstrip()


def _state(finding: Finding) -> str:
    """Return a sentence on how the fault ended; empty if the logs do not show it."""
    if finding.healed is not None:
        return f"Over since {_same_day(finding.healed, finding.begins)}."
    if finding.deleted is not None:
        return f"Not recovered: the pod was removed at {_same_day(finding.deleted, finding.begins)}."
    if finding.state is not State.ONGOING:
        return ""
    return "Still failing at the end of the logs." if finding.count > 1 else "The logs end soon after."


def _same_day(stamp: int, begins: int) -> str:
    """Return a time without its date if that is the date of `begins`."""
    day, time = format_time(stamp).split(" ")
    return time if format_time(begins).startswith(day) else f"{day} {time}"


def format_time(stamp: int) -> str:
    """Return a time as `2026-11-20 20:39:21`."""
    return to_datetime(stamp).strftime("%Y-%m-%d %H:%M:%S")


def format_span(begins: int, ends: int) -> str:
    """Return a time span; the date is printed once if both times share it."""
    first, last = format_time(begins), format_time(ends)
    return f"{first} to {last.partition(' ')[2] if first[:10] == last[:10] else last} UTC"
