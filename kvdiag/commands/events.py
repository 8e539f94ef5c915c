"""Logs in, their events out, in order of time; of more than are held at once, run by run."""

from __future__ import annotations

from collections.abc import Callable

from kvdiag.commands.case import inputs, load_patterns, read_history, relief_of
from kvdiag.errors import InputError
from kvdiag.ingest.read import Progress
from kvdiag.model.event import Event
from kvdiag.model.options import Options
from kvdiag.model.record import Origin
from kvdiag.model.timeline import History

Tell = Callable[[Event], None]


def list_events(options: Options, tell: Tell, problems: list[InputError], progress: Progress) -> tuple[bool, list[str]]:
    """Give each event to `tell`; give whether anything was understood, and what a person should know."""
    knowledge, told = load_patterns(options), EventRetention(tell)
    relief = relief_of(knowledge, options, told)
    analysis = read_history(inputs(options, problems), knowledge, options, problems, progress, relief)
    told.tell(analysis.history)
    return any(reading.records for reading in analysis.readings), [*map(str, problems), *relief.notes]


class EventRetention:
    """Tells events before they are let go."""

    notes: tuple[str, ...] = ("they are printed in batches, each sorted by time; sort the output by .time with jq",)
    is_whole = True

    def __init__(self, tell: Tell) -> None:
        """Nothing was told yet."""
        self._tell = tell
        self._known: set[tuple[Origin, str]] = set()  # what was told and is still held
        self._cut = 0

    def keep(self, history: History, cut: int) -> tuple[()]:
        """Tell what ended before `cut`; nothing of it is needed any more."""
        self.tell(history, cut)
        self._cut = cut
        return ()

    def left(self, history: Callable[[], History]) -> None:
        """Remember what was told and is kept all the same."""
        self._known = {(event.origin, event.kind) for event in history().events if event.ends < self._cut}

    def tell(self, history: History, until: int | None = None) -> None:
        """Tell what was not told yet."""
        for event in history.events:
            if (until is None or event.ends < until) and (event.origin, event.kind) not in self._known:
                self._tell(event)
