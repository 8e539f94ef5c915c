"""In whatever carriers a log comes, nested as they may be, the same is read in it and found."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kvdiag.analysis.analyze import analyze, literals
from kvdiag.analysis.case import Case, load_patterns
from kvdiag.formats.bodies.registry import read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.history.ingest.log_reader import TextInput, read_source
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.model.options import Options
from kvdiag.model.values import SubjectKind
from kvdiag.rules.findings import find
from kvdiag.rules.rank import rank
from tests.recorded import records_of, records_of_lines
from tests.wrappers import (
    CARRIERS,
    INNERMOST,
    JOURNALS,
    KLOG,
    PARTS,
    YEAR,
    Carrier,
    Written,
    carried,
    encoded,
    logs,
    written,
)

CASE = "hostpath-driver-lost-state"
PROGRAMS = {
    "kubelet.log": "kubelet",
    "csi-hostpath.log": "hostpathplugin",
    "csi-attacher.log": "csi-attacher",
    "containerd.log": "containerd",
}


@cache
def lines_of(name: str) -> tuple[Written, ...]:
    """The lines of a log of the sample."""
    return tuple(written(logs(CASE)[name], PROGRAMS[name], YEAR[CASE]))


def entries() -> tuple[Written, ...]:
    """The klog lines of the sample's kubelet."""
    return tuple(entry for entry in lines_of("kubelet.log") if KLOG.match(entry.line.encode()))


def text_in(carriers: tuple[Carrier, ...], lines: tuple[Written, ...]) -> bytes:
    """A log in carriers, the innermost first."""
    return b"".join(encoded(carried(line, *carriers)) + b"\n" for line in lines)


def found(folder: Path, *carriers: Carrier) -> set[tuple[object, ...]]:
    """All that is found in the sample when each line of each log comes in these carriers, with its evidence."""
    for name in PROGRAMS:
        (folder / name).write_bytes(text_in(carriers, lines_of(name)))
    report = analyze(Options(paths=(str(folder),), year=YEAR[CASE]))
    assert report.problems == ()
    return {
        (
            finding.rule.name,
            finding.subject.name,
            finding.verdict,
            finding.role,
            finding.count,
            *((piece.step, piece.event.kind, piece.event.time, piece.total) for piece in finding.evidence),
        )
        for finding in report.findings
    }


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """What is found in the sample as it is."""
    return found(tmp_path_factory.mktemp("sound"))


OUTER = CARRIERS | JOURNALS | PARTS


@pytest.mark.parametrize("carrier", [*OUTER, *INNERMOST])
def test_the_same_is_found_in_a_carrier(carrier, sound, tmp_path):
    """Findings, how often each was seen, its evidence and the times of it are those of the bare logs."""
    assert found(tmp_path, (OUTER | INNERMOST)[carrier]) == sound != set()


MODES = JOURNALS | {"json": CARRIERS["json"]}


@cache
def seen(mode: str) -> tuple[list[tuple[object, ...]], list[int]]:
    """All events of a journal, which are its timelines, and the lines they stand on."""
    vocabulary = load_patterns(Options(paths=())).vocabulary
    data = text_in((MODES[mode],), entries())
    (read,) = read_source(
        TextInput("x", data), vocabulary, make_scanner(literals()), pytest.fail, lambda _name, _size: None
    )
    raw_events = read.log.raw_events
    lines = data.split(b"\n")
    assert all(b"kubelet" in lines[one.line - 1] or b"MESSAGE" in lines[one.line - 1] for one in raw_events)
    told = [(one.match.entry.kind, one.match.refs, one.stamp, one.process[:3]) for one in raw_events]
    return told, [one.line for one in raw_events]


@pytest.mark.parametrize("mode", JOURNALS)
def test_the_same_events(mode):
    """Every mode that carries a time and a year gives the same events of the same process at the same time."""
    events, lines = seen(mode)
    assert events == seen("json")[0]
    length = JOURNALS[mode](entries()[0]).count("\n") + 1
    assert lines == sorted(lines)
    assert lines[-1] > (seen("json")[1][-1] - 1) * length


def test_a_line_that_is_named_holds_the_message():
    """The line number of evidence is that of the message in the input."""
    data = text_in((JOURNALS["export"],), entries())
    lines = data.split(b"\n")
    vocabulary = load_patterns(Options(paths=())).vocabulary
    (read,) = read_source(
        TextInput("x", data), vocabulary, make_scanner(literals()), pytest.fail, lambda _name, _size: None
    )
    assert read.log.raw_events
    assert all(lines[one.line - 1].startswith(b"MESSAGE=") for one in read.log.raw_events)


