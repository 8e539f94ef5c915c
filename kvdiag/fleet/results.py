"""Where results are stored below DEST, and which of them are valid.

    v2/new/cluster=eu-1/day=2026-11-20/<bundle>-<key>-done.json.gz   all rows of a bundle, until they are merged
    v2/findings/day=2026-11-20/<digest>.parquet   the rows of many bundles, of one cluster or of several small ones
    v2/parts/day=2026-11-20/<digest>.json         written last: which bundles these are

Each is written at once, so nothing is ever there in part. Of two results of a bundle the later one is valid, and no
result is changed: what is outdated is left out by the readers until a merge removes it. Names of clusters are
percent-encoded, as they come from paths of users; other names consist of digests. Parts of an older kvdiag are of one
cluster, which is in their paths as in `new`, and not in their rows.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import re
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from kvdiag.base.errors import InputError
from kvdiag.fleet.places import Place
from kvdiag.fleet.values import DIGEST, Outcome, State

ROOT = "v2"
TRIES = 5  # a merge meanwhile deletes files that were listed; another one may follow
_NEW = re.compile(
    rf"{ROOT}/new/cluster=(?P<cluster>[^/]+)/day=(?P<day>[\d-]+)/"
    r"(?P<bundle>\w+)-(?P<key>[0-9a-f]+)-(?P<state>done|partial|failed)\.json\.gz"
)
_PART = re.compile(
    rf"{ROOT}/parts/(?:cluster=(?P<cluster>[^/]+)/)?day=(?P<day>[\d-]+)/(?P<digest>[0-9a-f]{{{DIGEST}}})\.json"
)
Row = Mapping[str, Any]


class Result(NamedTuple):
    """The result of one try at a bundle; `key` is that of its content and then the time of the try.

    It is in the file `path`, of `size` bytes, or has been merged into the part with this digest.
    """

    cluster: str
    day: str
    bundle: str
    key: str
    state: State
    path: str = ""
    size: int = 0
    part: str = ""


class Part(NamedTuple):
    """Many results of a day. `cluster` is in the paths of a part of an older kvdiag; else empty.

    `outdated` are the keys of the results in it that are not valid, `tables` those that it has, and `columns` is the
    digest of their columns, empty for a part of a kvdiag that did not write it.
    """

    digest: str
    day: str
    cluster: str = ""
    outdated: frozenset[str] = frozenset()
    tables: Sequence[str] = ()
    columns: str = ""

    def path(self, table: str) -> str:
        """Return the path of a table's rows."""
        return f"{ROOT}/{table}/{self._folder}/{self.digest}.parquet"

    @property
    def list_path(self) -> str:
        """The path of the list of its results."""
        return f"{ROOT}/parts/{self._folder}/{self.digest}.json"

    @property
    def _folder(self) -> str:
        return f"cluster={in_path(self.cluster)}/day={self.day}" if self.cluster else f"day={self.day}"


class Stored(NamedTuple):
    """The valid results, and each part by its digest.

    Two things are ignored and may be deleted: `outdated`, the paths of results that are neither merged nor valid, and
    `replaced`, parts that a merge has replaced and not deleted yet, as it was killed.
    """

    results: Sequence[Result]
    parts: Mapping[str, Part]
    outdated: Sequence[str] = ()
    replaced: Sequence[Part] = ()

    def last(self, state: State | None = None) -> Mapping[str, Result]:
        """Return the last valid result of each bundle, or the last with a state."""
        ordered = sorted(self.results, key=lambda one: one.key[DIGEST:])
        return {one.bundle: one for one in ordered if state is None or one.state == state}

    def files_with(self, keys: Collection[str]) -> Stored:
        """Return the results and parts with one of these keys."""
        results = [one for one in self.results if one.key in keys]
        held = {one.part for one in results}
        return Stored(results, {digest: part for digest, part in self.parts.items() if digest in held})


def in_path(name: str) -> str:
    """Return a name as one part of a path, percent-encoded."""
    return quote(name, safe="").replace(".", "%2E") if set(name) <= {"."} else quote(name, safe="")


def stored(dest: Place, cluster: str = "") -> Stored:
    """Return the results of all clusters or of one."""
    for _ in range(TRIES - 1):
        with contextlib.suppress(FileNotFoundError):
            return _stored(dest, cluster)
    return _stored(dest, cluster)


