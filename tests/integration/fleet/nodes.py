"""Tiny bundles of a cluster for the tests of `kvdiag fleet`, in the words of kubelet."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="kvdiag[fleet] is not installed: results are Parquet")

from kvdiag.fleet.compact import plan
from kvdiag.fleet.local_engine import run_local
from kvdiag.fleet.merge import merge
from kvdiag.fleet.places import Place, place
from kvdiag.fleet.results import put_results, stored
from kvdiag.fleet.values import Bundle, Job, Outcome, outcome_of

WRITTEN = 1_773_304_200  # 2026-03-12T08:30:00Z, after the last line
PV, HANDLE = "pvc-5b1e77aa-0b1d-4f5e-8c9a-2d3e4f5a6b7c", "vol-0d9c8b7a6f5e"
UIDS = {
    "node-a": "2a0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01",
    "node-b": "8b0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f07",
    "other": "3c0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f02",
}
STAGED = (
    'operation_generator.go:664] "MountVolume.MountDevice succeeded for volume \\"{pv}\\" (UniqueName: '
    '\\"kubernetes.io/csi/ebs.csi.aws.com^{handle}\\") pod \\"db-0\\" (UID: \\"{uid}\\") device mount path '
    '\\"/var/lib/kubelet/plugins/kubernetes.io/csi/ebs.csi.aws.com/8d1f0c/globalmount\\"" pod="shop/db-0"'
)
PUBLISHED = (
    'operation_generator.go:722] "MountVolume.SetUp succeeded for volume \\"{pv}\\" (UniqueName: '
    '\\"kubernetes.io/csi/ebs.csi.aws.com^{handle}\\") pod \\"db-0\\" (UID: \\"{uid}\\") " pod="shop/db-0"'
)
UNPUBLISHED = (
    'operation_generator.go:887] UnmountVolume.TearDown succeeded for volume "kubernetes.io/csi/ebs.csi.aws.com^{handle}"'
    ' (OuterVolumeSpecName: "data") pod "{uid}" (UID: "{uid}"). InnerVolumeSpecName "{pv}". PluginName'
    ' "kubernetes.io/csi", VolumeGIDValue ""'
)
JUDGES = ("0.1.0+aaaaaaaaaaaa", "0.2.0+bbbbbbbbbbbb")
ADDED = 'kubelet.go:2447] "SyncLoop ADD" source="api" pods=["shop/other"]'


def write_pair(root: Path) -> Path:
    """Write two nodes of one cluster: the first lets a volume go without unstaging it, the second stages it."""
    write_node(root, "node-a", [("00:00", STAGED), ("00:01", PUBLISHED), ("10:00", UNPUBLISHED), ("13:00", ADDED)])
    write_node(root, "node-b", [("12:00", STAGED), ("12:01", PUBLISHED), ("13:00", ADDED)])
    return root


def write_node(root: Path, node: str, said: list[tuple[str, str]], cluster: str = "eu-1") -> Path:
    """Write the kubelet's lines of a node, at these minutes and seconds after eight."""
    names = {"pv": PV, "handle": HANDLE, "uid": UIDS.get(node, UIDS["other"])}
    folder = root / f"cluster={cluster}" / f"node={node}"
    folder.mkdir(parents=True)
    lines = [f"Mar 12 08:{at} {node} kubelet[2201]: I0312 08:{at}.000000    2201 {words}" for at, words in said]
    text = "".join(line.format(**names) + "\n" for line in lines)
    log = folder / "kubelet.log"
    log.write_text(text, "utf-8")
    os.utime(log, (WRITTEN, WRITTEN))
    return folder


def merged(dest: Place, only: Collection[str] | None = None) -> None:
    """Merge all results, or the new ones with these keys, in this process."""
    for one in plan(dest, stored(dest), only):
        merge(dest, one.day, one.names)


def synthetic(count: int, *, days: int = 1, clusters: int = 1, begin: date = date(2026, 3, 1)) -> list[Bundle]:
    """Return bundles that `synthetic_engine` judges: so many nodes a day, in these clusters."""
    return [
        Bundle(f"c{number % clusters:02}", f"n{number:04}", f"/{begin + timedelta(day)}/n{number:04}", ())
        for day in range(days)
        for number in range(count)
    ]


def synthetic_engine(jobs: Iterable[Job]) -> Iterator[Outcome]:
    """Store results as if each bundle had been analyzed; merges are real.

    Every tenth node has `disk-full`, which is over on all but two. Every node with containerd 1.6.15, which every
    twentieth has, has `cni-missing` from the second week on. Node 3 has errors that nothing explains, and node 7 has
    lost its link on the last day. From the 15th on another kvdiag judges, and finds `clock-wrong` on node 5.
    """
    for job in jobs:
        if job.kind != "analyze":
            yield from run_local([job])
            continue
        bundle = job.bundle
        day, number = bundle.place.split("/")[1], int(bundle.node[1:])
        at = int(datetime.fromisoformat(f"{day}T08:00+00:00").timestamp()) * 1_000_000
        outcome = outcome_of(job)._replace(day=day, findings=1)
        found = [("disk-full", 3)] * (number % 10 == 0)
        found += [("cni-missing", 4)] * (number % 20 == 1 and day >= "2026-03-08")
        found += [("link-lost", 2)] * (number == 7 and day == "2026-03-30")
        found += [("clock-wrong", 1)] * (number == 5 and day >= "2026-03-15")
        outcome = outcome._replace(judge=JUDGES[day >= "2026-03-15"])
        common = {"says": "s", "begins": at, "ends": at + 60_000_000, "count": 1}
        findings = [
            common
            | {"rule": rule, "title": rule, "severity": ("low", "low", "medium", "high", "critical")[rank]}
            | {
                "severity_rank": rank,
                "verdict": "confirmed",
                "role": "cause",
                "finding": f"{rule}-{number}",
                "healed": at + 60_000_000 if rule == "disk-full" and number > 10 else None,
                "first_step": f"Fix {rule}.",
                "json": "{}",
            }
            | {
                "kubelet_version": "1.29.3",
                "driver": "",
                "driver_version": "",
                "subject_node": bundle.node,
                "nodes": [],
            }
            for rule, rank in found
        ]
        error = common | {"component": "kubelet", "says": "odd", "explained_by": "", "benign": "", "level": "error"}
        version = "1.6.15" if number % 20 == 1 else "1.7.2"
        tables = {
            "findings": findings,
            "inputs": [{"source": "kubelet.log", "begins": at, "ends": at, "lines": 10}],
            "versions": [{"component": "containerd", "version": version, "log_node": bundle.node}],
            "errors": [error] * (number == 3),
        }
        put_results(place(job.dest), outcome, tables)
        yield outcome
