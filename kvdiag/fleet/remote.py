"""Object stores by address through fsspec: s3://, and gs:// and az:// if their packages are installed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import fsspec

from kvdiag.base.errors import InputError, UsageError
from kvdiag.fleet.values import BundleFile


def file_system(address: str) -> Any:  # noqa: ANN401  # fsspec has no types
    """Return the file system of an address. Raise UsageError if its package is not installed."""
    try:
        return fsspec.url_to_fs(address, use_listings_cache=False)[0]
    except (ImportError, ValueError) as error:
        raise UsageError(f"{address}: {error}") from None


@contextlib.contextmanager
def _as_os_error() -> Iterator[None]:
    """Raise what the library of a store raises as OSError, such as that nothing answers at its address."""
    try:
        yield
    except (OSError, MemoryError):
        raise
    except Exception as error:
        raise ConnectionError(str(error)) from error


class Bucket:
    """The objects below an address of an object store."""

    def __init__(self, address: str) -> None:
        """Take the address; the store is not accessed yet."""
        self.address = address.rstrip("/")
        self._system = file_system(address)
        self._root = self._system._strip_protocol(self.address)  # noqa: SLF001 (fsspec has no other name for it)

    def files(self, below: str = "") -> Iterator[BundleFile]:
        """Yield every object below."""
        root = f"{self._root}/{below}" if below else self._root
        try:
            with _as_os_error():
                found = self._system.find(root, detail=True)
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(self.address, str(error)) from None
        for path, info in sorted(found.items()):
            modified = info.get("LastModified") or info.get("last_modified") or info.get("mtime")
            stamp = modified.timestamp() if hasattr(modified, "timestamp") else 0.0
            state = str(info.get("ETag") or info.get("etag") or stamp)
            name = path.removeprefix(self._root).lstrip("/")
            yield BundleFile(name or path.rpartition("/")[2], int(info["size"] or 0), state, stamp)

    def read(self, path: str) -> bytes:
        """Return the bytes of an object."""
        with _as_os_error():
            data: bytes = self._system.cat_file(f"{self._root}/{path}")
        return data

    def read_all(self, paths: Sequence[str]) -> Mapping[str, bytes]:
        """Return the bytes of the objects, which are read several at a time."""
        with _as_os_error():
            found = self._system.cat([f"{self._root}/{path}" for path in paths]) if paths else {}
        return {path.removeprefix(f"{self._root}/"): data for path, data in found.items()}

    def put(self, path: str, data: bytes) -> None:
        """Write an object; stores do this atomically."""
        with _as_os_error():
            self._system.pipe_file(f"{self._root}/{path}", data)

    def remove_all(self, paths: Sequence[str]) -> None:
        """Delete the objects, many with one request where the store can do so."""
        if paths:
            with contextlib.suppress(FileNotFoundError), _as_os_error():
                self._system.rm([f"{self._root}/{path}" for path in paths])

    def copy_all(self, paths: Sequence[str], folder: Path) -> Sequence[str]:
        """Copy the objects, several at a time."""
        targets = [str(folder / path) for path in paths]
        for target in targets:
            Path(target).parent.mkdir(parents=True, exist_ok=True)
        for path, target in zip(paths, targets, strict=True):
            Path(target).write_bytes(self.read(path))
        return targets

    def fetch(self, files: tuple[BundleFile, ...], folder: Path) -> Path:
        """Copy the objects into a folder; names that lead out of it are refused."""
        root = folder / "bundle"
        for file in files:
            target = root / (file.path or self._root.rpartition("/")[2])
            if not target.resolve().is_relative_to(root.resolve()):
                raise InputError(f"{self.address}/{file.path}", "its name leads out of the bundle; rename it")
            target.parent.mkdir(parents=True, exist_ok=True)
            with _as_os_error():
                self._system.get_file(f"{self._root}/{file.path}" if file.path else self._root, str(target))
        return root
