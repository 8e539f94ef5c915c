"""The level of a line in no known format, by the messages of programs, systemd and the kernel for failures.

    [ERROR] plugin/errors: 2 web.example.org. A: read udp 10.0.0.7:53: i/o timeout      a level in its usual place
    2020-03-19 00:42:04.126551 W | etcdserver: read-only range request took too long    the same of etcd before 3.4
    [2024-03-12 08:00:00.823020] E [glusterfsd-mgmt.c:1388:mgmt_getspec_cbk] 0-mgmt: …  of GlusterFS
    [ERROR CRI]: container runtime is not running                                       kubeadm: level and check
    failed to reserve sandbox name: name "x" is reserved                                an error of Go without its line
    nf_conntrack: table full, dropping packet                                           the kernel: a short list

Text that only contains such a word elsewhere has no level.
"""

from __future__ import annotations

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies import daemons, gopanic
from kvdiag.formats.carriers.carrier import AUDIT, KERNEL
from kvdiag.model.values import Level

_LOOKED_AT = 400  # bytes of a line
_TOKENS = 4  # before the level: a time, a thread, a logger; stern puts namespace, pod and container there
_DATE = lazy_regex(
    rb"\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z| ?[+-]\d\d:?\d\d| [A-Z]{3,4})?\]?[ \t,|:-]{1,4}"
)
_WORDS = rb"(?:(error|erro|err|fatal|fata|panic|critical|crit|emerg|emergency|alert|severe)|warning|warn|wrn|nwarn)"
_LEVEL = lazy_regex(
    rb"(?:\[(?i:" + _WORDS + rb")(?: [A-Z][\w.-]{1,200})?\]|<(?i:" + _WORDS + rb")>"
    rb"|(?:(ERROR?|FATAL?|PANIC|CRITICAL|EMERG|SEVERE)|WARNING|WARN)(?=[:\s|\]\[]|$)"
    rb"|(?:([EC])|W) (?:\| |(?:\[MSGID: \d{1,9}\] )?\[[\w./-]{1,60}\.c:\d{1,6}:))"
)  # fmt: skip
_FIRST = lazy_regex(rb"(?i:(error(?: from server(?: \(\w{1,40}\))?)?|fatal(?: error)?|critical|panic)|warning): \S")
# An error that was taken out of its line, or printed by a program that has no log lines: `failed to X: Y`.
_BARE = lazy_regex(
    rb"rpc error: code = \w{1,20} desc = |plugin type=\"[\w.-]{1,60}\"(?: name=\"[^\"\n]{0,100}\")? failed \("
    rb"|[Ff]ailed to [a-z][^\n]{2,300}?: \S"
)
# kubelet's volume operation without the header of its line; an event in the log of a Kubernetes e2e test; runc;
# kubeadm; the loader of glibc; a script of bash; Talos.
_FAILED = lazy_regex(
    rb"Operation for \"[^\n]{1,300}failed\. No retries permitted until |event for [\w.-]{1,253}: \{[^}\n]{1,300}\} "
    rb"(?:Failed\w{0,40}|BackOff|Unhealthy): |(?:standard_init|container)_linux\.go:\d{1,5}: "
    rb"|error execution phase [\w/-]{1,60}: "
    rb"|[\w./+-]{1,200}: (?:/[\w./+-]{1,200}: )?version [`']GLIBC_[^\n]{1,60} not found \(required by "
    rb"|[\w./+-]{1,200}: line \d{1,6}: [^\n:]{1,200}: (?:No such file or directory|command not found|Permission denied"
    rb"|cannot execute)"
    rb"|\[talos\] [^\n]{0,200}?(?:\berror\b|\bfailed\b)"
)
# setroubleshoot on a program of the container runtime.
_PREVENTED = lazy_regex(
    rb"SELinux is preventing (?:/[\w./-]{0,100}/)?(?:containerd|crio|conmon|runc|crun|kubelet|dockerd)\b"
)
# Open vSwitch and OVN; a logger of Python in the log of another program.
_VLOG = lazy_regex(rb"(?:[a-z][\w-]{1,30}|\d{4}-\d\d-\d\dT[\d:.]{8,15}Z)\|\d{5,8}\|[^|\n]{1,60}\|(?:(ERR|EMER)|WARN)\|")
_PYTHON = lazy_regex(rb"(?:[\w:.,-]{1,30} ){0,4}[\w.]{1,60}\[(?:(ERROR|CRITICAL)|WARNING)\]: \S")
# vSphere: `2021-04-30T20:22:01.862Z error vpxd[14719] [Originator@6876 sub=FcdService] …`, here without its time.
_VSPHERE = lazy_regex(rb"(?:(error|panic)|warning) [\w.-]{1,60}\[\w{1,12}\] \S")
_TOKEN = lazy_regex(rb"\[[^\]\n]{1,60}\][:, \t]{0,4}|[\w.:/,+\-]{1,60}(?:\[\d{1,9}\])?[:, \t]{1,4}")
# The last line of a program in C (glibc: `PROGRAM: FILE:LINE: FUNCTION: Assertion …`) and in Rust.
_ABORTED = lazy_regex(
    rb"(?:[\w./+-]{1,100}: )?[\w./+-]{1,200}:\d+: (?:[^\n]{1,300}: )?Assertion [`'][^\n]{1,300}' failed\."
    rb"|thread '[^'\n]{1,100}' (?:\(\d+\) )?panicked at "
)
_CEPH = lazy_regex(rb" : cluster \[(?:(ERR|SEC)|WRN)\] ")
# A daemon of Ceph; -1 is what it reports as an error, other numbers are levels of debug.
_CEPH_DAEMON = lazy_regex(rb"(?:(?:debug )?\d{4}-\d\d-\d\d[T ][\d:.]{8,16}(?:[+-]\d{4}|Z)? )?[0-9a-f]{10,16} {1,2}-1 ")
_LOGFMT = lazy_regex(
    rb"(?:\w{1,20}=(?:\"[^\"\n]{0,100}\"|[^\s\"]{1,100}) ){0,4}(?:level|lvl)=\"?"
    rb"(?i:(err|fatal|crit|panic|alert|emerg)|warn)"
)
_SYSTEMD = lazy_regex(
    rb"Failed to (?:start|mount|listen|reload|load|create|set up|activate) |Failed with result |Failed at step "
    rb"|entered failed state|Start request repeated too quickly|Dependency failed for |Watchdog timeout "
    rb"|timed out\. (?:Killing|Terminating|Aborting|Stopping)|operation timed out|Timed out waiting for (?!reply from )"
    rb"|restart counter is at (?:[2-9]\d|\d{3,6})\b"
    rb"|Freezing execution|process exited, code=(?:killed|dumped|exited,? status=[1-9])|OOM killer"
)
_BUS = lazy_regex(rb"Failed to activate service '[^']{1,200}'")
_KERNEL = lazy_regex(
    rb"(?:nf_|ip_)conntrack: (?:nf_conntrack: )?table full|neighbou?r table overflow|unregister_netdevice: waiting for "
    rb"|\bOops(?: - \w[^:]{0,40})?: |\bBUG: |kernel BUG at |[Uu]nable to handle kernel |general protection fault"
    rb"|Kernel panic - not syncing|hard LOCKUP|soft lockup|self-detected stall|detected stalls on CPU"
    rb"| blocked for more than \d+ seconds|blocked in I/O wait for more than "
    rb"|NVRM: (?:Xid |.{0,40}RmInitAdapter failed|.{0,40}fallen off the bus)"
    rb"|Out of memory: Kill|out of memory: Kill|oom-kill:constraint=|invoked oom-killer"
    rb"|fork rejected by pids controller|page allocation failure|Unable to allocate memory on node"
    rb"|I/O error|(?:critical (?:target|medium|space allocation|nexus)|reservation conflict|timeout|protection"
    rb"|recoverable transport|kernel resource) error, dev |FAILED Result: hostbyte|offline device|Device offlined - "
    rb"|Add\. Sense: (?:Logical unit not supported|Space allocation failed write protect)"
    rb"|EXT4-fs (?:error|\(\S{1,40}\): (?:.{0,60}error(?!s=)|bad geometry: |VFS: Can't find |couldn't mount ))"
    rb"|[Dd]elayed block allocation failed for inode "
    rb"|This should not happen!! {1,2}Data will be lost|Remounting filesystem read-only|forced readonly"
    rb"|[Aa]borting journal|Detected aborted journal|BTRFS (?:error|critical)"
    rb"|XFS \(\S{1,40}\): .{0,200}(?:[Cc]orruption|[Ss]hut(?:ting)? down|xfs_do_force_shutdown|error)"
    rb"|device-mapper: .{0,60}(?:out[ -]of[ -]data[ -]space|no free|failed|[Ff]ailing path|aborting)"
    rb"|nvme\S{0,20}: (?:I/O \d.{0,60}timeout|Removing after probe failure|controller is down|Device not ready)"
    rb"|waiting for \d+ commands to complete|attempting task abort|rejecting I/O to |exception Emask|COMRESET failed"
    rb"|NETDEV WATCHDOG: |transmit queue \d+ timed out|CIFS: VFS: .{0,200}has not responded|ceph: .{0,60}\bhung\b"
    rb"|nfs: server \S{1,253} not responding|\bsegfault at |Hardware Error\]|severity=(?:Uncorrect|Fatal)"
    rb"|EDAC (?:\S{1,40} )?MC\d+: (?:\d+ )?UE |EDAC DEVICE\d+: .{0,80}\bUE: |Memory failure: 0x"
    rb"|md/raid\S{0,40}: (?:Disk failure on |not enough operational )"
    rb"|nfs_create_rpc_client: cannot create RPC client|NFS4: Couldn't follow remote path"
    rb"|NFS: .{0,80}(?:[Rr]eclaim failed|failed on NFSv4 )|CIFS: VFS: .{0,200}(?:Send error in |failed)"
    rb"|ceph: mds\d+ (?:reconnect denied|rejected session)"
    rb"|rbd: \S{1,20}: (?:encountered watch error|.{0,60}\bresult -\d)|Machine Check Exception"
    rb"|critical temperature reached|overlayfs: (?:failed to (?!set xattr on upper)"
    rb"|filesystem on .{0,200} not supported as upperdir|upper fs missing required features)"
    rb"|Detected Hardware Unit Hang|AER: (?:Multiple )?Uncorrect\w{0,6} \(|MC assert!|xenbus: timeout connecting to "
    rb"|Keep alive watchdog timeout|device's health compromised"
    rb"|Uncorrected hardware memory error|due to hardware memory corruption|VFS: file-max limit \d+ reached"
    rb"|TCP: out of memory -- consider tuning tcp_mem|[Ss]ys[Rr]q ?: (?:SysRq : )?(?:Trigger a crash|Resetting"
    rb"|Emergency Remount R/O|Manual OOM execution|Terminate All Tasks|Kill All Tasks)"
)
_KERNEL_MILD = lazy_regex(
    rb"WARNING: CPU: \d|EXT4-fs warning|XFS \(\S{1,40}\): Filesystem has duplicate UUID|TCP: too many orphaned sockets"
    rb"|EDAC (?:\S{1,40} )?MC\d+: (?:\d+ )?CE |EDAC DEVICE\d+: .{0,80}\bCE: "
    rb"|libceph: osd\d+ down|ceph: mds\d+ caps stale|temperature above threshold|NIC Link is Down"
    rb"|device-mapper: thin: .{0,40}low water mark"
    rb"|apparmor=\"DENIED\" .{0,120}profile=\"(?:cri-containerd|crio-default|docker-default|containers-default"
    rb"|(?:/usr)?(?:/local)?/s?bin/(?:containerd|crio|conmon|runc|crun|kubelet|dockerd)\")"
    # systemd's child is called (kubelet), of longer names with the last eight characters, until it runs the program
    rb"|avc: {1,2}denied {1,2}\{.{0,300}comm=\"\(?"
    rb"(?:containerd|ntainerd\)|crio|conmon|runc|crun|kubelet|dockerd|k3s|rke2)"
)


