"""Moments as programs read them."""

from __future__ import annotations

from kvdiag.base.clock import to_datetime


def rfc3339(stamp: int | None) -> str | None:
    """Microseconds UTC as `2026-11-20T20:39:21.779765Z`; None stays."""
    return None if stamp is None else to_datetime(stamp).isoformat(timespec="microseconds").replace("+00:00", "Z")
