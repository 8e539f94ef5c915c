"""The vocabulary: which words of which component mean which event; read from `patterns/events/*.yaml`.

Reading YAML takes hundreds of milliseconds, so what was read is kept as JSON (see `kvdiag.base.cache`); templates are
compiled when a line first asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kvdiag.base.cache import cached, fingerprint
from kvdiag.base.errors import PatternError
from kvdiag.events.template import Matcher, compile_wording
from kvdiag.formats.carriers.carrier import KERNEL
from kvdiag.model.vocabulary import CRASH, Entry, Wording

EVENTS = "events"
"""The folder of them in a folder of patterns."""

_Speaker = tuple[str, str]  # a kind and who prints it


class Vocabulary(NamedTuple):
    """All entries, and the way from a literal of a line to the wordings that may be meant.

    A kind that several components print has an entry for each of them; `kinds` has it once, with all its wordings.
    `wordings[i]` belongs to `entries[owners[i]]`; `by_literal[n]` lists the wordings whose anchor is `literals[n]`, in
    the order of the files: the first that matches is what the line says. `matchers` are compiled as lines ask for them.
    `polls`, `readers` and `errors` are the wordings of entries that repeat, of those whose values a reader of their own
    reads, and of those with an `{error}`. `simple_literals[n]` is whether no wording of `literals[n]` without a reader
    may take more than its line or be said by few only: polls, errors, the kernel's, a crash's, embedded ones. It is
    built once: for each log it would take 1 ms.
    """

    entries: tuple[Entry, ...]
    wordings: tuple[Wording, ...]
    owners: tuple[int, ...]
    literals: tuple[bytes, ...]
    by_literal: tuple[tuple[int, ...], ...]
    kinds: Mapping[str, Entry]
    matchers: list[Matcher | None]
    polls: frozenset[int]
    readers: frozenset[int]
    errors: frozenset[int]
    simple_literals: tuple[bool, ...]

    @property
    def wide(self) -> frozenset[str]:
        """The kinds that tell of a node."""
        return frozenset(kind for kind, entry in self.kinds.items() if entry.scope == "node")

    def matcher(self, wording: int) -> Matcher:
        """Give the matcher of `wordings[wording]`, compiled when first asked for. Raises PatternError if faulty."""
        compiled = self.matchers[wording]
        if compiled is None:
            compiled = self.matchers[wording] = compile_wording(self.wordings[wording])
        return compiled

    def owner(self, wording: int) -> Entry:
        """Give the entry that `wordings[wording]` is a spelling of."""
        return self.entries[self.owners[wording]]

    def readings(self, line: bytes) -> Iterator[tuple[int, tuple[bytes | None, ...]]]:
        """Give for each literal in the line the wording that matches, with its values; slow, for lint and tests."""
        for number in [number for number, literal in enumerate(self.literals) if literal in line]:
            at = line.find(self.literals[number])
            for wording in self.by_literal[number]:
                values = self.matcher(wording).match(line, at)
                if values is not None:
                    yield wording, values
                    break


def load_vocabulary(folder: Path, extra: Iterable[Entry] = (), more: Iterable[Path] = ()) -> Vocabulary:
    """Give the vocabulary of a folder's YAML files, those of `more` folders, and `extra` entries; without samples.

    Raises PatternError for a file that cannot be used. Uses the cache of the user.
    """
    entries = [entry for one in (folder, *user_event_folders(more)) for entry in _cached(one)]
    return make_vocabulary([*entries, *extra])


def user_event_folders(patterns: Iterable[Path]) -> Iterator[Path]:
    """Give the folders of events in the user's folders of patterns."""
    for folder in patterns:
        if (folder / EVENTS).is_dir():
            yield folder / EVENTS


def event_files(folder: Path) -> list[Path]:
    """Return the files of events in a folder, by name."""
    named = (path for path in folder.iterdir() if path.suffix in {".yaml", ".yml"} and path.is_file())
    return sorted(named, key=lambda path: path.name)


def _cached(folder: Path) -> tuple[Entry, ...]:
    def without_samples() -> tuple[Entry, ...]:
        return tuple(entry._replace(samples=()) for entry in read_entries(folder))

    return cached("events", fingerprint(event_files(folder)), tuple[Entry, ...], without_samples)


