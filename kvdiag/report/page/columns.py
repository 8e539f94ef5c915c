"""Encode the data of the picture for script.js: columns of numbers and a table of texts, deflated, in base64.

    "KVD1" · size of the JSON · JSON (lanes, states, labels, sources, texts) · columns of little-endian 32-bit numbers

A number is stored as its difference from the one before. All lowest bytes come first, then all second bytes and so on:
this deflates to a third of the size. 100,000 events take 1 MB.
"""

from __future__ import annotations

import base64
import json
import sys
import zlib
from array import array
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kvdiag.model.lanes import Bar, Lane, Lanes, Mark, Tone
from kvdiag.model.record import Origin
from kvdiag.model.report import Excerpt, Finding
from kvdiag.report import RenderOptions
from kvdiag.report.timeline.row_texts import common_folder
from kvdiag.safe.clean import SafeText, clean, json_safe, shortened

MILLISECOND = 1_000
LONGEST = 240  # characters of a log line
LONGEST_RAW = 500  # characters of a line around an event
MOST_TEXT = 3_000_000  # bytes of log lines; further marks have a place and no text
LARGEST = (1 << 31) - 1


class Sources:
    """The names of the logs without their common folder, and a number for each."""

    def __init__(self, sources: Iterable[str]) -> None:
        """Take the names of the logs of a report."""
        self._names = list(dict.fromkeys(sources))
        self._folder = common_folder(self._names) if len(self._names) > 1 else ""
        self._numbers = {name: number for number, name in enumerate(self._names)}

    @property
    def shown(self) -> list[str]:
        """Return the names as printed, by number."""
        return [name.removeprefix(self._folder) for name in self._names]

    def place(self, origin: Origin) -> str:
        """Return the place of a line: `kubelet.log:162`."""
        return str(origin).removeprefix(self._folder)

    def number(self, name: str) -> int:
        """Return the number of a log; an unknown log gets the next free number."""
        if name not in self._numbers:
            self._numbers[name] = len(self._names)
            self._names.append(name)
        return self._numbers[name]

    def at(self, origin: Origin) -> str:
        """Return the anchor of a line in the page's address: `0.162`."""
        return f"{self.number(origin.source)}.{origin.line}"


class _Table:
    """A string table: each text once, by number."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def columns(
    lanes: Lanes,
    findings: Mapping[str, Finding],
    sources: Sources,
    options: RenderOptions,
    excerpts: Sequence[Excerpt] = (),
) -> str:
    """Return the picture's data in base64; `findings` are by their anchor in the page."""
    return _Columns(lanes, findings, sources, options).encode(excerpts)


