"""Find bundles, and the cluster and node of each: by a folder layout or by a manifest.

    cluster=eu-1/node=worker-3/kubelet.log      --layout 'cluster={cluster}/node={node}', the default
    worker-3/kubelet.log, worker-4.tar.gz       without such folders each folder or archive is a node
    2026-11-20/worker-3/kubelet.log             also one deeper, if several folders have the same kubelet log

A placeholder with another name matches anything: '{day}/{cluster}/{node}.tar.gz'.
"""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kvdiag.base.errors import InputError, UsageError
from kvdiag.fleet.places import absolute, is_remote, place
from kvdiag.fleet.results import ROOT
from kvdiag.fleet.values import UNNAMED_CLUSTER, Bundle, BundleFile

LAYOUT = "cluster={cluster}/node={node}"
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_ARCHIVE = re.compile(r"\.(?:tar(?:\.\w+)?|t[gx]z|zip|gz|bz2|xz|zst|log|txt|json)$")
_LONGEST = 253  # characters, the limit of Kubernetes names


def bundles(
    sources: Iterable[str] | None, layout: str, note: Callable[[str], None] = lambda _text: None, dest: str = ""
) -> Iterator[Bundle]:
    """Yield the bundles of each source, in order; results at `dest` are none. Raise UsageError if a source has none.

    Files, links and empty folders that match no layout are counted in a `note`.
    """
    for source in sources or ():
        address = absolute(source)
        files = [file for file in place(address).files() if not _is_result(f"{address.rstrip('/')}/{file.path}", dest)]
        if not is_remote(address) and Path(address).is_file():
            address = str(Path(address).parent)
        found = list(_laid_out(address, files, layout or LAYOUT, is_anywhere=not layout))
        if not found and not layout:
            found = list(_in_folders(address, files, note))
        if not found:
            why = "there is nothing" if not files else f"no bundles by the layout {layout or LAYOUT!r}"
            raise UsageError(f"{source}: {why}; give --layout or --manifest")
        if left := _left_out(address, files, found):
            note(f"{source}: {len(left):,} entries match no layout and are not read, such as {left[0]}")
        yield from found


def _is_result(path: str, dest: str) -> bool:
    """Return whether a file is one of the results, which may be below a source, or beside the bundles."""
    return bool(dest) and path.startswith(f"{dest.rstrip('/')}/{ROOT}/")


