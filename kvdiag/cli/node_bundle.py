"""The logs of this node, or of one that is mounted, in a folder: journal, logs of drivers and static pods, mounts.

Sizes and time are bounded, the newest lines are kept, and what was left out is noted. Only regular files below the root
are read: a link could lead out of it.
"""

from __future__ import annotations

import os
import select
import stat
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, NamedTuple

UNITS = (
    *("kubelet", "containerd", "crio", "docker", "cri-docker", "k3s", "k3s-agent", "rke2-server", "rke2-agent"),
    *("k0scontroller", "k0sworker", "snap.microk8s.daemon-kubelite", "snap.microk8s.daemon-containerd"),
)
_ONE_PROCESS = ("k3s", "k3s-agent", "rke2-server", "rke2-agent", "k0scontroller", "k0sworker")
LOGS = {
    "kubelet": ("kubelet", "snap.microk8s.daemon-kubelite", *_ONE_PROCESS),
    "containerd": ("containerd", "snap.microk8s.daemon-containerd", *_ONE_PROCESS),
    "crio": ("crio",),
    "docker": ("docker", "cri-docker"),
    "kernel": (),
}
"""The logs that may be asked for by name, and their units; the kernel has none."""
JOURNALS = ("var/log/journal", "run/log/journal")
FILES = ("kubelet.log", "containerd.log", "crio.log", "docker.log")
WITHOUT_JOURNAL = ("syslog", "messages", "kern.log")
MOUNTS, MOUNTED = ("proc/1/mounts", "proc/mounts"), "mounts.txt"
PODS = ("kube-system_*", "*csi*")
"""Folders below /var/log/pods that are collected: static pods and drivers."""
_CHUNK = 1 << 20


class LogRequest(NamedTuple):
    """A log that a report asks for: a name of `LOGS`, or a pattern for folders of /var/log/pods.

    Its times are None if the report has none; `run` is the command that collects it elsewhere.
    """

    log: str
    begins: datetime | None
    ends: datetime | None
    run: str


class Wanted(NamedTuple):
    """What to collect: below which root, from when to when, which pods, how many bytes, and until when (monotonic)."""

    root: Path
    since: datetime
    until: datetime
    pods: Sequence[str]
    size: int
    deadline: float