class _Columns:
    def __init__(self, lanes: Lanes, findings: Mapping[str, Finding], sources: Sources, options: RenderOptions) -> None:
        self._lanes, self._findings, self._sources, self._redact = lanes, findings, sources, options.redact
        self._faults = _faults(findings.values())
        self._states: dict[tuple[str, Tone], int] = {}
        self._labels, self._texts = _Table(), _Table()
        self._left = MOST_TEXT
        self._begins, self._unit = _scale(lanes)
        self._proves = {
            evidence.event.origin: number
            for number, finding in reversed(list(enumerate(findings.values(), start=1)))
            for evidence in finding.evidence
        }

    def encode(self, excerpts: Sequence[Excerpt]) -> str:
        """Return header, texts and columns, deflated and in base64."""
        shown = sorted(self._lanes.lanes, key=lambda lane: -self._severity(lane))
        marks = [mark for lane in shown for mark in sorted(lane.marks, key=lambda one: one.event.time)]
        words = self._words(marks)
        bars = [bar for lane in shown for bar in lane.bars]
        numbers = [*self._bars(bars), *self._marks(marks, words)]
        body = b"".join(map(_shuffled, numbers))
        header = {**self._header(shown, len(bars), len(marks)), "excerpts": self._excerpts(excerpts)}
        encoded = json_safe(json.dumps(header, ensure_ascii=False)).encode()
        data = b"KVD1" + len(encoded).to_bytes(4, "little") + encoded + body
        return base64.b64encode(zlib.compress(data)).decode()

    def _header(self, shown: Sequence[Lane], bars: int, marks: int) -> dict[str, object]:
        return {
            "begins": self._begins // MILLISECOND,
            "ends": max(self._lanes.ends, self._begins) // MILLISECOND,
            "unit": self._unit // MILLISECOND,
            "bars": bars,
            "marks": marks,
            "lanes": [
                [
                    *(lane.kind, self._clean(lane.name), self._clean(lane.node), len(lane.bars), len(lane.marks)),
                    [(number, self._at(found.begins), self._at(found.ends)) for number, found in self._faults_of(lane)],
                ]
                for lane in shown
            ],
            "states": [[self._clean(state), str(tone)] for state, tone in self._states],
            "labels": [self._clean(label) for label in self._labels.numbers],
            "texts": list(self._texts.numbers),
            "sources": [self._clean(name) for name in self._sources.shown],
            "findings": [
                [anchor, found.severity.label, self._clean(_title(found)), found.rule.name]
                for anchor, found in self._findings.items()
            ],
        }

    def _faults_of(self, lane: Lane) -> Iterable[tuple[int, Finding]]:
        """Yield the findings about a lane's subject on its node, with their numbers."""
        for number, finding in self._faults.get((lane.kind, lane.key), ()):
            if finding.subject.ids.get("node", lane.node) == lane.node:
                yield number, finding

    def _severity(self, lane: Lane) -> int:
        """Return the highest severity of the findings about a lane's subject, -1 for none."""
        return max((finding.severity for _, finding in self._faults_of(lane)), default=-1)

    def _excerpts(self, excerpts: Sequence[Excerpt]) -> list[object]:
        """Return source number, first line and lines of each excerpt."""
        return [
            [
                self._sources.number(one.source),
                one.first_line,
                [shortened(self._clean(line), LONGEST_RAW) for line in one.lines],
            ]
            for one in excerpts
        ]

    def _bars(self, bars: Sequence[Bar]) -> Iterable[list[int]]:
        yield [self._at(bar.begins) for bar in bars]
        yield [self._at(bar.ends) - self._at(bar.begins) for bar in bars]
        yield [self._states.setdefault((bar.state, bar.tone), len(self._states)) for bar in bars]

    def _marks(self, marks: Sequence[Mark], words: Sequence[int]) -> Iterable[list[int]]:
        events = [mark.event for mark in marks]
        yield [self._at(event.time) for event in events]
        yield [self._at(max(event.ends, event.time)) - self._at(event.time) for event in events]
        yield [self._labels(mark.label) for mark in marks]
        yield [self._sources.number(event.origin.source) for event in events]
        yield [event.origin.line for event in events]
        yield list(words)
        yield [
            self._proves.get(event.origin, 0) * 2 + (not mark.legal) for mark, event in zip(marks, events, strict=True)
        ]

    def _words(self, marks: Sequence[Mark]) -> list[int]:
        """Return for each mark the number of its text, 0 for none. Lines of evidence come first, as room is limited."""
        self._texts("")
        found: dict[Origin, int] = {}
        for mark in sorted(marks, key=lambda one: (one.event.origin not in self._proves, one.legal)):
            event = mark.event
            if event.origin not in found:
                found[event.origin] = self._text(event.text)
        return [found[mark.event.origin] for mark in marks]

    def _text(self, text: str) -> int:
        if self._left <= 0:
            return 0
        shown = shortened(self._clean(text), LONGEST)
        self._left -= len(shown.encode(errors="replace"))
        return self._texts(shown)

    def _at(self, time: int) -> int:
        return min(LARGEST, max(0, (time - self._begins) // self._unit))

    def _clean(self, text: str) -> SafeText:
        return clean(text, redact=self._redact)


def _title(finding: Finding) -> str:
    """Return the title; of a further finding of an incident that of its rule, as the lane beside it has the name."""
    return finding.title if finding.incident in {None, finding.key} else finding.rule.title


def _faults(findings: Iterable[Finding]) -> Mapping[tuple[str, str], Sequence[tuple[int, Finding]]]:
    """Return by kind and key of a subject its findings with their numbers."""
    faults: dict[tuple[str, str], list[tuple[int, Finding]]] = defaultdict(list)
    for number, finding in enumerate(findings):
        faults[str(finding.subject.kind), finding.subject.key].append((number, finding))
    return faults


def _scale(lanes: Lanes) -> tuple[int, int]:
    """Return the start of the picture, and the microseconds per unit of time such that all times fit into 31 bits."""
    times = [bar.begins for lane in lanes.lanes for bar in lane.bars]
    times += [mark.event.time for lane in lanes.lanes for mark in lane.marks]
    begins = min(times, default=lanes.begins) // MILLISECOND * MILLISECOND
    span = max(lanes.ends, max(times, default=lanes.ends)) - begins
    unit = MILLISECOND
    while span // unit > LARGEST:
        unit *= 10
    return begins, unit


def _shuffled(numbers: Sequence[int]) -> bytes:
    """Return the differences between neighbouring numbers as bytes: all lowest bytes first, which compresses better."""
    differs = array("i", (one - other for one, other in zip(numbers, [0, *numbers], strict=False)))
    if sys.byteorder == "big":
        differs.byteswap()
    data = differs.tobytes()
    return b"".join(data[place::4] for place in range(4))
