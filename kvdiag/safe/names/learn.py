r"""Find names chosen by users in a log, by their position in a line.

    pod="shop/web-0"   PodSandboxMetadata{Name:web-0,…}   /var/log/pods/shop_web-0_1f0c3a52-…/app/0.log

A name that upstream's messages use as a word (`driver`, `data`) is not masked: it does not identify its owner, and
the message would be unreadable without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from kvdiag.base.errors import KvdiagError
from kvdiag.safe.names.owners import (
    EXPORTS,
    IMAGES,
    IS,
    LABEL,
    LABELS,
    NAME,
    OF_KUBERNETES,
    OWNERS,
    QUOTED,
    SHARES,
    Users,
)

MOST = 3_000_000  # names; a million take 200 MB
MOST_SEEN = 1_000_000  # lines whose words are known
NUMBERS = frozenset(("account", "serial"))  # kinds of names that may be figures alone
SHORTEST = 2

_N = NAME
_NS = r"[0-9a-z](?:[-0-9a-z]{0,61}[0-9a-z])?"
_Q, _IS = QUOTED, IS
_UID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32}"

# Kinds of the groups of the pattern; words, of which every match contains one in lower case; the pattern.
PLACES: tuple[tuple[tuple[str, ...], tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (kinds, signs, re.compile(pattern))
    for kinds, signs, pattern in (
        (("ns", "pod"), ("pod", "object"), rf"\b(?:pod|object){_IS}({_NS})/({_N})"),
        (("pod", "ns"), ("(",), rf"(?<![-.0-9A-Za-z])({_N})_({_N})\((?:{_UID})\)"),
        (("ns", "pod", "ctr"), ("/pods/",), rf"/pods/({_N})_({_N})_(?:{_UID})(?:/({_N}))?"),
        (("pod", "ns", "ctr"), ("/containers/",), rf"/containers/({_N})_({_N})_({_N})-[0-9a-f]{{64}}"),
        (("pod", "ns"), ("podsandboxmetadata",), rf"PodSandboxMetadata\{{Name:({_N}),Uid:[^,{{}}]{{1,64}},Namespace:({_N}),"),
        (("pod", "ns"), ("uid",), rf"\bname{_IS}({_N}){_Q} +uid{_IS}[^\s]{{1,80}} +namespace{_IS}({_N})"),
        (("pod", "ns"), ("namespace",), rf"{_Q}name{_Q}:{_Q}({_N}){_Q},{_Q}namespace{_Q}:{_Q}({_N}){_Q}"),
        (("ctr",), ("containermetadata", 'name:"', "name:'", "name:\\"), rf"ContainerMetadata\{{Name:({_N}),|\bfor (?:container )?name:{_Q}({_N}){_Q}"),
        (("ctr",), ("containers{",), rf"\b(?:spec\.)?(?:init|ephemeral)?[cC]ontainers\{{({_N})\}}"),
        (("ns", "obj"), ("/namespaces/",), rf"/namespaces/({_N})/[a-z]{{3,40}}/({_N})"),
        (("ns",), ("/namespaces/",), rf"/namespaces/({_N})\b"),
        (("ns",), ("namespace",), rf"\b(?:pod_?)?[nN]amespace{_IS}({_N})"),
        (("pod",), ("podname", "pod_name", "pod.name"), rf"\b(?:pod_?[nN]ame|io\.kubernetes\.pod\.name){_IS}({_N})"),
        (("node",), ("node", "host"), rf"\b(?:node_?(?:[nN]ame)?|hostname|host_?name|system:node){_IS}({_N})"),
        (("ctr",), ("containername", "container_name", "container.name"), rf"\b(?:container_?[nN]ame|io\.kubernetes\.container\.name){_IS}({_N})"),
        (("vol",), ("volumename", "volume_name", "volume__name", "specname", "spec_name", "claimname", "claim_name"), rf"\b(?:(?:Outer|Inner)?VolumeSpecName|volume_?(?:Spec)?_?[nN]ame|claim_?[nN]ame){_IS}({_N})"),
        (("obj",), ("secret", "configmap", "serviceaccount", "service_account"), rf"\b(?:secret|configMap|serviceAccount|service_account)(?:_?[nN]ame|Ref){_IS}({_N})"),
        (("vol",), ("/kubernetes.io~",), rf"/kubernetes\.io~[-a-z]{{1,64}}/({_N})"),
        (("obj",), (' "', " '", " \\"), rf"\b(?:pod|node|container|volume|secret|config ?map|persistentvolumeclaim|claim|object)s? {_Q}({_N})"),
        (("obj",), ("service", "lease", "job", "namespace", "runtimeclass"), rf"\b(?:services?|leases?|serviceaccounts?|jobs?|namespaces?|runtimeclasse?s?) {_Q}({_N}){_Q}"),
        (("ns", "obj"), ("object ",), rf"\bobject {_Q}({_N}){_Q}/{_Q}({_N}){_Q}"),
        (("ns", "obj"), ("system:serviceaccount:",), rf"\bsystem:serviceaccount:({_N}):({_N})"),
        (("host",), ("lookup", "http://", "https://", "tcp"), rf"\b(?:lookup|https?://|tcp://|dial tcp:?) ?(?!lookup )({_N})(?=[:/\s\"\\,])"),
        (("host",), ("host",), rf"\bhost{_IS}({_N})"),
        *OWNERS,
    )
)  # fmt: skip
_IMAGE = re.compile(
    r"\b(?:[iI]mage(?:ID|Id|_?[rR]ef|_?[nN]ame)?|PullImage|image reference)"
    rf"(?:{_IS}| {_Q})((?:{_N}(?::\d+)?/){{0,8}}{_N})"
)
_PODS = re.compile(rf"\bpods{_IS}\[([^\[\]]{{1,100000}})\]")
_POD = re.compile(rf"({_NS})/({_N})")
_IMAGE_PARTS = re.compile(r"[/:@]")
_IDS = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9a-f]{12,128}")
_OF_NODE = re.compile(
    r"/(?:var/lib|var/log|var/run|run|etc|proc|sys|dev|usr|bin|lib|lib64|opt|tmp|home|root|mnt|host|csi|api|apis|v1|v2|healthz|metrics)(?:/|$)|//"
)
_NUMBER = re.compile(r"[\d.]+")
# Hosts, namespaces, programs and words of all clusters, which are not masked.
_KNOWN = """
    default kube-system kube-public kube-node-lease kubernetes localhost library latest pvc vol file api nil null none
    true false unknown txt json yaml http https tcp unix app data config log logs tmp test name node pod container volume image main
    init managed sha256 kubeconfig docker system root nobody admin kubernetes-admin kubernetes-ca kubernetes-super-admin
    front-proxy-client front-proxy-ca etcd-ca apiserver kubelet-ca self-signed server client users masters nodes disk
    docker.io registry-1.docker.io quay.io ghcr.io gcr.io k8s.gcr.io registry.k8s.io mcr.microsoft.com public.ecr.aws
    github.com k8s.io kubernetes.io cluster.local
    kubelet containerd crio kube-proxy coredns etcd kube-apiserver kube-scheduler kube-controller-manager pause
    kube-api-access kube-root-ca.crt csi-attacher csi-provisioner csi-resizer csi-snapshotter node-driver-registrar
    external-attacher external-provisioner livenessprobe
