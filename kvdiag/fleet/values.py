"""The values of a fleet run: bundles, limits, jobs and outcomes. They travel between machines as JSON."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

UNNAMED_CLUSTER = "default"
State = Literal["done", "partial", "failed"]
JOINED = "joined"
"""The bundle name in results of a whole cluster."""
SECONDS, MEMORY = 600.0, 2 << 30
DIGEST = 24  # digits of a digest in a file's name: 96 bits


class BundleFile(NamedTuple):
    """A file of a bundle: its path, its size, and its version: an ETag or the modification time."""

    path: str
    size: int
    state: str
    modified: float


class Bundle(NamedTuple):
    """The logs of one node: a folder or an archive at `place`, which is a path or an address (s3://…)."""

    cluster: str
    node: str
    place: str
    files: tuple[BundleFile, ...]

    @property
    def id(self) -> str:
        """The id of the bundle, which does not depend on its content."""
        return short_digest((self.cluster, self.node, self.place))

    @property
    def size(self) -> int:
        """The size in bytes."""
        return sum(file.size for file in self.files)

    def key(self, judge_version: str) -> str:
        """Return a key of the content and of kvdiag's version: equal keys have equal results."""
        words = (word for one in self.files for word in (one.path, str(one.size), one.state))
        return short_digest((judge_version, self.id, *words))


class Limits(NamedTuple):
    """The limits of one process: seconds of elapsed time and of CPU, and bytes of memory."""

    seconds: float = SECONDS
    memory: int = MEMORY


class Job(NamedTuple):
    """One bundle to analyze, and the destination; `judge` is the version of kvdiag and its rules that must do it.

    A job of the kind "join" is about a whole cluster. One of the kind "merge" is about the day `bundle.node`: its new
    results at the paths, and its parts with the digests, that are `only` to be merged.
    """

    bundle: Bundle
    key: str
    dest: str
    limits: Limits = Limits()
    judge: str = ""
    kind: Literal["analyze", "join", "merge"] = "analyze"
    only: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Return the job as plain JSON values."""
        return self._asdict() | {
            "bundle": self.bundle._asdict() | {"files": [list(file) for file in self.bundle.files]},
            "limits": list(self.limits),
        }


class Outcome(NamedTuple):
    """The outcome of a job: `reason` and `next_step` if it failed, `problems` for unreadable parts.

    `worst` is the highest severity found, -1 for none; `notes` are for the user.
    """

    cluster: str
    node: str
    place: str
    bundle: str
    key: str
    size: int = 0
    findings: int = 0
    worst: int = -1
    worst_rule: str = ""
    day: str = ""
    judge: str = ""
    reason: str = ""
    next_step: str = ""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """Whether the bundle was read, read in part, or neither."""
        return "failed" if self.reason else "partial" if self.problems else "done"


def read_job(data: Mapping[str, Any]) -> Job:
    """Return the job written by `Job.plain`."""
    bundle = data["bundle"]
    files = tuple(BundleFile(*one) for one in bundle["files"])
    return Job(
        bundle=Bundle(bundle["cluster"], bundle["node"], bundle["place"], files),
        key=data["key"],
        dest=data["dest"],
        limits=Limits(*data["limits"]),
        judge=data["judge"],
        kind=data["kind"],
        only=tuple(data["only"]),
    )


def read_outcome(data: Mapping[str, Any]) -> Outcome:
    """Return the outcome of the JSON values of `Outcome._asdict`."""
    lists = {name: tuple(data[name]) for name in ("problems", "notes")}
    return Outcome(**{name: value for name, value in data.items() if name in Outcome._fields} | lists)


def outcome_of(job: Job) -> Outcome:
    """Return an outcome with the data of the job only."""
    bundle = job.bundle
    name = bundle.id if job.kind == "analyze" else JOINED
    day = day_of(bundle)
    return Outcome(bundle.cluster, bundle.node, bundle.place, name, job.key, bundle.size, day=day, judge=job.judge)


def day_of(bundle: Bundle) -> str:
    """Return the day (UTC) on which the newest file of a bundle was modified; today if that is unknown."""
    newest = max((file.modified for file in bundle.files if file.modified), default=time.time())
    return datetime.fromtimestamp(newest, UTC).date().isoformat()


def short_digest(words: Iterable[str]) -> str:
    """Return a digest of a sequence of words, for file names."""
    total = hashlib.sha256()
    for word in words:
        data = word.encode("utf-8", "surrogateescape")
        total.update(b"%d:" % len(data) + data)
    return total.hexdigest()[:DIGEST]
