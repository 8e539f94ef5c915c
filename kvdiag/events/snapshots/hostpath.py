"""What csi-driver-host-path has written down of its volumes: where each is staged and published.

{"Volumes":[{"VolName":"pvc-77aa11cc-…","VolID":"d4f1e2c3-…","Attached":true,"Staged":null,"Published":null}], …
"""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.events.names import refs_of
from kvdiag.events.snapshots.fact import LineIndex, Plain, SnapshotFact, objects, word
from kvdiag.model.event import Ref

_OPENING = lazy_regex(r'\s*\{\s*"Volumes"\s*:\s*\[\s*\{[^{}]*"VolID"')


def opens(_name: str, head: str) -> bool:
    """Whether a text begins as the driver writes it."""
    return _OPENING.match(head) is not None


def read(text: str) -> Iterator[SnapshotFact]:
    """Give for each volume where it is published, or that it is not; the same of staged."""
    lines = LineIndex(text)
    for volume in objects(text, "Volumes"):
        handle = word(volume, "VolID")
        line = lines.line_of(handle)
        for key, place in (("Published", "target_path"), ("Staged", "staging_path")):
            yield from _places(handle, line, key, place, volume)


def _places(handle: str, line: int, key: str, place: str, volume: Plain) -> Iterator[SnapshotFact]:
    listed, kind = volume.get(key), f"csi.state.{key.lower()}"
    paths = [path for path in listed if isinstance(path, str)] if isinstance(listed, list) else []
    refs = (Ref("volume_handle", handle),)
    for path in paths:
        yield SnapshotFact(line, kind, f'"VolID": "{handle}", "{key}": "{path}"', refs + refs_of(place, path.encode()))
    if not paths and key in volume:
        yield SnapshotFact(line, f"csi.state.un{key.lower()}", f'"VolID": "{handle}", "{key}": null', refs)
