"""A history's timelines as a test writes them down."""

from __future__ import annotations

from kvdiag.model.timeline import SubjectKey, Timeline, Timelines


class GivenTimelines(dict[SubjectKey, Timeline], Timelines):
    """Timelines that were made before."""
