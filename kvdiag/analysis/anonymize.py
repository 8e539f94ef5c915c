"""Find all names in the logs, so that each is masked the same way everywhere.

This needs to read the logs twice: to collect names and to write. Standard input is stored in an unnamed temporary file
in between.
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
from kvdiag.base.errors import InputError, UnexpectedError, skip_faults
from kvdiag.events.made_names import attachment_name, inline_handle, staging_hash
from kvdiag.formats.carriers.peel import peel
from kvdiag.inputs.paths import sources
from kvdiag.inputs.readers import BorrowedReader, Reader
from kvdiag.inputs.source import Source
from kvdiag.model.options import Options
from kvdiag.model.timeline import History, Timeline
from kvdiag.model.values import SubjectKind
from kvdiag.safe.names.learn import Learner
from kvdiag.safe.names.mask import Mask

MOST_HASHES = 5_000_000  # pairs of names whose hash is searched for; beyond that only pairs that occur in one event
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
    """Inputs that can be read several times."""

    options: Options
    stdin: Callable[[], Reader] | None = None
    left_out: Mapping[str, InputError] = {}  # by name of an input the reason why it is not written

    def sources(self, problem: Callable[[InputError], None]) -> Iterator[Source]:
        """Yield the inputs from their beginning. Unreadable ones are passed to `problem`."""
        for error in self.left_out.values():
            problem(error)
        found = sources(self.options.paths, problem, stdin=self.stdin)
        return (source for source in found if source.name not in self.left_out)


@contextmanager
def seekable(options: Options) -> Iterator[Inputs]:
    """Yield inputs that can be read twice: standard input is copied to an unnamed temporary file."""
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
    """Collect all names in the inputs; return the inputs and the mask. The same salt gives the same replacements."""
    options = inputs.options
    case = Case(options)
    ignored: list[InputError] = []  # reported when the inputs are read again to be written
    found = FoundNames(case.read(inputs.sources(ignored.append)).history)
    learner = Learner(_known_words(case.patterns, found))
    for kind, name in found.names():
        for part in _WORD.findall(name):
            learner.add(kind, part)
    for source in inputs.sources(ignored.append):
        with skip_faults(source.name, case.problems.append):
            for line in lines(source):
                learner.learn(line)
                learner.add("node", peel(line.encode("utf-8", "surrogateescape")).node)
    mask = Mask(learner.names, salt.encode() or secrets.token_bytes(32))
    hashes = _hashes(found, mask.apply)
    mask.forget()
    for old, new in hashes.items():
        mask.same_hash(old, new)
    return inputs._replace(left_out=_with_unknown_names(case.problems)), mask


def _with_unknown_names(problems: Iterable[InputError]) -> dict[str, InputError]:
    """Return the inputs of which a fault of kvdiag hid lines, each with the message that it is not written."""
    why = "it is not written: its names are not all known, and may remain in the other logs"
    faults = (one for one in problems if isinstance(one, UnexpectedError))
    return {one.source: InputError(one.source, f"{why}; {one.problem}") for one in faults}


def _known_words(patterns: Patterns, found: FoundNames) -> frozenset[str]:
    """Return words that are never masked: those of known messages and of rules, and driver names."""
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
    return frozenset([*words, *parts, *found.drivers, *found.refs["driver"]])


class FoundNames:
    """The names in all events by kind, and which of them occur together."""

    def __init__(self, history: History) -> None:
        """Collect the names in the events of a history."""
        self.refs: dict[str, set[str]] = defaultdict(set)
        self.nodes: set[str] = set()
        self.drivers: set[str] = set()
        self.volumes: set[tuple[str, str]] = set()  # handle and driver
        self.attached: set[tuple[str, str, str]] = set()  # handle, driver and a node from one event
        self.mounted: set[tuple[str, str]] = set()  # a pod's UID and a volume from one event

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
        """Yield each name with its kind."""
        yield from ((kind, name) for ref, kind in _NAMED.items() for name in sorted(self.refs[ref]))
        yield from (("node", node) for node in sorted(self.nodes - {""}))


def _nodes(timeline: Timeline) -> set[str]:
    """Return the nodes that events of a volume name."""
    named = {ref.value for event in timeline.events for ref in event.refs if ref.kind == "node"}
    return named | {event.node for event in timeline.events}


def _hashes(found: FoundNames, new: Rewrite) -> Mapping[str, str]:
    """Return the ids that are hashes of names, each with the hash of the masked names."""
    volumes, nodes = found.volumes, found.nodes | found.refs["node"]
    uids, names = found.refs["pod_uid"], found.refs["outer_name"] | found.refs["spec_name"]
    attached: Iterable[tuple[str, str, str]] = ((*volume, node) for volume, node in product(volumes, nodes))
    mounted: Iterable[tuple[str, str]] = product(uids, names)
    if len(volumes) * len(nodes) > MOST_HASHES:
        attached = found.attached
    if len(uids) * len(names) > MOST_HASHES:
        mounted = found.mounted
    hashed = {staging_hash(handle): staging_hash(new(handle)) for handle, _ in volumes if handle}
    for handle, driver, node in attached:
        hashed[attachment_name(handle, driver, node)] = attachment_name(new(handle), new(driver), new(node))
    for uid, name in mounted:
        hashed[inline_handle(uid, name)] = inline_handle(new(uid), new(name))
    return {old.removeprefix("csi-"): new_hash.removeprefix("csi-") for old, new_hash in hashed.items()}
