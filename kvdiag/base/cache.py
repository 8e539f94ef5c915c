"""Cache of what is slow to build: parsed pattern files as JSON, and the compiled scanner, in the user's cache folder.

    ~/.cache/kvdiag/events-3f9a….bin

Keys are content hashes, so entries never become stale. The format is JSON and not pickle: somebody who can write to
the folder must not be able to run code. Each file begins with the sha256 of the rest; a damaged file is built
again. Without a usable folder nothing is cached. A file is not trusted if another user can write it, if it is a link,
or if it lies in a folder of another user: under sudo -E the folder may belong to somebody else. The date of a file is
the time of its last use. When a new file is written, files that were not used for 90 days are removed, and all but
the 256 that were used last: each change of a user's own rules writes a new file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterable
from io import FileIO
from pathlib import Path
from typing import TypeVar

from kvdiag import __version__
from kvdiag.base.codec import Codec, shape_of
from kvdiag.base.regex import lazy_regex

Made = TypeVar("Made")

HOUR = 3600  # seconds
DAY = 24 * HOUR
UNUSED = 90 * DAY
MOST = 256  # files, of 0.2 MB on average: about 50 MB
LARGEST = 64 << 20  # bytes of a file; all rules and events together take 2 MB
_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_SHA256 = 32  # bytes
_CACHE_FILE = lazy_regex(r"[a-z]+-[0-9a-f]{32}\.(?:json|bin)|tmp\w+\.tmp")  # nothing else in the folder is ours


def fingerprint(paths: Iterable[Path | str]) -> str:
    """Return a digest of files by name, size, inode and the times of their last change: 4 µs a file, which is not read.

    Raises OSError for a file that is not there.
    """
    states = ((path, os.stat(path)) for path in paths)  # noqa: PTH116 (half of the time would be Path's)
    return digest(
        b"%b %d %d %d %d" % (os.fsencode(path), one.st_size, one.st_ino, one.st_mtime_ns, one.st_ctime_ns)
        for path, one in states
    )


def digest(parts: Iterable[bytes]) -> str:
    """Return the sha256 of all parts with their lengths, and of kvdiag's version, as hex."""
    total = hashlib.sha256(__version__.encode())
    for part in parts:
        total.update(b"%d:%b" % (len(part), part))
    return total.hexdigest()


def folder() -> Path:
    """Return the cache folder: `$XDG_CACHE_HOME/kvdiag`, or `~/.cache/kvdiag`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else Path(os.path.expanduser("~"), ".cache")) / "kvdiag"  # noqa: PTH111 (Path.home raises)


def cached(name: str, key: str, kind: type[Made], build: Callable[[], Made]) -> Made:
    """Return the value of that type from the cache, or from `build`, whose result is then cached.

    A type whose fields changed has other entries. Exceptions of `build` are raised.
    """
    codec = Codec(kind)
    shape = digest([key.encode(), shape_of(kind).encode()])
    return cached_bytes(name, shape, lambda: codec.encode(build()), codec.decode)


def cached_bytes(name: str, key: str, build: Callable[[], bytes], read: Callable[[bytes], Made]) -> Made:
    """Return `read(bytes)`, with the bytes from the cache, or from `build`, whose result is then cached.

    `read` may raise ValueError for bytes of another shape, program or processor; then the entry is built again. It also
    reads what was just built, so that the value is the same with and without a cache.
    """
    path = folder() / f"{name}-{key[:32]}.bin"
    try:
        value = read(_verified(*_read_private(path, _SHA256)))
    except (OSError, ValueError):
        data = build()
        _write(path, hashlib.sha256(data).digest() + data)
        return read(data)
    _touch(path)
    return value


def _verified(checksum: bytes, data: bytes) -> bytes:
    """Return the data if its sha256 is right. Raises ValueError otherwise."""
    if hashlib.sha256(data).digest() != checksum:
        raise ValueError("damaged")
    return data


def _read_private(path: Path, first: int = 0) -> tuple[bytes, bytes]:
    """Return the first bytes and the rest of a file that only this user can write; as two values, to copy nothing.

    Raises OSError for any other file. Does not block.
    """
    _check_folder(path.parent)
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with FileIO(handle) as file:
        status = os.fstat(handle)
        _check(status, stat.S_ISREG)
        if status.st_size > LARGEST:
            raise OSError(None, "too large")
        return file.read(first), file.readall()


def _check_folder(directory: Path) -> None:
    """Raise OSError unless the folder is ours and no link, and all folders above it are ours or root's."""
    _check(directory.lstat(), stat.S_ISDIR)
    owners = {0, os.geteuid()}
    above = (
        *directory.parents,
        *(() if directory.parent == (real := directory.parent.resolve()) else (real, *real.parents)),
    )
    if any(folder.lstat().st_uid not in owners for folder in above):
        raise OSError(None, "below a folder or a link of another user")


def _check(status: os.stat_result, is_type: Callable[[int], bool]) -> None:
    if not is_type(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & _OTHERS:
        raise OSError(None, "not our own")


def _touch(path: Path) -> None:
    """Set the date of a file to now, at most once an hour. Usually this is only one stat, 2 µs."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > HOUR:
            os.utime(path)


def _write(path: Path, data: bytes) -> None:
    """Write a temporary file and rename it, so that a reader sees the whole file or none."""
    import tempfile

    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_folder(path.parent)
        handle, beside = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(beside).replace(path)
        except BaseException:
            Path(beside).unlink(missing_ok=True)
            raise
        _evict_unused(path.parent)


def _evict_unused(cache: Path) -> None:
    """Remove files that were not used for 90 days, and all but the MOST that were used last.

    Another process that reads a removed file builds it again.
    """
    oldest = time.time() - UNUSED
    used = sorted(
        ((_last_used(path), path) for path in cache.iterdir() if _CACHE_FILE.fullmatch(path.name)), reverse=True
    )
    for number, (last, path) in enumerate(used):
        if number >= MOST or last < oldest:
            with contextlib.suppress(OSError):
                path.unlink()


def _last_used(path: Path) -> float:
    """Return when a file of the cache was last used, in seconds since 1970, to the hour; 0 if it no longer exists."""
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0
