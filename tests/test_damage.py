"""A log that was damaged on its way, or exported as a document, says what it said before."""

from __future__ import annotations

import html
import json
import re
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.analysis.parse import records
from kvdiag.model.options import Options
from tests.wrappers import YEAR, logs

CASE = "hostpath-driver-lost-state"
TORN = b'I1120 20:39:21.779765    6175 kubelet.go:2200] "Pod is te' + b"\0" * 300


def by_lines(change: Callable[[str], str]) -> Callable[[bytes], bytes]:
    """Make a change of a line one of a text."""
    return lambda text: "\n".join(map(change, text.decode().split("\n"))).encode()


def curly(line: str) -> str:
    """Give a line as a word processor changes its quotes."""
    parts = line.replace("'", "’").split('"')
    return "".join(part + ("“" if number % 2 == 0 else "”") for number, part in enumerate(parts[:-1])) + parts[-1]


def now_and_then(text: bytes, between: bytes) -> bytes:
    """Put something after every fiftieth line."""
    return b"".join(
        line + b"\n" + (between if number % 50 == 49 else b"") for number, line in enumerate(text.split(b"\n"))
    )


def terminal(width: int) -> Callable[[bytes], bytes]:
    """Break lines where a terminal does."""
    return by_lines(lambda line: "\n".join(line[at : at + width] for at in range(0, max(1, len(line)), width)))


def mail(width: int) -> Callable[[bytes], bytes]:
    """Break lines where a mail program does."""
    return by_lines(
        lambda line: "\n".join(textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)) or line
    )


def listed(text: bytes, entry: Callable[[str], object], around: Callable[[list], object], indent: int | None) -> bytes:
    """Give a log as a document with a list of entries."""
    return json.dumps(around([entry(line) for line in text.decode().splitlines()]), indent=indent).encode()