def level(ident: str, text: bytes) -> Level | None:
    """Return the level of a line of the program `ident`, if known; None for a line that reports no failure."""
    text = text[:_LOOKED_AT]
    if gopanic.is_start(text) or _ABORTED.match(text):
        return Level.FATAL
    if _FAILED.search(text) or _CEPH_DAEMON.match(text):
        return Level.ERROR
    if ident in {KERNEL, "", AUDIT}:
        bad = _kernels(text)
        if bad or ident:
            return bad
    words = _SYSTEMD if ident.startswith("systemd") else _BUS if ident.startswith("dbus") else None
    if (words is not None and words.search(text)) or daemons.reports_failure(ident, text):
        return Level.ERROR
    found = _LOGFMT.match(text) or _CEPH.search(text) or _PREVENTED.match(text)
    found = found or _VLOG.match(text) or _PYTHON.match(text) or _VSPHERE.match(text)
    if found:
        return Level.ERROR if found.lastindex else Level.WARNING
    return _placed(text)


def _kernels(text: bytes) -> Level | None:
    if _KERNEL.search(text):
        return Level.ERROR
    return Level.WARNING if _KERNEL_MILD.search(text) else None


def _placed(text: bytes) -> Level | None:
    """Return the level at the beginning, or after a time, a thread and a logger."""
    indent = len(text) - len(text.lstrip(b" \t"))
    dated = _DATE.match(text)
    at = dated.end() if dated else indent if text[indent : indent + 1] == b"[" else 0
    if _BARE.match(text, at):
        return Level.ERROR
    pairs = _LOGFMT.match(text, at) if dated else None
    if pairs:
        return Level.ERROR if pairs.lastindex else Level.WARNING
    first = _FIRST.match(text, at)
    if first:
        return Level.ERROR if first[1] else Level.WARNING
    for _ in range(_TOKENS + 1):
        found = _LEVEL.match(text, at) or (_FIRST.match(text, at) if text.endswith(b"]: ", 0, at) else None)
        if found:
            return Level.ERROR if found.lastindex else Level.WARNING
        token = _TOKEN.match(text, at)
        if token is None:
            return None
        at = token.end()
    return None
