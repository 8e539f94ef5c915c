"""Lines that look alarming and are not: why each is harmless, and when it is not.

- name: volume-not-in-use-yet
anchor: Volume has not been added to the list of VolumesInUse
message: '(durationBeforeRetry 500ms). Error: ...Volume has not been added to the list of VolumesInUse'
why: kubelet asks before its status has told the API that it wants the volume.
unless: the wait grows to 16s and beyond
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kvdiag.errors import PatternError
from kvdiag.events.template import Matcher, compile_wording
from kvdiag.explain.topic import read_text
from kvdiag.model.vocabulary import Wording
from kvdiag.yamlread import Node, read_yaml

_LINE = ("name", "anchor", "messages", "why", "unless", "samples", "not-samples")


@dataclass(frozen=True, slots=True, kw_only=True)
class Benign:
    """A harmless line: the templates that tell it, the reason, and when it is no longer harmless."""

    name: str
    why: str
    unless: str
    matchers: tuple[Matcher, ...]
    samples: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    place: str = ""

    def fits(self, line: bytes) -> bool:
        """Whether the line is one of these."""
        at = line.find(self.matchers[0].wording.anchor.encode())
        return at >= 0 and any(matcher.match(line, at) is not None for matcher in self.matchers)


def load_benign(path: Path) -> tuple[Benign, ...]:
    """All harmless lines of a file. Raises PatternError with `file:line:column`."""
    return tuple(_lines(read_yaml(read_text(path), str(path))))


def first_that_fits(lines: Sequence[Benign], line: bytes) -> Benign | None:
    """The first entry that a line is one of."""
    return next((entry for entry in lines if entry.fits(line)), None)


def faults(lines: Sequence[Benign]) -> Iterator[PatternError]:
    """A sample that its entry does not fit, or a line that it must not fit and does."""
    for entry in lines:
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
            matchers=tuple(compile_wording(Wording(anchor=anchor, message=m.text(), place=m.place)) for m in messages),
            samples=tuple(sample.text() for sample in keys["samples"].sequence()),
            others=tuple(other.text() for other in keys["not-samples"].sequence()) if "not-samples" in keys else (),
            place=item.place,
        )
