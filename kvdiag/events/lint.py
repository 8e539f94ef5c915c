"""Check entries of the vocabulary: built-in ones and those of a user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kvdiag.base.errors import PatternError
from kvdiag.base.regex import lazy_regex
from kvdiag.events.event_file import read_event_file
from kvdiag.events.template import template_fault
from kvdiag.events.vocabulary import Vocabulary, event_files, make_vocabulary
from kvdiag.model.vocabulary import Entry, Wording

_KIND = lazy_regex(r"[a-z0-9-]+(\.[a-z0-9-]+){1,3}")
_RANGE = lazy_regex(r"(?:>=|<=|>|<|=)?\d+\.\d+(?:\.\d+)?")
_UNSAFE = lazy_regex(r'["\\<>&\n]|[^\x20-\x7e]')
_NON_HEX = lazy_regex(r"[^0-9a-f]")


def _lint_kind(entry: Entry) -> Iterator[PatternError]:
    """Yield the errors of the name of a kind."""
    if not _KIND.fullmatch(entry.kind):
        yield PatternError(entry.place, f"'{entry.kind}' is no kind: thing.action or thing.action.outcome")


def _lint_wording(wording: Wording) -> Iterator[PatternError]:
    """Yield the errors of a wording, without its template."""
    anchor = wording.anchor
    if _UNSAFE.search(anchor):
        yield PatternError(
            wording.place, f"the anchor '{anchor}' would not survive JSON: plain ASCII, no quotes, <, >, &"
        )
    if len(_NON_HEX.findall(anchor)) < 3 or len(anchor) < 4:
        yield PatternError(wording.place, f"the anchor '{anchor}' is too weak: it hits too many other lines")
    for component, versions in wording.since.items():
        parts = re.split(r"\s*(?:\|\||,)\s*|\s+", versions.strip())
        if not all(_RANGE.fullmatch(part) for part in parts):
            yield PatternError(wording.place, f"'{versions}' is no range of versions of {component}")


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


def lint_events(entries: Sequence[Entry], known: Sequence[Entry] = ()) -> Iterator[PatternError]:
    """Yield all errors of entries with samples; `known` are entries before them, which are not checked."""
    wordings = [wording for entry in entries for wording in entry.wordings]
    for entry in entries:
        yield from _lint_kind(entry)
    for wording in wordings:
        yield from _lint_wording(wording)
    try:
        vocabulary = make_vocabulary([*known, *entries])
    except PatternError as fault:  # it contradicts another entry of the kind
        yield fault
        return
    broken = list(filter(None, map(template_fault, wordings)))
    yield from broken or _lint_samples(entries, vocabulary)


def _lint_samples(entries: Sequence[Entry], vocabulary: Vocabulary) -> Iterator[PatternError]:
    """Check that each sample is recognized only as its own kind, and that each wording has a sample.

    Words within an error may be those of several entries.
    """
    numbers = {wording.place: number for number, wording in enumerate(vocabulary.wordings)}
    shown: set[int] = set()
    misread: set[str] = set()
    for entry in entries:
        for sample in entry.samples:
            read = {number: vocabulary.owner(number) for number, _ in vocabulary.readings(sample.encode())}
            shown |= read.keys()
            others = (one for one in read.values() if not (one.is_embedded or entry.is_embedded))
            kinds = {one.kind for one in read.values() if one.kind == entry.kind} | {one.kind for one in others}
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
