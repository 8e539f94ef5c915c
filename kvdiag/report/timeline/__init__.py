"""Write timelines as text, JSON, an HTML page or a Chrome trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TextIO

from kvdiag.model.lifecycle import TimelineView
from kvdiag.report import RenderOptions

TIMELINES: Mapping[str, str] = {
    "text": "kvdiag.report.timeline.text",
    "json": "kvdiag.report.timeline.json_timeline",
    "html": "kvdiag.report.page.timeline",
    "trace": "kvdiag.report.timeline.trace",
}

Writer = Callable[[Sequence[TimelineView], TextIO, RenderOptions], None]


def timeline_writer(name: str) -> Writer:
    """Return the function that writes this format. Its module is imported here and not at start-up."""
    write: Writer = import_module(TIMELINES[name]).write
    return write
