"""Read the logs of all inputs, in their order: long files in stretches, by as many processes as there are cores."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeAlias

from kvdiag.base.errors import InputError, skip_faults
from kvdiag.base.processes import LostProcessError, Processes, can_copy
from kvdiag.events.line_texts import LineTexts
from kvdiag.events.packed_events import Events, pack, unpack
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.history.ingest.blocks import Input
from kvdiag.history.ingest.limits import LimitReachedError, TooManyEventsError
from kvdiag.history.ingest.log_reader import (
    MAX_EVENTS,
    BlockListener,
    LineReaders,
    LogRead,
    Progress,
    ReadOptions,
    read_source,
)
from kvdiag.history.ingest.stretches import Part, StretchedLog, read_stretch, stretches
from kvdiag.inputs.source import Source

SIZE = 8 << 20  # bytes of a stretch: half a second of work, so that nobody waits long for the last one
SMALL = 1 << 20  # the same where reading may end at any moment: what was read of a stretch is lost then
FEWEST_BYTES = 12 << 20  # of plain files; starting processes takes as long as reading 1 MB
MOST_WAITING = 1_000  # tasks that wait until there are so many bytes
BATCH = 2 << 20  # bytes of small logs that a process reads at a time
MOST_SENT = 60_000  # bytes of a batch on its way to a process, see `Processes`
PACKED_TIMES = 10  # how many times larger a compressed log usually is


class _TaskResult(NamedTuple):
    """The parts that were read of each input, None for a stretch that cannot be read alone; and the problems."""

    parts: Sequence[Sequence[Part | None]]
    problems: Sequence[InputError]


class _Task(NamedTuple):
    """Inputs to read: one stretch, or some small files, or a single input that only this process can read."""

    inputs: Sequence[Input]
    size: int = 0
    is_local: bool = True

    @property
    def files(self) -> Sequence[Source]:
        """Return the inputs as another process can take them."""
        return [source._replace(problem=_ignore_problem) for source in self.inputs if isinstance(source, Source)]


_Workers: TypeAlias = Processes[Sequence[Source], _TaskResult]


class InputReader:
    """Reads inputs; `reading` is the one being read, `size` the number of bytes read of it."""

    def __init__(
        self, inputs: Iterator[Input], readers: LineReaders, problem: Callable[[InputError], None], progress: Progress
    ) -> None:
        """Problems with inputs go to `problem`; `progress` gets the name and the number of bytes that were read."""
        self._inputs, self._readers, self._report, self._progress = inputs, readers, problem, progress
        self._reported = ""
        self._ahead: deque[_Task] = deque()
        self._batch: list[Source] = []
        self._room = MAX_EVENTS
        self._log = StretchedLog(self._readers.vocabulary)
        self._undivided = ""  # the input that cannot be read in stretches
        self.reading: Input | None = None
        self.size = 0

    @property
    def rest(self) -> Iterator[Input]:
        """Yield the inputs after the one being read."""
        ahead = chain.from_iterable(task.inputs for task in self._ahead)
        last = self.reading.name if self.reading else None
        for source in chain(ahead, self._batch, self._inputs):
            if source.name != last:
                yield source
            last = source.name

    def reads(self, jobs: int, size: int = SIZE) -> Generator[LogRead]:
        """Yield what was read of each log, with `jobs` processes, in stretches of `size` bytes.

        Raise LimitReachedError at a limit. With one process, no input is requested before the one before it was read.
        """
        with closing(self._scheduled(jobs if can_copy() else 1, size)) as tasks:
            for task, result in tasks:
                if result is None:
                    yield from chain.from_iterable(map(self._read_here, task.inputs))
                    continue
                for problem in result.problems:
                    self._problem(problem)
                for source, parts in zip(task.files, result.parts, strict=True):
                    yield from self._accept(source, parts)

    def joined_log(self) -> Iterator[LogRead]:
        """Yield the log whose stretches were read, all or as many as were read before a limit."""
        log, self._log = self._log, StretchedLog(self._readers.vocabulary)
        if log.is_begun and self.reading is not None:
            listeners = self._readers.listeners
            listener = listeners.begin(self.reading.name) if listeners is not None else None
            yield from self._counted(log.join(listener))

    def _tasks(self, size: int, *, is_alone: bool) -> Iterator[_Task]:
        """Yield the tasks. After a local one, the next may be requested only when it was read."""
        for source in self._inputs:
            if not isinstance(source, Source) or source.path is None or source.given or source.size is None:
                yield from self._batched()
                yield _Task((source,))
                continue
            parts = stretches(source, size)
            if len(parts) > 1:
                yield from self._batched()
                yield from (_Task((part,), size, is_local=False) for part in parts)
                continue
            self._batch.append(source)
            if (
                is_alone
                or sum(map(_weight, self._batch)) >= BATCH
                or sum(map(_pickled_size, self._batch)) >= MOST_SENT // 2
            ):
                yield from self._batched()
        yield from self._batched()

    def _batched(self) -> Iterator[_Task]:
        batch, self._batch = self._batch, []
        if batch:
            yield _Task(batch, sum(map(_weight, batch)), is_local=False)

    def _scheduled(self, jobs: int, size: int) -> Generator[tuple[_Task, _TaskResult | None]]:
        """Yield each task with its result; None if it is to be read here."""
        tasks, given = self._tasks(size, is_alone=jobs == 1), 0
        workers: _Workers | None = None
        try:
            while self._fill(tasks, workers.most_tasks if workers else 1):
                result = None
                try:
                    if workers is None and jobs > 1 and self._is_worth_it(tasks):
                        workers, given = Processes(jobs, partial(_read_apart, self._readers)), 0
                        self._fill(tasks, workers.most_tasks)
                    if workers is not None:
                        for task in list(self._ahead)[given : workers.most_tasks]:
                            if not task.is_local:
                                workers.give(task.files)
                                given += 1
                        result = workers.take() if given else None
                except LostProcessError:  # killed for lack of memory, perhaps: one process takes less
                    if workers is not None:
                        workers.close()
                    workers, jobs, given = None, 1, 0
                given = max(0, given - 1)
                yield self._ahead.popleft(), result
        finally:
            if workers:
                workers.close()

    def _fill(self, tasks: Iterator[_Task], most: int) -> bool:
        """Request tasks until there are `most`, or a local one; return whether there are any."""
        while len(self._ahead) < most and not (self._ahead and self._ahead[-1].is_local):
            task = next(tasks, None)
            if task is None:
                break
            self._ahead.append(task)
        return bool(self._ahead)

    def _is_worth_it(self, tasks: Iterator[_Task]) -> bool:
        """Return whether there is enough to read for other processes."""
        before, size = -1, sum(task.size for task in self._ahead)
        while size < FEWEST_BYTES and before < len(self._ahead) < MOST_WAITING:
            before = len(self._ahead)
            self._fill(tasks, before + 1)
            size = sum(task.size for task in self._ahead)
        return size >= FEWEST_BYTES

    def _begin(self, source: Input) -> None:
        if self.reading is None or self.reading.name != source.name:
            self.reading, self.size = source, 0

    def _problem(self, problem: InputError) -> None:
        """Report a problem, once for all stretches of a log."""
        if str(problem) != self._reported:
            self._report(problem)
        self._reported = str(problem)

    def _count(self, name: str, size: int) -> None:
        self.size += size
        self._progress(name, size)

    def _read_here(self, source: Input) -> Iterator[LogRead]:
        """Read an input or a stretch in this process."""
        self._begin(source)
        if not (isinstance(source, Source) and source.is_stretch):
            yield from self._read_whole(source)
        elif source.name != self._undivided:
            first_line = self._log.lines
            source = source._replace(problem=self._problem)
            part = read_stretch(source, self._readers, self._problem, self._count, first_line, self._log.texts)
            yield from self._add_stretch(source, part)

    def _read_whole(self, source: Input) -> Iterator[LogRead]:
        listeners = self._readers.listeners
        how = ReadOptions(listeners.begin if listeners else None, self._room)
        with skip_faults(source.name, self._problem):
            for read in read_source(source, *self._readers[:2], self._problem, self._count, how):
                self._room -= len(read.log.raw_events)
                yield read

    def _accept(self, source: Source, parts: Sequence[Part | None]) -> Iterator[LogRead]:
        """Yield the logs in what another process has read of an input; a stretch waits for the others of its log."""
        self._begin(source)
        for part in parts:
            if source.is_stretch:
                yield from self._add_stretch(source, part and self._unpacked(part, self._log.lines, self._log.texts))
            elif part is not None:
                read, columns, *_ = self._unpacked(part, 0, LineTexts())
                if self._readers.listeners is not None and columns is not None:
                    self._readers.listeners.begin(read.log.source).extend(columns, 0)
                yield from self._counted(read)
        self._count(source.name, (source.size or 0 if source.ends is None else source.ends) - source.begins)

    def _add_stretch(self, source: Source, part: Part | None) -> Iterator[LogRead]:
        """Add a stretch of a log, and yield the log after its last one; if it cannot be divided, the whole is read."""
        if source.name == self._undivided:
            return
        if part is None or not self._log.add(part):
            self._log, self._undivided = StretchedLog(self._readers.vocabulary), source.name
            yield from self._read_whole(source._replace(begins=0, ends=None, identity=None, problem=self._problem))
        elif source.ends is None or self._log.size > self._room:
            yield from self.joined_log()

    def _counted(self, read: LogRead) -> Iterator[LogRead]:
        self._room -= len(read.log.raw_events)
        yield read
        if self._room < 0:
            raise TooManyEventsError

    def _unpacked(self, part: Part, first_line: int, texts: LineTexts) -> Part:
        """Return a part with its events; `first_line` lines of the log are before it, `texts` get those of the part."""
        if part.packed is None:
            return part
        read = part.read
        raw_events, _, rpc_lines, polls = unpack(part.packed, self._readers.vocabulary, first_line, texts)
        log = replace(
            read.log,
            raw_events=raw_events,
            texts=texts,
            lines=read.log.lines + first_line,
            damaged=tuple((begins + first_line, ends + first_line) for begins, ends in read.log.damaged),
        )
        facts = tuple(fact._replace(line=fact.line + first_line) for fact in read.facts)
        return Part(
            read._replace(log=log, facts=facts, rpc_lines=rpc_lines, polls=polls), part.columns, None, first_line
        )


def _weight(source: Source) -> int:
    """Return about how many bytes are to be read."""
    return (source.size or 0) * (PACKED_TIMES if source.compression else 1)


def _pickled_size(source: Source) -> int:
    """Return the most bytes that a source takes as pickle, which has its name twice."""
    return 200 + 8 * len(source.name)


def _read_apart(readers: LineReaders, inputs: Sequence[Source]) -> _TaskResult:
    """Read inputs or stretches in another process."""
    problems: list[InputError] = []
    results: list[Sequence[Part | None]] = []
    for sent in inputs:
        parts: list[Part | None] = []
        results.append(parts)
        source = sent._replace(problem=problems.append)
        with skip_faults(source.name, problems.append):
            if source.is_stretch:
                parts.append(_packed(read_stretch(source, readers, problems.append, _ignore, 0), readers.vocabulary))
            else:
                parts += [_packed(part, readers.vocabulary) for part in _read_logs(source, readers, problems.append)]
    return _TaskResult(results, problems)


def _read_logs(source: Source, readers: LineReaders, problem: Callable[[InputError], None]) -> Iterator[Part]:
    """Yield each log in an input with its columns."""
    begun: dict[str, BlockListener] = {}
    new = readers.listeners.detached if readers.listeners is not None else None
    how = ReadOptions(new and (lambda name: begun.setdefault(name, new())))
    with suppress(LimitReachedError):
        for read in read_source(source, *readers[:2], problem, _ignore, how):
            listener = begun.pop(read.log.source, None)
            yield Part(read, listener and listener.part())


def _packed(part: Part | None, vocabulary: Vocabulary) -> Part | None:
    """Return a part whose events are packed."""
    if part is None:
        return None
    log, *_, rpc_lines, polls = part.read
    packed = pack(Events(log.raw_events, log.texts, rpc_lines, polls), vocabulary)
    read = part.read._replace(log=replace(log, raw_events=(), texts=LineTexts()), rpc_lines=(), polls=())
    return part._replace(read=read, packed=packed)


def _ignore_problem(_problem: InputError) -> None:
    """Stand for the receiver of problems on the way to another process."""


def _ignore(_name: str, _size: int) -> None:
    """Ignore the progress in another process."""
