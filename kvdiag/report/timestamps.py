"""Times in the format that programs read."""

from __future__ import annotations

from kvdiag.base.clock import to_datetime


def rfc3339(stamp: int | None) -> str | None:
    """Return microseconds UTC as `2026-11-20T20:39:21.779765Z`; None stays None."""
    return None if stamp is None else to_datetime(stamp).isoformat(timespec="microseconds").replace("+00:00", "Z")