def half(text: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """Change a log from the middle line on."""
    lines = text.split(b"\n")
    middle = len(lines) // 2
    return b"\n".join([*lines[:middle], change(b"\n".join(lines[middle:]))])


def among_words(text: bytes) -> bytes:
    """Put what somebody writes around and between the pieces of a log: a paragraph in one line, short ones."""
    long = b"This is what we saw on the first node, and the same on the second one an hour later; " * 4
    said = {20: b"\n\n" + long + b"\n\nand then\n\n", 900: b"\n\nand so on\n\n"}
    pieces = re.split(rb"\n(?=[IWE]\d{4} |time=|Flag )", text)
    return b"\n".join(piece + said.get(number, b"") for number, piece in enumerate(pieces))


def coloured(line: str) -> str:
    """Give a line as a terminal has it, and grep in it."""
    found = line.replace("kubelet", "\x1b[01;31m\x1b[Kkubelet\x1b[m\x1b[K")
    return f"\x1b[33m{found}\x1b[0m"


escaped = by_lines(lambda line: json.dumps(line)[1:-1])
ISO, NANO = "2026-11-20T20:39:21Z", "1795206361779000000"
DOCUMENTS: Mapping[str, tuple[Callable[[str], object], Callable[[list], object]]] = {
    "grafana": (lambda line: {"line": line, "timestamp": ISO, "fields": {"pod": "x"}}, list),
    "google": (lambda line: {"textPayload": line, "timestamp": ISO, "resource": {"labels": {"a": "b"}}}, list),
    "journal": (lambda line: {"MESSAGE": line, "__REALTIME_TIMESTAMP": NANO[:16]}, list),
    "texts": (str, list),
    "cloudwatch": (
        lambda line: {"message": line, "timestamp": int(NANO[:13])},
        lambda entries: {"searchedLogStreams": [], "events": entries, "nextToken": "x"},
    ),
    "insights": (
        lambda line: [{"field": "@timestamp", "value": "2026-11-20 20:39:21.1"}, {"field": "@message", "value": line}],
        lambda entries: {"results": entries, "status": "Complete"},
    ),
    "elasticsearch": (
        lambda line: {"_index": "x", "_source": {"message": line, "@timestamp": ISO, "host": {"name": "n"}}},
        lambda entries: {"took": 5, "hits": {"total": {"value": 3}, "hits": entries}},
    ),
    "loki": (
        lambda line: [NANO, line],
        lambda entries: {"status": "success", "data": {"result": [{"stream": {"a": "b"}, "values": entries}]}},
    ),
}
DAMAGES: Mapping[str, Callable[[bytes], bytes]] = {
    "crlf": lambda text: text.replace(b"\n", b"\r\n"),
    "utf-8 with a mark": lambda text: b"\xef\xbb\xbf" + text,
    "utf-16": lambda text: text.decode().encode("utf-16"),
    "utf-16-be": lambda text: text.decode().encode("utf-16-be"),
    "utf-16-le": lambda text: text.replace(b"\n", b"\r\n").decode().encode("utf-16-le"),
    "nul": lambda text: now_and_then(text, b"\0" * 300),
    "torn": lambda text: now_and_then(text, TORN),
    "not utf-8": lambda text: text.replace(b"\n", b"\xff\xfe\xc3\n"),
    "fenced": lambda text: b"Hello,\n\n```\n" + text + b"```\n\nAny idea?\n",
    "blank lines": lambda text: text.replace(b"\n", b"\n\n"),
    "quoted": lambda text: re.sub(rb"(?m)^", b"> ", text),
    "curly": by_lines(curly),
    "no-break": lambda text: text.replace(b" ", "\u00a0".encode()),
    "entities": by_lines(html.escape),
    "entities by number": by_lines(lambda line: html.escape(line).replace("&quot;", "&#34;")),
    "escaped": escaped,
    **{
        f"{name} from the middle": lambda text, late=late: half(text, late)
        for name, late in (("curly", by_lines(curly)), ("entities", by_lines(html.escape)), ("escaped", escaped))
    },
    "coloured": by_lines(coloured),
    "coloured in rsyslog": by_lines(lambda line: f"#033[33m{line}#033[0m"),
    "one blank for many": lambda text: re.sub(rb"  +", b" ", text),
    "blanks for tabs": lambda text: text.replace(b"\t", b"    "),
    "indented": by_lines(lambda line: f"        {line}"),
    "quoted twice": by_lines(lambda line: f"> > {line}"),
    "quoted thrice": by_lines(lambda line: f">>> {line}"),
    "bullets": by_lines(lambda line: f"- {line}"),
    "round bullets": by_lines(lambda line: f"  • {line}"),
    "numbered": lambda text: b"\n".join(b"%d. %s" % row for row in enumerate(text.split(b"\n"), start=1)),
    "in backticks": by_lines(lambda line: f"`{line}`"),
    "one line of JSON": lambda text: json.dumps({"id": 7, "body": text.decode(), "by": "x"}).encode(),
    "one line of JSON in a list": lambda text: json.dumps([{"a": 1, "body": text.decode()}]).encode(),
    "one line of JSON in JSON": lambda text: json.dumps({"x": json.dumps({"body": text.decode()})}).encode(),
    "one line without quotes": lambda text: json.dumps(text.decode())[1:-1].encode(),
    "one line among words": lambda text: (
        b"Hello,\n\nhere it is:\n" + json.dumps(text.decode()).encode() + b"\nThanks\n"
    ),
    "one line that breaks as on Windows": lambda text: json.dumps(text.replace(b"\n", b"\r\n").decode()).encode(),
    "one line, quotes as they are": lambda text: text.replace(b"\n", b"\\n"),
    "terminal 80": terminal(80),
    "terminal 237": terminal(237),
    "mail": mail(76),
    "terminal 80 among words": lambda text: among_words(terminal(80)(text)),
    "terminal 237 among words": lambda text: among_words(terminal(237)(text)),
    "mail among words": lambda text: among_words(mail(76)(text)),
    "lists of bytes": lambda text: b"".join(
        json.dumps({"__REALTIME_TIMESTAMP": NANO[:16], "MESSAGE": list(line)}).encode() + b"\n"
        for line in text.splitlines()
    ),
    **{
        f"{name} {indent}": lambda text, name=name, indent=indent: listed(text, *DOCUMENTS[name], indent)
        for name in DOCUMENTS
        for indent in (None, 2)
    },
}


class Told(NamedTuple):
    """What is said of the logs of a folder: what is found, and how much of the kubelet's log is unread."""

    found: frozenset[tuple[object, ...]]
    unread: int


def said(folder: Path, damage: Callable[[bytes], bytes]) -> Told:
    """Give what is said of the logs of the sample, damaged and written into a folder."""
    for name in ("kubelet.log", "containerd.log", "csi-hostpath.log"):
        (folder / name).write_bytes(damage(logs(CASE)[name]))
    report = analyze(Options(paths=(str(folder),), year=YEAR[CASE]))
    assert report.problems == ()
    (unread,) = (reading.unread for reading in report.inputs if Path(reading.source).name == "kubelet.log")
    findings = ((one.rule.name, one.subject.name, str(one.verdict), one.count) for one in report.findings)
    return Told(frozenset(findings), unread)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Give what is said of the logs of the sample as they are, and the records of the kubelet's."""
    folder = tmp_path_factory.mktemp("sound")
    return said(folder, bytes), told(folder)


def told(folder: Path) -> list[tuple[object, ...]]:
    """Give what `kvdiag parse` says of the kubelet's log: of its lines of klog, callers, messages and names."""
    options = Options(paths=(str(folder / "kubelet.log"),), year=YEAR[CASE])
    return [
        (record.caller, record.message, record.fields.get("pod"), record.fields.get("podUID"))
        for record in records(options, pytest.fail)
        if record.caller
    ]


# What these make of a text cannot be undone to the letter; words below a record might be its own.
CHANGED = {
    *("curly", "curly from the middle", "mail", "not utf-8", "no-break", "escaped", "escaped from the middle", "torn"),
    *("terminal 80 among words", "terminal 237 among words", "mail among words"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_same_is_said(damage, sound, tmp_path):
    """Findings and how often each was seen are the same, records are read in full, at most the words around are unread."""
    whole, rows = sound
    damaged = said(tmp_path, DAMAGES[damage])
    assert damaged.found == whole.found != set()
    assert damaged.unread <= 3
    assert damage in CHANGED or told(tmp_path) == rows != []
