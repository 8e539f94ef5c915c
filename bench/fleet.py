"""What `kvdiag fleet` costs: beside `kvdiag analyze` on the same bundle, and for a report on very many nodes.

bench/fleet.py cost BUNDLE…              CPU seconds of fleet run and of analyze, the least of three runs each
bench/fleet.py make DEST [NODES] [DAYS] [CLUSTERS]   results of so many nodes with 20 findings each
bench/fleet.py report DEST               CPU seconds and memory of the report on them
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from kvdiag.fleet.compact import plan
from kvdiag.fleet.merge import merge
from kvdiag.fleet.places import place
from kvdiag.fleet.results import put_results, stored
from kvdiag.fleet.values import Outcome, short_digest

ROUNDS = 3  # the machine may be shared: the least counts
FINDINGS, RULES = 20, 60
SEVERITIES = ("info", "low", "medium", "high", "critical")


class Used(NamedTuple):
    """CPU seconds of a command and all its processes, and the peak of the largest in MB."""

    cpu: float
    memory: float


def measure(*words: object) -> Used:
    """Return the least of some runs of a command of kvdiag."""
    return min(_run([sys.executable, "-m", "kvdiag", *map(str, words)]) for _ in range(ROUNDS))


def _run(command: Iterable[str]) -> Used:
    """Run a command in a process that waits for all its children."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        subprocess.run([*command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        os.write(writing, f"{used.ru_utime + used.ru_stime} {used.ru_maxrss / 1024}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        return Used(*map(float, stream.read().split()))


def cost(bundles: Iterable[Path]) -> None:
    """Print what a run over one bundle takes, and an analysis of it with one process."""
    for bundle in bundles:
        alone = measure("analyze", "-q", "-j", 1, "-o", "json", bundle)
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "logs/cluster=c/node=n")
            source.parent.mkdir(parents=True)
            subprocess.run(["cp", "-rl", str(bundle.resolve()), str(source)], check=True)
            each = [_run(_fleet(Path(folder), number)) for number in range(ROUNDS)]
        fleet = min(each)
        print(f"{bundle}: analyze {alone.cpu:.2f} s, fleet {fleet.cpu:.2f} s, {fleet.cpu / alone.cpu:.2f} x")


def _fleet(folder: Path, number: int) -> list[str]:
    out = str(folder / f"out{number}")
    return [sys.executable, "-m", "kvdiag", "fleet", "run", str(folder / "logs"), "--out", out]


def make(dest: str, nodes: int = 100_000, days: int = 1, clusters: int = 50) -> None:
    """Write the results of so many nodes, spread over days and clusters, and merge them."""
    there = place(dest)
    for day in (date(2026, 3, 1) + timedelta(number) for number in range(days)):
        for number in range((day - date(2026, 3, 1)).days, nodes, days):
            cluster = f"cluster-{number // days % clusters:02}"
            outcome = Outcome(cluster, name := f"node-{number:06}", f"/b/{name}", short_digest([name]), "")
            key = short_digest(["judge", name]) + f"{1:012x}"
            put_results(there, outcome._replace(key=key, day=f"{day}", judge="1.0"), dict(_rows(number, day, name)))
        for one in plan(there, stored(there)):
            merge(there, one.day, one.names)


def _rows(number: int, day: date, name: str) -> Iterator[tuple[str, list[dict[str, object]]]]:
    at = int(datetime(day.year, day.month, day.day, 8, number % 60, tzinfo=UTC).timestamp()) * 1_000_000
    span = {"begins": at, "ends": at + 10_000_000}
    yield "findings", [_finding(number, rule, name, at) for rule in range(FINDINGS)]
    yield "inputs", [{"source": f"{log}.log", "component": log, **span} for log in ("kubelet", "containerd", "kernel")]
    seen = {"kubelet": f"1.2{number % 7}.3", "containerd": f"1.7.{number % 9}", "kernel": f"6.1.0-{number % 5}"}
    yield "versions", [{"component": one, "version": version, "log_node": name} for one, version in seen.items()]
    error = {**span, "component": "kubelet", "level": "error", "count": 3, "explained_by": ""}
    yield "errors", [{**error, "says": f"odd failure {kind}", "benign": "" if kind else "x"} for kind in range(3)]


def _finding(number: int, which: int, name: str, at: int) -> dict[str, object]:
    rule = (number + which * 7) % RULES
    rank = rule % 5
    return {
        "rule": f"rule-of-a-failure-{rule:02}",
        "rule_id": f"KV{rule:03}",
        "title": f"Volume cannot be mounted, kind {rule}",
        "severity": SEVERITIES[rank],
        "severity_rank": rank,
        "verdict": "confirmed" if which % 3 else "possible",
        "role": "cause" if which % 4 else "symptom",
        "subject_kind": "volume",
        "subject": f"pvc-{number:08}-{which}",
        "subject_key": f"pvc-{number:08}-{which}",
        "subject_node": name if which % 2 else "",
        "volume_handle": f"vol-{number:08}-{which}",
        "pod": f"shop/db-{number}-{which}",
        "driver": "ebs.csi.aws.com",
        "driver_version": f"1.{number % 3}.0",
        "kubelet_version": f"1.2{number % 7}.3",
        "runtime_version": f"1.7.{number % 9}",
        "begins": at + which * 1_000_000,
        "ends": at + which * 2_000_000,
        "healed": at + which * 2_000_000 if rule % 2 else None,
        "count": which,
        "says": f"kubelet could not mount the volume pvc-{number:08}-{which} on {name}, {which} times over 10 minutes.",
        "cause": "The driver answered DeadlineExceeded, as its controller does not run on any node of the cluster.",
        "first_step": f"Look at the driver's log on {name}.",
        "first_command": f"kubectl logs -n kube-system ds/ebs-csi-node --field-selector spec.nodeName={name}",
        "finding": short_digest([name, f"{which}"]),
        "nodes": [name],
        "affected": [],
        "surer_than": [],
        "json": f'{{"rule": "rule-of-a-failure-{rule:02}", "subject": "pvc-{number:08}-{which}", "node": "{name}"}}',
    }


def report(dest: str) -> None:
    """Print what a report takes, and one of the last day."""
    for words in ((), ("--day", "2026-03-01"), ("-o", "json")):
        used = measure("fleet", "report", dest, *words)
        print(f"report {' '.join(words)}: {used.cpu:.2f} CPU s, {used.memory:.0f} MB")


if __name__ == "__main__":
    what, *rest = sys.argv[1:]
    if what == "cost":
        cost(map(Path, rest))
    elif what == "make":
        make(rest[0], *map(int, rest[1:]))
    else:
        report(rest[0])
