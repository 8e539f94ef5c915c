"""What hides the names of somebody's logs: learnt wherever they stand, and replaced alike everywhere.

Names need two readings: one that learns them, one that writes. Standard input is kept in between, in a file without a
name.
"""

from __future__ import annotations

import re
import secrets
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import RawIOBase
from itertools import product
from typing import NamedTuple

from kvdiag.analysis.case import Case, Patterns
from kvdiag.analysis.redact import Rewrite, lines
from kvdiag.analysis.retention.budget import RemainingHistory, active_events
from kvdiag.base.errors import InputError, UnexpectedError, skip_faults
from kvdiag.events.names import attachment_name, inline_handle, staging_hash
from kvdiag.formats.carriers.peel import peel
from kvdiag.inputs.paths import sources
from kvdiag.inputs.readers import BorrowedReader, Reader
from kvdiag.inputs.source import Source
from kvdiag.model.event import Event
from kvdiag.model.options import Options
from kvdiag.model.timeline import History, Timeline
from kvdiag.model.values import SubjectKind
from kvdiag.safe.names.learn import Learner
from kvdiag.safe.names.mask import Mask

MOST_HASHES = 5_000_000  # pairs of names whose hash is looked for; of more only those that an event names together
_WORD = re.compile(r"[0-9A-Za-z]+(?:[-.][0-9A-Za-z]+)*")
_OF_VOLUME = ("outer_name", "spec_name")
_NAMED = {
    "pod_name": "pod",
    "namespace": "ns",
    "node": "node",
    "spec_name": "vol",
    "outer_name": "vol",
    "volume_handle": "vol",
    "pod": "pod",
}


class Inputs(NamedTuple):
    """What is to be shared, which can be read as often as is asked for."""

    options: Options
    stdin: Callable[[], Reader] | None = None
    left_out: Mapping[str, InputError] = {}  # by the name of an input, why it must not be written

    def sources(self, problem: Callable[[InputError], None]) -> Iterator[Source]:
        """The inputs, from their beginning. What cannot be read goes to `problem`."""
        for error in self.left_out.values():
            problem(error)
        found = sources(self.options.paths, problem, stdin=self.stdin)
        return (source for source in found if source.name not in self.left_out)


@contextmanager
def seekable(options: Options) -> Iterator[Inputs]:
    """Inputs that can be read twice: standard input from a file that has no name, and is gone however this ends."""
    if (options.paths and "-" not in options.paths) or sys.stdin is None or sys.stdin.isatty():
        yield Inputs(options)
        return
    with tempfile.TemporaryFile(prefix="kvdiag-", buffering=0) as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        yield Inputs(options, lambda: _from_the_beginning(file))


def _from_the_beginning(file: RawIOBase) -> Reader:
    file.seek(0)
    return BorrowedReader(file)


def mask_names(inputs: Inputs, salt: str) -> tuple[Inputs, Mask]:
    """The inputs whose names are all known, and what hides them. The same salt hides them the same way again."""
    options = inputs.options
    case = Case(options)
    ignored: list[InputError] = []  # told when the inputs are read to be written
    retention = NameRetention()
    retention.add(case.read(retention, inputs.sources(ignored.append)).history)
    learner = Learner(_known_words(case.patterns, retention))
    for kind, name in retention.names():
        for part in _WORD.findall(name):
            learner.add(kind, part)
    for source in inputs.sources(ignored.append):
        with skip_faults(source.name, case.problems.append):
            for line in lines(source):
                learner.learn(line)
                learner.add("node", peel(line.encode("utf-8", "surrogateescape")).node)
    mask = Mask(learner.names, salt.encode() or secrets.token_bytes(32))
    hashes = _hashes(retention, mask.apply)
    mask.forget()
    for old, new in hashes.items():
        mask.same_hash(old, new)
    return inputs._replace(left_out=_with_unknown_names(case.problems)), mask


def _with_unknown_names(problems: Iterable[InputError]) -> dict[str, InputError]:
    """The inputs in which a fault of kvdiag hid lines from the learner, each with what to say of it."""
    why = "it is not written: its names are not all known, and may remain in the other logs"
    faults = (one for one in problems if isinstance(one, UnexpectedError))
    return {one.source: InputError(one.source, f"{why}; {one.problem}") for one in faults}


