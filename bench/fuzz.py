"""Coverage-guided fuzzing of what reads bytes that nobody vouches for; needs atheris: pip install atheris.

    python bench/fuzz.py TARGET [options of libFuzzer, such as -max_total_time=600]     TARGET is one of TARGETS, below

An input that raises is written to the current folder as crash-…; cut down it belongs into tests/test_traps.py.
"""

from __future__ import annotations

import io
import json
import sys
from array import array
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from itertools import pairwise

import atheris

with atheris.instrument_imports(include=["kvdiag"]):
    from kvdiag.analysis import anonymize as sharing
    from kvdiag.analysis.anonymize import Inputs, mask_names
    from kvdiag.analysis.case import Case, Patterns, load_patterns
    from kvdiag.analysis.explain import Explainer
    from kvdiag.analysis.log_clocks import LogClocks
    from kvdiag.analysis.parse import source_records
    from kvdiag.analysis.redact import RedactionCounts, redacted_bytes
    from kvdiag.base.errors import InputError, PatternError
    from kvdiag.events.snapshots.readers import READERS, evidence_in, read_evidence
    from kvdiag.explain.asjson import line_json
    from kvdiag.explain.text import line_text
    from kvdiag.explain.topic import read_topic
    from kvdiag.formats.bodies.eventtable import descriptions
    from kvdiag.formats.bodies.keyvalues import scan
    from kvdiag.formats.bodies.registry import canonical, classify, read_body
    from kvdiag.formats.carriers.peel import peel
    from kvdiag.formats.pasted import wrapped
    from kvdiag.formats.pasted.escaped import detect as written_out
    from kvdiag.formats.rpc import fragments as grpcpieces
    from kvdiag.formats.rpc import lines as grpclines
    from kvdiag.history.ingest.blocks import read_blocks
    from kvdiag.history.ingest.log_reader import TextInput
    from kvdiag.history.ingest.records import read_records
    from kvdiag.inputs import sniff
    from kvdiag.inputs.archives import tar_members, zip_members
    from kvdiag.inputs.compressed import Budget
    from kvdiag.inputs.folded import DETECTORS, rewriting_reader
    from kvdiag.inputs.gzipped import DamagedError
    from kvdiag.inputs.lines import LineMap
    from kvdiag.inputs.readers import BorrowedReader, Reader, ReplayReader, read_up_to
    from kvdiag.inputs.repair import TextRepair, Transcoded
    from kvdiag.inputs.scan.blocks import blocks
    from kvdiag.inputs.scan.partial_lines import join_parts
    from kvdiag.inputs.source import Source
    from kvdiag.model.options import Options
    from kvdiag.model.report import Report
    from kvdiag.report import REPORTS, RenderOptions
    from kvdiag.report.jsontext import record_line
    from kvdiag.report.outputs import write_report
    from kvdiag.rules.missing_logs import needs
    from kvdiag.rules.schema import read_rule
    from kvdiag.safe.secrets import redacted


def _ignored(problem: InputError) -> None:
    """What is wrong with an input is no fault of a reader."""


def formats(data: bytes) -> None:
    """Peel, classify and read each line, and all lines as records."""
    lines = data.split(b"\n")
    list(descriptions(data))
    for line in lines:
        classify(line)
        body = read_body(peel(line).body)
        if body is not None:
            canonical(body)
            grpclines.read_fragment(body.message, body.fields)
    numbers = LineMap()
    records = list(read_records(read_blocks(TextInput("x", data), _ignored, numbers), numbers))
    if sum(record.lines for record in records) > len(lines):
        raise AssertionError("more lines than there are")


def inputs(data: bytes) -> None:
    """Look at an input, unpack it if its first bytes say so, and read it as blocks of few bytes and of many."""
    sniff.looks_like_log("x", sniff.open_sniffed(io.BytesIO(data), Budget()).sniffed.text)
    if blocks_of(data, 7) != blocks_of(data, 1 << 18):
        raise AssertionError("it depends on the size of the reads")


def blocks_of(data: bytes, size: int) -> tuple[bytes, list[int]]:
    """Give what an input is read as, and the numbers of its lines."""
    numbers: array[int] = array("I")
    mender, text = TextRepair(), b""
    try:
        under = Transcoded(unpacked(data))
        given = list(blocks(rewriting_reader(under, numbers, (written_out, *DETECTORS, wrapped.detect)), size))
        for block in given:
            if mender.repair(block.data).data.count(b"\n") != block.data.count(b"\n"):
                raise AssertionError("a repair changed the number of lines")
            text += block.data
        if b"".join(block.data for block in join_parts(given)).count(b"\n") != text.count(b"\n"):
            raise AssertionError("lines were lost when parts were joined")
    except DamagedError:
        pass
    if any(before > after for before, after in pairwise(numbers)):
        raise AssertionError("the numbers of lines go back")
    return text, list(numbers)


def archives(data: bytes) -> None:
    """Read the members of a tar and of a zip, packed or not."""
    for members in (tar_members(unpacked(data)), zip_members(io.BytesIO(data))):
        try:
            for member in members:
                read_up_to(member.reader, 1 << 16)
        except (DamagedError, InputError, OSError):  # as the reader of a source does
            pass


