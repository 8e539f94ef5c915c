"""A file beside the logs → the reader that knows it by its first bytes, and what it says.

A reader has `opens`, which knows such a file by its first bytes, and `read`, which gives what it says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvdiag.events.snapshots import attachments, crictl, hostname, hostpath, mounts, nodes, packages, versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvdiag.events.snapshots.fact import SnapshotFact

LARGEST = 8 << 20  # bytes of such a file; its JSON takes ten times as much memory
READERS = {
    "hostpath-state": hostpath,
    "volume-attachments": attachments,
    "nodes": nodes,
    "crictl": crictl,
    "mounts": mounts,
    "packages": packages,
    "versions": versions,
    "hostname": hostname,
}


def evidence_in(name: str, head: bytes) -> str:
    """Give which kind of evidence begins with these bytes; empty when none does. `name` is the path."""
    text = head.decode("utf-8", "replace")
    return next((kind for kind, reader in READERS.items() if reader.opens(name, text)), "")


def read_evidence(kind: str, text: str) -> Iterator[SnapshotFact]:
    """Give the facts in a file of this kind. Raises ValueError where it is not what it began as."""
    yield from READERS[kind].read(text)
