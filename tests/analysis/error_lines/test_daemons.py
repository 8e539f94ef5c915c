"""Failures that programs of a node report in words alone are listed; what they print on a healthy node is not."""

from __future__ import annotations

import pytest

from kvdiag.analysis.error_lines.suspects import LevelMarks
from kvdiag.formats.bodies import plain
from kvdiag.formats.bodies.daemons import FAILURES
from kvdiag.formats.carriers.peel import peel
from kvdiag.model.values import Level

ERRORS = [
    "iscsid[800]: cannot make a connection to 192.0.2.5:3260 (-1,113)",
    "iscsid[800]: connect to 192.0.2.5:3260 failed (Connection refused)",
    "iscsid[800]: Login failed to authenticate with target iqn.2024-01.org.example:disk1",
    "iscsid[800]: Kernel reported iSCSI connection 1:0 error (1022 - ISCSI_ERR_NOP_TIMEDOUT: A NOP has timed out) state (3)",
    "mdadm[801]: Fail event detected on md device /dev/md0, component device /dev/sdb1",
    "mdadm[801]: DegradedArray event detected on md device /dev/md0",
    "lvm[960]: WARNING: Couldn't find device with uuid 5b0c7a-2f4d-4c8e-9a63-0d1e-2f3a-4b5c7d.",
    "multipathd[900]: sdb: path offline",
    "multipathd[900]: checker failed path 8:16 in map mpatha",
    "multipathd[900]: mpatha: sdb - tur checker reports path is down",
    "multipathd[900]: mpatha: Entering recovery mode: max_retries=5",
    "multipathd[900]: mpatha: failed in domap for addition of new path sdb",
    "lvm[960]: Device open /dev/sdb 8:16 failed errno 5",
    "dmeventd[961]: Insufficient free space: 256 extents needed, but only 12 available",
    "smartd[970]: Device: /dev/sda [SAT], 8 Currently unreadable (pending) sectors",
    "smartd[970]: Device: /dev/sda [SAT], 3 Offline uncorrectable sectors",
    "smartd[970]: Device: /dev/sda [SAT], FAILED SMART self-check. BACK UP DATA NOW!",
    "systemd-udevd[300]: sdb: Worker [1234] processing SEQNUM=5211 is taking a long time",
    "systemd-udevd[300]: sdb: Worker [1234] processing SEQNUM=5211 killed",
    "chronyd[500]: Can't synchronise: no selectable sources",
    "systemd-networkd[400]: eth0: DHCP lease lost",
    "systemd-networkd[400]: enp3s0f1: Lost carrier",
    "systemd-networkd[400]: bond0: Could not set address: Permission denied",
    "dhclient[1001]: No DHCPOFFERS received.",
    "dhclient[1001]: No working leases in persistent database - sleeping.",
    "systemd-oomd[996]: Killed /kubepods.slice/kubepods-burstable.slice due to memory pressure for /kubepods.slice being 81.20% > 50.00% for > 20s with reclaim activity",
    'earlyoom[995]: sending SIGTERM to process 1234 uid 0 "java": badness 900, VmRSS 512 MiB',
    "systemd-coredump[997]: Process 2201 (kubelet) of user 0 dumped core.",
    "abrt-hook-ccpp[998]: Process 2201 (dockerd) of user 0 killed by SIGABRT - dumping core",
    "dbus-daemon[600]: [system] The maximum number of active connections for UID 0 has been reached (max_connections_per_user=256)",
    'haproxy[411]: Server k8s/master-1 is DOWN, reason: Layer4 connection problem, info: "Connection refused"',
    "haproxy[411]: backend k8s has no server available!",
    "haproxy[411]: [ALERT] 071/080000 (411) : Starting frontend k8s: cannot bind socket [0.0.0.0:6443]",
    "keepalived[412]: Keepalived_vrrp exited with permanent error CONFIG. Terminating",
    "Keepalived_vrrp[413]: (VI_1) Entering FAULT STATE",
    "nvidia-persistenced[414]: Failed to query NVIDIA devices. Please ensure that the NVIDIA device files (/dev/nvidia*) exist.",
    "bird[415]: Mesh_192_0_2_5: Error: Hold timer expired",
    "early-boot-config[416]: Error PATCHing '/settings?tx=bottlerocket-launch': Status 400 when PATCHing /settings: invalid type",
    "settings-committer[417]: Error POSTing '/tx/commit': Status 422 when POSTing /tx/commit: no pending changes",
    "pluto[418]: Error GETing 'http://169.254.169.254/latest/meta-data/local-ipv4': operation timed out",
    "sundog[419]: Error PUTing 'http://169.254.169.254/latest/api/token': operation timed out",
    "iptables[416]: Another app is currently holding the xtables lock. Perhaps you want to use the -w option?",
    "ip6tables[417]: ip6tables v1.8.7 (legacy): can't initialize ip6tables table `nat': Table does not exist",
    "ovsdb-server[1019]: ovs|00001|ovsdb_error|ERR|unexpected ovsdb error: no such table",
]
WARNINGS = [
    "ovs-vswitchd[1018]: ovs|00012|timeval(handler1)|WARN|Unreasonably long 12345ms poll interval",
    "cloud-init[1007]: 2024-03-12 08:00:00,000 - util.py[WARNING]: Running module scripts-user failed",
]
HEALTHY = [
    "early-boot-config[416]: Sending a PATCH to '/settings?tx=bottlerocket-launch'",
    "iptables[418]: Another app is currently holding the xtables lock; waiting (1s) for it to exit...",
    "iscsid[800]: Connection1:0 to [target: iqn.2024-01.org.example:disk1, portal: 192.0.2.5,3260] is operational now",
    "multipathd[900]: sdb: path online",
    "multipathd[900]: mpatha: remaining active paths: 2",
    "smartd[970]: Device: /dev/sda [SAT], SMART Usage Attribute: 194 Temperature_Celsius changed from 66 to 67",
    "smartd[970]: Device: /dev/sda [SAT], No more Offline uncorrectable sectors, warning condition reset after 1 email",
    "mdadm[801]: RebuildFinished event detected on md device /dev/md0",
    "mdadm[801]: NewArray event detected on md device /dev/md0",
    "earlyoom[995]: sending SIGTERM when mem <= 10.00% and swap <= 10.00%,",
    "systemd-timesyncd[411]: Timed out waiting for reply from 192.0.2.1:123 (ntp.example.com).",
    "chronyd[500]: Selected source 192.0.2.3",
    "systemd-networkd[400]: cali0a1b2c3d4e5: Lost carrier",
    "systemd-networkd[400]: veth1f0c3a52: Lost carrier",
    "systemd-networkd[400]: lxc1f0c3a52: Lost carrier",
    "systemd-coredump[997]: Process 4711 (shop-backend) of user 1000 dumped core.",
    "haproxy[411]: Server k8s/master-1 is UP, reason: Layer4 check passed",
    "sshd[700]: connect to 192.0.2.5 port 22 failed (Connection refused)",
    "ovs-vswitchd[1018]: ovs|00013|bridge|INFO|bridge br-int: added interface veth1 on port 7",
]


