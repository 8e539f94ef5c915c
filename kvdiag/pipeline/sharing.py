"""Logs → the same logs fit to be shown to others: without secrets and, where asked, without names.

Names need two readings: one that learns them wherever they stand, one that writes. Standard input is kept in a
temporary file in between.
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
from dataclasses import dataclass
from io import BytesIO
from itertools import product
from pathlib import Path

from kvdiag.errors import InputError, KvdiagError
from kvdiag.events.names import attachment_name, inline_handle, staging_hash
from kvdiag.formats.peel import peel
from kvdiag.inputs.paths import sources
from kvdiag.inputs.source import STDIN, Source
from kvdiag.model.event import Event
from kvdiag.model.timeline import History
from kvdiag.model.values import SubjectKind
from kvdiag.pipeline.analyze import Knowledge, know, read_history, relief_of
from kvdiag.pipeline.options import Options
from kvdiag.pipeline.relief import going_on
from kvdiag.report.secrets import BLOT, redacted
from kvdiag.report.sharing.learn import Learner
from kvdiag.report.sharing.mask import Mask
from kvdiag.scan.blocks import blocks

Change = Callable[[str], str]

MOST_HASHES = 5_000_000  # pairs of names whose hash is looked for
PACKED = {".gz", ".bz2", ".xz", ".zst"}
LONGEST_KEY = 400  # lines of a private key that spans lines
_WORD = re.compile(r"[0-9A-Za-z]+(?:[-.][0-9A-Za-z]+)*")
_KEY_BEGINS, _KEY_ENDS = "-----BEGIN ", "-----END "
_NAMED = {
    "pod_name": "pod",
    "namespace": "ns",
    "node": "node",
    "spec_name": "vol",
    "outer_name": "vol",
    "volume_handle": "vol",
    "pod": "pod",
}


@dataclass(slots=True)
class Shared:
    """What was written: lines, those that held a secret, names that were replaced, lines that were cut."""

    lines: int = 0
    secrets: int = 0
    names: int = 0
    cut: int = 0


@contextmanager
def seekable(options: Options) -> Iterator[Options]:
    """Options whose inputs can be read twice: standard input is first copied to a temporary file."""
    if options.paths and "-" not in options.paths:
        yield options
        return
    with tempfile.TemporaryDirectory(prefix="kvdiag-") as folder:
        kept = Path(folder, STDIN)
        with kept.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield options._replace(paths=tuple(str(kept) if path == "-" else path for path in options.paths or ("-",)))


def hiding(options: Options, salt: str) -> tuple[Change, int]:
    """What hides the names of these inputs, and how many there are. The same salt hides them the same way again."""
    knowledge = know(options)
    unheard: list[InputError] = []  # told when the inputs are read to be written
    said = Said()
    relief = relief_of(knowledge, options, said)
    said.add(read_history(sources(options.paths, unheard.append), knowledge, options, [], relief=relief).history)
    learner = Learner(_kept(knowledge, said))
    for kind, name in said.names():
        for part in _WORD.findall(name):
            learner.add(kind, part)
    for source in sources(options.paths, unheard.append):
        with source.open() as reader:
            for block in blocks(reader):
                for line in BytesIO(block.data):
                    learner.line(_decoded(line))
                    learner.add("node", peel(line).node)
    mask = Mask(learner.names, salt.encode() or secrets.token_bytes(32))
    for old, new in _hashes(said, mask.text).items():
        mask.same_hash(old, new)
    return mask.text, len(learner.names)


def written(source: Source, change: Change, done: Shared) -> Iterator[bytes]:
    """The lines of one source without secrets, changed, each as it ended."""
    in_key = 0
    with source.open() as reader:
        for block in blocks(reader):
            done.cut += block.truncated
            for line in map(_decoded, BytesIO(block.data)):
                body = line.rstrip("\r\n")
                in_key = _key_lines(line, in_key)
                safe = (BLOT if in_key > 1 else redacted(body)) + line[len(body) :]
                done.lines += 1
                done.secrets += safe != line
                yield change(safe).encode("utf-8", "surrogateescape")


def _key_lines(line: str, before: int) -> int:
    """How far into a private key that spans lines this one is; 1 for its first line, which is redacted as any is."""
    if before:
        return 0 if _KEY_ENDS in line or before > LONGEST_KEY else before + 1
    begins = line.rfind(_KEY_BEGINS)
    return int(begins >= 0 and "PRIVATE KEY-----" in line[begins:] and _KEY_ENDS not in line[begins:])


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", "surrogateescape")


def _kept(knowledge: Knowledge, said: Said) -> frozenset[str]:
    """Words of the messages that kvdiag knows, of the errors that its rules look for, and drivers' names."""
    texts = [text for wording in knowledge.vocabulary.wordings for text in (wording.anchor, wording.message)]
    texts += [
        glob
        for rule in knowledge.rules
        for selector in rule.events.values()
        for globs in selector.where.values()
        for glob in globs
    ]
    whole = [word for text in texts for word in _WORD.findall(text)]
    parts = [part for word in whole for part in re.split("[-.]", word)]
    return frozenset([*whole, *parts, *said.drivers, *said.refs["driver"]])


