"""The clocks of logs that are printed as they are read: the first line printed may need what a later one tells.

Files are read twice; of a pipe the beginning is held and looked at first. The clocks are those of an analysis of the
same logs.
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
from kvdiag.history.ingest.log_reader import Hooks, LogReader, TextInput, read_source
from kvdiag.inputs.paths import sources
from kvdiag.inputs.readers import ReplayReader, read_up_to
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.inputs.source import Source
from kvdiag.model.options import Options

MOST_HELD = 8 << 20  # bytes of a pipe that are held
MOST_EVENTS = 20_000  # of one log that are looked at for its clock


class KnownLog(NamedTuple):
    """What is known of a log before its lines are printed: its clock, and who mostly speaks in it."""

    clock: SourceClock = SourceClock()
    component: str = ""


class LogClocks:
    """Clocks by the name of a log, over all inputs of a command."""

    def __init__(self, options: Options) -> None:
        """Read what can be read twice."""
        self._options = options
        self._vocabulary = load_patterns(Options()).vocabulary
        self._scanner = make_scanner(self._vocabulary.literals)
        self._read: list[LogEvents] = []
        paths = [path for path in options.paths if Path(path).is_file() or Path(path).is_dir()]
        for source in sources(paths, _ignore) if paths else ():
            self._read += self._logs_of(source)
        self._clocks = self._set(self._read)

    def prepare(self, source: Input) -> tuple[Input, Mapping[str, KnownLog]]:
        """The source, to be read from now on, and what is known of its logs."""
        if any(read.source == source.name or read.source.startswith(f"{source.name}/") for read in self._read):
            return source, self._clocks
        if not isinstance(source, Source) or source.path is not None:
            return source, self._set([*self._read, *self._logs_of(source)])
        reader = source.open()
        head = read_up_to(reader, MOST_HELD)
        logs = self._logs_of(TextInput(source.name, head, source.modified, source.place, source.is_named))
        return source._replace(given=ReplayReader(head, reader)), self._set([*self._read, *logs])

    def _logs_of(self, source: Input) -> Iterator[LogEvents]:
        reads = read_source(source, self._vocabulary, self._scanner, _ignore, lambda _name, _bytes: None, Hooks(_evict))
        with skip_faults(source.name, _ignore):
            yield from (read.log for read in reads)

    def _set(self, logs: Sequence[LogEvents]) -> Mapping[str, KnownLog]:
        clocks = set_clocks(logs, year=self._options.year, zone=self._options.zone)
        return {log.source: KnownLog(clocks[log.source], log.component) for log in logs}


def _ignore(_problem: InputError) -> None:
    """What cannot be read is told when it is read to be printed."""


def _evict(log: LogReader) -> None:
    if log.size > MOST_EVENTS:
        log.evict(lambda raw_event: raw_event.line < MOST_EVENTS, lambda _rpc_line: False)
