"""The nouns of a fleet run: bundles, limits, jobs and what came of them. They travel between machines as JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

UNNAMED_CLUSTER = "default"
JOINED = "joined"
"""Stands for the bundle in the results of a whole cluster."""
SECONDS, MEMORY = 600.0, 2 << 30
_HEX = 24  # digits of a digest in a file's name: 96 bits


class BundleFile(NamedTuple):
    """A file of a bundle: its path there, bytes, and what changes with it: an ETag or the time it was modified."""

    path: str
    size: int
    state: str
    modified: float


class Bundle(NamedTuple):
    """What was collected of one node: a folder or an archive at `place`, which is a path or an address (s3://…)."""

    cluster: str
    node: str
    place: str
    files: tuple[BundleFile, ...]

    @property
    def id(self) -> str:
        """Which bundle it is, whatever it holds today."""
        return short_digest((self.cluster, self.node, self.place))

    @property
    def size(self) -> int:
        """Its bytes."""
        return sum(file.size for file in self.files)

    def key(self, judge_version: str) -> str:
        """What it holds and who judges it: the same key has the same results."""
        words = (word for one in self.files for word in (one.path, str(one.size), one.state))
        return short_digest((judge_version, self.id, *words))


class Limits(NamedTuple):
    """What the process of one bundle may take: seconds of time, and of CPU, and bytes of memory."""

    seconds: float = SECONDS
    memory: int = MEMORY


class Job(NamedTuple):
    """One bundle to judge, and where the results go. With `keys` it is a whole cluster, whose results have these."""

    bundle: Bundle
    key: str
    dest: str
    limits: Limits = Limits()
    keys: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """The job in JSON's own types."""
        return self._asdict() | {
            "bundle": self.bundle._asdict() | {"files": [list(file) for file in self.bundle.files]},
            "limits": list(self.limits),
        }


class Outcome(NamedTuple):
    """What came of a job. `reason` and `next_step` when it failed, `problems` what could not be read in it.

    `worst` is the highest severity found, -1 for none; `notes` what a person should know.
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
    reason: str = ""
    next_step: str = ""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_job(data: Mapping[str, Any]) -> Job:
    """What `Job.plain` wrote."""
    bundle = data["bundle"]
    files = tuple(BundleFile(*one) for one in bundle["files"])
    return Job(
        bundle=Bundle(bundle["cluster"], bundle["node"], bundle["place"], files),
        key=data["key"],
        dest=data["dest"],
        limits=Limits(*data["limits"]),
        keys=tuple(data["keys"]),
    )


def read_outcome(data: Mapping[str, Any]) -> Outcome:
    """What `Outcome._asdict` gave, read from JSON."""
    lists = {name: tuple(data[name]) for name in ("problems", "notes")}
    return Outcome(**{name: value for name, value in data.items() if name in Outcome._fields} | lists)


def outcome_of(job: Job) -> Outcome:
    """The outcome of a job of which nothing else is known."""
    bundle = job.bundle
    name = JOINED if job.keys else bundle.id
    return Outcome(bundle.cluster, bundle.node, bundle.place, name, job.key, bundle.size)


def short_digest(words: Iterable[str]) -> str:
    """A digest of words and their borders, for the name of a file."""
    total = hashlib.sha256()
    for word in words:
        data = word.encode("utf-8", "surrogateescape")
        total.update(b"%d:" % len(data) + data)
    return total.hexdigest()[:_HEX]
