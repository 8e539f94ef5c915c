"""Check that values from logs are safe in a command that a person will paste.

Anybody may have chosen a name in a log: a volume handle may contain `$(…)`, a node may be called `-o`. Quoting makes
the value one word; these patterns make sure that it has the form of a path, id or name. Other values are put into no
command.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kvdiag.base.regex import lazy_regex

LONGEST = 4096
_UID = lazy_regex(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32}")
# A DNS subdomain, which Kubernetes requires of most names.
_NAME = lazy_regex(r"[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_POD = lazy_regex(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?/[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?")
_ID = lazy_regex(r"[0-9a-f]{12,64}")
_PATH = lazy_regex(r"(?:/[A-Za-z0-9_.~:@%+=,^#-]+)+/?")
_HANDLE = lazy_regex(r"(?![-~=])[A-Za-z0-9_.~:@%+=,^#/|-]{1,1024}")
_HOST = lazy_regex(r"(?!-)[A-Za-z0-9.:-]{1,253}")
_WORD = lazy_regex(r"(?!-)[A-Za-z0-9_.:/-]{1,512}")
_OF_KUBELET = ("/pods/", "/plugins/kubernetes.io/")
_SHAPES = {
    "pod_uid": _UID,
    "pod": _POD,
    "sandbox_id": _ID,
    "container_id": _ID,
    "sandbox": _ID,
    "container": _ID,
    "target_path": _PATH,
    "staging_path": _PATH,
    "path": _PATH,
    "volume_handle": _HANDLE,
    "volume": _HANDLE,
    "unique_name": _HANDLE,
    "server": _HOST,
} | dict.fromkeys(
    ("namespace", "pod_name", "node", "from_node", "to_node", "driver", "spec_name", "outer_name", "attachment"), _NAME
)


def is_safe(slot: str, value: str) -> bool:
    """Return whether a value has the form that its slot requires."""
    if len(value) > LONGEST or "/../" in f"/{value}/" or not _SHAPES.get(slot, _WORD).fullmatch(value):
        return False
    return slot not in {"target_path", "staging_path"} or any(part in value for part in _OF_KUBELET)


def unsafe_slots(slots: Iterable[str], values: Mapping[str, str]) -> Iterator[str]:
    """Yield the slots with a value of an unexpected form."""
    yield from dict.fromkeys(slot for slot in slots if values.get(slot) and not is_safe(slot, values[slot]))
