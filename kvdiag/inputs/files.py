"""Open files without blocking, write files atomically, and detect pseudo file systems."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_MOUNTS = "/proc/self/mountinfo"
# The kernel generates these files when they are read; some are endless, or reading them blocks.
_PSEUDO_FILE_SYSTEMS = frozenset(
    {
        *("proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "configfs", "devtmpfs", "devpts"),
        *("mqueue", "bpf", "binfmt_misc", "fusectl", "efivarfs", "autofs", "rpc_pipefs", "selinuxfs", "nsfs", "nfsd"),
    }
)


def open_file(path: Path | str) -> io.FileIO:
    """Open a regular file to read. Raises OSError for anything else, without waiting for it.

    Without O_NONBLOCK, opening a FIFO waits for a writer, and reading `/proc/kmsg` waits for the kernel.
    """
    file = io.FileIO(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY), "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(None, "it is no longer a file")


def identity_of(file: io.FileIO) -> tuple[int, int]:
    """Return device and inode, which tell a file from another that took its name."""
    status = os.fstat(file.fileno())
    return status.st_dev, status.st_ino


def skip_hole(file: io.FileIO) -> int:
    """Go to the next data, or to the end if none follows; return where that is."""
    at = file.tell()
    try:
        return os.lseek(file.fileno(), at, os.SEEK_DATA)
    except OSError as error:  # elsewhere holes are read as NUL bytes
        return file.seek(0, os.SEEK_END) if error.errno == errno.ENXIO else at


def read_small(path: Path, largest: int) -> bytes:
    """Return the bytes of a regular file. Raises OSError for anything else, and for more than `largest` bytes."""
    with open_file(path) as file:
        data = file.read(largest + 1)
        while len(data) <= largest and (more := file.read(largest + 1 - len(data))):
            data += more
    if len(data) > largest:
        raise OSError(None, f"larger than {largest >> 20} MiB")
    return data


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[BinaryIO]:
    """Write a temporary file and rename it, so that readers never see half a file. Raises OSError.

    Devices and FIFOs are written in place, also files in a folder where no file can be created.
    """
    path = path.resolve()
    beside = path.with_name(f".{path.name[:200]}.{os.getpid()}.tmp")
    try:
        file = beside.open("xb") if not path.exists() or path.is_file() else path.open("wb")
    except FileNotFoundError:
        raise
    except OSError:
        file = path.open("wb")
    is_beside = Path(file.name) == beside
    try:
        with file:
            yield file
        if is_beside:
            if path.exists():
                beside.chmod(stat.S_IMODE(path.stat().st_mode))
            beside.replace(path)
    except BaseException:
        if is_beside:
            beside.unlink(missing_ok=True)
        raise


def pseudo_devices() -> frozenset[int]:
    """Return the devices of the mounted pseudo file systems."""
    try:
        text = Path(_MOUNTS).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    return frozenset(device for line in text.splitlines() for device in _device(line.split(" ")))


def _device(fields: list[str]) -> list[int]:
    """Return the device of such a file system in a line of mountinfo: `23 28 0:21 / /proc rw … - proc proc rw`."""
    try:
        kind = fields[fields.index("-", 6) + 1]
        major, _, minor = fields[2].partition(":")
        return [os.makedev(int(major), int(minor))] if kind in _PSEUDO_FILE_SYSTEMS else []
    except (ValueError, IndexError, OverflowError):
        return []
