"""Check a user's events: the files of `DIR/events/`, together with the built-in entries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kvdiag.base.errors import PatternError
from kvdiag.events.event_file import read_event_file
from kvdiag.events.lint import lint_kind, lint_wording
from kvdiag.events.vocabulary import Vocabulary, event_files, make_vocabulary
from kvdiag.model.vocabulary import Entry


def read_user_events(folder: Path) -> tuple[list[Entry], list[PatternError]]:
    """Return the entries of all valid files, with samples, and the first error of each invalid one."""
    entries: list[Entry] = []
    faults: list[PatternError] = []
    for path in event_files(folder):
        try:
            entries += read_event_file(path)
        except PatternError as fault:
            faults.append(fault)
    return entries, faults


def lint_user_events(entries: Sequence[Entry], known: Sequence[Entry]) -> Iterator[PatternError]:
    """Yield all errors of a user's entries; `known` are the entries before them."""
    for entry in entries:
        yield from lint_kind(entry)
        for wording in entry.wordings:
            yield from lint_wording(wording)
    try:
        vocabulary = make_vocabulary([*known, *entries])
        broken = list(_compiled(vocabulary, {wording.place for entry in entries for wording in entry.wordings}))
    except PatternError as fault:  # it contradicts another entry of the kind
        yield fault
        return
    yield from broken or _samples(entries, vocabulary)


def _compiled(vocabulary: Vocabulary, places: set[str]) -> Iterator[PatternError]:
    for number, wording in enumerate(vocabulary.wordings):
        try:
            if wording.place in places:
                vocabulary.matcher(number)
        except PatternError as fault:
            yield fault


def _samples(entries: Sequence[Entry], vocabulary: Vocabulary) -> Iterator[PatternError]:
    """Check that each sample is recognized only as its own kind, and that each wording has a sample."""
    numbers = {wording.place: number for number, wording in enumerate(vocabulary.wordings)}
    shown: set[int] = set()
    misread: set[str] = set()
    for entry in entries:
        for sample in entry.samples:
            read = {number: vocabulary.owner(number) for number, _ in vocabulary.readings(sample.encode())}
            shown |= read.keys()
            kinds = {
                one.kind for one in read.values() if one.is_embedded == entry.is_embedded or one.kind == entry.kind
            }
            if kinds != {entry.kind}:
                misread.add(entry.place)
                yield PatternError(entry.place, _misread(entry, kinds, read))
    for entry in entries:
        for wording in entry.wordings:
            if entry.place not in misread and numbers[wording.place] not in shown:
                yield PatternError(wording.place, f"no sample shows this wording of {entry.kind}")


def _misread(entry: Entry, kinds: set[str], read: Mapping[int, Entry]) -> str:
    others = sorted({one.kind for one in read.values()} - {entry.kind}) if entry.kind not in kinds else sorted(kinds)
    if not others:
        return f"a sample of {entry.kind} is not read at all: its message does not fit"
    if entry.kind in kinds:
        return f"a sample of {entry.kind} is read as more than one kind: {', '.join(others)}"
    return f"this line is never matched: {', '.join(others)} has its anchor and is tried first; use that kind instead"
