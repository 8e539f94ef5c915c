"""Names of people and of their programs in a log."""

from __future__ import annotations

import re
from collections.abc import Iterator

NAME = r"[0-9A-Za-z](?:[-.0-9A-Za-z]{0,251}[0-9A-Za-z])?"
QUOTED = r"\\{0,6}[\"']"  # a quote, escaped to any depth
IS = rf"(?:{QUOTED})?(?:=|:\s?)(?:{QUOTED})?"  # between a key and its value, in key=value, JSON, YAML and Go

_DN = r"[^\s,/+\"'\\\])}<>=:;](?:[^,/+\"'\\\])}<>=:;\n]{0,62}[^\s,/+\"'\\\])}<>=:;])"
_RESOURCE = r"[\w.()-]{2,90}"
# Words after "in namespace" that are no namespace.
_NAMESPACE = r"(?!(?:of|for|with|is|was|and|or|to|that|which|scope|mode|path|file|isolation|k8s|moby)\b)[0-9a-z](?:[-0-9a-z]{0,61}[0-9a-z])"
# Kinds of the groups of the pattern; words, of which every match contains one in lower case; the pattern.
OWNERS: tuple[tuple[tuple[str, ...], tuple[str, ...], str], ...] = (
    (("user",), ("cn", "uid"), rf"(?<![\w.-])(?:CN|UID)\s?=\s?(?!system:)({_DN})(?=[,/+:\"'\\\])}}\s]|$)"),
    (("org",), ("=",), rf"(?<![\w.-])(?:O|OU)\s?=\s?(?!system:)({_DN})(?=[,/+:;\"'\\\])}}\s]|$)"),
    (("user",), ("user", "login", "owner"), rf"\b(?:[uU]ser|user_?[nN]ame|login|owner){IS}(?!system:)({NAME})(?![:\w])"),
    (("user",), ("user ",), rf"\b[uU]ser {QUOTED}(?!system:)({NAME}){QUOTED}"),
    (("user",), ("session ", "accepted ", "failed ", "user ", "login as "), rf"\b(?:session (?:opened|closed) for user|(?:[Aa]ccepted|[Ff]ailed) \w{{3,24}} for(?: invalid user)?|[Nn]ew session \S{{1,12}} of user|by user|[lL]ogin as) ({NAME})"),
    (("user", "user"), (), rf"(?m)^[-bcdlps][-rwxsStT]{{9}}[.+@]? +\d{{1,6}} ({NAME}) +({NAME}) +\d"),
    (("obj",), ("arn:aws",), r"\barn:aws[\w-]*:[\w-]*:[\w-]*:\d{12}:(?:[\w-]{2,40})[/:](?:[\w+=,.@-]{2,64}/){0,3}([A-Za-z][\w-]{1,63})"),
    (("account",), ("arn:aws",), r"\barn:aws[\w-]*:[\w-]*:[\w-]*:(\d{12}):"),
    (("account",), (".dkr.ecr.",), r"(?<!\d)(\d{12})\.dkr\.ecr\."),
    (("account",), ("account", "owner"), r"\b(?:[aA]ccount_?(?:ID|Id|id)?|owner_?(?:ID|Id|id))\\{0,6}[\"']?[:=]\s?\\{0,6}[\"']?(\d{12})\b"),
    (("account",), ("projects/",), r"\bprojects/([a-z][a-z0-9-]{4,28}[a-z0-9]|\d{8,14})(?=[/\"'\\\s,]|$)"),
    (("account",), ("project",), rf"\b(?:gcp_?)?project(?:_?(?:ID|Id|id|Name|name|Number|number))?{IS}([a-z][a-z0-9-]{{4,28}}[a-z0-9])(?![\w/])"),
    (("account",), ("gserviceaccount.com", ".internal"), r"\.?\b([a-z][a-z0-9-]{4,28}[a-z0-9])\.(?:iam\.gserviceaccount\.com|c\.\w[\w-]+\.internal)"),
    (("account",), ("/resourcegroups/",), rf"(?i:/resourceGroups/)({_RESOURCE})"),
    (("obj",), ("/providers/",), rf"/providers/[\w.]+/[\w]+/({_RESOURCE})"),
    (("obj",), (), rf"/(?:disks|instances|snapshots|nodePools|instanceGroups|networks|subnetworks|images|clusters)/({_RESOURCE})"),
    (("account",), (".core.",), r"\b([a-z0-9]{3,24})\.(?:blob|file|dfs|queue|table)\.core\.(?:windows\.net|usgovcloudapi\.net|chinacloudapi\.cn)"),
    (("account",), ("s3://", "gs://", ".s3.", ".s3-"), r"\b(?:s3|gs)://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])|//([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])\.s3[.-]"),
    (("serial",), ("serial",), r"(?i:\bserial(?:[ _-]?(?:number|no))?)\\{0,6}[\"']?\s?[:=#]\s?\\{0,6}[\"']?((?=[\w-]*\d)[0-9A-Za-z][\w-]{5,40})"),
    (("serial",), ("/by-id/",), r"/by-id/(?:ata|scsi|nvme|usb|google|virtio)-(?:[A-Za-z][\w.]*_)?((?=[\w-]*\d)[0-9A-Za-z-]{6,64})(?![\w-])"),
    (("host",), ("server",), rf"\b(?:nfs|cifs|smb|file|ceph|gluster)?_?[sS]erver{IS}({NAME})(?=[\"'\\,:\s/;}}\]]|$)"),
    (("host",), ("nfs", "glusterfs", "ceph", "beegfs", "lustre"), rf"\b(?:nfs[34]?|glusterfs|fuse\.glusterfs|ceph|beegfs|lustre)\b[^\n]{{0,300}}?[\s\"']({NAME}):/"),
    (("host",), ("source",), rf"\b[sS]ource{IS}({NAME}):/"),
    (("host",), ("nfs: server ", "address for ", "timed out for ", "refused for ", "not supported for "), rf"\bnfs: server ({NAME}) (?:not responding|OK)|\b(?:resolve address for|Connection (?:timed out|refused) for|Protocol not supported for) ({NAME})(?=[:\s]|$)"),
    (("host",), ('server "', "server '", "server \\"), rf"\b[sS]erver {QUOTED}({NAME}){QUOTED}"),
    # a NetBIOS name, or another name in capitals with digits
    (("host",), ("-",), r"(?<![\w.-])((?!(?:UTF|SHA|AES|TLS|SSL|ISO|CVE|HTTP|IEEE|RFC|DHHC|CHAP|UUID|EXT|XFS|BTRFS|IPV|LUN|SCSI|NVME|PCI|ACPI|AMD|X86)-)(?=[A-Z-]*\d)[A-Z][A-Z0-9]{2,14}(?:-[A-Z0-9]{1,12}){1,3})(?![\w-])"),
    (("ns",), ("namespace ",), rf"\b[nN]amespaces? (?=[a-z]*[-0-9])({_NAMESPACE})(?![\w./-])|\b(?:in|from|of|for) (?:the )?namespace ({_NAMESPACE})(?![\w./-])"),
    (("serial",), ("serial ",), r"\b[sS]erial(?: [nN]umber| no\.?)? ((?=[A-Z0-9-]*\d)(?=[\d-]*[A-Z])[0-9A-Z][0-9A-Z-]{5,40})(?![\w-])"),
    (("obj",), (".vmdk", "] "), r"\[([\w.-]{2,80})\] [\w./-]{1,256}\.vmdk"),
    (("obj",), ("datastore", "datacenter", "resourcepool", "resource pool", "vserver", "svm", "aggregate", "storagepolicy"), rf"(?i:\b(?:datastore|datacenter|resource ?pool|vserver|svm|aggregate|storagepolicy)(?:_?name)?)(?:{IS}|\s{{1,2}}(?:{QUOTED})?)(?-i:(?=[\w.-]*[A-Z0-9_-])([A-Za-z][\w.-]{{1,79}}))"),
    (("obj",), ("/vm/", "/host/", "/datastore/", "/network/"), r"(?<![\w.])/([A-Za-z][\w.-]{1,79})/(?:vm|host|datastore|network)/[\w.-]"),
    (("org",), ("domain=", "workgroup=", "realm "), rf"[,\s](?:domain|workgroup)=({NAME})|\brealm {QUOTED}({NAME}){QUOTED}"),
    (("org", "user"), ("\\",), r"(?i:\b(?:user(?:name)?|account|login|as|for)[=:]? ?[\"']?)([A-Z][A-Z0-9-]{1,14})\\{1,8}([a-z][\w.-]{1,63})"),
    (("org",), (",l=", "/l=", ", l=", "st="), rf"(?:(?<=[,/])|(?<=, ))(?:L|ST)\s?=\s?({_DN})(?=[,/+;\"'\\\])}}\s]|$)"),
    (("org",), ("ou=", "dc="), rf"(?<=[,\s\"'])(?:ou|dc)=({_DN})(?=[,/+;\"'\\\])}}\s]|$)"),
    (("user",), ("uid=",), rf"(?<![\w.-])uid=({NAME})(?=,(?:ou|cn|dc)=)"),
    (("user",), ("cron[", "(uid="), rf"(?i:\bcron\[\d{{1,8}}\]: )\(({NAME})\) |\bby ({NAME})\(uid="),
    (("org",), ("groups",), rf"\bgroups{IS}\[\s?{QUOTED}(?!system:)({NAME}){QUOTED}"),
    (("host",), ("server",), rf"\bkey{IS}server{QUOTED}\s{{1,2}}value{IS}({NAME})(?={QUOTED})"),
    (("obj",), ("share", "bucket", "subdir", "sub_dir"), rf"\b(?:share_?[nN]ame|[bB]ucket(?:_?[nN]ame)?|sub_?[dD]ir)(?:{IS}|{QUOTED}\s{{1,2}}value{IS}| {QUOTED})([A-Za-z][\w.-]{{1,79}})(?=[\"'\\,\s}}\]]|$)"),
    (("obj", "obj"), ("rbd image ",), r"\brbd image ([A-Za-z][\w.-]{1,79})/([\w.-]{2,80})"),
    (("obj",), ("cluster", "context="), rf"\b(?:(?:--)?cluster[-_]?[nN]ame{IS}|(?:kube)?context=|[cC]luster {QUOTED})(?!(?:minikube|kind|k3s|k3d|docker-desktop|microk8s)\b)([A-Za-z][\w.-]{{2,79}})(?=[\"'\\,\s]|$)"),
    (("obj",), ("storageclass", "storage_class"), rf"\b[sS]torage_?[cC]lass(?:_?[nN]ame)?(?:{IS}| {QUOTED})({NAME})"),
    (("ns", "obj"), ("claim ", "configmap ", "secret "), rf"\b(?:claim|persistentvolumeclaim|configmap|secret) (?:{QUOTED})?([a-z0-9][-a-z0-9]{{1,62}})/([a-z0-9][-.a-z0-9]{{1,252}})(?=[\"'\\,:;\s]|$)"),
    (("ns",), (".svc",), r"(?<![\w-])([a-z][-a-z0-9]{1,62})\.svc\b"),
    (("serial",), ("id_serial",), r"\bID_SERIAL(?:_SHORT)?=(?:[A-Za-z][\w.]*_)?((?=[\w-]*\d)[0-9A-Za-z-]{6,64})"),
    (("obj", "obj"), (".vmdk",), r"\[[\w.-]{2,80}\] (?:kubevols/|fcd/|([\w.-]{2,80})/)([\w.-]{2,200})\.vmdk"),
    (("host", "obj"), ("//",), rf"(?<![:\w/\\])//({NAME})/([^\s/\"'\\,;]{{2,80}})"),
)  # fmt: skip
# Paths that a file server exports, in an address or after their name.
EXPORTS = re.compile(
    rf"(?:(?<=[\w\]]):|\b(?:share|path|nfs_?[pP]ath|export(?:_?[pP]ath)?|base_?[dD]ir|sub_?[dD]ir){IS}|\b(?:share|path|key){QUOTED} ?,? ?value{IS}|(?<![\w.~/-])(?=/exports?/))(/[\w.$/-]{{2,200}})"
)
# A share of Windows, its backslashes escaped to any depth.
SHARES = re.compile(rf"(?<![\w\\:])\\{{2,16}}(?=[^\\]*[A-Z0-9.-])({NAME})\\{{1,8}}([^\s\\/\"',;]{{2,80}})")
LABELS = re.compile(
    rf"\b(?:[lL]abels?|[sS]electors?)(?:{QUOTED})?(?:\s?[:=]\s?|\s)(?:map\[(?:string\]string\{{)?|\{{|<|\[)?(?P<pairs>[^\]{{}}\n]{{1,4096}})"
)
LABEL = re.compile(
    rf"(?<![\w./-])(?:key{IS})?(?P<name>[a-zA-Z][\w.-]{{0,62}}(?:/[\w.-]{{1,63}})?)(?:{QUOTED}\s{{1,2}}value)?(?:{QUOTED})?\s?[:=]\s?(?:{QUOTED})?(?P<value>[0-9A-Za-z](?:[-\w.]{{0,61}}[0-9A-Za-z])?)(?=[\s,;\]}}\"'\\>]|$)"
)
OF_KUBERNETES = re.compile(r"(?:^|\.)(?:kubernetes|k8s)\.io/(?!name$|instance$|part-of$|created-by$)")
# An image without a word before it: with the host of a registry, or a tag.
IMAGES = re.compile(
    r"(?<![\w./@:-])((?:[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,6}(?::\d{2,5})?|localhost:\d{2,5}|[a-z0-9-]{2,63})"
    r"/(?:[a-z0-9._-]{1,128}/){0,6}[a-z0-9._-]{1,128})(?=(?::[\w][\w.-]{0,127})?@sha256:|:(?:v?\d[\w.-]{0,127}|latest|main|stable)(?![\w:]))"
)


