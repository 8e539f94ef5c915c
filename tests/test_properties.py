"""However the same logs are cut, joined, wrapped, shifted or packed, what is found in them stays the same."""

from __future__ import annotations

import gzip
import json
import random
import re
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvdiag.clock import HOUR
from kvdiag.pipeline.analyze import analyze
from kvdiag.pipeline.options import Options

SAMPLES = Path(__file__).parents[1] / "sample-logs"
YEAR = {"hostpath-driver-lost-state": 2026, "detach-without-unstage": 2024, "driver-removed-before-pod": 2024}
KLOG = re.compile(rb"([IWEF])(\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d{6})(?= +\d+ )")
RETRY = re.compile(rb"until (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d+) \+0000 UTC")
PID = re.compile(rb"[IWEF]\d{4} \S+ +(\d+) ")

each_case = pytest.mark.parametrize("case", YEAR)
few = settings(
    max_examples=20, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@cache
def logs(case: str) -> dict[str, bytes]:
    """Give the logs of a sample by name, unpacked."""
    return {
        path.name.removesuffix(".gz"): gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in sorted((SAMPLES / case).glob("*.log*"))
    }


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


def klog_only(text: bytes) -> bytes:
    """Give the lines with a klog header; a wrapped line has no second one."""
    return b"".join(line + b"\n" for line in text.split(b"\n") if KLOG.match(line))


def moment(head: re.Match[bytes], case: str) -> datetime:
    """Give the time in a klog header, which has no year and no zone."""
    month, day, clock = head[2].decode(), head[3].decode(), head[4].decode()
    return datetime.fromisoformat(f"{YEAR[case]}-{month}-{day}T{clock}")


def journal_short(line: bytes, case: str) -> bytes:
    """Give a line as `journalctl -o short` shows it."""
    return (
        f"{moment(KLOG.match(line), case):%b %d %H:%M:%S} worker-1 kubelet[{int(PID.match(line)[1])}]: ".encode() + line
    )


def journal_short_iso(line: bytes, case: str) -> bytes:
    """Give a line as `journalctl -o short-iso` shows it."""
    return (
        f"{moment(KLOG.match(line), case):%Y-%m-%dT%H:%M:%S}+0000 worker-1 kubelet[{int(PID.match(line)[1])}]: ".encode()
        + line
    )


def cri(line: bytes, case: str) -> bytes:
    """Give a line as it stands in /var/log/pods."""
    return f"{moment(KLOG.match(line), case):%Y-%m-%dT%H:%M:%S.%f}789Z stderr F ".encode() + line


def journal_json(line: bytes, case: str) -> bytes:
    """Give a line as `journalctl -o json` shows it."""
    micros = (moment(KLOG.match(line), case) - datetime(1970, 1, 1)) // timedelta(microseconds=1)  # noqa: DTZ001
    entry = {
        "__REALTIME_TIMESTAMP": str(micros),
        "_HOSTNAME": "worker-1",
        "SYSLOG_IDENTIFIER": "kubelet",
        "_PID": str(int(PID.match(line)[1])),
        "_TRANSPORT": "stdout",
        "PRIORITY": "6",
        "MESSAGE": line.decode(),
    }
    return json.dumps(entry).encode()


def shifted(text: bytes, case: str, hours: int) -> bytes:
    """Give a klog text as a node whose clock runs `hours` east of Greenwich writes it."""
    east = timedelta(hours=hours)

    def header(found: re.Match[bytes]) -> bytes:
        local = moment(found, case) + east
        return found[1] + local.strftime("%m%d %H:%M:%S.%f").encode()

    def retry(found: re.Match[bytes]) -> bytes:
        local = datetime.fromisoformat(found[1].decode()) + east
        return b"until " + local.strftime("%Y-%m-%d %H:%M:%S").encode() + found[2] + f" {hours:+03}00 ZONE".encode()

    return RETRY.sub(retry, KLOG.sub(header, text))


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
