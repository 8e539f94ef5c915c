"""Which packages were installed, from `dpkg -l` or `rpm -qa`.

ii  kubelet        1.29.3-1.1         amd64        Node agent for Kubernetes clusters
"""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.events.snapshots.fact import SnapshotFact, version

_OPENING = lazy_regex(
    r"Desired=Unknown/Install/Remove|ii  \S+ +\d\S* +\S+ "
    r"|(?:[\w.+-]{1,200}\.(?:x86_64|noarch|aarch64)[^\S\n]*(?:\s[^\n]*)?\n){2}"
)
_COMPONENTS = {
    "kubelet": "kubelet",
    "kubernetes-node": "kubelet",
    "openshift-kubelet": "kubelet",
    "containerd": "containerd",
    "containerd.io": "containerd",
    "cri-o": "crio",
}
_LINE = lazy_regex(r"(?:ii  |hi  )?([a-z][a-z.-]*[a-z])(?:-| +)(?:\d+:)?(\d+\.\d+\.\d+[\w.~+]*)(?=[-\s])")
# As dpkg-query and rpm print it; what else begins with a package's name and a version may be prose.
_OWN_LINE = lazy_regex(r"[ih]i  \S+ +\d\S* +\S|\S{1,200}-\d\S{0,100}\.(?:x86_64|aarch64)\s*$")


def opens(_name: str, head: str) -> bool:
    """Whether a text begins as a list of packages."""
    return _OPENING.match(head) is not None


def read(text: str) -> Iterator[SnapshotFact]:
    """Give the versions of what kvdiag knows, without the packager's own number behind them."""
    for number, line in enumerate(text.splitlines(), start=1):
        yield from _version(number, line)


def installed(number: int, line: str) -> Iterator[SnapshotFact]:
    """Give the version in a line that shows by itself that it is one of such a list."""
    if _OWN_LINE.match(line):
        yield from _version(number, line)


def _version(number: int, line: str) -> Iterator[SnapshotFact]:
    found = _LINE.match(line)
    if found and found[1] in _COMPONENTS:
        yield version(number, _COMPONENTS[found[1]], found[2], line.strip())
