"""In whatever carriers a log comes, nested as they may be, the same is read in it and found."""

from __future__ import annotations

import gzip
import json
import re
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kvdiag.formats.peel import peel
from kvdiag.formats.records import read_body, read_records
from kvdiag.pipeline.analyze import analyze, know, literals
from kvdiag.pipeline.options import Options
from kvdiag.pipeline.read import Text, read_source
from kvdiag.scan.choose import scanner

SAMPLE = Path(__file__).parents[1] / "sample-logs" / "hostpath-driver-lost-state"
YEAR = 2026
HEADER = re.compile(rb"[IWEF](\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d{6}) +(\d+) ")
DAY = "2026-11-20"


class Entry(NamedTuple):
    """A line of the sample with what a journal knows of it."""

    at: datetime
    pid: str
    line: str

    @property
    def micros(self) -> str:
        """Microseconds since 1970."""
        return str((self.at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1))

    @property
    def fields(self) -> dict[str, str]:
        """The fields of its journal entry, some of which nobody asks for."""
        return {
            "__CURSOR": f"s=ab8f135e0b994f2f97adfe8da9b358ba;i=1;t={self.micros}",
            "__REALTIME_TIMESTAMP": self.micros,
            "_CAP_EFFECTIVE": "1fffeffffff",
            "_HOSTNAME": "worker-1",
            "_TRANSPORT": "stdout",
            "SYSLOG_IDENTIFIER": "kubelet",
            "_CMDLINE": "/usr/bin/kubelet -v=4 --node-ip=10.0.0.7",
            "MESSAGE": self.line,
            "_PID": self.pid,
        }


@cache
def entries() -> tuple[Entry, ...]:
    """The klog lines of the sample's kubelet."""
    path = next(SAMPLE.glob("kubelet.log*"))
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    found = []
    for line in text.split(b"\n"):
        head = HEADER.match(line)
        if head:
            month, day, clock, pid = (part.decode() for part in head.groups())
            at = datetime.fromisoformat(f"{YEAR}-{month}-{day}T{clock}+00:00")
            found.append(Entry(at, pid, line.decode()))
    return tuple(found)


def short_precise(entry: Entry) -> bytes:
    return f"{entry.at:%b %d %H:%M:%S.%f} worker-1 kubelet[{entry.pid}]: {entry.line}\n".encode()


def as_json(entry: Entry) -> bytes:
    return json.dumps(entry.fields).encode() + b"\n"


def pretty(entry: Entry) -> bytes:
    fields = ",\n".join(f'\t"{name}" : {json.dumps(value)}' for name, value in entry.fields.items())
    return f"{{\n{fields}\n}}\n".encode()


def export(entry: Entry) -> bytes:
    return "".join(f"{name}={value}\n" for name, value in entry.fields.items()).encode() + b"\n"


def export_binary(entry: Entry) -> bytes:
    """As export, but each message by its length, with a line break, as if it had held something not printable."""
    message = f"{entry.line}\n\x1b[0m".encode()
    fields = entry.fields
    del fields["MESSAGE"]
    plain = "".join(f"{name}={value}\n" for name, value in fields.items()).encode()
    core = b"\n\nMESSAGE=x\n\n"
    return (
        plain
        + b"COREDUMP\n"
        + struct.pack("<Q", len(core))
        + core
        + b"\nMESSAGE\n"
        + struct.pack("<Q", len(message))
        + message
        + b"\n\n"
    )


def verbose(entry: Entry) -> bytes:
    fields = {name: value for name, value in entry.fields.items() if not name.startswith("__")}
    opening = f"{entry.at:%a %Y-%m-%d %H:%M:%S.%f} UTC [s=ab8f135e0b994f2f97adfe8da9b358ba;i=1;b=a1b2c3d4]\n"
    return (opening + "".join(f"    {name}={value}\n" for name, value in fields.items())).encode()


JOURNALS = (as_json, pretty, export, export_binary, verbose)