def manifest(path: Path) -> Iterator[Bundle]:
    """Yield the bundles of a manifest: CSV with a header, or JSON lines, with path, node and optionally cluster."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--manifest {path}: {error}") from None
    for number, row in _rows(path, text):
        values = {name: str(row.get(name) or "") for name in ("path", "cluster", "node")}
        if not values["path"] or not values["node"]:
            raise UsageError(f"--manifest {path}:{number}: every row needs path and node, and may have cluster")
        address = values["path"] if is_remote(values["path"]) else str((path.parent / values["path"]).resolve())
        files = tuple(_below(file, address) for file in place(address).files())
        yield Bundle(
            _checked_name(values["cluster"], address) or UNNAMED_CLUSTER,
            _checked_name(values["node"], address),
            address,
            files,
        )


def _rows(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    if not text.lstrip().startswith("{"):
        yield from enumerate(csv.DictReader(text.splitlines()), 2)
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                row = json.loads(line)
            except ValueError as error:
                raise UsageError(f"--manifest {path}:{number}: {error}") from None
            if not isinstance(row, dict):
                raise UsageError(f"--manifest {path}:{number}: not an object")
            yield number, row


def _below(file: BundleFile, address: str) -> BundleFile:
    """Return the file with an empty path if the bundle is this single file."""
    return file._replace(path="") if file.path == Path(address).name and Path(address).is_file() else file


def _left_out(address: str, files: Iterable[BundleFile], found: Iterable[Bundle]) -> list[str]:
    """Return the paths of the files that belong to no bundle."""
    roots = {bundle.place.removeprefix(f"{address.rstrip('/')}/") for bundle in found}
    return sorted(file.path for file in files if not _parents(file.path) & roots)


def _parents(path: str) -> set[str]:
    """Return a path and the folders above it."""
    parts = path.rstrip("/").split("/")
    return {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}


def _laid_out(address: str, files: Iterable[BundleFile], layout: str, *, is_anywhere: bool = False) -> Iterator[Bundle]:
    """Yield the bundles of a layout, which may begin in any folder."""
    pattern = _pattern(layout, is_anywhere=is_anywhere)
    groups: dict[str, list[BundleFile]] = defaultdict(list)
    names: dict[str, tuple[str, str]] = {}
    for file in files:
        found = pattern.match(file.path)
        if found is not None:
            fields, root = found.groupdict(), found["bundle"]
            node = fields["node"] if file.path != root else _ARCHIVE.sub("", fields["node"])
            names[root] = (fields.get("cluster") or UNNAMED_CLUSTER, node)
            groups[root].append(file._replace(path=file.path[len(root) :].lstrip("/")))
    yield from _bundles(address, groups, names)


def _in_folders(address: str, files: Iterable[BundleFile], note: Callable[[str], None]) -> Iterator[Bundle]:
    """Yield each folder or archive as a node; of a folder above several nodes, each folder in it."""
    pending = {"": list(files)}
    groups: dict[str, list[BundleFile]] = {}
    while pending:
        above, members = pending.popitem()
        below: dict[str, list[BundleFile]] = defaultdict(list)
        for file in members:
            below[above + file.path[len(above) :].split("/")[0]].append(file)
        for root, of_root in below.items():
            if _is_above_nodes([file.path[len(root) + 1 :] for file in of_root]):
                note(f"{root}: its folders have a kubelet log each, and are taken for the nodes")
                pending[f"{root}/"] = of_root
            else:
                groups[root] = [file._replace(path=file.path[len(root) :].lstrip("/")) for file in of_root]
    is_file = {root for root, of_root in groups.items() if [file.path for file in of_root] == [""]}
    last = {root: root.rpartition("/")[2] for root in groups}
    names = {
        root: (UNNAMED_CLUSTER, _ARCHIVE.sub("", last[root]) if root in is_file else last[root]) for root in groups
    }
    yield from _bundles(address, groups, names)


def _is_above_nodes(paths: Iterable[str]) -> bool:
    """Return whether several folders have a kubelet log at the same place in them."""
    seen: dict[str, str] = {}
    for path in paths:
        folder, _, rest = path.partition("/")
        if "kubelet" in rest.rpartition("/")[2] and seen.setdefault(rest, folder) != folder:
            return True
    return False


def _bundles(
    address: str, groups: Mapping[str, Iterable[BundleFile]], names: Mapping[str, tuple[str, str]]
) -> Iterator[Bundle]:
    for root, bundle_files in sorted(groups.items()):
        where = f"{address.rstrip('/')}/{root}"
        cluster, node = (_checked_name(name, where) for name in names[root])
        yield Bundle(cluster, node, where, tuple(sorted(bundle_files)))


def _pattern(layout: str, *, is_anywhere: bool = False) -> re.Pattern[str]:
    if "{node}" not in layout:
        raise UsageError(f"--layout {layout}: write {{node}} where the name of the node is, as in {LAYOUT}")
    words = _PLACEHOLDER.split(layout.strip("/"))
    named = {"cluster", "node"}
    parts = [
        re.escape(word) if at % 2 == 0 else f"(?P<{word}>[^/]+)" if word in named else "[^/]+"
        for at, word in enumerate(words)
    ]
    try:
        above = "(?:[^/]+/)*?" if is_anywhere else ""
        return re.compile(rf"(?P<bundle>{above}{''.join(parts)})(?=/|$)")
    except re.error as error:
        raise UsageError(f"--layout {layout}: {error.msg}; {{cluster}} and {{node}} may occur once") from None


def _checked_name(name: str, where: str) -> str:
    """Return a name from a path or a manifest; raise InputError if it cannot be printed safely."""
    if len(name) > _LONGEST or not name.isprintable() or "/" in name:
        raise InputError(where, "the name of its cluster or node cannot be printed; rename it or give --manifest")
    return name
