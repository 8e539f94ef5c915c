"""Where bundles lie and results go: a folder, or by its address an object store (`kvdiag.fleet.remote`)."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from kvdiag.base.errors import InputError, UsageError
from kvdiag.fleet.values import BundleFile


class Place(Protocol):
    """A folder, or what looks like one. Paths in it have `/` between their parts."""

    address: str

    def files(self, below: str = "") -> Iterator[BundleFile]:
        """Every file below; none where there is nothing."""

    def read(self, path: str) -> bytes:
        """The bytes of a file. Raises OSError where it cannot be read."""

    def put(self, path: str, data: bytes) -> None:
        """Write a file, whole or not at all."""

    def put_new(self, path: str, data: bytes) -> bool:
        """Write a file that is not there yet; whether it was not."""

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""

    def fetch(self, files: tuple[BundleFile, ...], folder: Path) -> Path:
        """Where these files can be read on this machine; `folder` is there to copy them to."""


def is_remote(address: str) -> bool:
    """Whether it is the address of an object store."""
    return "://" in address


def absolute(path: str) -> str:
    """A path or address as every process of this machine finds it."""
    return path if is_remote(path) else str(Path(path).resolve())


def place(address: str) -> Place:
    """The place of a path or address. Raises UsageError where the extra for it is not installed."""
    if not is_remote(address):
        return Folder(address)
    try:
        from kvdiag.fleet.remote import Bucket
    except ImportError as error:
        raise UsageError(f"{address} needs the extra 'fleet': pip install 'kvdiag[fleet]' ({error})") from None
    return Bucket(address)


class Folder:
    """A folder of this machine, or one that several machines mount; a bundle may be a file."""

    def __init__(self, address: str) -> None:
        """It need not be there yet."""
        self.address = address
        self._root = Path(address)

    def files(self, below: str = "") -> Iterator[BundleFile]:
        """Every regular file below; links are not followed."""
        root = self._root / below if below else self._root
        if root.is_file():
            yield _file(root, root.name)
        for parent, folders, names in os.walk(root, onerror=_stop):
            folders.sort()
            for name in sorted(names):
                path = Path(parent, name)
                with contextlib.suppress(FileNotFoundError):  # rotated away meanwhile
                    if not path.is_symlink() and path.is_file():
                        yield _file(path, path.relative_to(self._root).as_posix())

    def read(self, path: str) -> bytes:
        """The bytes of a file."""
        return (self._root / path).read_bytes()

    def put(self, path: str, data: bytes) -> None:
        """Write beside and rename."""
        with self._written(path, data) as (temporary, target):
            temporary.replace(target)

    def put_new(self, path: str, data: bytes) -> bool:
        """Write beside and link, which fails where there is a file."""
        with self._written(path, data) as (temporary, target):
            try:
                os.link(temporary, target)
            except FileExistsError:
                return False
            return True

    def remove(self, path: str) -> None:
        """Remove a file, if it is there."""
        (self._root / path).unlink(missing_ok=True)

    def fetch(self, files: tuple[BundleFile, ...], folder: Path) -> Path:  # noqa: ARG002 (they are here already)
        """The folder itself."""
        return self._root

    @contextlib.contextmanager
    def _written(self, path: str, data: bytes) -> Iterator[tuple[Path, Path]]:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            yield Path(name), target
        finally:
            Path(name).unlink(missing_ok=True)


def _file(path: Path, name: str) -> BundleFile:
    status = path.stat()
    return BundleFile(name, status.st_size, str(status.st_mtime_ns), status.st_mtime)


def _stop(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise InputError(str(error.filename), f"{(error.strerror or str(error)).lower()}; check its permissions")
