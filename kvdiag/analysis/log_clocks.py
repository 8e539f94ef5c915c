"""Determine the clocks of logs that are printed while they are read: a later line may be needed for the first one.

Files are read twice; of a pipe, the beginning is buffered. The result is the same as in an analysis of the logs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kvdiag.analysis.case import load_patterns
from kvdiag.base.errors import InputError, skip_faults
from kvdiag.history.correlate.clocks import SourceClock, set_clocks
from kvdiag.history.ingest.blocks import Input
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.history.ingest.log_reader import ReadOptions, TextInput, read_source
from kvdiag.inputs.paths import sources
from kvdiag.inputs.readers import ReplayReader, read_up_to
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.inputs.source import Source
from kvdiag.model.options import Options

MOST_HELD = 8 << 20  # bytes at the beginning of a pipe that are buffered
MOST_EVENTS = 20_000  # events of one log that are used for its clock


class KnownLog(NamedTuple):
    """What is known about a log before its lines are printed: its clock and its main component."""

    clock: SourceClock = SourceClock()
    component: str = ""


class LogClocks:
    """The clocks of all logs of a command, by name of the log."""

    def __init__(self, options: Options) -> None:
        """Read the inputs that can be read twice."""
        self._options = options
        self._vocabulary = load_patterns(Options()).vocabulary
        self._scanner = make_scanner(self._vocabulary.literals)
        self._read: list[LogEvents] = []
        paths = [path for path in options.paths if Path(path).is_file() or Path(path).is_dir()]
        for source in sources(paths, _ignore) if paths else ():
            self._read += self._logs_of(source)
        self._clocks = self._set(self._read)

    def prepare(self, source: Input) -> tuple[Input, Mapping[str, KnownLog]]:
        """Return the source to read from now on, and what is known about its logs."""
        if any(read.source == source.name or read.source.startswith(f"{source.name}/") for read in self._read):
            return source, self._clocks
        if not isinstance(source, Source) or source.path is not None:
            return source, self._set([*self._read, *self._logs_of(source)])
        reader = source.open()
        head = read_up_to(reader, MOST_HELD)
        logs = self._logs_of(TextInput(source.name, head, source.modified, source.place, source.is_named))
        return source._replace(given=ReplayReader(head, reader)), self._set([*self._read, *logs])

    def _logs_of(self, source: Input) -> Iterator[LogEvents]:
        how = ReadOptions(most_kept=MOST_EVENTS)
        with skip_faults(source.name, _ignore):
            for read in read_source(source, self._vocabulary, self._scanner, _ignore, _ignore_progress, how):
                yield read.log

    def _set(self, logs: Sequence[LogEvents]) -> Mapping[str, KnownLog]:
        clocks = set_clocks(logs, year=self._options.year, zone=self._options.zone)
        return {log.source: KnownLog(clocks[log.source], log.component) for log in logs}


def _ignore(_problem: InputError) -> None:
    """Ignore the problem: it is reported when the input is read again to be printed."""


def _ignore_progress(_name: str, _size: int) -> None:
    """Ignore the progress."""
