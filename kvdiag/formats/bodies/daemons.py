"""Failures in the words of programs of a node that print no level: disks, network, time, memory, load balancers.

    iscsid[800]: cannot make a connection to 192.0.2.5:3260 (-1,113)
    chronyd[500]: Can't synchronise: no selectable sources
    haproxy[411]: Server k8s/master-1 is DOWN, reason: Layer4 connection problem, info: "Connection refused"

Each row has the beginnings of the programs' names, literals by which a line is found, and what a line with one must
have beside it, if that is not enough.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex


class Failures(NamedTuple):
    """The words of some programs for failures."""

    programs: tuple[str, ...]
    literals: tuple[bytes, ...]
    pattern: re.Pattern[bytes] | None = None


_OF_NODE = rb"kubelet|containerd|crio|conmon|dockerd|runc|crun|etcd|k3s|rke2|kubelite|csi|calico|cilium|flannel"
FAILURES = (
    Failures(
        ("iscsi",),
        (b"cannot make a connection to ", b"Login failed to ", b"connect to ", b"Kernel reported iSCSI connection "),
        lazy_regex(rb"cannot make a connection|Login failed|connect to \S{1,300} failed \(|Kernel reported"),
    ),
    Failures(
        ("multipathd",),
        (b"path offline", b"checker failed path", b"path is down", b"Entering recovery mode", b"failed in domap"),
    ),
    Failures(("lvm", "dmeventd"), (b" failed errno ", b"Insufficient free space", b"find device with uuid ")),
    Failures(
        ("smartd",),
        (b"FAILED SMART", b"unreadable (pending)", b"Offline uncorrectable"),
        lazy_regex(rb"^(?!.{0,200}No more )"),
    ),
    Failures(
        ("mdadm",),
        (b" event detected on md device ",),
        lazy_regex(rb"(?:Fail|FailSpare|DegradedArray) event detected "),
    ),
    Failures(("systemd-udevd", "udevd"), (b"processing SEQNUM=",)),
    Failures(("chronyd",), (b"no selectable sources",)),
    Failures(
        ("systemd-networkd",),
        (b"DHCP lease lost", b": Lost carrier", b"Could not set "),
        # not of the interfaces of pods, which come and go
        lazy_regex(rb"^(?:eth|en[ops]|bond|team|br-ex|wl)\w{0,15}: (?:DHCP lease lost|Lost carrier|Could not set )"),
    ),
    Failures(("dhclient",), (b"No DHCPOFFERS received", b"No working leases")),
    Failures(("systemd-oomd",), (b"due to memory pressure for ",)),
    # not the note of start-up, `sending SIGTERM when mem <= 10.00%`
    Failures(("earlyoom",), (b"sending SIG",), lazy_regex(rb"sending SIG[A-Z]{3,4} to process ")),
    Failures(
        ("systemd-coredump", "abrt"), (b" dumped core", b"dumping core"), lazy_regex(rb"\((?:" + _OF_NODE + rb")")
    ),
    Failures(("dbus",), (b"maximum number of active connections",)),
    Failures(("haproxy",), (b" is DOWN, reason: ", b"has no server available!", b"cannot bind socket")),
    Failures(("keepalived", "Keepalived"), (b"Entering FAULT STATE", b"permanent error")),
    Failures(("nvidia-persistenced",), (b"Failed to query NVIDIA devices",)),
    # Bottlerocket: requests to its API and to the metadata service of the cloud.
    Failures(
        ("early-boot-config", "sundog", "pluto", "settings-committer", "bootstrap-containers", "certdog"),
        (b"Error PATCHing '", b"Error GETing '", b"Error POSTing '", b"Error PUTing '"),
    ),
    Failures(("bird",), (b": Error: ",)),
    # Not "; waiting (1s) for it to exit": then it waits.
    Failures(("iptables", "ip6tables"), (b"holding the xtables lock. ", b"can't initialize ip")),
)
LITERALS = tuple(literal for one in FAILURES for literal in one.literals)


def reports_failure(ident: str, text: bytes) -> bool:
    """Return whether a line of the program `ident` reports a failure in its own words."""
    return any(
        ident.startswith(one.programs)
        and any(literal in text for literal in one.literals)
        and (one.pattern is None or one.pattern.search(text) is not None)
        for one in FAILURES
    )
