"""Write timelines as text, JSON, an HTML page or a Chrome trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, TextIO

from kvdiag.model.lifecycle import TimelineView
from kvdiag.report import RenderOptions
from kvdiag.report.timeline.timeline_text import TimelineText

TEXT, VALUES = "text", "values"
"""An output has `write(timeline_texts, stream, options)`, or `write(views, stream, options)`."""
TIMELINES: Mapping[str, tuple[str, str]] = {
    "text": (TEXT, "kvdiag.report.timeline.text"),
    "json": (VALUES, "kvdiag.report.timeline.json_timeline"),
    "html": (VALUES, "kvdiag.report.page.timeline"),
    "trace": (TEXT, "kvdiag.report.timeline.trace"),
}

Writer = Callable[[Sequence[TimelineView], TextIO, RenderOptions], None]


def timeline_writer(name: str) -> Writer:
    """Return the function that writes this format. Its module is imported here and not at start-up."""
    kind, module = TIMELINES[name]
    write: Callable[[Sequence[Any], TextIO, RenderOptions], None] = import_module(module).write
    if kind == VALUES:
        return write

    def write_text(views: Sequence[TimelineView], stream: TextIO, options: RenderOptions) -> None:
        write([TimelineText(view, redact=options.redact) for view in views], stream, options)

    return write_text
