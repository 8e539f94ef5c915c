"""Every line of the vocabulary's samples is read as what it is, and its near misses are not."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from kvdiag.analysis.case import load_patterns
from kvdiag.events.embedded_errors import trim_to_string
from kvdiag.events.lint import lint_events
from kvdiag.events.matching import Matcher
from kvdiag.events.names import PLACEHOLDERS, refs_of
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.model.options import Options
from tests.conftest import samples
from tests.patterns import vocabulary

PATTERNS = Path(__file__).parents[1] / "patterns" / "events"
VOCABULARY = vocabulary()
WITHIN = {entry.kind for entry in VOCABULARY.entries if entry.is_embedded}
SAMPLES = [(entry.kind, sample) for entry in VOCABULARY.entries for sample in entry.samples]


def read(line, kind=""):
    """Give kind, names and values of a line, for each wording that it is; of what an error within it tells, the kind's.

    An error may tell the same in two of its words.
    """
    text = line.encode()
    owners = [(VOCABULARY.owner(found[0]), found) for found in VOCABULARY.readings(text)]
    told = [
        (owner.kind, dict(zip(VOCABULARY.matcher(found[0]).names, values, strict=True)))
        for owner, found in owners
        if owner.kind == kind or not (owner.is_embedded or kind in WITHIN)
        for _, values in [trim_to_string(found, text) if owner.is_embedded else found]
    ]
    return told[:1] if kind in WITHIN else told


def test_lint_finds_nothing():
    """Anchors are safe and telling, ranges can be read, and each wording has a sample of its own."""
    assert [str(problem) for problem in lint_events(VOCABULARY.entries)] == []


def test_files_are_short():
    """A file of the vocabulary can be read in one sitting."""
    assert [
        path.name for path in PATTERNS.glob("*.yaml") if len(path.read_text(encoding="utf-8").splitlines()) > 400
    ] == []


def faults_of_names(kind, line):
    """Give how a line is read where it is not its kind alone, and names that can be no identity."""
    told = read(line, kind)
    if [found for found, _ in told] != [kind]:
        return [told]
    return [
        (name, value)
        for name, value in told[0][1].items()
        if value and PLACEHOLDERS[name].kind and name != "attachment" and value.strip(b'"')
        if not refs_of(name, value)
    ]


def test_names_of_samples_are_names():
    """A line is read as its kind, and what it names can be used as an identity."""
    assert SAMPLES
    assert [(kind, line, faults) for kind, line in SAMPLES if (faults := faults_of_names(kind, line))] == []


def faults_in_json(kind, line):
    """Give how a line in JSON is read where it is not its kind alone, and names that are not those of the bare line."""
    nested = '{"log":"' + line.replace("\\", "\\\\").replace('"', '\\"') + '\\n","stream":"stderr"}'
    told, ((_, plain),) = read(nested, kind), read(line, kind)
    if [found for found, _ in told] != [kind]:
        return [told]
    ((_, values),) = told
    return [
        name
        for name in PLACEHOLDERS
        if PLACEHOLDERS[name].kind and plain.get(name) and name not in {"container_id", "sandbox_id", "pods"}
        if not set(refs_of(name, plain[name])) <= set(refs_of(name, values[name] or b""))
    ]


def test_samples_in_json_say_the_same():
    """A line inside a JSON string gives the same kind, and the same names where it has any."""
    quoting = [(kind, line) for kind, line in SAMPLES if '"' in line and line[0] != "{"]
    assert quoting
    assert [(kind, line, faults) for kind, line in quoting if (faults := faults_in_json(kind, line))] == []


@pytest.mark.parametrize(
    "line",
    [
        'I0715 03:49:33.850919    1432 kubelet.go:2918] "Container runtime status" status="Runtime Conditions: RuntimeReady=true"',
        'I0715 03:49:33.850919    1432 pod_workers.go:900] "Processing pod events" pod="shop/web-0"',
        'I0715 03:49:33.850919    1432 kubelet.go:2457] "SyncLoop (housekeeping, skipped): sources aren\'t ready yet"',
        'I0715 03:49:33.850919    1432 kubelet.go:2457] "SyncLoop ADDED" source="api"',
        'I0715 03:49:33.850919    1432 kuberuntime_manager.go:1] "Back-off restarting failed containers"',
        'I0715 03:49:33.850919    1432 event.go:376] "Event occurred" reason="BackOff" message="Back-off restarting failed container app in pod x"',
        "I0715 03:49:33.850919    1432 operation_generator.go:1] UnmountVolume.TearDown succeeded for volume",
        'I0715 03:49:33.850919    1432 reconciler.go:1] "Starting operationExecutor.MountVolume for volume \\"data\\" (UniqueName: \\"kubernetes.io/secret/x\\")"',
        "I0715 03:49:33.850919    1432 manager.go:233] Version: {KernelVersion:6.18 ContainerOsVersion:Debian}",
        'time="2024-07-15T03:49:33Z" level=info msg="copy shim log" error="read /proc/self/fd/12: file already closed"',
        "Jul 15 03:49:33 worker-1 kernel: acpiphp: ACPI Hot Plug PCI Controller Driver version: 0.5",
        "Jul 15 03:49:33 worker-1 systemd[1]: Started kubelet: The Kubernetes Node Agent.",
    ],
)  # fmt: skip
def test_near_misses_are_nothing(line):
    """A line that only looks like an event is none."""
    assert read(line) == []


def test_anchors_are_rare():
    """Of the lines of all samples that a literal stands in at most 3 % tell nothing, and of no literal over 150."""
    vocabulary = load_patterns(Options()).vocabulary
    scan, matcher = make_scanner(vocabulary.literals).scan, Matcher(vocabulary)
    hits, idle = Counter(), Counter()
    for one in samples():
        for log in one.logs:
            data = gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()
            for _, line, literals in scan(data):
                hits.update(literals)
                idle.update(literal for literal in literals if matcher.match(literal, line) is None)
    assert idle.total() <= 0.03 * hits.total()
    assert [vocabulary.literals[one] for one, count in idle.items() if count > 150] == []