_NAME = r"[^\s\\/:\"'<>|*?,;=()\[\]{}`$&#%]{2,64}"
_SPACED = r"[^\\/:\"'<>|*?,;=()\[\]{}`$&#%\r\n\t]{2,64}"  # with blanks only where the path goes on
_SEPARATOR = r"(?:\\{1,8}|/)"
_HOME = re.compile(
    rf"(?:(?<![\w.-])/home/({_NAME})|(?<![\w.:-])/Users/({_SPACED}(?=/)|{_NAME})"
    rf"|(?<!\w)[A-Za-z]:{_SEPARATOR}Users{_SEPARATOR}({_SPACED}(?={_SEPARATOR})|{_NAME}))"
)
# Accounts that are not of a person.
_SHARED = frozenset(("root", "docker", "shared", "public", "default", "all users", "user", "username"))
# System accounts in the output of `ps`.
_NAMES_OF_SYSTEM = """
    _apt _chrony _rpc adm avahi backup bin chrony cockpit core daemon dbus dnsmasq etcd games gnats irc kernoops list lp
    lxd mail man message+ messagebus named news nfsnobody nobody ntp polkitd postfix proxy rpc rpcuser rtkit sshd sssd
    statd sync sys syslog systemd+ tcpdump tss unscd uucp uuidd www-data
"""
_OF_SYSTEM = frozenset(_NAMES_OF_SYSTEM.split())