def unpacked(data: bytes) -> Reader:
    """Give what the bytes are when they are unpacked."""
    return sniff.open_sniffed(io.BytesIO(data), Budget()).reader


def values(data: bytes) -> None:
    """Read the pairs of klog and the request of a call."""
    scan(data)
    grpcpieces.request_of(data.decode("utf-8", "replace"))


@cache
def knowledge() -> Patterns:
    """Give all rules and the vocabulary, read once."""
    return load_patterns(Options())


def logs(data: bytes) -> None:
    """Read a log as `parse` and as `analyze` do, and write what is found in every form."""
    text, options = TextInput("kubelet.log", data), Options(year=2026)
    for record in source_records(text, lambda _: None, LogClocks(options)):
        record_line(record)
    case = Case(options, knowledge())
    analysis = case.read(given=[text])
    findings = case.findings(analysis.history)
    report = Report(
        version="",
        inputs=analysis.readings,
        versions=analysis.history.versions,
        findings=tuple(findings),
        needs=needs(findings, analysis.history, knowledge().vocabulary.kinds),
    )
    for name in REPORTS:
        write_report(name, report, io.StringIO(), RenderOptions())


def evidence(data: bytes) -> None:
    """Read a file beside the logs as each reader would."""
    text = data.decode("utf-8", "replace")
    kind = evidence_in("nodes.txt", data)
    for name in {kind} - {""} or READERS:
        with suppress(ValueError):  # as the reader of files does
            list(read_evidence(name, text))


def explain(data: bytes) -> None:
    """Explain each line."""
    for page in explainer().lines(TextInput("line", data), _ignored):
        line_text(page)
        line_json(page)


@cache
def explainer() -> Explainer:
    """Give what explains, its topics and rules read once."""
    return Explainer()


def rules(data: bytes) -> None:
    """Read a rule and a topic; their faults are told with their place."""
    text = data.decode("utf-8", "replace")
    for read in (read_rule, read_topic):
        with suppress(PatternError):
            read(text, "x.yaml")


TOKEN = "ghp_" + "Zq7Rt2Kx9Lm4Vb8Nc3Wd6Pfj1Hs5Gy0Tu7Ae"
SECRETS = (
    TOKEN,
    "--password=n0tT0ldw0rd",
    "Authorization: Bearer n0tT0ldw0rd",
    "https://joe:n0tT0ldw0rd@r.example.com/v2",
)
HIDDEN = (TOKEN.encode(), b"n0tT0ldw0rd")


def redact(data: bytes) -> None:
    """Redact any lines with secrets on lines of their own among them, in one carrier or another."""
    carrier, form, rest = *(data[:2].ljust(2, b"\0")), data[2:]
    before, _, after = rest.partition(b"\n\n")
    carried = CARRIERS[carrier % len(CARRIERS)](
        f"E0312 05:49:00.000000    1 x.go:1] failed {SECRETS[form % len(SECRETS)]} end"
    )
    out = shared(before + b"\n" + carried.encode() + b"\n" + after)
    if not rest.startswith((b"\xff\xfe", b"\xfe\xff")) and any(hidden in out for hidden in HIDDEN):
        raise AssertionError("a secret is told")
    for text in (rest.decode("utf-8", "replace"), rest.decode("latin-1")):
        redacted(text)


def shared(data: bytes) -> bytes:
    """Give what `redact` writes."""
    done = RedactionCounts()
    source = Source("x", None, lambda _: None, given=ReplayReader(data))
    out = b"".join(redacted_bytes(source, str, done))
    if done.lines != len(out.split(b"\n")) - out.endswith(b"\n"):
        raise AssertionError("lines were lost or made")
    return out


def _cri(line: str) -> str:
    middle = len(line) // 2
    head = "2024-03-12T05:49:00.241725Z stderr"
    return f"{head} P {line[:middle]}\n{head} F {line[middle:]}"


def _journal(line: str) -> str:
    return json.dumps({"__REALTIME_TIMESTAMP": "1710222540241725", "MESSAGE": list(line.encode())})


def _docker(line: str) -> str:
    return json.dumps({"log": line + "\n", "stream": "stderr", "time": "2024-03-12T05:49:00.241725Z"})


CARRIERS: tuple[Callable[[str], str], ...] = (str, _docker, _cri, _journal)


def anonymize(data: bytes) -> None:
    """Learn the names of any lines and replace them."""
    sharing.know = lambda _: knowledge()
    options = Options(year=2026)
    twice = Inputs(options, lambda: BorrowedReader(io.BytesIO(data)))
    inputs, mask = mask_names(twice, "salt")
    for source in inputs.sources(lambda _: None):
        for line in redacted_bytes(source, mask.apply, RedactionCounts()):
            line.decode("utf-8", "surrogateescape")


TARGETS: dict[str, Callable[[bytes], None]] = {
    "formats": formats,
    "inputs": inputs,
    "archives": archives,
    "values": values,
    "logs": logs,
    "evidence": evidence,
    "explain": explain,
    "rules": rules,
    "redact": redact,
    "anonymize": anonymize,
}


def main() -> None:
    """Fuzz the target that is named first."""
    target = TARGETS.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if target is None:
        sys.exit(f"name what to fuzz: {', '.join(TARGETS)}")
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
