"""Failures that the kernel reports in words alone are listed, in every carrier, alone in a log and between others."""

from __future__ import annotations

import pytest

from kvdiag.analysis.error_lines.suspects import LevelMarks
from kvdiag.formats.bodies import plain
from kvdiag.formats.carriers.peel import peel
from kvdiag.model.values import Level

FAILURES = [
    "EXT4-fs (sdb): VFS: Can't find ext4 filesystem",
    "EXT4-fs (sdb): bad geometry: block count 2621440 exceeds size of device (1310720 blocks)",
    "EXT4-fs (sdb): couldn't mount RDWR because of unsupported optional features (10000)",
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
    "sd 6:0:0:13: [sdb] tag#0 Add. Sense: Logical unit not supported",
    "sd 6:0:0:13: [sdb] tag#7 Add. Sense: Space allocation failed write protect",
    "INFO: task db:2201 blocked for more than 122 seconds.",
    "md/raid1:md0: Disk failure on sdb1, disabling device.",
    "md/raid:md5: not enough operational devices (2/4 failed)",
    "NFS: nfs4_reclaim_open_state: Lock reclaim failed!",
    "nfs_create_rpc_client: cannot create RPC client. Error = -110",
    "NFS4: Couldn't follow remote path",
    "NFS: state manager: reclaim reboot failed on NFSv4 server 192.0.2.7 with error 5",
    "CIFS: VFS: \\\\files.example.org Send error in SessSetup = -13",
    "CIFS: VFS: cifs_mount failed w/return code = -13",
    "ceph: mds0 reconnect denied",
    "ceph: mds0 rejected session",
    "rbd: rbd0: encountered watch error: -107",
    "rbd: rbd1: write at objno 7 8192~4096 result -5",
    "mce: CPU 3: Machine Check Exception: 5 Bank 4: b200000000070f0f",
    "thermal thermal_zone0: x86_pkg_temp: critical temperature reached, shutting down",
    "overlayfs: failed to resolve '/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/9/fs': -2",
    "overlayfs: filesystem on '/data/upper' not supported as upperdir",
    "e1000e 0000:00:1f.6 eno1: Detected Hardware Unit Hang:",
    "pcieport 0000:00:1c.0: AER: Uncorrected (Fatal) error received: id=00e0",
    "pcieport 0000:00:1c.0: AER: Multiple Uncorrectable (Non-Fatal) error message received from 0000:01:00.0",
    "bnx2x: [bnx2x_mc_assert:720(eth0)]MC assert!",
    "xenbus: timeout connecting to device: device/vbd/51728 (local state 3, remote state 2)",
    "ena 0000:00:05.0 ens5: Keep alive watchdog timeout.",
    "mlx5_core 0000:3b:00.0: poll_health:741:(pid 0): device's health compromised - reached miss count",
]
WARNINGS = [
    'audit: type=1400 audit(1.1:7): apparmor="DENIED" operation="signal" profile="cri-containerd.apparmor.d" pid=7',
    'audit: type=1400 audit(1.1:7): avc:  denied  { relabelfrom } for  pid=7 comm="containerd" name="a" permissive=0',
    'audit: type=1400 audit(1.1:7): avc:  denied  { execute } for  pid=7 comm="(ntainerd)" name="containerd" permissive=0',
    'audit: type=1400 audit(1.1:7): apparmor="DENIED" operation="change_onexec" profile="/usr/bin/dockerd" pid=7',
    "TCP: too many orphaned sockets",
    "libceph: osd3 down",
    "ceph: mds0 caps stale",
    "CPU1: Core temperature above threshold, cpu clock throttled (total events = 1)",
    "ixgbe 0000:01:00.0 eth0: NIC Link is Down",
    "device-mapper: thin: 253:4: reached low water mark for data device: sending event.",
    "EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0 page:0x1f2a offset:0x0 grain:32)",
]
HEALTHY = [
    "SELinux is preventing httpd from read access on the file index.html.",
    'audit: type=1400 audit(1.1:7): apparmor="DENIED" operation="open" class="file" profile="snap.lxd.lxc" name="/proc/1/a"',
    'audit: type=1400 audit(1.1:7): apparmor="STATUS" operation="profile_load" profile="unconfined" name="cri-containerd.apparmor.d"',
    'audit: type=1400 audit(1.1:7): avc:  denied  { execute } for  pid=7 comm="(httpd)" name="httpd" permissive=0',
    'audit: type=1400 audit(1.1:7): apparmor="DENIED" operation="open" profile="/usr/sbin/cupsd" name="/etc/a" pid=7',
    "EDAC MC: Ver: 3.0.0",
    "EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV 0000:64:0a.0 (INTERRUPT)",
    "EDAC amd64: Node 0: DRAM ECC enabled.",
    "Memory: 32594848K/33416744K available (20480K kernel code, 4146K rwdata, 11264K rodata)",
    "EXT4-fs (sdb): mounted filesystem 6f1d with ordered data mode. Quota mode: none.",
    "XFS (dm-3): Ending clean mount",
    "XFS (dm-3): Unmounting Filesystem 5b6d",
    "TCP: Hash tables configured (established 262144 bind 65536)",
    "TCP: cubic registered",
    "md/raid1:md0: active with 2 out of 2 mirrors",
    "NFS: Registering the id_resolver key type",
    "CIFS: Attempting to mount //files.example.org/share",
    "libceph: mon0 (1)192.0.2.7:6789 session established",
    "libceph: osd3 (1)192.0.2.7:6801 socket closed (con state OPEN)",
    "libceph: osd3 up",
    "rbd: rbd0: capacity 1073741824 features 0x3d",
    "mce: CPU0: Thermal monitoring enabled (TM1)",
    "CPU1: Core temperature/speed normal",
    "overlayfs: lowerdir is in-use as upperdir/workdir of another mount, accessing files from both mounts will result in undefined behavior.",
    "pcieport 0000:00:1c.0: AER: enabled with IRQ 122",
    "xenbus_probe_frontend: Device with no driver: device/vkbd/0",
    "VFS: Dquot-cache hash table entries: 512 (order 0, 4096 bytes)",
    "sysrq: SysRq : HELP : loglevel(0-9) reboot(b) crash(c)",
    "EXT4-fs (sda1): mounted filesystem with ordered data mode. Opts: errors=remount-ro",
    "EXT4-fs (sda1): re-mounted. Opts: discard,errors=remount-ro. Quota mode: none.",
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