"""
KNOWN = frozenset(_KNOWN.split())
# Common names of labels and exported folders, which are not masked.
_COMMON = """
    export exports share shares volume volumes vols nfs srv mnt home backup backups web db prod dev staging production
    frontend backend database cache worker control-plane amd64 arm64 linux windows helm tier env
"""
COMMON = frozenset(_COMMON.split())


class Learner:
    """Collects names by kind (`ns`, `pod`, `ctr`, `node`, `vol`, `img`, `host`, `obj`, `user`)."""

    def __init__(self, excluded: AbstractSet[str]) -> None:
        """`excluded` are words that are not masked: those of upstream's messages, and driver names."""
        self.names: dict[str, str] = {}
        self._seen: set[int] = set()
        self._excluded = excluded | KNOWN
        self._users = Users()

    def learn(self, text: str) -> None:
        """Learn the names in a line. Raises KvdiagError above MOST names."""
        for name in self._users.names_in(text):
            if name not in self._excluded:
                self.names.setdefault(name, "user")
        words = hash(text[_message_start(text) :])
        if words not in self._seen:
            if len(self._seen) < MOST_SEEN:
                self._seen.add(words)
            for kind, name in _named(text):
                self.add(kind, name)
        if len(self.names) > MOST:
            raise KvdiagError(f"more than {MOST:,} names in these logs; give fewer of them at a time")

    def add(self, kind: str, name: str) -> None:
        """Add a name without the ids in it; a host and its domain are two names."""
        if kind in {"node", "host"} and "." in name and name not in self._excluded:
            head, _, tail = name.partition(".")
            if tail not in self._excluded:
                self._one(kind, head)
                self._one("host", tail)
            return
        for part in [name] if kind in NUMBERS else _IDS.split(name):
            self._one(kind, part.strip("-._"))

    def _one(self, kind: str, name: str) -> None:
        is_number = _NUMBER.fullmatch(name) is not None
        if (
            len(name) >= SHORTEST
            and name not in self._excluded
            and (not is_number or (kind in NUMBERS and len(name) > 7))
        ):
            self.names.setdefault(name, kind)
            if kind in {"node", "host"} and not name.islower():
                self.names.setdefault(name.lower(), kind)  # DNS prints it in lower case, Windows in capitals


