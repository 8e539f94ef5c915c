"""Every scanner finds what a plain loop finds, on any text."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.inputs.scan import skeleton
from kvdiag.inputs.scan.blocks import blocks
from kvdiag.inputs.scan.hyper import HyperScanner
from kvdiag.inputs.scan.protocol import LineHits
from kvdiag.inputs.scan.skeleton import SkeletonScanner, is_weak

SCANNERS = [pytest.param(SkeletonScanner, id="stdlib"), pytest.param(HyperScanner, id="hyperscan")]
SAMPLE_LOGS = Path(__file__).parents[3] / "sample-logs"
LITERALS = [
    b"SyncLoop ADD",
    b"SyncLoop DELETE",
    b"SyncLoop (PLEG): event for pod",
    b"operationExecutor.UnmountVolume started",
    b"UnmountVolume.TearDown failed",
    b"UnmountVolume",
    b"device or resource busy",
    b"orphaned pod",
    b"shim reaped",
    b"back-off ",
    b"Pod has been terminated",
    b"GRPC call: /csi.v1.Node/NodeUnstageVolume",
    b"is not published at",
    b'"',
    "…".encode(),
]
STATEMENTS = [
    'kubelet.go:2130] "SyncLoop DELETE" source="api" pods=["default/{name}"]',
    'kubelet.go:2152] "SyncLoop (PLEG): event for pod" pod="default/{name}" event=&{{ID:{uid} Type:ContainerDied}}',
    'nestedpendingoperations.go:348] "UnmountVolume.TearDown failed for volume {uid}: device or resource busy"',
    'kubelet_volumes.go:245] "orphaned pod {uid} found" numErrs={n}',
    'pod_workers.go:951] "Error syncing pod, skipping" err="back-off {n}s restarting" podUID={uid}',
    "server.go:101] GRPC call: /csi.v1.Node/NodeUnstageVolume",
    'factory.go:279] Factory "systemd" was unable to handle container "/process/{uid}"',
    'httplog.go:132] "HTTP" verb="GET" URI="/metrics/{UID}" resp=200 …',
    "",
]


def naive(literals, block):
    """Look for every literal in every line."""
    found = (
        (i, line, tuple(k for k, lit in enumerate(literals) if lit in line))
        for i, line in enumerate(block.split(b"\n"))
    )
    return [LineHits(*hits) for hits in found if hits[2]]


def klog(seed, lines):
    """Text like a kubelet log, the same for the same seed."""
    rng = random.Random(seed)  # noqa: S311
    text = []
    for number in range(lines):
        uid = f"{rng.getrandbits(128):032x}"
        statement = rng.choice(STATEMENTS).format(uid=uid, UID=uid.upper(), name=f"web-{uid[:5]}", n=number)
        text.append(f"I0919 11:{number // 60 % 60:02}:{number % 60:02}.322601  190330 {statement}" if statement else "")
    return "\n".join(text).encode()


@pytest.mark.parametrize("scanner", SCANNERS)
@pytest.mark.parametrize("size", [700, 20_000, 1 << 20])
def test_generated_log(scanner, size):
    """A generated log, in blocks of any size: each block gives what the plain loop gives."""
    under_test = scanner(LITERALS)
    for block in blocks(Reading(klog(size, 3000)), size):
        assert list(under_test.scan(block.data)) == naive(LITERALS, block.data)


@pytest.mark.parametrize("scanner", SCANNERS)
def test_sample_logs(scanner):
    """Every log among the samples gives what the plain loop gives."""
    under_test = scanner(LITERALS)
    for path in sorted(p for p in SAMPLE_LOGS.rglob("*") if p.is_file()):
        with path.open("rb", buffering=0) as log:
            for block in blocks(log):
                assert list(under_test.scan(block.data)) == naive(LITERALS, block.data), path


SMALL = st.text("AaLo \n", max_size=60).map(str.encode)
OVERLAPPING = st.lists(st.text("AaLo ", min_size=1, max_size=4).map(str.encode), max_size=8)


@pytest.mark.parametrize("scanner", SCANNERS)
@given(literals=OVERLAPPING, text=SMALL)
def test_overlapping_literals(scanner, literals, text):
    """Literals inside one another, twice the same, at both ends of a line, beside empty lines, without last newline."""
    assert list(scanner(literals).scan(text)) == naive(literals, text)


@pytest.mark.parametrize("scanner", SCANNERS)
@given(data=st.data())
def test_any_bytes(scanner, data):
    """Arbitrary bytes, control bytes and what looks like a pattern to other matchers included."""
    literals = data.draw(
        st.lists(st.binary(min_size=1, max_size=3).filter(lambda lit: not {0, 10} & set(lit)), max_size=5)
    )
    pieces = data.draw(st.lists(st.sampled_from([b"\n", b"\r\n", b"\x00", b".*", *literals]) | st.binary(max_size=5)))
    text = b"".join(pieces)
    assert list(scanner(literals).scan(text)) == naive(literals, text)


@pytest.mark.parametrize("scanner", SCANNERS)
@pytest.mark.parametrize("literal", [b"", b"two\nlines", b"\0"])
def test_what_is_no_literal(scanner, literal):
    """An empty literal, or one with a newline or NUL, is refused: no line could hold it."""
    with pytest.raises(ValueError, match="not a literal of one line"):
        scanner([literal])


def test_cache_is_bounded(monkeypatch):
    """A log where every line has a skeleton of its own empties the cache instead of growing it, and loses no hit."""
    monkeypatch.setattr(skeleton, "_CACHE_BYTES", 20_000)
    scanner = SkeletonScanner(LITERALS)
    rng = random.Random(7)  # noqa: S311
    for _ in range(50):
        lines = [f"SyncLoop ADD {rng.getrandbits(128):X}" for _ in range(100)]
        block = "\n".join(lines).encode()
        assert list(scanner.scan(block)) == naive(LITERALS, block)
        assert len(scanner._cache) <= 250


def test_promotion(monkeypatch):
    """A weak literal whose skeleton is rare in the log is looked for like the others, and found as before."""
    monkeypatch.setattr(skeleton, "_CACHE_BYTES", 1000)  # small blocks first: the cache runs over before the promotion
    literals = [b"is already staged", b"shim reaped", b"3a"]
    scanner = SkeletonScanner(literals)
    for n in range(100):
        list(scanner.scan(b"X%c\n" % (65 + n % 26) * 100))
    assert not scanner._measured
    assert len(scanner._weak) == 3
    quiet = "\n".join(f"I0919 11:11:20 kubelet.go:2130] shim {n:x}" for n in range(300)).encode()
    for block in (quiet, quiet + b"\nis already staged\nshim reaped\n"):
        assert list(scanner.scan(block)) == naive(literals, block)
    assert scanner._weak == [(1, b"shim reaped"), (2, b"3a")]


@pytest.mark.parametrize(
    ("literal", "weak"),
    [(b"shim reaped", True), (b"orphaned pod", True), (b"Stale file handle", False), (b"SyncLoop ADD", False)],
)
def test_weak_literals(literal, weak):
    """A literal is weak when next to nothing of it stays in its skeleton."""
    assert is_weak(literal) is weak


class Reading:
    """The least a reader has to have."""

    def __init__(self, data):
        self.data = data

    def readinto(self, buffer):
        """Give what is left, as much as fits."""
        got, self.data = self.data[: len(buffer)], self.data[len(buffer) :]
        buffer[: len(got)] = got
        return len(got)
