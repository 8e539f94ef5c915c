"""Files opened so that nothing waits for ever, and which folders hold no files but what the kernel makes up."""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

_MOUNTS = "/proc/self/mountinfo"
# What is in these is made when it is read; some of it has no end, or waits until something happens.
_MADE_UP = frozenset(
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


def made_up() -> frozenset[int]:
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
        return [os.makedev(int(major), int(minor))] if kind in _MADE_UP else []
    except (ValueError, IndexError, OverflowError):
        return []
