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
from kvdiag.base.clock import parse_duration
from kvdiag.base.errors import PatternError
from kvdiag.events.pattern_folder import builtin_patterns
from kvdiag.events.template import Matcher, compile_wording
from kvdiag.model.vocabulary import Wording

if TYPE_CHECKING:
    from kvdiag.base.yamlread import Node

BENIGN = "benign"  # the file beside the topics that lists them
_LINE = ("name", "anchor", "messages", "why", "unless", "samples", "not-samples", "most", "start", "until")


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
    for item in node.sequence():
        keys = item.mapping(_LINE, ("name", "anchor", "why", "unless", "samples"))
        anchor = keys["anchor"].text()
        messages = keys["messages"].sequence() if "messages" in keys else (keys["anchor"],)
        yield Benign(
            name=keys["name"].text(),
            why=" ".join(keys["why"].text().split()),
            unless=" ".join(keys["unless"].text().split()),
            wordings=tuple(Wording(anchor=anchor, message=m.text(), place=m.place) for m in messages),
            samples=tuple(sample.text() for sample in keys["samples"].sequence()),
            others=tuple(other.text() for other in keys["not-samples"].sequence()) if "not-samples" in keys else (),
            place=item.place,
            most=_number(keys["most"]) if "most" in keys else 0,
            start=_duration(keys["start"]) if "start" in keys else 0,
            until=keys["until"].text() if "until" in keys else "",
        )


def _number(node: Node) -> int:
    if not re.fullmatch(r"[1-9]\d{0,3}", node.text()):
        raise node.error(f"{node.text()!r} is no number of lines from 1 to 9999")
    return int(node.text())


def _duration(node: Node) -> int:
    span = parse_duration(node.text())
    if span is None or span <= 0:
        raise node.error(f"{node.text()!r} is not a duration; write 90s, 5m")
    return span
