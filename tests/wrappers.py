"""The same log as something else carries it, or as a node in another zone writes it."""

from __future__ import annotations

import gzip
import json
import re
import struct
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.long import thinned

SAMPLES = Path(__file__).parents[1] / "sample-logs"
YEAR = {"hostpath-driver-lost-state": 2026, "detach-without-unstage": 2024, "driver-removed-before-pod": 2024}
KLOG = re.compile(rb"([IWEF])(\d\d)(\d\d) (\d\d:\d\d:\d\d\.\d{6})(?= +\d+ )")
RETRY = re.compile(rb"until (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(\.\d+) \+0000 UTC")
PID = re.compile(rb"[IWEF]\d{4} \S+ +(\d+) ")


@cache
def logs(case: str) -> dict[str, bytes]:
    """Give the logs of a sample by name, unpacked, without most of what repeats."""
    return {
        path.name.removesuffix(".gz"): thinned(
            gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes(), 6
        )
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


class Written(NamedTuple):
    """A line with what its carriers know of it: when it was written, and by whom."""

    at: datetime
    program: str
    pid: str
    line: str

    @property
    def micros(self) -> int:
        """Microseconds since 1970."""
        return (self.at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)

    @property
    def iso(self) -> str:
        """The time as RFC 3339, to the nanosecond."""
        return f"{self.at:%Y-%m-%dT%H:%M:%S.%f}789Z"

    @property
    def sender(self) -> str:
        """Host and process as syslog names them."""
        return f"worker-1 {self.program}[{self.pid}]:"

    @property
    def fields(self) -> dict[str, str]:
        """The fields of its journal entry, some of which nobody asks for."""
        return {
            "__CURSOR": f"s=ab8f135e0b994f2f97adfe8da9b358ba;i=1;t={self.micros}",
            "__REALTIME_TIMESTAMP": str(self.micros),
            "_CAP_EFFECTIVE": "1fffeffffff",
            "_HOSTNAME": "worker-1",
            "_TRANSPORT": "stdout",
            "SYSLOG_IDENTIFIER": self.program,
            "_CMDLINE": f"/usr/bin/{self.program} -v=4 --node-ip=10.0.0.7",
            "MESSAGE": self.line,
            "_PID": self.pid,
        }


CLOCK = re.compile(rb'[IWEF](\d\d)(\d\d) (\S+) +(\d+) |time="(\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6})\d*Z"')


def written(text: bytes, program: str, year: int) -> Iterator[Written]:
    """Give the lines of a log; one that has no time was written with the one above it."""
    at, pid = datetime(year, 1, 1, tzinfo=UTC), "1"
    for line in text.splitlines():
        head = CLOCK.match(line)
        if head:
            month, day, clock, number, iso = (part and part.decode() for part in head.groups())
            at, pid = datetime.fromisoformat(f"{iso or f'{year}-{month}-{day}T{clock}'}+00:00"), number or pid
        yield Written(at, program, pid, line.decode())


def as_json(entry: Written) -> str:
    """Give an entry as `journalctl -o json` shows it."""
    return json.dumps(entry.fields)


def pretty(entry: Written) -> str:
    """Give an entry as `journalctl -o json-pretty` shows it."""
    fields = ",\n".join(f'\t"{name}" : {json.dumps(value)}' for name, value in entry.fields.items())
    return f"{{\n{fields}\n}}"


def export(entry: Written) -> str:
    """Give an entry as `journalctl -o export` shows it."""
    return "".join(f"{name}={value}\n" for name, value in entry.fields.items())


def export_binary(entry: Written) -> str:
    """As export, but each message by its length, with a line break, as if it had held something not printable."""
    message, core = f"{entry.line}\n\x1b[0m", "\n\nMESSAGE=x\n\n"
    plain = "".join(f"{name}={value}\n" for name, value in entry.fields.items() if name != "MESSAGE")
    fields = {"COREDUMP": core, "MESSAGE": message}
    return plain + "".join(f"{name}\n{length(value)}{value}\n" for name, value in fields.items())


def length(text: str) -> str:
    """Give the length of a text as the journal's export writes it, as characters that `encoded` makes bytes again."""
    return struct.pack("<Q", len(text.encode())).decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """Give the bytes of what carriers have made."""
    return text.encode("utf-8", "surrogateescape")


def verbose(entry: Written) -> str:
    """Give an entry as `journalctl -o verbose` shows it."""
    fields = {name: value for name, value in entry.fields.items() if not name.startswith("__")}
    opening = f"{entry.at:%a %Y-%m-%d %H:%M:%S.%f} UTC [s=ab8f135e0b994f2f97adfe8da9b358ba;i=1;b=a1b2c3d4]"
    return "\n".join([opening, *(f"    {name}={value}" for name, value in fields.items())])


def quoted(text: str) -> str:
    """Give a cell of a CSV file."""
    return '"' + text.replace('"', '""') + '"'


def go(text: str) -> str:
    """Give a text as Go quotes it."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def docker(of: Written, text: str) -> str:
    """Give a text as docker's json-file keeps it."""
    return json.dumps({"log": text, "stream": "stderr", "time": of.iso}, separators=(",", ":"))


PART = 700  # 16 KB in the field


def docker_parts(of: Written) -> str:
    """Give a line as docker cuts it; a part that goes on has no line end."""
    text = of.line + "\n"
    return "\n".join(docker(of, text[at : at + PART]) for at in range(0, len(text), PART))


def cri_parts(of: Written) -> str:
    """Give a line as containerd cuts it."""
    parts = [of.line[at : at + PART] for at in range(0, max(1, len(of.line)), PART)]
    tags = [*("P" * (len(parts) - 1)), "F"]
    return "\n".join(f"{of.iso} stderr {tag} {part}" for tag, part in zip(tags, parts, strict=True))


Carrier = Callable[[Written], str]
# A line over many lines: nothing can be around them.
JOURNALS: Mapping[str, Carrier] = {
    "json-pretty": pretty,
    "export": export,
    "export of bytes": export_binary,
    "verbose": verbose,
}
PARTS: Mapping[str, Carrier] = {"cri in parts": cri_parts, "docker in parts": docker_parts}
CARRIERS: Mapping[str, Carrier] = {
    "short": lambda of: f"{of.at:%b %d %H:%M:%S} {of.sender} {of.line}",
    "short-precise": lambda of: f"{of.at:%b %d %H:%M:%S.%f} {of.sender} {of.line}",
    "short-full": lambda of: f"{of.at:%a %Y-%m-%d %H:%M:%S} UTC {of.sender} {of.line}",
    "short-iso": lambda of: f"{of.at:%Y-%m-%dT%H:%M:%S}+0000 {of.sender} {of.line}",
    "monotonic": lambda of: f"[{of.micros % 10**10 / 10**6:12.6f}] {of.sender} {of.line}",
    "unix": lambda of: f"{of.micros / 10**6:.6f} {of.sender} {of.line}",
    "german": lambda of: f"Dez {of.at:%d %H:%M:%S} {of.sender} {of.line}",
    "french": lambda of: f"févr. {of.at:%d %H:%M:%S} {of.sender} {of.line}",
    "json": as_json,
    "json-seq": lambda of: "\x1e" + as_json(of),
    "json-sse": lambda of: "data: " + as_json(of),
    "rsyslog": lambda of: f"{of.at:%Y-%m-%dT%H:%M:%S.%f}+00:00 {of.sender} {of.line}",
    "syslog": lambda of: f"<30>{of.at:%b %d %H:%M:%S} {of.sender} {of.line}",
    "rfc5424": lambda of: f"<30>1 {of.iso} worker-1 {of.program} {of.pid} - - {of.line}",
    "cri": lambda of: f"{of.iso} stderr F {of.line}",
    "docker": lambda of: docker(of, of.line + "\n"),
    "docker-other": lambda of: json.dumps({"time": of.iso, "stream": "stderr", "log": of.line + "\n"}),
    "timestamps": lambda of: f"{of.iso} {of.line}",
    "prefix": lambda of: f"[pod/csi-0/{of.program}] {of.line}",
    "stern": lambda of: f"csi-0 {of.program} {of.line}",
    "kubetail": lambda of: f"[csi-0 {of.program}] {of.line}",
    "talosctl": lambda of: f"10.5.0.2: {of.line}",
    "talos": lambda of: json.dumps({"msg": of.line, "talos-service": of.program, "talos-time": of.iso}),
    "microshift": lambda of: f"{of.program} {of.line}",
    "loki": lambda of: json.dumps({"line": of.line, "timestamp": of.iso, "fields": {"pod": "x"}}),
    "loki-csv": lambda of: f"{of.iso},{quoted(of.line)}",
    "cloudwatch": lambda of: f"{of.iso},{of.line}",
    "cloudwatch-json": lambda of: json.dumps({"timestamp": of.micros // 1000, "message": of.line}),
    "google": lambda of: json.dumps({"jsonPayload": {"MESSAGE": of.line, "_HOSTNAME": "n"}, "timestamp": of.iso}),
    "google-text": lambda of: json.dumps({"textPayload": of.line, "timestamp": of.iso}),
    "grep": lambda of: f"/var/log/{of.program}.log:{of.line}",
    "grep-n": lambda of: f"{of.program}.err.log:21143:{of.line}",
    "grep-windows": lambda of: rf"C:\k\{of.program}.log:7:{of.line}",
    "number": lambda of: f"21143:{of.line}",
    "bullet": lambda of: f"* {of.line}",
    "indent": lambda of: f"    {of.line}",
    "mark": lambda of: f"\ufeff{of.line}",
}
# These carry a log line itself, no other carrier: k0s and Rancher read what a process writes.
INNERMOST: Mapping[str, Carrier] = {
    "k0s": lambda of: (
        f'time="{of.at:%Y-%m-%d %H:%M:%S}" level=info msg="{go(of.line)}" component={of.program} stream=stderr'
    ),
    "rancher": lambda of: f"{of.iso}{of.line}",
    "none": lambda of: of.line,
}


def carried(entry: Written, *carriers: Carrier) -> str:
    """Give a line in carriers, the innermost first."""
    for carrier in carriers:
        entry = entry._replace(line=carrier(entry))
    return entry.line