class Users:
    """Finds the names of people; the header of a table decides, so lines must be passed in order."""

    def __init__(self) -> None:
        self._column = -1
        self._cells = 0
        self._is_processes = False

    def names_in(self, text: str) -> Iterator[str]:
        """Yield the names in the next line."""
        has_home = "/home/" in text or "Users" in text
        found = [name for match in _HOME.finditer(text) for name in match.groups() if name] if has_home else []
        found.extend(self._in_table(text))
        found.extend(self._of_process(text))
        for name in found:
            stripped = name.strip(" .-_")
            if len(stripped) > 1 and stripped.lower() not in _SHARED and not stripped.isdecimal():
                yield stripped

    def _in_table(self, text: str) -> Iterator[str]:
        cells = [cell.strip() for cell in text.strip("\r\n *").strip("|").split("|")] if "|" in text else []
        if not text.lstrip(" *").startswith("|"):
            self._column = -1
        elif "User" in cells and "Command" in cells:
            self._column, self._cells = cells.index("User"), len(cells)
        elif 0 <= self._column < len(cells) == self._cells:
            yield from filter(None, re.split(r"\\+", cells[self._column])[-1:])

    def _of_process(self, text: str) -> Iterator[str]:
        words = text.split(None, 7)
        if words[:2] in (["USER", "PID"], ["UID", "PID"]):
            self._is_processes = True
        elif len(words) < 8 or not words[1].isdecimal() or text[:1] == "-":
            self._is_processes = False
        elif self._is_processes and not (words[0].startswith("systemd-") or words[0] in _OF_SYSTEM):
            yield words[0]
