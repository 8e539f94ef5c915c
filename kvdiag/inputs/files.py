"""Files opened so that nothing waits for ever, written whole or not at all, and folders that the kernel makes up."""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_MOUNTS = "/proc/self/mountinfo"
# What is in these is made when it is read; some of it has no end, or waits until something happens.
_PSEUDO_FILE_SYSTEMS = frozenset(
    {
        *("proc", "sysfs", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "configfs", "devtmpfs", "devpts"),
        *("mqueue", "bpf", "binfmt_misc", "fusectl", "efivarfs", "autofs", "rpc_pipefs", "selinuxfs", "nsfs", "nfsd"),
    }
)


def open_file(path: Path | str) -> io.FileIO:
    """Open a regular file to read. Raises OSError for anything else, without waiting for it.

    Opening a FIFO waits for a writer, and reading `/proc/kmsg` for the kernel; both not with O_NONBLOCK.
    """
    file = io.FileIO(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY), "rb")
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(None, "it is no longer a file")


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
    """Write beside a file and rename, so that its name never stands for half of it. Raises OSError.

    What is no regular file (a device, a FIFO) and what lies where no file can be made is written in place.
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
    """Give the devices of the mounted file systems whose files the kernel makes up."""
    try:
        text = Path(_MOUNTS).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    return frozenset(device for line in text.splitlines() for device in _device(line.split(" ")))


def _device(fields: list[str]) -> list[int]:
    """Give the device of a line of mountinfo if it is of such a kind: `23 28 0:21 / /proc rw … - proc proc rw`."""
    try:
        kind = fields[fields.index("-", 6) + 1]
        major, _, minor = fields[2].partition(":")
        return [os.makedev(int(major), int(minor))] if kind in _PSEUDO_FILE_SYSTEMS else []
    except (ValueError, IndexError, OverflowError):
        return []
