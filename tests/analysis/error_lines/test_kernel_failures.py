"""Failures that the kernel reports in words alone are listed, in every carrier, alone in a log and between others."""

from __future__ import annotations

import pytest

from kvdiag.analysis.error_lines.suspects import LevelMarks
from kvdiag.formats.bodies import plain
from kvdiag.formats.carriers.peel import peel
from kvdiag.model.values import Level

FAILURES = [
    "EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0 page:0x1f2a offset:0x0 grain:32)",
    'EDAC MC1: UE page 0x0, offset 0x0, grain 0, row 3, labels ":": amd64_edac',
    "EDAC DEVICE0: UE: armada-l2 instance: cpu0 block: L2 count: 1 'L2 uncorrected error'",
    "Memory failure: 0x1f2a: recovery action for dirty LRU page: Failed",
    "Memory failure: 0x1f2a: unhandlable page.",
    "mce: Uncorrected hardware memory error in user-access at 1f2a000",
    "MCE: Killing db:2201 due to hardware memory corruption fault at 7f00a0000000",
    "EXT4-fs (sdb): Delayed block allocation failed for inode 131077 at logical offset 2048 with max blocks 8 with error 28",
    "EXT4-fs (sdb): delayed block allocation failed for inode 131077 at logical offset 8 with max blocks 8 with error -28",
    "EXT4-fs (sdb): This should not happen!! Data will be lost",
    "This should not happen!!  Data will be lost",
    "XFS (dm-3): xfs_do_force_shutdown(0x2) called from line 1211 of file fs/xfs/xfs_log.c. Return address = 0000000a1b2c3d4e",
    "XFS (dm-3): Filesystem has been shut down due to log error (0x2).",
    "XFS (dm-3): Metadata I/O Error (0x1) detected at xfs_trans_read_buf_map+0x1d5/0x320 [xfs] (trans_buf.c:296).  Shutting down filesystem.",
    "VFS: file-max limit 9223 reached",
    "TCP: out of memory -- consider tuning tcp_mem",
    "sysrq: Trigger a crash",
    "sysrq: SysRq : Trigger a crash",
    "SysRq : Trigger a crash",
    "sysrq: Resetting",
    "blk_update_request: I/O error, dev sdb, sector 2048 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 0",
    "blk_update_request: timeout error, dev nvme1n1, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2",
    "critical medium error, dev sdb, sector 2048 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
    "reservation conflict error, dev sdb, sector 2048 op 0x1:(WRITE) flags 0x0 phys_seg 1 prio class 2",
    "Buffer I/O error on dev sdb, logical block 1, lost async page write",
    "INFO: task db:2201 blocked for more than 122 seconds.",
]
WARNINGS = [
    'audit: type=1400 audit(1.1:7): apparmor="DENIED" operation="signal" profile="cri-containerd.apparmor.d" pid=7',
    'audit: type=1400 audit(1.1:7): avc:  denied  { relabelfrom } for  pid=7 comm="containerd" name="a" permissive=0',
    "TCP: too many orphaned sockets",
    "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0 page:0x1f2a offset:0x0 grain:32)",
]
HEALTHY = [
    "SELinux is preventing httpd from read access on the file index.html.",
    'audit: type=1400 audit(1.1:7): apparmor="DENIED" operation="open" class="file" profile="snap.lxd.lxc" name="/proc/1/a"',
    'audit: type=1400 audit(1.1:7): apparmor="STATUS" operation="profile_load" profile="unconfined" name="cri-containerd.apparmor.d"',
    "EDAC MC: Ver: 3.0.0",
    "EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV 0000:64:0a.0 (INTERRUPT)",
    "EDAC amd64: Node 0: DRAM ECC enabled.",
    "Memory: 32594848K/33416744K available (20480K kernel code, 4146K rwdata, 11264K rodata)",
    "EXT4-fs (sdb): mounted filesystem 6f1d with ordered data mode. Quota mode: none.",
    "XFS (dm-3): Ending clean mount",
    "XFS (dm-3): Unmounting Filesystem 5b6d",
    "TCP: Hash tables configured (established 262144 bind 65536)",
    "TCP: cubic registered",
    "VFS: Dquot-cache hash table entries: 512 (order 0, 4096 bytes)",
    "sysrq: SysRq : HELP : loglevel(0-9) reboot(b) crash(c)",
    "sysrq: Show Blocked State",
    "operation not supported error, dev loop0, sector 2048 op 0x9:(WRITE_ZEROES) flags 0x800 phys_seg 0 prio class 2",
]
CARRIERS = ["{}", "[ 1530.811848] {}", "[Tue Mar 12 08:15:00 2024] {}", "Mar 12 08:15:00 worker-1 kernel: {}"]
OTHER = "[ 1530.811847] e1000: eth0 NIC Link is Up"


def listed(text: str) -> list[tuple[str, Level | None]]:
    """Give the lines that may report a failure, each with its level."""
    data = text.encode()
    lines = [data[begin:end] for begin, end in LevelMarks().suspects(data, text.count("\n") + 1)]
    return [(line.decode(), plain.level(peel(line).ident, peel(line).body)) for line in lines]


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize(
    ("message", "level"), [*((one, Level.ERROR) for one in FAILURES), *((one, Level.WARNING) for one in WARNINGS)]
)
def test_listed(message, level, carrier):
    """A failure is found with its level, whatever stands before and behind it."""
    line = carrier.format(message)
    assert listed(line) == [(line, level)]
    assert listed(f"{OTHER}\n{line}\n{OTHER}\n") == [(line, level)]


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("message", HEALTHY)
def test_healthy(message, carrier):
    """What the kernel prints on a healthy node is no failure."""
    assert listed(f"{OTHER}\n{carrier.format(message)}\n") == []


@pytest.mark.parametrize("program", ["/usr/bin/runc", "containerd", "runc:[2:INIT]"])
def test_setroubleshoot(program):
    """What SELinux forbids a program of the runtime is listed."""
    line = f"Mar 12 08:15:00 worker-1 setroubleshoot[811]: SELinux is preventing {program} from getattr access on the file a."
    assert listed(line) == [(line, Level.WARNING)]
    assert listed(line.replace(program, "httpd")) == []
