"""Lines that look alarming and are not: why each is harmless, and when it is not.

- name: volume-not-in-use-yet
anchor: Volume has not been added to the list of VolumesInUse
message: '(durationBeforeRetry 500ms). Error: ...Volume has not been added to the list of VolumesInUse'
why: kubelet asks before its status has told the API that it wants the volume.
unless: the wait grows to 16s and beyond

An entry may say when its lines are harmless: `most` so many with the same words in one log, for so long after a `start`
of kubelet or the runtime, `until` an event that follows within ten minutes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kvdiag.base.cache import cached, fingerprint
from kvdiag.base.errors import PatternError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.template import Matcher, compile_wording
from kvdiag.model.vocabulary import Wording

if TYPE_CHECKING:
    from kvdiag.base.yamlread import Node

BENIGN = "benign"  # the file beside the topics that lists them


@dataclass(frozen=True, kw_only=True)
class Benign:
    """A harmless line: the templates that tell it, the reason, and when it is no longer harmless.

    It is harmless only `most` times with the same words in a log (0: any), within so many microseconds after a `start`
    of the node's programs (0: at any time), and where an event of the kind `until` follows (empty: without one).
    """

    name: str
    why: str
    unless: str
    wordings: tuple[Wording, ...]
    samples: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    place: str = ""
    most: int = 0
    start: int = 0
    until: str = ""

    @property
    def reason(self) -> str:
        """Why it is harmless, and when it is not, as sentences."""
        return f"{self.why} Exception: {self.unless}."

    @cached_property
    def anchor(self) -> bytes:
        """What each of its lines has in it."""
        return self.wordings[0].anchor.encode()

    @cached_property
    def matchers(self) -> tuple[Matcher, ...]:
        """Its templates, compiled when a line has its anchor. Raises PatternError for one that is faulty."""
        return tuple(map(compile_wording, self.wordings))

    def fits(self, line: bytes) -> bool:
        """Whether the line is one of these."""
        at = line.find(self.anchor)
        return at >= 0 and any(matcher.match(line, at) is not None for matcher in self.matchers)


def load_benign(path: Path) -> tuple[Benign, ...]:
    """All harmless lines of a file. Raises PatternError with `file:line:column`."""
    from kvdiag.base.yamlread import read_text, read_yaml  # which a filled cache spares us

    entries = tuple(_lines(read_yaml(read_text(path), str(path))))
    for entry in entries:
        _ = entry.matchers
    return entries


def known_benign() -> tuple[Benign, ...]:
    """The harmless lines that come with kvdiag, from the cache when the file has not changed: without samples then."""
    return _known_benign(builtin_patterns() / "topics" / f"{BENIGN}.yaml")


@cache
def _known_benign(path: Path) -> tuple[Benign, ...]:
    def without_samples() -> tuple[Benign, ...]:
        return tuple(replace(entry, samples=(), others=()) for entry in load_benign(path))

    return cached("benign", fingerprint([path]), tuple[Benign, ...], without_samples)


def first_that_fits(lines: Sequence[Benign], line: bytes) -> Benign | None:
    """The first entry that a line is one of."""
    return next((entry for entry in lines if entry.fits(line)), None)


def faults(lines: Sequence[Benign], kinds: Container[str] | None = None) -> Iterator[PatternError]:
    """A sample that its entry does not fit, a line that it must not fit and does; two of a name, an unknown kind."""
    names = Counter(entry.name for entry in lines)
    for entry in lines:
        if names[entry.name] > 1:
            yield PatternError(entry.place, f"{entry.name} is given twice")
        if entry.until and kinds is not None and entry.until not in kinds:
            yield PatternError(entry.place, f"{entry.name}: unknown event kind {entry.until!r}")
        for sample in entry.samples:
            if first_that_fits(lines, sample.encode()) is not entry:
                yield PatternError(entry.place, f"a sample of {entry.name} is not read as it: {sample}")
        for other in entry.others:
            if entry.fits(other.encode()):
                yield PatternError(entry.place, f"{entry.name} fits what it must not: {other}")


def _lines(node: Node) -> Iterator[Benign]:
    from kvdiag.base.decode import Record, duration, line  # slow import (YAML), as above

    record = Record(
        Benign,
        keys={"others": "not-samples"},
        given=("wordings",),
        others=("anchor", "messages"),
        required=("anchor", "samples"),
        why=line,
        unless=line,
        most=_number,
        start=duration,
    )
    for item in node.sequence():
        keys = record.table(item)
        anchor = keys["anchor"].text()
        messages = keys["messages"].sequence() if "messages" in keys else (keys["anchor"],)
        wordings = tuple(Wording(anchor=anchor, message=message.text(), place=message.place) for message in messages)
        yield record(item, wordings=wordings)


def _number(node: Node) -> int:
    if not re.fullmatch(r"[1-9]\d{0,3}", node.text()):
        raise node.error(f"{node.text()!r} is no number of lines from 1 to 9999")
    return int(node.text())
