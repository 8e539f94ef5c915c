"""Where bundles and results are stored: a folder, or an object store (`kvdiag.fleet.remote`)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from kvdiag.base.errors import InputError, UsageError
from kvdiag.fleet.values import BundleFile

UNREADABLE = "unreadable"  # the version of a folder whose files cannot be listed
EMPTY, LINK = "empty", "link"  # the versions of an empty folder and of a symbolic link: neither has content of its own


class Place(Protocol):
    """A folder or an object store. Paths in it use `/`."""

    address: str

    def files(self, below: str = "") -> Iterator[BundleFile]:
        """Yield every file below; nothing if it does not exist."""

    def read(self, path: str) -> bytes:
        """Return the bytes of a file. Raise OSError if it cannot be read."""

    def read_all(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Return the bytes of each file. Raise OSError if one cannot be read."""

    def put(self, path: str, data: bytes) -> None:
        """Write a file atomically."""

    def remove_all(self, paths: Sequence[str]) -> None:
        """Delete those of the files that exist."""

    def copy_all(self, paths: Sequence[str], folder: Path) -> Sequence[str]:
        """Copy files into a folder, with the same paths below it; return where each is now."""

    def fetch(self, files: tuple[BundleFile, ...], folder: Path) -> Path:
        """Return a local path with these files; `folder` is available for copies."""


def is_remote(address: str) -> bool:
    """Return whether it is the address of an object store."""
    return "://" in address


def absolute(path: str) -> str:
    """Return a path or address that is valid for every process of this machine."""
    return path if is_remote(path) else str(Path(path).resolve())


def place(address: str) -> Place:
    """Return the place of a path or address. Raise UsageError if the extra for it is not installed."""
    if not is_remote(address):
        return Folder(address)
    try:
        from kvdiag.fleet.remote import Bucket
    except ImportError as error:
        raise UsageError(f"{address} needs the extra 'fleet': pip install 'kvdiag[fleet]' ({error})") from None
    return Bucket(address)


class Folder:
    """A local or mounted folder; a bundle may be a file."""

    def __init__(self, address: str) -> None:
        """Take a path, which need not exist yet."""
        self.address = address
        self._root = Path(address)

    def files(self, below: str = "") -> Iterator[BundleFile]:
        """Yield every file below, and each empty folder; symbolic links are not followed."""
        root = self._root / below if below else self._root
        if root.is_file():
            yield _file(root, root.name)
        unreadable: list[OSError] = []
        for parent, folders, names in os.walk(root, onerror=unreadable.append):
            folders.sort()
            here = Path(parent).relative_to(self._root)
            if not folders and not names and Path(parent) != root:
                yield BundleFile(f"{here.as_posix()}/", 0, EMPTY, 0.0)
            for name in sorted((*folders, *names)):
                path, below_root = Path(parent, name), (here / name).as_posix()
                with contextlib.suppress(FileNotFoundError):  # deleted by log rotation meanwhile
                    if path.is_symlink():
                        yield BundleFile(below_root, 0, LINK, 0.0)
                    elif path.is_file():
                        yield _file(path, below_root)
        for error in unreadable:
            yield from self._unreadable(Path(error.filename), error)

    def _unreadable(self, folder: Path, error: OSError) -> Iterator[BundleFile]:
        """Yield a folder that cannot be read in place of its files. Raise InputError if it is all that was given."""
        if folder == self._root:
            if not isinstance(error, FileNotFoundError):
                raise InputError(str(folder), f"{(error.strerror or str(error)).lower()}; check its permissions")
        elif not isinstance(error, FileNotFoundError):
            yield BundleFile(f"{folder.relative_to(self._root).as_posix()}/", 0, UNREADABLE, 0.0)

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        return (self._root / path).read_bytes()

    def read_all(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Return the bytes of each file."""
        return {path: self.read(path) for path in paths}

    def put(self, path: str, data: bytes) -> None:
        """Write a temporary file and rename it."""
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(target)
        finally:
            Path(name).unlink(missing_ok=True)

    def remove_all(self, paths: Sequence[str]) -> None:
        """Delete the files, and folders that are empty then."""
        for path in paths:
            (self._root / path).unlink(missing_ok=True)
        for folder in {(self._root / path).parent for path in paths}:
            with contextlib.suppress(OSError):  # it is not empty
                folder.rmdir()

    def copy_all(self, paths: Sequence[str], folder: Path) -> Sequence[str]:
        """Return the paths of the files themselves."""
        del folder
        return [str(self._root / path) for path in paths]

    def fetch(self, files: tuple[BundleFile, ...], folder: Path) -> Path:  # noqa: ARG002 (they are here already)
        """Return the folder itself."""
        return self._root


def _file(path: Path, name: str) -> BundleFile:
    status = path.stat()
    return BundleFile(name, status.st_size, str(status.st_mtime_ns), status.st_mtime)


_PREFIX, _LOCK = "kvdiag-fleet-", "lock"


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """Return a new temporary folder; delete those of processes that were killed.

    A folder may hold a whole bundle, and the pods of a job that is killed share one volume. The owner holds a lock,
    which ends with it; process ids would not do, as those of a container's restarts are the same.
    """
    sweep()
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as name:
        folder = Path(name)
        with (folder / f".{_LOCK}").open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            (folder / f".{_LOCK}").rename(folder / _LOCK)  # locked already when another process sees it
            yield folder


def sweep() -> None:
    """Delete the folders of this user whose owner is gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # deleted meanwhile, in use, or of another user
            handle = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(handle)
