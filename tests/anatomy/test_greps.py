"""A check that filters the kernel's log shows lines that the kernel prints, and only for names that it prints."""

from __future__ import annotations

import re
import subprocess

import pytest

from kvdiag.anatomy.data import tables
from kvdiag.anatomy.error import read_error

FILTERED = re.compile(r"\{(?:journal|logs):(\w+)[^}]*\} \| (grep .*)")
DEVICE = "sdq"
LINES = (  # of Linux 5.15, and of the drivers named in them
    "drbd r0/0 drbd1002: Held open by multipathd(751)",
    "EXT4-fs (sdq): resizing filesystem from 262144 to 524288 blocks",
    "EXT4-fs (sdq): Remounting filesystem read-only",
    "blk_update_request: I/O error, dev sdq, sector 4711 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
    "INFO: task java:4711 blocked for more than 120 seconds.",
    "megaraid_sas 0000:18:00.0: [ 0]waiting for 3 commands to complete for scsi0",
    "device-mapper: table: 253:21: multipath: error getting device (-EBUSY)",
    "nvme_fabrics: no handler found for transport tcp.",
    "app[4711]: segfault at 0 ip 0000000000000000 sp 00007ffc error 14 in app[400000+1000]",
    "Memory cgroup out of memory: Killed process 4711 (java) total-vm:1kB, anon-rss:1kB, file-rss:0kB",
)
FILTERS = sorted(
    {
        found[2]
        for one in tables().primitives
        for check in one.check.values()
        if (found := FILTERED.search(check)) and found[1] == "kernel"
    }
)


@pytest.mark.parametrize("command", FILTERS)
def test_a_filter_finds_lines(command):
    """A line of the kernel passes."""
    command = command.replace("{name}", DEVICE)
    done = subprocess.run(["bash", "-c", command], input="\n".join(LINES), capture_output=True, text=True, check=False)
    assert done.stdout


def test_only_the_kernel_is_filtered():
    """A filter of another log needs lines of its own here."""
    checks = (check for one in tables().primitives for check in one.check.values())
    assert {found[1] for check in checks if (found := FILTERED.search(check))} == {"kernel"}


@pytest.mark.parametrize(
    ("device", "name"),
    [("/dev/sdq", "sdq"), ("/dev/sdq1", "sdq"), ("/dev/nvme1n1p2", "nvme1n1"), ("/dev/dm-3", "dm-3")],
)
def test_a_name_of_the_kernel(device, name):
    """The kernel prints the disk, not always its partition."""
    check = read_error(f"mkfs failed: read {device}: input/output error").check
    assert check.endswith(f"grep -F -e {name}")


@pytest.mark.parametrize("device", ["/dev/disk/by-id/wwn-0x5000c500a1b2c3d4", "/dev/mapper/mpatha", "/dev/vg0/lv0"])
def test_a_link_is_no_name_of_the_kernel(device):
    """The kernel does not print links: a filter by their name shows nothing."""
    assert "grep -F" not in read_error(f"mkfs failed: read {device}: input/output error").check