def _message_start(text: str) -> int:
    """Return where the message begins, after klog's header or logrus' time: most messages repeat."""
    return max(text.find("] "), 0) or max(text.find(" level="), 0)


def _named(text: str) -> Iterator[tuple[str, str]]:
    """Yield the names in a line with their kinds."""
    lowered = text.casefold()
    for kinds, signs, place in PLACES:
        for sign in signs or ("",):  # a generator would take twice as long
            if sign in lowered:
                for found in place.finditer(text):
                    yield from zip(kinds, filter(None, found.groups()), strict=False)
                break
    for listed in _PODS.finditer(text):
        for found in _POD.finditer(listed[1]):
            yield from zip(("ns", "pod"), found.groups(), strict=True)
    yield from _owner_names(text, lowered)
    images = (_IMAGE, IMAGES) if ":" in text and "/" in text else (_IMAGE,)
    for found in (found for pattern in images for found in pattern.finditer(text)):
        for part in _IMAGE_PARTS.split(found[1]):
            yield "host" if part.count(".") else "img", part


def _owner_names(text: str, lowered: str) -> Iterator[tuple[str, str]]:
    """Yield names of shares, labels and exported folders; `lowered` is the text in lower case."""
    if "\\\\" in text:
        yield from _share_names(text)
    if "label" in lowered or "selector" in lowered:
        yield from _label_values(text)
    if ":/" in text or "/export" in text or "path" in lowered or "share" in lowered:
        yield from _export_names(text)


def _label_values(text: str) -> Iterator[tuple[str, str]]:
    """Yield the values of labels, except those that Kubernetes sets, and common words."""
    for found in LABELS.finditer(text):
        for label in LABEL.finditer(found["pairs"]):
            if not OF_KUBERNETES.search(label["name"]) and label["value"] not in COMMON:
                yield "label", label["value"]


def _export_names(text: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a path that a file server exports; not of a folder of the node."""
    for found in EXPORTS.finditer(text):
        if _OF_NODE.match(found[1]) is None:
            yield from (("obj", part) for part in found[1].split("/") if part and part not in COMMON)


def _share_names(text: str) -> Iterator[tuple[str, str]]:
    r"""Yield the server and the name of a share; after `\\` its first letter may be part of an escape."""
    for found in SHARES.finditer(text):
        yield from (("host", found[1]), ("obj", found[2]), ("obj", found[2][1:]))
