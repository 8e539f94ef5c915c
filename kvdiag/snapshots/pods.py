"""Lists of pods, as JSON or YAML, of which nothing is used: that they are no logs is all that has to be known.

{"apiVersion": "v1", "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-0", …
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from kvdiag.regex import lazy_regex
from kvdiag.snapshots.fact import SnapshotFact, begins_yaml

_OPENING = lazy_regex(r'\s*\{[^{}\[\]]*?"(?:kind"\s*:\s*"PodList"|items"\s*:\s*\[\s*\{[^{}\[\]]*?"kind"\s*:\s*"Pod")')


def opens(name: str, head: str) -> bool:
    """Whether a text begins as a list of pods; of a single one nobody asks, and bundles are full of them."""
    return _OPENING.match(head) is not None or ("items:" in head and begins_yaml("Pod", name, head))


def read(text: str) -> Iterator[SnapshotFact]:
    """Give nothing. Raises ValueError for what begins as JSON and is none."""
    if text.lstrip().startswith("{"):
        json.loads(text)
    yield from ()
