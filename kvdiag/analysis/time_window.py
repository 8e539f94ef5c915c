"""Check that something was logged in the requested time: no findings in an empty window is no good news."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvdiag.base.clock import DAY, to_datetime
from kvdiag.base.errors import InputError, WindowError
from kvdiag.events.snapshots.fact import SNAPSHOT_KINDS
from kvdiag.inputs.folders import SkippedError
from kvdiag.model.options import Options
from kvdiag.model.report import Reading
from kvdiag.model.timeline import History


def at_last_day(options: Options, ends: int) -> Options:
    """Return the options with times of day set to the last time they were before the logs end (microseconds UTC)."""
    since, until = (
        given if clock is None else ends - (ends - clock) % DAY
        for given, clock in ((options.since, options.since_clock), (options.until, options.until_clock))
    )
    if options.until_clock is not None and since is not None and until is not None and until < since:
        until += DAY
    return options._replace(since=since, until=until)


def window_problems(readings: Sequence[Reading], history: History, options: Options) -> Iterator[InputError]:
    """Yield a problem if no log covers the time from `--since` to `--until`, or no event lies in it."""
    since, until = options.since, options.until
    spans = [(one.begins, one.ends) for one in readings if one.begins is not None and one.ends is not None]
    if (since is None and until is None) or not spans:
        return
    name = " ".join(
        f"{option} {_rfc3339(at)}" for option, at in (("--since", since), ("--until", until)) if at is not None
    )
    reach = f"these logs run from {_rfc3339(min(spans)[0])} to {_rfc3339(max(ends for _, ends in spans))}"
    if not any((since is None or ends >= since) and (until is None or begins <= until) for begins, ends in spans):
        yield WindowError(name, f"nothing was logged in that time; {reach}")
    elif all(event.kind in SNAPSHOT_KINDS for event in history.events):
        yield SkippedError(name, f"no recognized event in that time; {reach}")


def _rfc3339(stamp: int) -> str:
    return to_datetime(stamp).isoformat(timespec="seconds").replace("+00:00", "Z")
