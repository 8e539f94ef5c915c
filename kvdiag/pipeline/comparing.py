"""Two logs, or two subjects of one set of logs, compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from kvdiag.correlate.lives import live
from kvdiag.correlate.lookup import look_up
from kvdiag.correlate.parting import compare_events, compare_lives
from kvdiag.errors import UsageError
from kvdiag.model.comparison import Comparison
from kvdiag.model.event import Event
from kvdiag.model.timeline import History, Timeline
from kvdiag.model.values import SubjectKind
from kvdiag.pipeline.analyze import know
from kvdiag.pipeline.named import Named, history_told
from kvdiag.pipeline.options import Options
from kvdiag.pipeline.relief import NEXT, Keeper

KINDS = (SubjectKind.POD, SubjectKind.VOLUME, SubjectKind.SANDBOX, SubjectKind.CONTAINER)


def compare(left: str, right: str, options: Options) -> Comparison:
    """Compare two logs when both names are files or folders, else two pods or volumes found in `options.paths`.

    Raises UsageError when a name is neither, is the name of several, or the two are of different kinds.
    """
    if not options.paths and Path(left).exists() and Path(right).exists():
        first, second = (_history(options._replace(paths=(name,)), Firsts()) for name in (left, right))
        return compare_events((left, first.events), (right, second.events))
    history = _history(options, Named(KINDS, (left, right)))
    for kind in KINDS:
        found = [_one(history, kind, name) for name in (left, right)]
        if found[0] is not None and found[1] is not None:
            return compare_lives(live(found[0], history), live(found[1], history))
    raise UsageError(f"{left!r} and {right!r} are not two pods or two volumes of these logs, nor two logs")


def _one(history: History, kind: SubjectKind, name: str) -> Timeline | None:
    found = look_up(history, kind, name)
    if len(found) > 1:
        uids = ", ".join(timeline.subject.key for timeline in found)
        raise UsageError(f"several are called {name!r}; say which by UID or id: {uids}")
    return found[0] if found else None


def _history(options: Options, keeper: Keeper) -> History:
    return history_told(know(options), options, keeper)


class Firsts:
    """Keeps of a log what a comparison looks at: when each kind of event came first, and the event before it."""

    notes: tuple[str, ...] = (f"of what ended before {{until}} only the first event of each kind was kept; {NEXT}",)
    is_whole = True

    def keep(self, history: History, cut: int) -> Iterator[Event]:
        """These events."""
        seen: set[str] = set()
        before: Event | None = None
        for event in history.events:
            if event.kind not in seen:
                seen.add(event.kind)
                yield from (event,) if before is None else (before, event)
            before = event
            if event.time >= cut:
                return

    def left(self, history: Callable[[], History]) -> None:
        """Nothing was learnt from what is gone."""
