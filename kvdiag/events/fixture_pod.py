"""A pod for rendered test lines, with its volume, sandbox, container and node, and all their names.

Cast.called("")        shop/web-0, the pod of the vocabulary's samples
Cast.called("other")   shop/other, with a UID, volume and containers of its own on the same node
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping

from kvdiag.base.regex import lazy_regex
from kvdiag.events.names import attachment_name, staging_path
from kvdiag.model.event import Ref

ROOT = "/var/lib/kubelet"
_FIRST = {
    "pod": "shop/web-0",
    "pod_uid": "5b0c7a1e-2f4d-4c8e-9a63-0d1e2f3a4b5c",
    "spec_name": "pvc-4e1b9a70-5f3c-4b0e-8a52-7c9d1e2f3a4b",
    "volume_handle": "9d2c6f10-77aa-11ee-8c11-0242ac110002",
    "driver": "disk.example.com",
    "outer_name": "data",
    "sandbox_id": "b71e04" * 10 + "b71e",
    "container_id": "3f2a9c" * 10 + "3f2a",
    "node": "worker-1",
}
_SHARED = ("driver", "outer_name", "node")  # the same for all pods of a story
_SHORTEST = 4  # characters of a name that is replaced in the rest of a line
_UUID = lazy_regex(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_SPACE = uuid.UUID(int=0)


class FixturePod:
    """A pod of a story with its volume, sandbox and containers; `names` are their names by kind of ref."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Compute the names that are made of others, unless they are given."""
        self.names = {**_derived(names), **names}

    @classmethod
    def named(cls, name: str, given: Mapping[str, str] = {}) -> FixturePod:
        """Return the pod of that name; `given` overrides names."""
        defaults = _FIRST if not name else {**_generated_names(name), **{kind: _FIRST[kind] for kind in _SHARED}}
        return cls({**defaults, **given})

    def rename_in(self, text: str, refs: Iterable[Ref]) -> str:
        """Return the text with the names in `refs` replaced by those of this pod."""
        swaps = dict(_swaps(refs, self.names))
        if not swaps:
            return text
        longest = sorted(swaps, key=len, reverse=True)
        found = lazy_regex("|".join(rf"(?<![\w-]){name}(?![\w-])" for name in map(_escaped, longest)))
        return found.sub(lambda name: swaps[name[0]], text)


def _escaped(name: str) -> str:
    import re

    return re.escape(name)


def _swaps(refs: Iterable[Ref], names: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    for kind, old in refs:
        new = names.get(kind, "")
        if not new or new == old:
            continue
        yield old, new
        if kind == "pod":
            (space, name), (other_space, other_name) = old.split("/"), new.split("/")
            pairs = ((space, other_space), (name, other_name), (f"{name}_{space}", f"{other_name}_{other_space}"))
            yield from ((was, now) for was, now in pairs if len(was) >= _SHORTEST and was != now)


def _generated_names(name: str) -> Mapping[str, str]:
    uid = str(uuid.uuid5(_SPACE, name))
    digest = hashlib.sha256(name.encode()).hexdigest()
    return {
        "pod": f"shop/{name}",
        "pod_uid": uid,
        "spec_name": f"pvc-{uuid.uuid5(_SPACE, uid)}",
        "volume_handle": f"vol-{digest[:8]}",
        "sandbox_id": digest,
        "container_id": digest[::-1],
    }


def _derived(names: Mapping[str, str]) -> Mapping[str, str]:
    driver, handle, uid, volume = (names[kind] for kind in ("driver", "volume_handle", "pod_uid", "spec_name"))
    namespace, _, pod_name = names["pod"].rpartition("/")
    return {
        "namespace": namespace,
        "pod_name": pod_name,
        "unique_name": f"kubernetes.io/csi/{driver}^{handle}",
        "target_path": f"{ROOT}/pods/{uid}/volumes/kubernetes.io~csi/{volume}/mount",
        "staging_path": staging_path(ROOT, driver, handle),
        "attachment": attachment_name(handle, driver, names["node"]),
    }
