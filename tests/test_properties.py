"""However the same logs are cut, joined, wrapped, shifted or packed, what is found in them stays the same."""

from __future__ import annotations

import gzip
import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvdiag.analysis.analyze import analyze
from kvdiag.base.clock import HOUR
from kvdiag.model.options import Options
from tests.wrappers import (
    SAMPLES,
    YEAR,
    cri,
    journal_json,
    journal_short,
    journal_short_iso,
    klog_only,
    logs,
    shifted,
)

each_case = pytest.mark.parametrize("case", YEAR)
few = settings(  # a sixth of the profile's: each example is an analysis
    max_examples=settings.default.max_examples // 6, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def found_in(paths: list[Path], case: str, zone: int | None = None) -> set[tuple[str, str, str, str]]:
    """Give rule, subject, verdict and cause of all findings."""
    report = analyze(Options(paths=tuple(map(str, paths)), year=YEAR[case], zone=zone))
    assert report.problems == ()
    return {
        (f.rule.name, f.subject.name, str(f.verdict), (f.explained_by or "").partition(":")[0]) for f in report.findings
    }


def write(folder: Path, texts: dict[str, bytes]) -> list[Path]:
    """Write logs into an empty folder and give their paths."""
    for old in folder.iterdir():
        old.unlink()
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    return [folder / name for name in texts]


@cache
def bare(case: str) -> frozenset[tuple[str, str, str, str]]:
    """Give what is found in the sample as it is."""
    return frozenset(found_in(sorted((SAMPLES / case).glob("*.log*")), case))


@each_case
def test_something_is_found(case):
    """The logs that these tests turn about have findings at all."""
    assert bare(case)


@each_case
@pytest.mark.parametrize("seed", range(4))
def test_order_of_inputs(case, seed, tmp_path):
    """The order in which files are named changes nothing."""
    paths = write(tmp_path, logs(case))
    random.Random(seed).shuffle(paths)  # noqa: S311
    assert found_in(paths, case) == bare(case)


@few
@given(data=st.data())
@each_case
def test_split_in_two(case, data, tmp_path):
    """A log cut in two at any line, as by rotation, says the same."""
    name = data.draw(st.sampled_from(sorted(logs(case))))
    lines = logs(case)[name].splitlines(keepends=True)
    at = data.draw(st.integers(1, len(lines) - 1))
    parts = {f"{name}.1": b"".join(lines[:at]), name: b"".join(lines[at:])}
    paths = write(tmp_path, {other: text for other, text in logs(case).items() if other != name} | parts)
    assert found_in(paths, case) == bare(case)


@each_case
def test_all_in_one_file(case, tmp_path):
    """Logs of all components, one after the other in one file, say the same."""
    assert found_in(write(tmp_path, {"all.log": b"".join(logs(case).values())}), case) == bare(case)


@each_case
@pytest.mark.parametrize("wrap", [journal_short, journal_short_iso, cri, journal_json])
def test_wrapped(case, wrap, tmp_path):
    """The kubelet's log says the same whatever carries its lines."""
    lines = klog_only(logs(case)["kubelet.log"]).splitlines()
    text = b"".join(wrap(line, case) + b"\n" for line in lines)
    assert found_in(write(tmp_path, logs(case) | {"kubelet.log": text}), case) == bare(case)


@each_case
@pytest.mark.parametrize("hours", [-8, -1, 3, 8, 13])
def test_another_zone(case, hours, tmp_path):
    """A node that writes its klog in local time says the same when --tz names its zone."""
    texts = {name: shifted(text, case, hours) for name, text in logs(case).items()}
    assert found_in(write(tmp_path, texts), case, zone=hours * HOUR) == bare(case)


def test_zone_is_inferred(tmp_path):
    """Where a message tells the node's zone, or ids that other logs share do, --tz is not needed."""
    case = "hostpath-driver-lost-state"
    local = {name: shifted(text, case, 8) for name, text in logs(case).items() if name != "csi-hostpath.log"}
    assert found_in(write(tmp_path, logs(case) | local), case) == bare(case)


@each_case
def test_packed(case, tmp_path):
    """Logs packed with gzip say the same."""
    packed = {f"{name}.gz": gzip.compress(text, mtime=0) for name, text in logs(case).items()}
    assert found_in(write(tmp_path, packed), case) == bare(case)


@few
@given(data=st.data())
@each_case
def test_lines_twice(case, data, tmp_path):
    """A piece of the log that was pasted twice adds no finding and takes none away."""
    lines = logs(case)["kubelet.log"].splitlines(keepends=True)
    begins = data.draw(st.integers(0, len(lines) - 20))
    text = b"".join([*lines[: begins + 20], *lines[begins:]])
    paths = write(tmp_path, logs(case) | {"kubelet.log": text})
    assert {(rule, subject) for rule, subject, _, _ in found_in(paths, case)} == {row[:2] for row in bare(case)}
