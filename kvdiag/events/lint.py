"""Check entries of the vocabulary: names, anchors, templates, samples."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvdiag.base.errors import PatternError
from kvdiag.base.regex import lazy_regex
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.model.vocabulary import Entry, Wording

_KIND = lazy_regex(r"[a-z0-9-]+(\.[a-z0-9-]+){1,3}")
_RANGE = lazy_regex(r"(?:>=|<=|>|<|=)?\d+\.\d+(?:\.\d+)?")
_UNSAFE = lazy_regex(r'["\\<>&\n]|[^\x20-\x7e]')
_NON_HEX = lazy_regex(r"[^0-9a-f]")


def lint(vocabulary: Vocabulary) -> Iterator[PatternError]:
    """Yield all errors of the entries. Needs `read_vocabulary`, which has samples."""
    for entry in vocabulary.entries:
        yield from lint_kind(entry)
        for wording in entry.wordings:
            yield from lint_wording(wording)
    compiled = list(_lint_templates(vocabulary))
    yield from compiled or _lint_samples(vocabulary)


def lint_kind(entry: Entry) -> Iterator[PatternError]:
    """Yield the errors of the name of a kind."""
    if not _KIND.fullmatch(entry.kind):
        yield PatternError(entry.place, f"'{entry.kind}' is no kind: thing.action or thing.action.outcome")


def lint_wording(wording: Wording) -> Iterator[PatternError]:
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


def _lint_templates(vocabulary: Vocabulary) -> Iterator[PatternError]:
    for index in range(len(vocabulary.wordings)):
        try:
            vocabulary.matcher(index)
        except PatternError as problem:
            yield problem


def _lint_samples(vocabulary: Vocabulary) -> Iterator[PatternError]:
    """Check that every sample is recognized once, as its own kind, and that every wording has a sample.

    Another event of an embedded error is allowed.
    """
    shown: set[int] = set()
    for entry in vocabulary.entries:
        for sample in entry.samples:
            readings = [(wording, vocabulary.owner(wording)) for wording, _ in vocabulary.readings(sample.encode())]
            others = not entry.is_embedded
            found = [wording for wording, owner in readings if owner is entry or (others and not owner.is_embedded)]
            shown.update(wording for wording in found if vocabulary.owner(wording) is entry)
            read = {vocabulary.owner(wording).kind for wording in found}
            if read != {entry.kind} or (len(found) > 1 and not entry.is_embedded):
                found_kinds = ", ".join(vocabulary.owner(wording).kind for wording in found) or "nothing"
                yield PatternError(entry.place, f"a sample of {entry.kind} is read as {found_kinds}: {sample}")
    for index, wording in enumerate(vocabulary.wordings):
        if index not in shown:
            yield PatternError(wording.place, f"no sample shows this wording of {vocabulary.owner(index).kind}")
