"""Which volumes the cluster believes attached: `kubectl get volumeattachments` as JSON or YAML.

"kind": "VolumeAttachment", "metadata": {"name": "csi-0b1e…"}, "spec": {"attacher": "…", "nodeName": "worker-1", …
"""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.events.snapshots.fact import LineIndex, Plain, SnapshotFact, begins_yaml, inner, objects, pair, word
from kvdiag.model.event import Ref

_OPENING = lazy_regex(r'\s*\{(?s:.*?)"kind"\s*:\s*"VolumeAttachment(?:List)?"')


def opens(name: str, head: str) -> bool:
    """Whether a text begins as one, or a list of them."""
    return _OPENING.match(head) is not None or begins_yaml("VolumeAttachment", name, head)


def read(text: str) -> Iterator[SnapshotFact]:
    """Give each with its node and volume, and whether it is attached or waits to be deleted."""
    lines = LineIndex(text)
    for item in objects(text, "items"):
        name = word(inner(item, "metadata"), "name")
        names = {
            "attachment": name,
            "node": word(inner(item, "spec"), "nodeName"),
            "spec_name": word(inner(item, "spec", "source"), "persistentVolumeName"),
        }
        refs = tuple(Ref(kind, value) for kind, value in names.items() if value)
        if name and word(item, "kind") in {"", "VolumeAttachment"}:
            yield SnapshotFact(
                lines.line_of(name), f"attachment.{_state(item)}", pair("name", name), refs, _error(item)
            )


def _state(item: Plain) -> str:
    if word(inner(item, "metadata"), "deletionTimestamp"):
        return "left"
    return "found" if inner(item, "status").get("attached") is True else "waiting"


def _error(item: Plain) -> dict[str, str]:
    status = inner(item, "status")
    message = word(inner(status, "detachError"), "message") or word(inner(status, "attachError"), "message")
    return {"error": message} if message else {}
