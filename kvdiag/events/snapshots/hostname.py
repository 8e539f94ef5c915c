"""The name of the host that a sosreport is of; all its logs are of that node.

worker-1.example.org
"""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.events.snapshots.fact import SnapshotFact
from kvdiag.model.event import Ref

_NAME = lazy_regex(r"(?:.*/)?sosreport-[^/]+/(?:etc|sos_commands/host)/hostname")
_HOST = lazy_regex(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?\s*")


def opens(name: str, head: str) -> bool:
    """Whether it is the file, by its place in the report, and one name."""
    return len(name) < 4096 and _NAME.fullmatch(name) is not None and _HOST.fullmatch(head) is not None


def read(text: str) -> Iterator[SnapshotFact]:
    """Give the name."""
    host = text.strip()
    yield SnapshotFact(1, "node.hostname", host, (Ref("node", host),), node=host)