KNOWLEDGE = load_patterns(Options())
INNER = CARRIERS | INNERMOST
# kubectl-like tools write for a reader, and nothing writes their lines into a log again: stern's own two words before
# each line stand around no other two, and MicroShift's program's name around no address of talosctl.
NOWHERE_SEEN = {("stern", "stern"), ("microshift", "talosctl")}
PAIRS = [(outer, inner) for outer in OUTER for inner in INNER if (outer, inner) not in NOWHERE_SEEN]
PARTS_OF_PAIRS = 4
VARYING = re.compile(r"\d|(?<=until )\S+ \S+|\([^)]*\)")


@cache
def incident(name: str) -> tuple[Written, ...]:
    """The lines of a log of the sample that tell of an event; of those that say the same, two."""
    lines = lines_of(name)
    hits = make_scanner(literals()).scan("\n".join(line.line for line in lines).encode())
    alike = Counter[str]()
    kept = []
    for hit in hits:
        words = VARYING.sub("", lines[hit[0]].line)
        alike[words] += 1
        if alike[words] <= 2:
            kept.append(lines[hit[0]])
    return tuple(kept)


class Dripping(BytesIO):
    """A text that comes a few bytes at a time, as from a pipe."""

    step = 1 << 20

    def readinto(self, buffer: memoryview, /) -> int:
        """Give the next bytes."""
        return super().readinto(buffer[: self.step])


class Piped(NamedTuple):
    """A log that comes so many bytes at a time."""

    text: TextInput
    step: int
    name = property(lambda self: self.text.name)
    modified = property(lambda self: self.text.modified)
    place = property(lambda self: self.text.place)
    is_named = True

    def open(self) -> Dripping:
        """The bytes."""
        given = Dripping(self.text.data)
        given.step = self.step
        return given


def said(*carriers: Carrier, step: int = 1 << 20) -> tuple[set[object], set[object]]:
    """The findings with their evidence, and the timelines, when each line of the incident comes in these carriers."""
    texts = [Piped(TextInput(name, text_in(carriers, incident(name))), step) for name in PROGRAMS]
    case = Case(Options(year=YEAR[CASE]), KNOWLEDGE)
    history = case.read(given=texts).history
    assert case.problems == []
    told = rank(list(find(KNOWLEDGE.rules, history, KNOWLEDGE.vocabulary.kinds)), history)
    findings = {
        (
            *(finding.rule.name, finding.subject.name, finding.verdict, finding.role, finding.count),
            *((piece.step, piece.event.kind, piece.event.time, piece.total) for piece in finding.evidence),
        )
        for finding in told
    }
    timelines = {
        # A carrier may call the node by its address.
        (kind, key if kind is not SubjectKind.NODE else "", *((event.kind, event.time) for event in timeline.events))
        for (kind, key), timeline in history.timelines.items()
    }
    return findings, timelines


@cache
def bare() -> tuple[set[object], set[object]]:
    """What is said when no carrier is around the lines."""
    return said()


@pytest.mark.parametrize("part", range(PARTS_OF_PAIRS))
@settings(max_examples=settings.default.max_examples // PARTS_OF_PAIRS)
@given(st.data())
def test_the_same_is_found_in_any_two_carriers(part, data):
    """Findings, verdicts, times and timelines are those of the bare logs in each carrier around each other one."""
    outer, inner = data.draw(st.sampled_from(PAIRS[part::PARTS_OF_PAIRS]))
    assert said(INNER[inner], OUTER[outer]) == bare()
    assert len(bare()[0]) == 1


@pytest.mark.parametrize("step", [90, 1000, 20_000])
@pytest.mark.parametrize("carrier", PARTS)
def test_parts_of_lines_come_in_pieces(carrier, step):
    """Where the reads of a pipe end, between two parts or within one, is of no importance."""
    assert said(PARTS[carrier], step=step) == bare()


@settings(max_examples=max(100, settings.default.max_examples))
@given(
    st.integers(0, 10_000), st.sampled_from([*CARRIERS]), st.sampled_from([*CARRIERS]), st.sampled_from([*INNERMOST])
)
def test_two_carriers_around_a_line(number, outer, inner, innermost):
    """Any two carriers, one in the other, also around k0s, give the line that was put into them."""
    assume({outer, inner} - {"stern"})  # four words before a line might be a sentence
    entry = entries()[number % len(entries())]
    bare = entry.line.rstrip()
    wrapped = carried(entry._replace(line=bare), INNERMOST[innermost], CARRIERS[inner], CARRIERS[outer]).encode()
    assert peel(wrapped).body.decode() == bare
    (raw,) = records_of(wrapped)
    assert raw.body == read_body(bare.encode())


@pytest.mark.parametrize("carrier", [*CARRIERS, *INNERMOST])
def test_a_whole_log_in_a_carrier(carrier):
    """The records of a whole log in one carrier are those of the bare log."""
    bare = [entry._replace(line=entry.line.rstrip()) for entry in entries()[:400]]
    wrapped = [carried(entry, (CARRIERS | INNERMOST)[carrier]).encode() for entry in bare]
    told = [raw.body for raw in records_of_lines(wrapped)]
    assert told == [read_body(entry.line.encode()) for entry in bare]
