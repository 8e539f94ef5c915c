"""Stop reading at a limit, and report what was not read.

The limits are `--limit-seconds`, also while waiting for input, and the number of events.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from kvdiag.base.errors import InputError
from kvdiag.history.ingest.blocks import Input

LISTING = 1.0  # seconds to list the inputs that were not read
MOST_NAMED = 20
_PERCENT = 100


class LimitReachedError(BaseException):
    """Raised at a limit; a BaseException, so that no reader handles it as a fault of its input."""


class TimeIsUpError(LimitReachedError):
    """Raised at the time limit."""


class TooManyEventsError(LimitReachedError):
    """Raised when there are more events than are analyzed."""


class LimitError(InputError):
    """An input that was not read, or only partly, because of a limit."""


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """Raise TimeIsUpError in the block, once, after `seconds`. Works only in the main thread."""
    if not seconds or threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise_time_is_up)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _raise_time_is_up(_number: int, _frame: object) -> None:
    raise TimeIsUpError


def unread_errors(
    reading: Input | None, took: int, rest: Iterable[Input], paths: Sequence[str], limit: str
) -> Iterator[LimitError]:
    """Yield errors for what was not read: the rest of the current input, and the following inputs.

    `took` is how many bytes of the current input were read; `limit` says which limit was reached. Later members of an
    archive are not listed.
    """
    if reading is not None:
        yield LimitError(reading.name, f"{limit} after {_share(reading, took)} of it")
    is_member = reading is not None and getattr(reading, "given", None) is not None
    names = [] if is_member else _listed(rest)
    seen = (*names, *((reading.name,) if reading else ()))
    later = paths[max((at + 1 for at, path in enumerate(paths) for name in seen if name.startswith(path)), default=0) :]
    names += [path for path in later if path not in names]
    for name in names[:MOST_NAMED]:
        yield LimitError(name, f"{limit} before it was read")
    if len(names) > MOST_NAMED:
        yield LimitError(f"{len(names) - MOST_NAMED:,} more inputs", f"{limit} before they were read")


def _listed(rest: Iterable[Input]) -> list[str]:
    names: list[str] = []
    try:
        with limited(LISTING):
            for source in rest:
                names.append(source.name)
                if getattr(source, "given", None) is not None:
                    break  # the next one is after all data of this one
    except TimeIsUpError:
        pass
    return names


def _share(reading: Input, took: int) -> str:
    size = getattr(reading, "size", None)
    if size and not getattr(reading, "compression", ""):
        return f"{min(_PERCENT, took * _PERCENT // size)} %"
    return f"{took / (1 << 20):,.1f} MiB"