def read_vocabulary(folder: Path) -> Vocabulary:
    """Give the same of one folder from the files alone, with samples: for lint and tests."""
    return make_vocabulary(read_entries(folder))


def read_entries(folder: Path) -> list[Entry]:
    """Give the entries of a folder's files with samples. Raises PatternError for a file that cannot be used."""
    from kvdiag.events.event_file import read_event_file  # slow import (YAML), not needed if the cache is filled

    return [entry for path in event_files(folder) for entry in read_event_file(path)]


def make_vocabulary(entries: Iterable[Entry]) -> Vocabulary:
    """Join entries of one kind to one; the order of wordings stays. Raises PatternError where they contradict."""
    kinds: dict[str, Entry] = {}
    by_speaker: dict[_Speaker, Entry] = {}
    spelled: list[tuple[_Speaker, Wording]] = []
    for entry in entries:
        speaker = (entry.kind, entry.component)
        known, same = kinds.get(entry.kind), by_speaker.get(speaker)
        kinds[entry.kind] = _merged(known, entry) if known else entry
        by_speaker[speaker] = _merged(same, entry) if same else entry
        spelled += [(speaker, wording) for wording in entry.wordings]
    spelled = _shared_anchors(spelled)
    numbers = {speaker: number for number, speaker in enumerate(by_speaker)}
    literals: dict[str, list[int]] = {}
    for index, (_, wording) in enumerate(spelled):
        literals.setdefault(wording.anchor, []).append(index)
    owners = [by_speaker[speaker] for speaker, _ in spelled]
    # What is embedded in the error of a line comes after the line itself, whose event has more names.
    in_order = sorted(literals, key=lambda anchor: all(owners[number].is_embedded for number in literals[anchor]))
    errors = frozenset(
        number
        for number, (_, wording) in enumerate(spelled)
        if "{error}" in wording.message or wording.message.endswith("{message}")
    )
    readers = frozenset(number for number, entry in enumerate(owners) if entry.reader)
    special = errors | frozenset(number for number, entry in enumerate(owners) if _is_special(entry))
    return Vocabulary(
        entries=tuple(by_speaker.values()),
        wordings=tuple(wording for _, wording in spelled),
        owners=tuple(numbers[speaker] for speaker, _ in spelled),
        literals=tuple(literal.encode() for literal in in_order),
        by_literal=tuple(tuple(literals[literal]) for literal in in_order),
        kinds=kinds,
        matchers=[None] * len(spelled),
        polls=frozenset(number for number, entry in enumerate(owners) if entry.poll),
        readers=readers,
        errors=errors,
        simple_literals=tuple((special - readers).isdisjoint(literals[literal]) for literal in in_order),
    )


def _is_special(entry: Entry) -> bool:
    return bool(entry.poll or entry.reader) or entry.component == KERNEL or entry.kind == CRASH or entry.is_embedded


def _shared_anchors(spelled: list[tuple[_Speaker, Wording]]) -> list[tuple[_Speaker, Wording]]:
    """Wordings whose anchor begins with another's take that one: a line is then looked at once and not twice."""
    shortest: dict[str, str] = {}
    short = "\n"  # begins no anchor
    for anchor in sorted({wording.anchor for _, wording in spelled}):  # what begins alike stands together
        short = short if anchor.startswith(short) else anchor
        shortest[anchor] = short
    return [
        (speaker, wording if wording.anchor == short else wording._replace(anchor=short))
        for speaker, wording in spelled
        for short in (shortest[wording.anchor],)
    ]


def _merged(known: Entry, more: Entry) -> Entry:
    """Join one kind from two places. A verbosity is where absence begins to mean something, so the higher one holds.

    Who repeats the words within an error of its own (no component) is no witness of their absence.
    """
    for key in ("scope", "poll", "reader", "label"):
        if getattr(known, key) != getattr(more, key):
            raise PatternError(
                more.place,
                f"{more.kind} has {key} {getattr(more, key)!r} here and {getattr(known, key)!r} in {known.place}",
            )
    return known._replace(
        wordings=known.wordings + more.wordings,
        verbosity=max(known.verbosity, more.verbosity),
        samples=known.samples + more.samples,
        also=known.also + (() if more.component in {*known.components, ""} else more.components),
    )
