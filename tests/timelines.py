"""A history's timelines as a test writes them down."""

from __future__ import annotations

from collections.abc import Mapping

from kvdiag.model.timeline import SubjectKey, Timeline, Timelines


class GivenTimelines(dict[SubjectKey, Timeline], Timelines):
    """Timelines that were made before; `linked` are the subjects that some of them use."""

    def __init__(self, timelines: object = (), linked: Mapping[SubjectKey, frozenset[SubjectKey]] | None = None):
        """Take the timelines as a dict or as its items."""
        super().__init__(timelines)
        self._linked = linked or {}

    def linked_to(self, key: SubjectKey) -> frozenset[SubjectKey]:
        """Give what was said."""
        return self._linked.get(key, frozenset())
