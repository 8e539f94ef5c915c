"""Tiny bundles of a cluster for the tests of `kvdiag fleet`, in the words of kubelet."""

from __future__ import annotations

import os
from pathlib import Path

WRITTEN = 1_773_304_200  # 2026-03-12T08:30:00Z, after the last line
PV, HANDLE = "pvc-5b1e77aa-0b1d-4f5e-8c9a-2d3e4f5a6b7c", "vol-0d9c8b7a6f5e"
UIDS = {"node-a": "2a0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01", "node-b": "8b0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f07"}
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
ADDED = 'kubelet.go:2447] "SyncLoop ADD" source="api" pods=["shop/other"]'


def write_pair(root: Path) -> Path:
    """Write two nodes of one cluster: the first lets a volume go without unstaging it, the second stages it."""
    write_node(root, "node-a", [("00:00", STAGED), ("00:01", PUBLISHED), ("10:00", UNPUBLISHED), ("13:00", ADDED)])
    write_node(root, "node-b", [("12:00", STAGED), ("12:01", PUBLISHED), ("13:00", ADDED)])
    return root


def write_node(root: Path, node: str, said: list[tuple[str, str]], cluster: str = "eu-1") -> Path:
    """Write the kubelet's lines of a node, at these minutes and seconds after eight."""
    names = {"pv": PV, "handle": HANDLE, "uid": UIDS.get(node, "3c0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f02")}
    folder = root / f"cluster={cluster}" / f"node={node}"
    folder.mkdir(parents=True)
    lines = [f"Mar 12 08:{at} {node} kubelet[2201]: I0312 08:{at}.000000    2201 {words}" for at, words in said]
    text = "".join(line.format(**names) + "\n" for line in lines)
    log = folder / "kubelet.log"
    log.write_text(text, "utf-8")
    os.utime(log, (WRITTEN, WRITTEN))
    return folder