def _stored(dest: Place, cluster: str) -> Stored:
    found = list(unmerged(dest, f"/cluster={in_path(cluster)}" if cluster else ""))
    listed = {file.path: _words(_PART, file.path) for file in dest.files(f"{ROOT}/parts")}
    paths = [path for path, words in listed.items() if words and (not cluster or words["cluster"] in {"", cluster})]
    lists = {path: _list(dest, path, data) for path, data in dest.read_all(paths).items()}
    unnamed = _tables(dest) if any("tables" not in words for words in lists.values()) else {}
    replaced: set[str] = set()
    parts: dict[str, Part] = {}
    merged: dict[str, list[Result]] = {}
    for path, words in lists.items():
        replaced.update(words["replaces"])
        where = listed[path]
        tables = words["tables"] if "tables" in words else unnamed.get(where["digest"], ())
        part = Part(where["digest"], where["day"], where["cluster"], tables=tables, columns=words.get("columns", ""))
        clusters = {part.cluster: words["results"]} if part.cluster else words["clusters"]
        results = [
            Result(name, part.day, bundle, key, state, part=part.digest)
            for name, of_cluster in clusters.items()
            if not cluster or name == cluster
            for bundle, key, state in of_cluster
        ]
        if results or not cluster:
            parts[part.digest], merged[part.digest] = part, results
    kept = sorted(merged.keys() - replaced)
    valid = _valid([*(one for digest in kept for one in merged[digest]), *found])
    ids = {(one.part, one.key) for one in valid}
    outdated = {digest: frozenset(one.key for one in merged[digest] if (digest, one.key) not in ids) for digest in kept}
    return Stored(
        valid,
        {digest: parts[digest]._replace(outdated=outdated[digest]) for digest in kept},
        [one.path for one in found if ("", one.key) not in ids],
        [part for digest, part in parts.items() if digest in replaced],
    )


def _list(dest: Place, path: str, data: bytes) -> Any:  # noqa: ANN401  # JSON's own types
    try:
        return json.loads(data)
    except ValueError:
        raise damaged(dest, path) from None


def damaged(dest: Place, path: str) -> InputError:
    """Return the error for a file that was not written like this: a disk was full, or it was copied in part."""
    return InputError(f"{dest.address}/{path}", "is damaged; delete it, and the next run analyzes its bundles again")


def _tables(dest: Place) -> Mapping[str, list[str]]:
    """Return the tables of each part by their files: an older kvdiag did not list them."""
    tables: dict[str, list[str]] = defaultdict(list)
    for file in dest.files(ROOT):
        name, _, kind = file.path.rpartition("/")[2].partition(".")
        tables[name] += [file.path.split("/")[1]] * (kind == "parquet")
    return tables


def unmerged(dest: Place, below: str = "") -> Iterator[Result]:
    """Yield each result that is not merged, valid or not."""
    for file in dest.files(f"{ROOT}/new{below}"):
        if words := _words(_NEW, file.path):
            yield Result(**words, path=file.path, size=file.size)  # type: ignore[arg-type]  # the pattern has its fields


def _words(pattern: re.Pattern[str], path: str) -> dict[str, str]:
    found = pattern.fullmatch(path)
    return {**found.groupdict(), "cluster": unquote(found["cluster"] or "")} if found else {}


def _valid(results: Iterable[Result]) -> list[Result]:
    """Return the last success of each bundle, and its last failure if that is later; each result once."""
    last: dict[tuple[str, str, bool], Result] = {}
    for one in results:  # merged ones first: a result that is in a part too is read there
        where = one.cluster, one.bundle, one.state == "failed"
        if where not in last or last[where].key[DIGEST:] < one.key[DIGEST:]:
            last[where] = one
    done = {where[:2]: one.key[DIGEST:] for where, one in last.items() if not where[2]}
    return [one for where, one in last.items() if not where[2] or done.get(where[:2], "") < one.key[DIGEST:]]


def put_results(dest: Place, outcome: Outcome, tables: Mapping[str, Iterable[Row]], folder: Path | None = None) -> None:
    """Write the rows of a bundle; with a `folder` for a temporary file, they need not fit into memory."""
    of_all = {"node": outcome.node, "bundle": outcome.place, "result_key": outcome.key, "kvdiag": outcome.judge}
    lines = (f"{json.dumps([table, of_all | dict(row)])}\n".encode() for table, rows in tables.items() for row in rows)
    if folder is None:
        data = gzip.compress(b"".join(lines), _LEVEL)
    else:
        with gzip.open(folder / "rows.gz", "wb", _LEVEL) as packed, io.BufferedWriter(packed, _BLOCK) as stream:
            stream.writelines(lines)
        data = (folder / "rows.gz").read_bytes()
    where = f"{ROOT}/new/cluster={in_path(outcome.cluster)}/day={outcome.day}"
    dest.put(f"{where}/{outcome.bundle}-{outcome.key}-{outcome.state}.json.gz", data)


_LEVEL = 3  # three times as fast as the default, and a tenth larger
_BLOCK = 1 << 18  # bytes compressed at a time: a call for each row would take half as long as its compression


def read_lines(dest: Place, results: Iterable[Result]) -> Iterator[tuple[Result, dict[str, list[bytes]]]]:
    """Yield each result that is not merged, with its rows by table; a row is an object of JSON.

    They are not parsed here: most of them are events, which only a join needs.
    """
    unmerged = {one.path: one for one in results if one.path}
    for path, data in dest.read_all(list(unmerged)).items():
        tables: dict[str, list[bytes]] = defaultdict(list)
        try:
            lines = gzip.decompress(data).split(b"\n")
        except (EOFError, OSError, zlib.error):
            raise damaged(dest, path) from None
        for line in lines:
            table, _, row = line.partition(b", ")  # ["events", {…}]
            tables[table[2:-1].decode()].append(row[:-1])
        yield unmerged[path], tables