class Said:
    """What all events name, gathered before they are let go: the names by their kinds, and which of them are joined."""

    notes: tuple[str, ...] = ()
    is_whole = True

    def __init__(self) -> None:
        """Nothing was named yet."""
        self.refs: dict[str, set[str]] = defaultdict(set)
        self.nodes: set[str] = set()
        self.drivers: set[str] = set()
        self.volumes: set[tuple[str, str]] = set()  # handle and driver

    def keep(self, history: History, cut: int) -> Iterator[Event]:
        """The first events of what goes on; of the others only the names are needed."""
        self.add(history)
        return going_on(history, cut)

    def left(self, history: Callable[[], History]) -> None:
        """All was gathered before."""

    def add(self, history: History) -> None:
        """Gather what these events name."""
        for event in history.events:
            self.nodes.add(event.node)
            for ref in event.refs:
                self.refs[ref.kind].add(ref.value)
        for (kind, key), timeline in history.timelines.items():
            ids = timeline.subject.ids
            if kind is SubjectKind.DRIVER:
                self.drivers.add(key)
            elif kind is SubjectKind.VOLUME:
                self.volumes.add((ids.get("volume_handle", ""), ids.get("driver", "")))

    def names(self) -> Iterator[tuple[str, str]]:
        """What is named, with what it is."""
        yield from ((kind, name) for ref, kind in _NAMED.items() for name in sorted(self.refs[ref]))
        yield from (("node", node) for node in sorted(self.nodes - {""}))


def _hashes(said: Said, new: Change) -> Mapping[str, str]:
    """The ids that are hashes of names, and the hashes of the new names."""
    volumes, nodes = said.volumes, said.nodes | said.refs["node"]
    uids, names = said.refs["pod_uid"], said.refs["outer_name"] | said.refs["spec_name"]
    if len(volumes) * len(nodes) + len(uids) * len(names) > MOST_HASHES:
        raise KvdiagError("too many volumes and nodes in these logs to hide their names; give fewer logs at a time")
    hashed = {staging_hash(handle): staging_hash(new(handle)) for handle, _ in volumes if handle}
    for (handle, driver), node in product(volumes, nodes):
        hashed[attachment_name(handle, driver, node)] = attachment_name(new(handle), new(driver), new(node))
    for uid, name in product(uids, names):
        hashed[inline_handle(uid, name)] = inline_handle(new(uid), new(name))
    return {old.removeprefix("csi-"): made.removeprefix("csi-") for old, made in hashed.items()}


def placed(found: Iterable[Source], folder: Path, change: Change) -> Iterator[tuple[Source, Path]]:
    """Each source with the file it is to be written to: under its own path, unpacked, and never outside the folder."""
    taken: set[Path] = set()
    for source in found:
        parts = [part for part in Path(change(source.name)).parts if part not in {"/", ".", ".."}]
        path = folder.joinpath(*parts or [STDIN])
        path = path.with_suffix("") if path.suffix in PACKED else path
        while path in taken:
            path = path.with_name(f"{path.name}.more")
        taken.add(path)
        yield source, path