def _known_words(patterns: Patterns, retention: NameRetention) -> frozenset[str]:
    """Words of the messages that kvdiag knows, of the errors that its rules look for, and drivers' names."""
    texts = [text for wording in patterns.vocabulary.wordings for text in (wording.anchor, wording.message)]
    texts += [
        glob
        for rule in patterns.rules
        for selector in rule.events.values()
        for globs in selector.where.values()
        for glob in globs
    ]
    words = [word for text in texts for word in _WORD.findall(text)]
    parts = [part for word in words for part in re.split("[-.]", word)]
    return frozenset([*words, *parts, *retention.drivers, *retention.refs["driver"]])


class NameRetention:
    """What all events name, gathered before evictions: the names by their kinds, and which of them are joined."""

    notes: tuple[str, ...] = ()
    is_whole = True

    def __init__(self) -> None:
        """Nothing was named yet."""
        self.refs: dict[str, set[str]] = defaultdict(set)
        self.nodes: set[str] = set()
        self.drivers: set[str] = set()
        self.volumes: set[tuple[str, str]] = set()  # handle and driver
        self.attached: set[tuple[str, str, str]] = set()  # handle, driver and a node that an event names with it
        self.mounted: set[tuple[str, str]] = set()  # a pod's UID and a volume that an event names with it

    def retain(self, history: History, cut: int) -> Iterator[Event]:
        """The first events of what goes on; of the others only the names are needed."""
        self.add(history)
        return active_events(history, cut)

    def on_evicted(self, history: RemainingHistory) -> None:
        """Nothing to do: `retain` gathered the names."""

    def add(self, history: History) -> None:
        """Gather what these events name."""
        for event in history.events:
            self.nodes.add(event.node)
            for ref in event.refs:
                self.refs[ref.kind].add(ref.value)
            uids = [ref.value for ref in event.refs if ref.kind == "pod_uid"]
            names = [ref.value for ref in event.refs if ref.kind in _OF_VOLUME] if uids else []
            self.mounted.update(product(uids, names))
        for (kind, key), timeline in history.timelines.items():
            ids = timeline.subject.ids
            if kind is SubjectKind.DRIVER:
                self.drivers.add(key)
            elif kind is SubjectKind.VOLUME:
                handle, driver = ids.get("volume_handle", ""), ids.get("driver", "")
                self.volumes.add((handle, driver))
                self.attached.update((handle, driver, node) for node in _nodes(timeline))

    def names(self) -> Iterator[tuple[str, str]]:
        """What is named, with what it is."""
        yield from ((kind, name) for ref, kind in _NAMED.items() for name in sorted(self.refs[ref]))
        yield from (("node", node) for node in sorted(self.nodes - {""}))


def _nodes(timeline: Timeline) -> set[str]:
    """The nodes that the events of a volume name."""
    named = {ref.value for event in timeline.events for ref in event.refs if ref.kind == "node"}
    return named | {event.node for event in timeline.events}


def _hashes(retention: NameRetention, new: Rewrite) -> Mapping[str, str]:
    """The ids that are hashes of names, and the hashes of the new names."""
    volumes, nodes = retention.volumes, retention.nodes | retention.refs["node"]
    uids, names = retention.refs["pod_uid"], retention.refs["outer_name"] | retention.refs["spec_name"]
    attached: Iterable[tuple[str, str, str]] = ((*volume, node) for volume, node in product(volumes, nodes))
    mounted: Iterable[tuple[str, str]] = product(uids, names)
    if len(volumes) * len(nodes) > MOST_HASHES:
        attached = retention.attached
    if len(uids) * len(names) > MOST_HASHES:
        mounted = retention.mounted
    hashed = {staging_hash(handle): staging_hash(new(handle)) for handle, _ in volumes if handle}
    for handle, driver, node in attached:
        hashed[attachment_name(handle, driver, node)] = attachment_name(new(handle), new(driver), new(node))
    for uid, name in mounted:
        hashed[inline_handle(uid, name)] = inline_handle(new(uid), new(name))
    return {old.removeprefix("csi-"): new_hash.removeprefix("csi-") for old, new_hash in hashed.items()}
