"""The same log as something else carries it, or as a node in another zone writes it."""

from __future__ import annotations

import gzip
import json
import re
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

SAMPLES = Path(__file__).parents[1] / "sample-logs"
YEAR = {"hostpath-driver-lost-state": 2026, "detach-without-unstage": 2024, "driver-removed-before-pod": 2024}
KLOG = re.compile(rb"([IWEF])(\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d{6})(?= +\d+ )")
RETRY = re.compile(rb"until (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d+) \+0000 UTC")
PID = re.compile(rb"[IWEF]\d{4} \S+ +(\d+) ")


@cache
def logs(case: str) -> dict[str, bytes]:
    """Give the logs of a sample by name, unpacked."""
    return {
        path.name.removesuffix(".gz"): gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in sorted((SAMPLES / case).glob("*.log*"))
    }


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
