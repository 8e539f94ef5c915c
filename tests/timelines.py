"""A history's timelines as a test writes them down."""

from __future__ import annotations

from kvdiag.model.timeline import Subject, Timeline, Timelines


class GivenTimelines(dict[Subject, Timeline], Timelines):
    """Timelines that were made before."""