class Bundle:
    """A folder that is filled, with the bytes that are left and what is to be noted."""

    def __init__(self, folder: Path, wanted: Wanted) -> None:
        """Take an empty folder."""
        self.folder, self._wanted, self.left, self.notes = folder, wanted, wanted.size, list[str]()

    def collect(self) -> list[str]:
        """Collect everything; return the paths in the folder."""
        log = self._wanted.root / "var/log"
        has_journal = self._journal()
        names = FILES if has_journal else (*FILES, *WITHOUT_JOURNAL)
        for path in (*(log / name for name in names), *_newest(self._pod_logs())):
            self._copy(path, path.relative_to(log).as_posix())
        any(self._copy(self._wanted.root / name, MOUNTED) for name in MOUNTS)
        return self._files()

    def collect_requests(self, requests: Sequence[LogRequest]) -> list[str]:
        """Collect only what a report asks for, in its times; return the paths. What is not on this node is noted."""
        whole = self._wanted
        for left, one in zip(range(len(requests), 0, -1), requests, strict=True):
            self._wanted = whole._replace(
                since=one.begins or whole.since, until=one.ends or whole.until, pods=[one.log]
            )
            others = self.left - self.left // left  # the part of those that follow
            self.left -= others
            if not (self._requested(one.log) if one.log in LOGS else self._requested_pods()):
                self.notes.append(f"{one.log}: this node has no log of it since {self._wanted.since:%F %TZ}: {one.run}")
            self.left += others
        self._wanted = whole
        return self._files()

    def _requested(self, log: str) -> bool:
        match = [word for unit in LOGS[log] for word in ("-u", unit)] or ["_TRANSPORT=kernel"]
        journal = self._journal_folder()
        if journal and self._journalctl(journal, match, f"{log}.log", self.left):
            return True
        names = (f"{log}.log", *(WITHOUT_JOURNAL if log == "kernel" and not journal else ()))
        copied = [self._copy(self._wanted.root / "var/log" / name, name) for name in names]
        return any(copied)

    def _requested_pods(self) -> bool:
        log = self._wanted.root / "var/log"
        copied = [self._copy(path, path.relative_to(log).as_posix()) for path in _newest(self._pod_logs())]
        return any(copied)

    def _files(self) -> list[str]:
        return sorted(path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*") if path.is_file())

    def _journal(self) -> bool:
        """Collect the journal of the units and of the kernel; return whether there is one."""
        journal = self._journal_folder()
        if journal is None:
            self.notes.append(f"no journal in {' or '.join(f'/{name}' for name in JOURNALS)}")
            return False
        units = [word for unit in UNITS for word in ("-u", unit)]
        half = self.left // 2  # for the units; the kernel and the pods have the rest
        lines = self._journalctl(journal, units, "journal.log", half)
        return self._journalctl(journal, ["_TRANSPORT=kernel"], "kernel.log", half // 2) or lines

    def _journal_folder(self) -> Path | None:
        return next((path for name in JOURNALS if (path := self._wanted.root / name).is_dir()), None)

    def _journalctl(self, journal: Path, match: Sequence[str], name: str, most: int) -> bool:
        span = [f"--since=@{self._wanted.since.timestamp():.0f}", f"--until=@{self._wanted.until.timestamp():.0f}"]
        command = ["journalctl", "-D", str(journal), "--utc", "-o", "short-iso-precise", "--no-pager", "-q", *span]
        try:
            process = subprocess.Popen(  # noqa: S603 (no shell, and only the folder is from outside)
                [*command, *match], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError as error:
            self.notes.append(f"journalctl cannot be run: {error.strerror}")
            return False
        with process:
            try:
                written = self._write(name, _output(process, self._wanted.deadline), most)
                if time.monotonic() >= self._wanted.deadline:
                    self.notes.append(f"{name}: the time was over before its end")
                elif process.wait():
                    self.notes.append(f"{name}: journalctl ended with {process.returncode}; run it as root")
            finally:
                process.kill()
        return written > 0

    def _write(self, name: str, chunks: Iterable[bytes], most: int) -> int:
        """Write the last bytes of a stream, from the beginning of a line; return their number."""
        kept = _Tail(min(most, self.left))
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        size = kept.write(chunks, target)
        self.left -= size
        if kept.cut:
            self.notes.append(f"{name}: only its last {size:,} bytes: raise --max-size")
        if not size:
            target.unlink()
        return size

    def _copy(self, path: Path, name: str) -> bool:
        """Copy the end of a regular file that was written since the beginning; return whether it was."""
        file = self._opened(path, name)
        if file is None:
            return False
        with file:
            status = os.fstat(file.fileno())
            is_old = name != MOUNTED and status.st_mtime < self._wanted.since.timestamp()
            if is_old or not stat.S_ISREG(status.st_mode):
                return False
            if self.left <= 0 or time.monotonic() >= self._wanted.deadline:
                self.notes.append(f"{name}: left out, the size or time was used up")
                return False
            return self._write(name, iter(lambda: file.read(_CHUNK), b""), self.left) > 0

    def _opened(self, path: Path, name: str) -> IO[bytes] | None:
        """Open a file below the root that is no link; None if there is none."""
        try:
            if not path.parent.resolve().is_relative_to(self._wanted.root.resolve()):
                self.notes.append(f"{name}: a link leads out of {self._wanted.root}")
                return None
            return open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")  # noqa: PTH123
        except FileNotFoundError:
            return None
        except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
            self.notes.append(f"{name}: {str(getattr(error, 'strerror', '') or error).lower()}")
            return None

    def _pod_logs(self) -> Iterator[Path]:
        folder = self._wanted.root / "var/log/pods"
        for parent, folders, names in os.walk(folder):
            if Path(parent) == folder:
                folders[:] = [one for one in folders if any(fnmatchcase(one, glob) for glob in self._wanted.pods)]
            yield from (Path(parent, name) for name in names)


class _Tail:
    """The end of a stream, in at most `most` bytes: two halves; the newer one replaces the older one."""

    def __init__(self, most: int) -> None:
        self._half, self.cut = max(1, most // 2), False

    def write(self, chunks: Iterable[bytes], target: Path) -> int:
        """Write the end of the stream into a file; return its size."""
        older, newer = target.with_name(f".{target.name[:200]}.old"), target
        stream = newer.open("wb")
        try:
            for chunk in chunks:
                for at in range(0, len(chunk), self._half):
                    if stream.tell() >= self._half:
                        stream.close()
                        self.cut = self.cut or older.exists()
                        newer.replace(older)
                        stream = newer.open("wb")
                    stream.write(chunk[at : at + self._half])
        finally:
            stream.close()
        if older.exists():
            self._joined(older, newer)
        return newer.stat().st_size

    def _joined(self, older: Path, newer: Path) -> None:
        with older.open("rb+") as first, newer.open("rb") as second:
            first.seek(0, os.SEEK_END)
            while chunk := second.read(_CHUNK):
                first.write(chunk)
        if self.cut:
            _drop_first_line(older)
        older.replace(newer)


def _drop_first_line(path: Path) -> None:
    """Remove the rest of a line at the beginning of a file."""
    with path.open("rb+") as file:
        file.readline(_CHUNK)
        read, written = file.tell(), 0
        while True:
            file.seek(read)
            if not (chunk := file.read(_CHUNK)):
                break
            file.seek(written)
            file.write(chunk)
            read, written = read + len(chunk), written + len(chunk)
        file.truncate(written)


def _output(process: subprocess.Popen[bytes], deadline: float) -> Iterator[bytes]:
    output: IO[bytes] | None = process.stdout
    while output and (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([output], [], [], left)
        if not ready or not (chunk := os.read(output.fileno(), _CHUNK)):
            return
        yield chunk


def _newest(paths: Iterable[Path]) -> list[Path]:
    """Return the files that exist, the newest first."""
    times = {}
    for path in paths:
        try:
            times[path] = path.lstat().st_mtime
        except OSError:  # rotated away meanwhile
            continue
    return sorted(times, key=lambda path: -times[path])


def host_name(root: Path) -> str:
    """Return the host name of the machine with this root; empty if it is not in etc/hostname."""
    try:
        with open(os.open(root / "etc/hostname", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123
            return file.read(256).decode("ascii", "replace").strip()
    except OSError:
        return ""


def whole_day(text: str) -> tuple[datetime, datetime]:
    """Return the beginning and end of a day in UTC. Raise ValueError for another form."""
    begin = datetime.fromisoformat(text).replace(tzinfo=UTC)
    return begin, datetime.fromtimestamp(begin.timestamp() + 86_400, UTC)
