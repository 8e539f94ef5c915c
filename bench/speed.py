"""CPU, wall time and memory of `kvdiag analyze` against rg and grep with the same literals, on logs without repeats."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import repeat
from pathlib import Path
from shutil import which
from statistics import median
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parent))
from fresh import fresh, text_of

ROOT = Path(__file__).parents[1]
SMALL = 50_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a command took: `cpu` seconds of user and system with all its processes, `wall` seconds until its end.

    `memory` is the peak of its first process in MB, `status` its exit code.
    """

    cpu: float
    wall: float
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
        began = time.perf_counter()
        pid = os.posix_spawnp(command[0], command, environment, file_actions=silent)
        _, status, usage = os.wait4(pid, 0)
        scale = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes elsewhere
        return Run(
            cpu=usage.ru_utime + usage.ru_stime,
            wall=time.perf_counter() - began,
            memory=usage.ru_maxrss / scale,
            status=os.waitstatus_to_exitcode(status),
        )


class Input(NamedTuple):
    """A row of the table: a sample that is made long, and what share of its lines are events, in words."""

    name: str
    log: str


INPUTS = (
    Input("kubelet v4, quiet CSI node", "sample-logs/healthy-csi-volume/kubelet.log.gz"),
    Input("kubelet v4, pods that fail", "tests/data/pod-failures/kubelet.log.gz"),
    Input("kubelet v2, every line an event", "sample-logs/healthy-csi-volume-containerd-2.1/kubelet.log"),
    Input("kubelet, runtime down", "sample-logs/containerd-killed/kubelet.log.gz"),
    Input("containerd info", "sample-logs/healthy-csi-volume-containerd-2.1/containerd.log"),
    Input("CSI driver v5, gRPC", "sample-logs/healthy-csi-volume/csi-hostpath.log"),
    Input("journald, a whole node", "sample-logs/healthy-journald/node.log"),
)


def main() -> None:
    """Measure and print a table, or JSON."""
    options = arguments()
    inputs = [Input(options.log.name, str(options.log))] if options.log else INPUTS
    rows = []
    with tempfile.TemporaryDirectory(prefix="kvdiag-bench-") as folder:
        big, small = Path(folder, "big.log"), Path(folder, "small.log")
        for one in inputs:
            text = text_of(ROOT / one.log)
            copies = repeated(text, options.size * 1_000_000) if options.same else fresh(text, options.size * 1_000_000)
            with big.open("wb") as file:
                file.writelines(copies)
            build_small(big, small)
            measured = contenders(Path(folder, "literals"))
            for _ in range(options.rounds):  # in turns, so that a busy neighbour slows all of them
                for contender in measured:
                    contender.runs.append(contender.measure(big))
                    contender.small_runs.append(contender.measure(small))
            rows += [row(one.name, contender, measured[0], big.stat().st_size / 1e6) for contender in measured]
    if options.json:
        print(json.dumps(rows, indent=1))
    else:
        print_table(rows)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "log", nargs="?", type=Path, metavar="LOG", help="one log instead of the samples, plain or gzip"
    )
    parser.add_argument("--size", type=int, default=10, metavar="MB", help="how long each log is made (10)")
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="how often each is run (2)")
    parser.add_argument("--same", action="store_true", help="repeat each log byte for byte, which flatters")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


def repeated(text: bytes, size: int) -> Iterator[bytes]:
    """Give a log again and again until there are `size` bytes."""
    text = text if text.endswith(b"\n") else text + b"\n"
    return repeat(text, -(-size // len(text)))


def build_small(big: Path, small: Path) -> None:
    """Write the first 50 KB of a log, to the end of a line."""
    with big.open("rb") as file:
        head = file.read(SMALL)
    small.write_bytes(head[: head.rfind(b"\n") + 1])


def contenders(patterns: Path) -> list[Contender]:
    """Give what can be measured here, what the others are held against first; say what cannot."""
    patterns.write_bytes(b"".join(literal + b"\n" for literal in literals()))
    counting = {
        "rg -c -F": ("rg", "--no-config", "-a", "-c", "-F", "-f", str(patterns)),
        "grep -c -F": ("grep", "-a", "-c", "-F", "-f", str(patterns)),
    }
    found = [
        Contender(name=name, command=command, good=(0, 1)) for name, command in counting.items() if which(command[0])
    ]
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
    from kvdiag.analysis.analyze import literals as all_literals

    return list(all_literals())


def row(name: str, contender: Contender, first: Contender, size: float) -> dict[str, str | float]:
    """Give the medians of one contender on one input; no figures for one that failed."""
    failed = {run.status for run in contender.runs + contender.small_runs} - set(contender.good)
    if failed:
        return {"input": name, "program": contender.name, "failed": min(failed)}
    cpu = median(run.cpu for run in contender.runs)
    base = 0.0 if first.name.startswith("kvdiag") else median(run.cpu for run in first.runs)
    return {
        "input": name,
        "program": contender.name,
        "cpu_s": round(cpu, 3),
        "wall_s": round(median(run.wall for run in contender.runs), 3),
        "times": round(cpu / base, 1) if base else 0.0,
        "mb_per_s": round(size / max(cpu, 1e-6)),
        "rss_mb": round(max(run.memory for run in contender.runs)),
        "start_ms": round(median(run.cpu for run in contender.small_runs) * 1000),
    }


def print_table(rows: list[dict[str, str | float]]) -> None:
    """Print one line per contender and input; `x` is how many times the CPU of the first it takes."""
    print(f"{'':32} {'':18} {'CPU s':>7} {'wall s':>7} {'x':>6} {'MB/s':>6} {'RSS MB':>7} {'50 KB ms':>9}")
    for one in rows:
        if "failed" in one:
            print(f"{one['input']:32} {one['program']:18} FAILED with exit code {one['failed']}")
            continue
        ratio = one["times"] or "-"
        print(
            f"{one['input']:32} {one['program']:18} {one['cpu_s']:7.2f} {one['wall_s']:7.2f} {ratio:>6}"
            f" {one['mb_per_s']:6} {one['rss_mb']:7} {one['start_ms']:9}"
        )


if __name__ == "__main__":
    main()
