"""Objects that errors name: sockets, files, devices, hosts, names, images, programs, users.

Each kind has expressions whose first group is the object. All repetitions are bounded, and none is inside another, so
the time to search grows with the text only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex

BEFORE, AFTER = 260, 160  # characters around the words of a cause in which its object is searched first
LONGEST = 700  # characters of the longest expression: an object at the edge is not cut
BEHIND = 60  # characters that an object after the words counts as farther than one before them
_TARGET = "target"
NOT_OBJECTS = lazy_regex(
    r"https?://(?:www\.docker\.com|docs\.|github\.com|kubernetes\.io|aka\.ms)[./]|/[\w.]{1,80}\.v\d\w{0,8}\.\w{1,40}/\w|/\S{0,200}/s?bin/u?mount$|/\S{0,100}\.\(\*|/dev/(?:null|stdin|stdout|stderr)$"
    r"|/proc/(?:thread-)?self/fd/"
)
"""A page that explains, a gRPC method, mount itself, a Go symbol, a file descriptor: no object of an error."""


def _compiled(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(lazy_regex(pattern) for pattern in patterns)


_HOST = r"\[[0-9a-fA-F:.%\w]{2,60}\]:\d{1,5}|[\w.-]{1,200}:\d{1,5}"
_VERBS = (
    "open|stat|lstat|statfs|create|mkdir|rmdir|unlinkat|read|write|remove|chmod|chown|lchown|readlink|openat|openat2|creat|"
    "rename|symlink|file|path|access|reading|directory|folder|writing file|unmount|listing|watch|inotify_add_watch"
)
# What a runtime itself calls, which no image needs to have.
_OF_NODE = (
    r"(?:(?:docker-)?containerd(?:-shim[\w-]{0,40})?|(?:docker-)?runc|crun|runsc|youki|kata-runtime|conmon"
    r"|apparmor_parser|newuidmap|newgidmap|fuse-overlayfs)[\"`]"
)
_COMMA = r",(?:cpuacct|cpu|net_prio|net_cls)\b"  # in the folder of two controllers of cgroup v1
_PCI = r"(?<=/[0-9a-f]{4}):(?=[0-9a-f]{2}:)|(?<=/[0-9a-f]{4}:[0-9a-f]{2}):(?=[0-9a-f]{2}\.)"  # /devices/0000:3b:02.1
_PART = rf"{_COMMA}|{_PCI}"


def _configs(*pairs: tuple[str, str]) -> str:
    """Return a pattern of what a plug-in prints: the version of the configuration, and all versions that it supports.

    Of each pair the first is a version of the configuration, the second are those that the plug-in may support.
    """
    texts = (rf'config is "(?:{one})", plugin supports \[(?:"(?:{other})" ?){{1,16}}\]' for one, other in pairs)
    return f"({'|'.join(texts)})"


KINDS: Mapping[str, tuple[re.Pattern[str], ...]] = {
    "socket": _compiled(
        r"(?:dial unix|listen unix|unix://) ?@?(/[^\s\"':,\]]{2,200})",
        r"(?:unix:)?(/[\w./@+~=%-]{2,200}\.sock(?:\.ttrpc)?)\b",
    ),
    "pipe": _compiled(r"(?<![\w\\])(?:\\{2,4}\.\\{1,2}|//\./)pipe[\\/]{1,2}([\w.-]{2,100})"),
    "path": _compiled(
        rf"\b(?:{_VERBS}) [`\"'\[‘]?((?:/|[A-Za-z]:\\)(?:[^\s\"'`’:,\])]|{_PART}){{2,300}})",
        # not the keys of mount.ceph
        rf"(?<![\w:./-])(?<!keyfile=)(?<!secretfile=)(/[\w.@+~=%-]{{1,100}}/(?:[^\s\"'`’:,)\]>]|{_PART}){{1,300}})",
    ),
    "setting": _compiled(r"(/proc/sys/[\w./-]{2,300})"),
    "avc": _compiled(
        r"avc: {1,2}denied {1,2}\{ ([a-z_ ]{1,120}) \} for {1,2}(?:pid=\d{1,10} )?"
        r"comm=\"?([^\"\s]{1,40}[^\"\n]{0,20}?)\"?"
        r"(?: (?:name|path|capability|dest|src|key)=\"?([^\"\s]{1,200})\"?)?(?: dev=\"([\w.-]{1,60})\")?"
        r"(?: (?!scontext=)[^\n]{1,300}?)? {1,2}scontext=[\w-]{1,60}:[\w-]{1,60}:([\w-]{1,80})\S{0,200}"
        r" tcontext=[\w-]{1,60}:[\w-]{1,60}:([\w-]{1,80})\S{0,200} tclass=(\w{1,40})"
    ),
    "denial": _compiled(
        r"SELinux is preventing (\S{1,200}) from '?(?!using the )([\w ,-]{1,100}?)'? access(?:es)? on the"
        r" ([\w ]{1,40}?) (\S{1,200}?)\.(?: |$)"
    ),
    "apparmor": _compiled(
        r"apparmor=\"DENIED\" operation=\"(\w{1,40})\""
        r"(?: (?:class|info|namespace)=\"[^\"\n]{0,100}\"| error=-?\d{1,5}){0,4}"
        r" profile=\"([^\"\n]{1,200})\"(?: name=\"?([^\"\s]{1,200})\"?)?(?: pid=\d{1,10})?"
        r"(?: comm=\"?([^\"\n]{1,40}?)\"?(?= |$))?"
        r"(?: [^\n]{0,200}?\b(?:target|peer)=\"?([^\"\s]{1,200}))?"
    ),
    "bindsource": _compiled(
        r"mounting \"(/[^\s\"]{1,300})\" to rootfs", r"mount (?:src=)?(/[^\s\"':,]{1,300})(?::/|, dst=)"
    ),
    "folder": _compiled(r"special device (?!/dev/)(\S{3,300}) does not exist"),
    "device": _compiled(
        r"special device (\S{3,160}) does",
        r"(/dev/[\w./:@+-]{2,160})",
        r"\(device (\w[\w/-]{1,40})\)",
        r"\bdev (\w[\w-]{1,40})\b",
        r"\[(sd[a-z]{1,3}|nvme\w{1,12}|vd[a-z]{1,2}|dm-\d{1,4})\]",
        r"\b(nvme\d{1,3}n\d{1,3}|dm-\d{1,4})\b",
        r"XFS \((\w[\w/-]{1,40})\)",
    ),
    "iscsiname": _compiled(  # udev's name of an iSCSI device, with a host name in the place of the address
        r"(/dev/disk/by-path/ip-(?!\d{1,3}(?:\.\d{1,3}){3}:|\[|[0-9a-fA-F]{0,4}:[0-9a-fA-F:]{0,40}:)[\w.-]{1,200}:\d{1,5}-iscsi-[^\s\"',]{3,240})"
    ),
    "iqnpath": _compiled(r"\b(?i:iqn|initiatorname)[=:] ?(/[^\s\"',]{2,200})"),
    "quotedhost": _compiled(r"((?<!\w)\"[\w.-]{1,100}\"(?:\.[\w-]{1,60}){2,10})"),
    "disk": _compiled(r"(lun \d{1,4})\b", r"disk ([\w.-]{3,80})", r"found: ?([\w-]{3,80})"),
    "entry": _compiled(
        r"(?:container process(?: caused)?|exec failed|caused)[: \"]{1,6}exec: [\"`]([^\"`\n]{1,160})[\"`]",
        r"(?:executable file|exec) [`\"](?![0-9a-f]{64}[`\"])([^`\"\n]{1,160})[`\"]",
        rf"(?<!no such file or directory\): )exec: [\"`](?!{_OF_NODE})([^\"`\n]{{1,160}})[\"`]",
        r"(?<!fork/)exec (/[^\s\"`:]{2,160}):",
    ),
    "program": _compiled(
        r"exec: [\"`]([^\"`\n]{1,160})[\"`]",
        r"fork/exec (\S{1,160}):",
        r"nsenter: failed to execute ([\w./-]{1,80}):",
        r"failed to run ([\w./-]{1,80})(?: [^:\n]{1,80})?: signal: ",
        r"executable file not found in \$PATH\. ([\w.-]{2,40}) output:",
        r"(?:line \d{1,5}|\b(?:ba)?sh): ([\w./-]{1,80}): command not found",
        r"(?:can't execute|env:) [\"'`]([\w./-]{1,80})[\"'`]: [Nn]o such file",
        r"exec [\"`]?(/[^\s\"`:]{2,160})",
    ),
    "loader": _compiled(
        r"([\w./+-]{1,160}): error while loading shared libraries: (?:([\w./+-]{1,160}): )?",
        r"needed by ([\w./+-]{1,160})\)",
    ),
    "plugin": _compiled(r"failed to find plugin \"([\w.-]{1,60})\""),
    "cniolder": _compiled(  # versions 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0 and 1.1.0 exist
        _configs(
            (r"0\.1\.0", r"0\.[2-4]\.\d|1\.[01]\.\d"),
            (r"0\.2\.0", r"0\.[34]\.\d|1\.[01]\.\d"),
            (r"0\.3\.0", r"0\.3\.1|0\.4\.\d|1\.[01]\.\d"),
            (r"0\.3\.1", r"0\.4\.\d|1\.[01]\.\d"),
            (r"0\.4\.0", r"1\.[01]\.\d"),
            (r"1\.0\.\d", r"1\.1\.\d"),
        )
    ),
    "cninewer": _compiled(
        _configs(
            (r"1\.1\.\d", r"0\.[1-4]\.\d|1\.0\.\d"),
            (r"1\.0\.\d", r"0\.[1-4]\.\d"),
            (r"0\.4\.0", r"0\.[1-3]\.\d"),
            (r"0\.3\.1", r"0\.[12]\.0|0\.3\.0"),
            (r"0\.3\.0", r"0\.[12]\.0"),
        )
    ),
    "cniresult": _compiled(r"unsupported CNI result version \"([\w.-]{1,20})\""),
    "udp": _compiled(
        rf"(?:(?:read|write) udp[46]? \S{{3,80}}->|dial udp[46]? )({_HOST})"
        r"(?=: (?:\w{4,9}: )?(?:connection refused|i/o timeout))"
    ),
    "host": _compiled(
        rf"->({_HOST})\b",
        rf"dial (?:tcp|udp)[46]? ({_HOST})",
        r"read (?:tcp|udp)[46]? (\d{1,3}(?:\.\d{1,3}){3}:\d{1,5})\b",
        r"\b(\d{1,3}(?:\.\d{1,3}){3}:\d{1,5})\b",
        r"portal: (\d{1,3}(?:\.\d{1,3}){3},?\d{0,5})",
        r"connection to (\d{1,3}(?:\.\d{1,3}){3})\b",
    ),
    "listen": _compiled(r"listen (?:tcp|udp)[46]? ((?:\[[\w:.%]{2,60}\]|[\w.-]{0,200}):\d{1,5})"),
    "lookup": _compiled(
        r"lookup ([\w.-]{1,200})(?: on (\[?[\w.:]{2,60}\]?))?",
        r"resolve host:? ['\"]?([\w.-]{2,200})",
        r"resolve (?:address for|server) ([\w.-]{2,200})",
        r"[Ff]ailed to resolve \"([\w.-]{2,200})\" - check",
    ),
    "url": _compiled(  # brackets are around an IPv6 address, or end a list
        r"(https?://(?:\[[\w:.%]{2,60}\][^\s\"'<>\\,?\]]{0,240}|[^\s\"'<>\\,?\]]{3,300}))"
    ),
    "image": _compiled(
        r"(?:image|reference|unpack image|pull image) [\"'`]([^\"'`\s]{2,250})[\"'`]",
        r"[\"']((?:[\w.-]{1,100}(?::\d{1,5})?/)?[\w./-]{1,200}:[\w.-]{1,128})[\"']",
        r"manifest for (\S{3,250}) (?:not found|in)",
        r"docker://([\w./:@-]{3,250}?)(?=: |[\"'\s]|$)",
    ),
    "apikind": _compiled(
        r"find the requested resource \(\w{2,20} ([a-z0-9-]{2,80}(?:\.[a-z0-9-]{1,80}){1,6})\)",
        r"no matches for kind \"(\w{2,80})\" in version \"([\w./-]{2,120})\"",
    ),
    "rbacrole": _compiled(r"(?:cluster)?role\.rbac\.authorization\.k8s\.io (\"[^\"\n]{1,253}\") not found"),
    "granter": _compiled(r"user \"([^\"\n]{1,200})\" \(groups=\[[^\]\n]{0,600}\]\) is attempting to grant"),
    "user": _compiled(
        r"[Uu]ser \"([^\"\n]{1,160})\" cannot (\w{2,20}) resource \"([^\"\n]{1,80})\""
        r"(?: in API group \"([^\"\n]{0,80})\")?(?: in the namespace \"([^\"\n]{1,63})\"|( at the cluster scope))?",
        r"[Uu]ser \"([^\"\n]{1,160})\" cannot (\w{2,20}) ([a-z][a-z0-9./-]{1,80})"
        r"()(?: in the namespace \"([^\"\n]{1,63})\"|( at the cluster scope))",
    ),
    "cgroup": _compiled(
        r"(/sys/fs/cgroup/[^\s\"'`:\]]{2,300})",
        r"file [`\"]((?:cgroup|pids|memory|cpu|cpuset|io|hugetlb)\.[\w.]{2,60})[`\"]",
        r"controller in (/\S{3,300})",
        r"limit of (/\S{3,300})",
        r"Task in (/\S{3,300}) killed",
        r"oom_memcg=(/[^\s,]{2,300})",
    ),
    "cgroupname": _compiled(
        r"Cgroup Limits on \"([^\"\n]{2,120})\"",
        r"\[\"([\w.-]{2,80})\"\]",
        r"\[(kubepods)\]",
        r"cgroup (\[\S{3,80}\]) has",
    ),
    "sysctl": _compiled(r"kernel flag: ([\w/.]{3,60}), expected value: (-?\d{1,9}), actual value: (-?\d{1,9})"),
    "process": _compiled(
        r"[Kk]ill(?:ed)? process (\d{1,8}) \(([^)\n]{1,40})\)",
        r"[Kk]illed process (\d{1,8}),(?: UID \d{1,10},)? ?\(([^)\n]{1,40})\)",
        r"[Kk]illed process (\d{1,8}),? ?\(?(?!UID )([\w-]{1,40})",
    ),
    "task": _compiled(r"task ([\w./:-]{1,60}):\d{1,8} blocked"),
    "flag": _compiled(
        r"(?:unknown flag|unrecognized option|not defined|unknown option|invalid option)[: ]{1,3}"
        r"['\"]?(-{0,2}[\w-]{1,60})",
        r"unknown shorthand flag: '(\w)'",
    ),
    "field": _compiled(
        r"([\w.\[\]]{1,80}): (?:Read\w{2,12}|read\w{2,12}|decode slice): ",
        r"Go struct field (\S{1,120}) of type",
    ),
    "fstype": _compiled(
        r"filesystem type '([\w.]{2,20})'",
        r"-t {1,4}([\w.]{2,20}) ",
        r"fstype: ([\w.]{2,20}),",
        r"\btype:\(\"?([\w.]{2,20})\"?\)",
        r" \[(\w{2,20})\] to /",
        r"mount (mqueue|cgroup2?|proc|sysfs|tmpfs|devpts|shm|bpf):/",
        r"(overlay)(?:: no such device| mount to )",
        r"/sbin/mount\.(\w{2,20})\b",
        r"mount\.(nfs|cifs|ceph|glusterfs)\b",
    ),
    "module": _compiled(
        r"[Mm]odule ['\"]?([\w-]{2,60})['\"]? not found",
        r"kernel module ['\"]?([\w-]{2,60})",
        r"insert (?:module )?'([\w-]{2,60})'",
        r"insert module (?:\S{0,200}/)?([\w-]{2,60})\.ko",
        r"can't load module ([\w-]{2,60})",
    ),
    "socksproxy": _compiled(r"socks connect tcp (\S{1,120}?)->"),
    "rbdfeatures": _compiled(r"\"(rbd feature disable \S{1,120} [a-z][a-z ,-]{3,160})\""),
    "iptmatch": _compiled(r"(?:load|find) match [`']([\w-]{1,40})'"),
    "ipttarget": _compiled(r"(?:load|find) target [`']([\w-]{1,40})'"),
    "ipttable": _compiled(r"initialize ip6?tables table [`']([a-z]{3,20})'"),
    "ipvsmodules": _compiled(r"kernel modules are not loaded: (\[[^\]\n]{2,200}\])"),
    "podsecurity": _compiled(r"violates? PodSecurity (\"[\w.-]{3,40}:[\w.-]{1,20}\": [^\n]{3,1200})"),
    "driver": _compiled(
        r"driver name ([\w.-]{3,80}) not found",
        r"plugin (?:name )?([\w.-]{3,80}) not found in the list of registered DRA",
        r"DRA driver ([\w.-]{3,80}) is not registered",
    ),
    "webhook": _compiled(r"webhook \"([^\"\n]{3,120})\""),
    "apiobject": _compiled(
        r"((?:configmap|secret|persistentvolumeclaim)s? \"[^\"\n]{1,253}\") not found",
        r"storageclass\.storage\.k8s\.io (\"[^\"\n]{1,253}\") not found",
    ),
    "parameter": _compiled(
        r"(?:parameter key|invalid option) (\"[^\"\n]{1,253}\")", r"invalid parameter (\S{1,100}) in storage class"
    ),
    "cephuser": _compiled(r" -n client\.([\w.-]{1,120})", r" --id[ =]([\w.-]{1,120})"),
    "objectkey": _compiled(r"references non-existent (?:secret|config) key: ([\w.-]{1,253})"),
    "interface": _compiled(
        r"look ?up (?:master )?\"([\w.@-]{1,15})\": Link not found",
        r"\"([\w.-]{2,15})\" already has an IP address",
        r"bridge ([\w.-]{2,15})\b",
    ),
    "source": _compiled(
        r"while mounting (\S{3,200})",
        r"mounting (\S{3,200}) failed",
        r" (//[^\s/]{2,80}/\S{1,120}) /",
        r" ([\w.,:-]{3,200}:/\S{0,200}) /",
        r"(\S{3,80}:/\S{0,200}) on /",
        r"mount \"(//[^\s\"]{3,200})\" on",
        r"mount (\\\\\S{3,200}) on",
    ),
    "bind": _compiled(r"superblock on (/proc/\d{1,8}/fd/\d{1,8})"),
    "mounted": _compiled(r"Output: mount: (/\S{3,300}): permission denied"),
    _TARGET: _compiled(
        r"[Uu]nmounting arguments: (\S{3,300})",
        r"Mounting arguments:[^\n]{0,600} (/\S{3,300})(?:\s|$)",
        r"umount: (/\S{3,300}): ",
        r"mount: (/\S{3,300}): ",
    ),
    "jsonfile": _compiled(r"(?:file|data file) [\[`\"]?(/[^\s\"'`,\]]{3,300}\.json)"),
    "frame": _compiled(r"^\s{0,8}((?:[\w.-]{1,80}/){0,8}[\w.-]{1,80}\.(?:\(\*?\w{1,60}\)\.)?\w{1,80})\("),
}
WHOLE_FIRST = frozenset(
    (
        "avc",
        "denial",
        "apparmor",
        "entry",
        "mounted",
        "source",
        "fstype",
        "sysctl",
        "bind",
        "user",
        "process",
        "apikind",
    )
)
"""Kinds that have words of their own: they are searched in the whole record before others near the cause."""
PATHS = frozenset(
    ("path", "socket", "device", "iscsiname", "cgroup", "bind", "bindsource", "mounted", _TARGET, "jsonfile")
)
HOSTS = frozenset(("host", "udp", "listen", "url"))


class FoundObject(NamedTuple):
    """An object with its kind and further groups of its expression: the server of a lookup, the verb of a user."""

    kind: str
    name: str
    more: tuple[str, ...] = ()


NOTHING = FoundObject("", "")


def find_object(kinds: Sequence[str], text: str, begin: int, end: int) -> FoundObject:
    """Return the object of one of the kinds that is nearest to the words at `begin` to `end`.

    Kinds are tried in their order, first near the words, then in the whole record.
    """
    near = max(0, begin - BEFORE), min(len(text), end + AFTER)
    whole = 0, len(text)
    first = [kind for kind in kinds if kind in WHOLE_FIRST]
    for (low, high), tried in ((whole, first), (near, kinds), (whole, kinds)):
        for kind in tried:
            found = min(_matches(kind, text, low, high, begin, end), default=None)
            if found is not None:
                return _object(kind, kinds, found[-1])
    return NOTHING


def _matches(
    kind: str, text: str, low: int, high: int, begin: int, end: int
) -> Iterator[tuple[int, int, int, tuple[str, ...]]]:
    """Yield the objects of a kind with their distance: of its first expression that matches anything."""
    for number, pattern in enumerate(KINDS[kind]):
        inside = (one for one in pattern.finditer(text, low, high + LONGEST) if one.start() <= high)
        found = [one for one in inside if not NOT_OBJECTS.match(one[1])]
        for one in found:
            distance = begin - one.start() if one.start() <= end else one.start() - end + BEHIND
            yield abs(distance), number, one.start(), tuple(group or "" for group in one.groups())
        if found:
            return


def _object(kind: str, kinds: Sequence[str], groups: tuple[str, ...]) -> FoundObject:
    name, *more = groups
    name = name.rstrip(".,;:)'\"" if name.count('"') % 2 else ".,;:)'")
    if kind == "path" and "device" in kinds and name.startswith("/dev/"):
        kind = "device"
    if kind == "path" and "cgroup" in kinds and name.startswith("/sys/fs/cgroup/"):
        kind = "cgroup"
    if kind == "path" and "setting" in kinds and name.startswith("/proc/sys/"):
        kind = "setting"
    if kind == "path" and "socket" in kinds and name.endswith(".sock"):
        kind = "socket"
    return FoundObject(kind, name, tuple(more))
