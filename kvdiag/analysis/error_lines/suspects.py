r"""Find the lines of a block that may be of level warning or worse, without parsing any line.

    W1120 20:39:21.779765    6175 …      time="2026-11-20T20:39:21.779Z" level=warning …      {"level":"error",…

Nearly all blocks contain klog or logrus only and are searched once, at 1 ns per byte. In others a scanner finds all
literals of other formats in one pass, and the lines with one are checked. A line found may turn out to have another
level, but no line of these levels is missed. Some lines of level info report a failure too: events of type Warning,
errors of gRPC calls in a sidecar's log, and a node that becomes NotReady.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies import daemons, plain
from kvdiag.formats.carriers.peel import peel
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.inputs.scan.protocol import Scanner

_MASK = bytes.maketrans(b"0123456789WF", b"0000000000EE")
_KLOG = b"E0000 00:00:00"  # header of level W, E or F in a masked block
_KLOG_INFO = b"I0000 00:00:00"
_LOGRUS_HEAD = b'time="20'
_WORDS = rb"(?i:warn|erro|fata|pani|dpan|crit|emer|severe)"
_LOGRUS = re.compile(rb'l="?' + _WORDS)  # level=, lvl=
_AT_START = lazy_regex(
    rb"\n(?:[WEF][ \d]|"
    + _WORDS
    + rb"\w{0,4}[ \t\[:]|[ \t]{0,20}(?:[Ff]ailed to |rpc error: |plugin type=)|SIG[A-Z]{3,4}: "
    rb"|unexpected fault address |runtime: (?:out of memory|goroutine stack)|runtime/cgo: )"
)
_ZAP = lazy_regex(rb"\.go:\d{1,6}[ \t]")  # on a terminal, its tabs turned into blanks
_CASES = tuple(
    case(word)
    for word in (b"warn", b"erro", b"fata", b"pani", b"dpan", b"crit", b"emer", b"severe")
    for case in (bytes.lower, bytes.upper, bytes.capitalize)
)
_BADGES = (b"err", b"warn", b"crit", b"emerg", b"alert", b"fatal", b"panic")
_CAPITALS = (b"ERR", b"FATA", b"PANI", b"CRIT", b"EMERG", b"SEVERE", b"WARN")
_ENDINGS = (b"rror: ", b"atal: ", b"ritical: ", b"arning: ")
# Literals of the scanner, and what a line with one must have, after the newline before it.
_MARKS: tuple[tuple[tuple[bytes, ...], re.Pattern[bytes] | None], ...] = (
    (
        (b'evel"', b"evel\\", b'everity"', b"everity\\", b'lvl"', b"lvl\\", b'levelname"', b"levelname\\"),
        lazy_regex(rb'(?:evel|everity|lvl|levelname)\\*"\s*:\s*\\*"' + _WORDS),
    ),
    ((b'"level":40', b'"level":50', b'"level":60'), lazy_regex(rb'"level":[456]0\b')),
    (_CAPITALS, lazy_regex(rb"[\[< \t\n:|\"](?:" + b"|".join(_CAPITALS) + rb")")),
    ((*(b"[" + badge for badge in _BADGES), b"[Err", b"[Warn", b"[WRN", b"[ALERT"), None),
    ((b"Z error ", b"Z panic ", b"Z warning "), None),  # of vSphere
    ((b"|WARN|", b"|ERR|", b"|EMER|"), None),  # of Open vSwitch
    ((b"] E [", b"] W [", b"] C ["), None),  # of GlusterFS
    ((b" -1 ",), lazy_regex(rb"\d\d:\d\d[\d:.]{3,10}\S{0,6} [0-9a-f]{10,16} {1,2}-1 ")),  # of Ceph's daemons
    ((*(b"<" + badge for badge in _BADGES), b"<nwarn"), None),
    # logrus on a terminal, in colours; the same within JSON
    (tuple(word + esc for word in (b"WARN", b"ERRO", b"FATA", b"PANI") for esc in (b"\x1b[", rb"\u001b[")), None),
    (tuple(b"\t" + word for word in _CASES), lazy_regex(rb"\t" + _WORDS + rb"\w{0,4}[ \t]")),
    ((b": SIG", b": W ", b": E ", b": F "), lazy_regex(rb": (?:SIG[A-Z]{3,4}: |[WEF] )")),
    ((b"panic: ", b"fatal error: ", b" W | ", b" E | ", b" C | ", b"rror from server"), None),
    ((b"container_linux.go:", b"rror execution phase ", b"' not found (required by "), None),
    ((b": Assertion `", b": Assertion '", b" panicked at "), None),
    ((b"Warning ", b"Warning\t"), lazy_regex(rb"Warning[ \t]+[A-Z]\w+[ \t]")),
    (
        _ENDINGS,
        lazy_regex(rb"(?:[\n\"]|[\]:ZF0-9] )[A-Za-z](?:" + b"|".join(_ENDINGS) + rb")"),
    ),
    ((b'"type":"Warning"', b'"type": "Warning"'), None),
    ((b"NodeNotReady",), lazy_regex(rb"NodeNotReady[\" \t]")),
)
_MESSAGE, _LEVEL = b'"msg', b'evel"'
_VERBOSITY = (b'"v":', rb'"v\":')
# Failures reported by lines of level info. The last is of sidecars, which print `<nil>` for a call that succeeded.
_REPORTS = (
    *(b'type="Warning"', b"type: 'Warning'", b"rror: rpc error: code = ", b"rror rpc error: code = "),
    *(b"failed to attach: rpc error: code = ", b"failed to detach: rpc error: code = "),  # of the external-attacher
    b": rpc error: code = Internal desc = ",  # of a driver: `/csi.v1.Node/NodeUnpublishVolume: REP 0491: rpc error: …`
    *(b"of kill - trying direct SIGKILL", b"must evict pod(s) to reclaim", b"pod is evicted successfully"),
    *(b' is forbidden: User "', rb" is forbidden: User \""),
    *(b"Node became not ready", b"NodeNotReady"),  # of kubelet and of the controllers
    # of etcd up to 3.3; newer ones warn
    *(b" embed: rejected connection from ", b" etcdmain: rejected connection from "),
)
_REPORTS_JSON = (b'"type":"Warning"', rb"type=\"Warning\"", rb"type: \'Warning\'")
_RESPONSE, _ERROR = b'"GRPC response"', b'err="rpc error: code = '
# Each report above has one of these words.
_REPORT_WORDS = (
    b"rpc error: code = ",
    b"Warning",
    b" is forbidden: User ",
    b"evict",
    b"of kill - ",
    b"became not ready",
    b"NodeNotReady",
    b": rejected connection",
)
SHORT_LOG = 32 << 10
"""Bytes of a text that is searched more closely: in a longer one, a log, a failure at level info mostly was retried."""
_WORTH_A_SCANNER = 4 << 20  # bytes: to search them for each report takes as long as making the scanner
# Programs whose lines have no level, as named by the journal, syslog and JSON; and words of their failures.
_KERNEL_MARKS = (b"kernel: ", b'"kernel"', b"\n[")
_SYSTEMD_MARKS = (b"systemd", b"dbus-daemon", b"FAILED")  # the last on the console
_KERNEL_WORDS = (
    *(b"table overflow", b"unregister_netdevice: w", b"general protection fault", b"LOCKUP", b"soft lockup", b" stall"),
    *(
        b"oom-k",
        b"allocation failure",
        b"allocate memory on",
        b"hostbyte",
        b"offline device",
        b"Device offlined",
    ),
    *(b"BTRFS ", b"borting journal", b"borted journal", b"readonly", b"read-only", b"device-mapper: ", b"nvme"),
    *(b"task abort", b"rejecting I/O to ", b"exception Emask", b"transmit queue ", b"has not responded", b"hung"),
    *(b"nfs: server ", b"segfault at ", b"Hardware Error", b"severity=", b"WARNING: CPU"),
)
_SYSTEMD_WORDS = (
    *(b"Failed ", b"failed state", b"repeated too quickly", b"Dependency failed", b"Watchdog timeout", b"imed out"),
    *(b"Freezing execution", b"process exited, code=", b"OOM killer", b"restart counter is at "),
)
_ANYWHERE = (
    *(b"EXT4-fs ", b"Add. Sense: "),
    *(b"table full, dropping packet", b"Kernel panic - not ", b"Oops", b"BUG", b"NVRM: ", b"I/O error", b"XFS ("),
    *(b"ut of memory: Kill", b" blocked ", b"rejected by pids controller", b"nable to handle kernel "),
    *(b"NETDEV WATCHDOG: ", b"commands to complete", b"COMRESET failed", b"EDAC ", b"Memory failure: 0x"),
    *(b"hardware memory ", b"block allocation failed for", b"This should not happen!!", b"file-max limit ", b"TCP: "),
    *(
        b"SysRq : ",
        b"sysrq: ",
        b" error, dev ",
        b"md/raid",
        b"NFS: ",
        b"nfs_create_rpc_client: ",
        b"NFS4: ",
        b"CIFS: VFS: ",
        b"ceph: ",
        b"rbd: ",
    ),
    *(b"Machine Check ", b"critical temperature", b"temperature above", b"overlayfs: ", b"Hardware Unit Hang"),
    *(b"AER: ", b"MC assert!", b"xenbus: ", b"Keep alive watchdog ", b"health compromised", b"NIC Link is Down"),
    b"low water mark",
    *(b"No retries permitted until ", b"[talos] ", b'apparmor="DENIED"', b"avc:  denied", b"} Failed", b"} BackOff: "),
    *(b"standard_init_linux.go:", b"SELinux is preventing ", b": line "),
    *daemons.LITERALS,
)


_PATTERNS = tuple(pattern for literals, pattern in _MARKS for _ in literals)
_LITERALS = (
    *(literal for literals, _ in _MARKS for literal in literals),
    *(_MESSAGE, *_ANYWHERE, *_KERNEL_WORDS, *_SYSTEMD_WORDS),
)
_NEWLINE = ord("\n")


class LevelMarks:
    """The scanners for the literals of other formats than klog and logrus, and for reports; made when first needed."""

    def __init__(self) -> None:
        self._scanner: Scanner | None = None
        self._report_scanner: Scanner | None = None
        self._searched = 0

    def suspects(self, data: bytes, lines: int) -> list[tuple[int, int]]:
        """Return begin and end of each line in a block that may be of level warning or worse, in order."""
        if not data.strip():
            return []  # blank lines are slow: a pattern that begins with a newline would try each
        masked = data.translate(_MASK)
        places = [*_all(masked, _KLOG)]
        klog = len(places) + masked.count(_KLOG_INFO)  # headers, bare or behind a carrier
        places += self._reported(data)
        if klog < lines:
            is_known = klog + data.count(_LOGRUS_HEAD) >= lines
            places = [*places, *_starts(_LOGRUS, data), *(() if is_known else self._marked(data))]
        elif len(data) <= SHORT_LOG:  # headers may be in the messages of other lines
            places = [*places, *_starts(_LOGRUS, data), *_at_starts(data)]
        found = (data.rfind(b"\n", 0, place) + 1 for place in places)
        return [(begin, _end(data, begin)) for begin in sorted(set(found))]

    def _reported(self, data: bytes) -> Iterator[int]:
        """Yield positions in lines of level info that report a failure."""
        self._searched += len(data)
        if self._searched < _WORTH_A_SCANNER:
            yield from _reports(data)
            return
        self._report_scanner = self._report_scanner or make_scanner(_REPORT_WORDS)
        at = 0
        for _, line, _ids in self._report_scanner.scan(data):
            if reports_failure(line):
                at = _begin(data, line, at)
                yield at
                at += len(line)

    def _marked(self, data: bytes) -> Iterator[int]:
        """Yield positions in lines of all other formats."""
        yield from _at_starts(data)
        yield from _starts(_ZAP, data)
        self._scanner = self._scanner or make_scanner(_LITERALS)
        words = {*_ANYWHERE}
        if any(name in data for name in _KERNEL_MARKS) or data.startswith(b"["):
            words.update(_KERNEL_WORDS)
        if any(name in data for name in _SYSTEMD_MARKS):
            words.update(_SYSTEMD_WORDS)
        at = 0
        for _, line, ids in self._scanner.scan(data):
            if any(_is_marked(line, number, words) for number in ids):
                at = _begin(data, line, at)
                yield at
                at += len(line)


def _is_marked(line: bytes, number: int, words: AbstractSet[bytes]) -> bool:
    """Return whether a line with this literal may report a failure; `words` are those of programs without levels."""
    if number < len(_PATTERNS):
        pattern = _PATTERNS[number]
        return pattern is None or pattern.search(b"\n" + line) is not None
    if number == len(_PATTERNS):  # klog in JSON: its errors have neither a level nor a verbosity
        return _LEVEL not in line and not any(mark in line for mark in _VERBOSITY)
    if _LITERALS[number] not in words:
        return False
    peeled = peel(line)
    return plain.level(peeled.ident, peeled.body) is not None


def _begin(data: bytes, line: bytes, at: int) -> int:
    """Return where the next line with this text begins: the scanner returns each line with the same text."""
    while True:
        begin = data.find(line, at)
        at = begin + len(line)
        if (begin == 0 or data[begin - 1] == _NEWLINE) and (at == len(data) or data[at] == _NEWLINE):
            return begin
        at = begin + 1


def reports_failure(line: bytes) -> bool:
    """Return whether a line of level info reports a failure."""
    return next(_reports(line), None) is not None


def _reports(data: bytes) -> Iterator[int]:
    for words in _REPORTS:
        yield from _all(data, words)
    if b"Warning" in data:
        for words in _REPORTS_JSON:
            yield from _all(data, words)
    if _RESPONSE in data:
        for at in _all(data, _ERROR):
            if _RESPONSE in data[data.rfind(b"\n", 0, at) + 1 : at]:
                yield at


def _all(data: bytes, words: bytes) -> Iterator[int]:
    """Yield every position of these bytes."""
    at = data.find(words)
    while at >= 0:
        yield at
        at = data.find(words, at + len(words))


def _at_starts(data: bytes) -> Iterator[int]:
    """Yield positions of lines that begin as a failure does. The first line of a block has no newline before it."""
    if _AT_START.search(b"\n" + data[: _end(data, 0)]):
        yield 0
    yield from _starts(_AT_START, data)


def _starts(pattern: re.Pattern[bytes], data: bytes) -> Iterator[int]:
    return (found.start() + (data[found.start()] == _NEWLINE) for found in pattern.finditer(data))


def _end(data: bytes, begin: int) -> int:
    end = data.find(b"\n", begin)
    return len(data) if end < 0 else end