def listed(text: str) -> list[tuple[str, Level | None]]:
    """Give the lines that may report a failure, each with its level."""
    data = text.encode()
    lines = [data[begin:end] for begin, end in LevelMarks().suspects(data, text.count("\n") + 1)]
    found = [(line.decode(), plain.level(peel(line).ident, peel(line).body)) for line in lines]
    return [(line, level) for line, level in found if level is not None]


@pytest.mark.parametrize(
    ("message", "level"), [*((one, Level.ERROR) for one in ERRORS), *((one, Level.WARNING) for one in WARNINGS)]
)
def test_listed(message, level):
    """A failure is found with its level, alone and between others."""
    line, other = f"Mar 12 08:15:00 node-a {message}", "Mar 12 08:15:00 node-a systemd[1]: Started kubelet.\n"
    assert listed(line) == [(line, level)]
    assert listed(f"{other}{line}\n{other}") == [(line, level)]


@pytest.mark.parametrize("message", HEALTHY)
def test_healthy(message):
    """What is no failure of the node is not listed."""
    assert listed(f"Mar 12 08:15:00 node-a {message}\n") == []


def test_each_literal_is_tried():
    """No row has words that no line here has."""
    tried = "\n".join(ERRORS)
    assert not [literal for one in FAILURES for literal in one.literals if literal.decode() not in tried]