@cache
def found(render: Callable[[Entry], bytes], folder: Path) -> frozenset[tuple[object, ...]]:
    """Rule, subject, verdict, cause, and time and kind of the evidence of all findings."""
    path = folder / f"{render.__name__}.log"
    path.write_bytes(b"".join(map(render, entries())))
    others = [str(other) for other in SAMPLE.glob("*.log*") if not other.name.startswith("kubelet")]
    report = analyze(Options(paths=(str(path), *others), year=YEAR, zone=None))
    assert report.problems == ()
    return frozenset(
        (
            finding.rule.name,
            finding.subject.name,
            str(finding.verdict),
            (finding.explained_by or "").partition(":")[0],
            *((piece.event.kind, piece.event.time) for piece in finding.evidence if piece.event),
        )
        for finding in report.findings
    )


@pytest.mark.parametrize("render", JOURNALS)
def test_one_journal_in_all_its_modes(render, tmp_path_factory):
    """Findings and the times of their evidence do not depend on the mode of journalctl."""
    folder = tmp_path_factory.getbasetemp()
    expected = found(short_precise, folder)
    assert expected
    assert found(render, folder) == expected


@cache
def seen(render: Callable[[Entry], bytes]) -> tuple[list[tuple[object, ...]], list[int]]:
    """All events of a journal, which are its timelines, and the lines they stand on."""
    vocabulary = know(Options(paths=())).vocabulary
    data = b"".join(map(render, entries()))
    (read,) = read_source(Text("x", data), vocabulary, scanner(literals()), pytest.fail, lambda _name, _size: None)
    sightings = read.testimony.sightings
    lines = data.split(b"\n")
    assert all(b"kubelet" in lines[one.line - 1] or b"MESSAGE" in lines[one.line - 1] for one in sightings)
    told = [(one.meaning.entry.kind, one.meaning.refs, one.stamp, one.speaker[:3]) for one in sightings]
    return told, [one.line for one in sightings]


@pytest.mark.parametrize("render", JOURNALS[1:])
def test_the_same_events(render):
    """Every mode that carries a time and a year gives the same events of the same process at the same time."""
    events, lines = seen(render)
    assert events == seen(as_json)[0]
    length = render(entries()[0]).count(b"\n")
    assert lines == sorted(lines)
    assert lines[-1] > (seen(as_json)[1][-1] - 1) * length


