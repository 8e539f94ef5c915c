"""CPU and memory of `kvdiag analyze` against `rg -c` with the same literals, on a log repeated to 100 MB."""

from __future__ import annotations

import argparse
import gzip
import os
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from importlib.util import find_spec
from pathlib import Path

SAMPLE_LOGS = Path(__file__).parents[1] / "sample-logs"
SMALL = 50_000

KLOG_TIME = re.compile(rb"(?m)^([IWEF])(\d\d)(\d\d) (\d\d):")
# The first eight digits of a UUID or of a container id, by which all its mentions change alike.
IDENTITY = re.compile(rb"\b[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-|[0-9a-f]{56}\b)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one process took: `cpu` seconds of user and system, `memory` the peak in MB, `status` its exit code."""

    cpu: float
    memory: float
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """A program to measure. `good` are the exit codes that mean it did its work."""

    name: str
    command: tuple[str, ...]
    scanner: str = ""
    good: tuple[int, ...] = (0,)
    runs: list[Run] = field(default_factory=list)
    small_runs: list[Run] = field(default_factory=list)

    def measure(self, log: Path) -> Run:
        """Run once over a log, its output thrown away."""
        command = [*self.command, str(log)]
        environment = os.environ | ({"KVDIAG_SCANNER": self.scanner} if self.scanner else {})
        silent = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)]
        pid = os.posix_spawnp(command[0], command, environment, file_actions=silent)
        _, status, usage = os.wait4(pid, 0)
        scale = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
        return Run(
            cpu=usage.ru_utime + usage.ru_stime,
            memory=usage.ru_maxrss / scale,
            status=os.waitstatus_to_exitcode(status),
        )


def main() -> None:
    """Measure and print a table."""
    options = arguments()
    log = options.log or largest_kubelet_log()
    if log is None:
        print("no kubelet log in sample-logs/; name one: bench/speed.py LOG")
        return
    with tempfile.TemporaryDirectory(prefix="kvdiag-bench-") as folder:
        big, small = Path(folder, "big.log"), Path(folder, "small.log")
        build(log, big, options.size * 1_000_000, shift=options.shift)
        build_small(big, small)
        measured = contenders(Path(folder, "literals"))
        for _ in range(options.rounds):
            for contender in measured:
                contender.runs.append(contender.measure(big))
                contender.small_runs.append(contender.measure(small))
        size = big.stat().st_size / 1e6
        print(f"{log}, repeated to {size:.0f} MB{', shifted' if options.shift else ''}; best of {options.rounds}\n")
        print_table(measured, size)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("log", nargs="?", type=Path, metavar="LOG", help="the log to repeat, plain or gzip")
    parser.add_argument("--size", type=int, default=100, metavar="MB", help="how large the log is made (100)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="how often each is run (3)")
    parser.add_argument("--shift", action="store_true", help="give each repetition later times and other identities")
    return parser.parse_args()


def largest_kubelet_log() -> Path | None:
    """Give the largest kubelet log among the samples."""
    logs = [path for path in SAMPLE_LOGS.rglob("*kubelet*log*") if path.is_file()]
    return max(logs, key=lambda path: len(text_of(path)), default=None)


def text_of(log: Path) -> bytes:
    """Read a log, unpacked."""
    packed = log.read_bytes()
    return gzip.decompress(packed) if packed.startswith(b"\x1f\x8b") else packed


def build(log: Path, big: Path, size: int, *, shift: bool) -> None:
    """Write a log repeatedly until the file has `size` bytes."""
    text = text_of(log)
    if not text.endswith(b"\n"):
        text += b"\n"
    hours = hours_of(text)
    with big.open("wb") as file:
        number = 0
        while file.tell() < size:
            file.write(shifted(text, number * hours, number) if shift else text)
            number += 1


def hours_of(text: bytes) -> int:
    """Give the whole hours after which the log can follow itself."""
    hours = [hour_of(match) for match in KLOG_TIME.finditer(text)]
    return (max(hours) - min(hours)) // timedelta(hours=1) + 1 if hours else 1


def hour_of(match: re.Match[bytes]) -> datetime:
    """Give the hour of a klog line, in a leap year."""
    month, day, hour = (int(part) for part in match.groups()[1:])
    return datetime(2024, month, day, hour)  # noqa: DTZ001  # klog writes neither year nor zone


def shifted(text: bytes, hours: int, number: int) -> bytes:
    """Give the log with later times and other identities; what was one thing stays one thing."""

    def later(match: re.Match[bytes]) -> bytes:
        moment = hour_of(match) + timedelta(hours=hours)
        return match[1] + moment.strftime("%m%d %H:").encode()

    def other(match: re.Match[bytes]) -> bytes:
        return b"%08x" % ((int(match[0], 16) + number * 0x10001) % (1 << 32))

    return IDENTITY.sub(other, KLOG_TIME.sub(later, text))


def build_small(big: Path, small: Path) -> None:
    """Write the first 50 KB of a log, to the end of a line."""
    with big.open("rb") as file:
        head = file.read(SMALL)
    small.write_bytes(head[: head.rfind(b"\n") + 1])


def contenders(patterns: Path) -> list[Contender]:
    """Give what can be measured here, and say what cannot."""
    found = []
    if shutil.which("rg"):
        patterns.write_bytes(b"".join(literal + b"\n" for literal in literals()))
        found.append(
            Contender(
                name="rg -c -F", command=("rg", "--no-config", "-a", "-c", "-F", "-f", str(patterns)), good=(0, 1)
            )
        )
    else:
        print("rg (ripgrep) is not on the PATH: no ratio can be given")
    script = Path(sys.executable).with_name("kvdiag")
    kvdiag = (str(script),) if script.exists() else (sys.executable, "-m", "kvdiag")
    command = (*kvdiag, "analyze", "-o", "json")
    for scanner in ("hyperscan", "stdlib"):
        if find_spec(scanner) or scanner == "stdlib":
            found.append(Contender(name=f"kvdiag, {scanner}", command=command, scanner=scanner))
        else:
            print("hyperscan is not installed: pip install 'kvdiag[fast]'")
    return found


def literals() -> list[bytes]:
    """Give all literals that kvdiag scans for."""
    from kvdiag.commands.analyze import literals as all_literals

    return list(all_literals())


def print_table(measured: list[Contender], size: float) -> None:
    """Print one row per contender, the ratio to the first when that is ripgrep; no figures for one that failed."""
    rg = min((run.cpu for run in measured[0].runs), default=0.0) if measured[0].name.startswith("rg") else 0.0
    print(f"{'':18} {'CPU s':>7} {'x rg':>6} {'MB/s':>6} {'RSS MB':>7} {'50 KB ms':>9}")
    for contender in measured:
        failed = {run.status for run in contender.runs + contender.small_runs} - set(contender.good)
        if failed:
            print(f"{contender.name:18} FAILED with exit code {min(failed)}: run {' '.join(contender.command)} LOG")
            continue
        cpu = min(run.cpu for run in contender.runs)
        memory = max(run.memory for run in contender.runs)
        start = min(run.cpu for run in contender.small_runs) * 1000
        ratio = f"{cpu / rg:.2f}" if rg else "-"
        print(f"{contender.name:18} {cpu:7.2f} {ratio:>6} {size / max(cpu, 1e-6):6.0f} {memory:7.0f} {start:9.0f}")


if __name__ == "__main__":
    main()
