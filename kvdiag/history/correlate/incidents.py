"""Group logs by incident: folders with kubelet logs that share no pod, container or volume are separate incidents.

    cases/pod-failures/kubelet.log    cases/pod-failures/events.txt     one incident
    cases/csi-driver-hung/kubelet.log                                   another

Logs of one node or cluster contain the same names at the same time. Without such folders, and for files that the user
named individually, all logs are of one incident.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

from kvdiag.base.clock import CLOCKS_DIFFER
from kvdiag.formats.authors import program_in_name
from kvdiag.history.correlate.clocks import set_clocks
from kvdiag.history.correlate.identity import UnionFind
from kvdiag.history.ingest.log_events import LogEvents
from kvdiag.model.values import EMPTY

_IDS = frozenset({"pod_uid", "sandbox_id", "container_id", "volume_handle", "attachment", "unique_name", "target_path"})
_SHORTEST = 20  # characters of a name that two clusters cannot share by chance


def incidents(logs: Sequence[LogEvents]) -> Mapping[str, str]:
    """Return the incident of each source, named by its folder; empty if all logs are of one."""
    if len(logs) < 2 or any(log.is_named or log.place.group for log in logs):
        return EMPTY
    folders = _folders(log.input for log in logs)
    by_folder: dict[str, list[LogEvents]] = defaultdict(list)
    for log in logs:
        by_folder[folders.get(log.input, "")].append(log)
    anchored = [folder for folder, folder_logs in by_folder.items() if any(map(_is_kubelets, folder_logs))]
    if len(anchored) < 2 or "" in by_folder:
        return EMPTY
    names = {folder: set(_ids(own)) for folder, own in by_folder.items()}
    group_of = _joined(names, {folder: _span(own) for folder, own in by_folder.items()})
    return {log.source: group_of[folders[log.input]] for log in logs} if len(set(group_of.values())) > 1 else EMPTY


def _is_kubelets(log: LogEvents) -> bool:
    """Return whether a file is kubelet's log, by its name and its lines."""
    return log.component == "kubelet" == program_in_name(log.input)


def incident_of_input(name: str, found: Mapping[str, str]) -> str:
    """Return the incident of an input that is no log, by the logs in its folder; empty if there are none."""
    inside = ((len(_common((name, source))), incident) for source, incident in found.items())
    return max(inside, default=(0, ""))[1]


def _folders(inputs: Iterable[str]) -> Mapping[str, str]:
    """Return for each input the first folder that is not common to all; empty for files next to the folders."""
    paths = {name: name.split("/") for name in dict.fromkeys(inputs)}
    depth = len(_common(paths))
    return {name: "/".join(path[: depth + 1]) if len(path) > depth + 1 else "" for name, path in paths.items()}


def _common(names: Iterable[str]) -> list[str]:
    """Return the folders that all paths begin with."""
    paths = [name.split("/")[:-1] for name in names]
    shortest = min(paths, key=len, default=[])
    same = 0
    while same < len(shortest) and all(path[same] == shortest[same] for path in paths):
        same += 1
    return shortest[:same]


def _ids(logs: Sequence[LogEvents]) -> Iterator[tuple[str, str]]:
    """Yield hosts and globally unique ids; not the UID of a static pod, which is a hash of its manifest."""
    yield from (("host", log.process.node) for log in logs if log.process.node)
    for raw_event in chain.from_iterable(log.raw_events for log in logs):
        for ref in raw_event.match.refs:
            if ref.kind in _IDS and len(ref.value) >= _SHORTEST and (ref.kind != "pod_uid" or "-" in ref.value):
                yield ref


def _span(logs: Sequence[LogEvents]) -> tuple[int, int]:
    """Return begin and end of the logs of a folder, with separate clocks."""
    clocks = set_clocks(logs)
    spans = [clocks[log.source].span(log.raw_events) for log in logs if log.raw_events]
    return min((begins for begins, _ in spans), default=0), max((ends for _, ends in spans), default=0)


def _joined(names: Mapping[str, set[tuple[str, str]]], spans: Mapping[str, tuple[int, int]]) -> Mapping[str, str]:
    """Return for each folder the first of those that share names at one time, directly or through others."""
    groups = UnionFind[str]()
    holders: dict[tuple[str, str], list[str]] = defaultdict(list)
    for folder, ids in names.items():
        near = {other for name in ids for other in holders[name] if _overlap(spans[folder], spans[other])}
        groups.join((folder, *near))
        for name in ids:
            holders[name].append(folder)
    return {folder: groups.root(folder) for folder in names}


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[1] + CLOCKS_DIFFER and other[0] <= one[1] + CLOCKS_DIFFER