def test_a_line_that_is_named_holds_the_message():
    """The line number of evidence is that of the message in the input."""
    data = b"".join(map(export, entries()))
    lines = data.split(b"\n")
    vocabulary = know(Options(paths=())).vocabulary
    (read,) = read_source(Text("x", data), vocabulary, scanner(literals()), pytest.fail, lambda _name, _size: None)
    assert read.testimony.sightings
    assert all(lines[one.line - 1].startswith(b"MESSAGE=") for one in read.testimony.sightings)


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def go(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


ISO = f"{DAY}T20:39:21.779Z"
WRAPPERS: dict[str, Callable[[str], str]] = {
    "short": lambda line: f"Nov 20 20:39:21 worker-1 kubelet[6175]: {line}",
    "short-full": lambda line: f"Fri {DAY} 20:39:21 UTC worker-1 kubelet[6175]: {line}",
    "short-iso": lambda line: f"{DAY}T20:39:21+0000 worker-1 kubelet[6175]: {line}",
    "monotonic": lambda line: f"[ 1234.567890] worker-1 kubelet[6175]: {line}",
    "unix": lambda line: f"1795206361.779999 worker-1 kubelet[6175]: {line}",
    "german": lambda line: f"Dez 20 20:39:21 worker-1 kubelet[6175]: {line}",
    "french": lambda line: f"févr. 20 20:39:21 worker-1 kubelet[6175]: {line}",
    "json": lambda line: json.dumps({"__REALTIME_TIMESTAMP": "1795206361779999", "MESSAGE": line}),
    "json-seq": lambda line: "\x1e" + json.dumps({"__REALTIME_TIMESTAMP": "1795206361779999", "MESSAGE": line}),
    "json-sse": lambda line: "data: " + json.dumps({"__REALTIME_TIMESTAMP": "1795206361779999", "MESSAGE": line}),
    "cri": lambda line: f"{ISO} stderr F {line}",
    "docker": lambda line: json.dumps({"log": line + "\n", "stream": "stderr", "time": ISO}),
    "docker-other": lambda line: json.dumps({"time": ISO, "stream": "stderr", "log": line + "\n"}),
    "timestamps": lambda line: f"{ISO} {line}",
    "prefix": lambda line: f"[pod/csi-0/driver] {line}",
    "stern": lambda line: f"csi-0 driver {line}",
    "kubetail": lambda line: f"[csi-0 driver] {line}",
    "talosctl": lambda line: f"10.5.0.2: {line}",
    "loki": lambda line: json.dumps({"line": line, "timestamp": ISO, "fields": {"pod": "x"}}),
    "loki-csv": lambda line: f"{ISO},{quoted(line)}",
    "cloudwatch": lambda line: f"{ISO},{line}",
    "cloudwatch-json": lambda line: json.dumps({"timestamp": 1795206361779, "message": line}),
    "google": lambda line: json.dumps({"jsonPayload": {"MESSAGE": line, "_HOSTNAME": "n"}, "timestamp": ISO}),
    "google-text": lambda line: json.dumps({"textPayload": line, "timestamp": ISO}),
    "talos": lambda line: json.dumps({"msg": line, "talos-service": "kubelet", "talos-time": ISO}),
    "syslog": lambda line: f"<30>Nov 20 20:39:21 worker-1 kubelet[6175]: {line}",
    "rfc5424": lambda line: f"<30>1 {ISO} worker-1 kubelet 6175 - - {line}",
    "grep": lambda line: f"/var/log/kubelet.log:{line}",
    "grep-n": lambda line: f"kubelet.err.log:21143:{line}",
    "grep-windows": lambda line: rf"C:\k\kubelet.log:7:{line}",
    "number": lambda line: f"21143:{line}",
    "bullet": lambda line: f"* {line}",
    "indent": lambda line: f"    {line}",
    "mark": lambda line: f"\ufeff{line}",
}
# These carry a log line itself, no other carrier: k0s and Rancher read what a process writes.
INNERMOST: dict[str, Callable[[str], str]] = {
    "k0s": lambda line: f'time="{DAY} 20:39:21" level=info msg="{go(line)}" component=kubelet stream=stderr',
    "rancher": lambda line: f"{ISO}{line}",
    "none": lambda line: line,
}


@settings(max_examples=400, deadline=None)
@given(
    st.integers(0, 10_000), st.sampled_from([*WRAPPERS]), st.sampled_from([*WRAPPERS]), st.sampled_from([*INNERMOST])
)
def test_two_carriers_around_a_line(number, outer, inner, innermost):
    """Any two carriers, one in the other, also around k0s, give the line that was put into them."""
    assume((outer, inner) != ("stern", "stern"))  # four words before a line might be a sentence
    entry = entries()[number % len(entries())]
    bare = entry.line.rstrip()
    wrapped = WRAPPERS[outer](WRAPPERS[inner](INNERMOST[innermost](bare))).encode()
    assert peel(wrapped).body.decode() == bare
    (raw,) = read_records([(1, wrapped)])
    assert raw.body == read_body(bare.encode())


@pytest.mark.parametrize("outer", [*WRAPPERS, *INNERMOST])
def test_a_whole_log_in_a_carrier(outer):
    """The records of a whole log in one carrier are those of the bare log."""
    wrap = (WRAPPERS | INNERMOST)[outer]
    bare = [entry.line.rstrip().encode() for entry in entries()[:400]]
    wrapped = [wrap(line.decode()).encode() for line in bare]
    told = [raw.body for raw in read_records(enumerate(wrapped, start=1))]
    assert told == [read_body(line) for line in bare]
