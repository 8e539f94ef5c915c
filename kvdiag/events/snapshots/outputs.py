"""What commands printed between the lines of a log, as in a document of an incident: versions, containers.

    # dpkg -l | grep containerd
    ii  containerd.io   1.6.15-1   amd64   An open and reliable container runtime

A file of its own with such an output is read by `kvdiag.events.snapshots.readers`, in the whole. Here a line must show
by itself what it is, or stand in a table below its heading.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.events.snapshots import crictl, nodes, packages, versions
from kvdiag.events.snapshots.fact import DRIVER_SUFFIX, SnapshotFact, version

_BULLET = "* "  # minikube writes it before the first line of a section
_NODE = lazy_regex(r"Name: {2,}([-a-z0-9.]{1,253})\s*")
_INFO = lazy_regex(r"\s+(Kubelet Version|Container Runtime Version|Kernel Version): {2,}(\S{1,200})\s*")
_UNAME = lazy_regex(r"Linux ([-A-Za-z0-9.]{1,253}) (\d+\.\d+\.\S{1,100}) #\d.{1,200}")
_CLIENT = lazy_regex(r"Client Version: (?:version\.Info\{|v\d)")
_SERVER = lazy_regex(
    r'Server Version: (?:version\.Info\{.{0,200}?GitVersion:")?(v1\.\d+\.\d+[\w.+-]{0,60})[\s"].{0,400}'
)
_NODES = lazy_regex(r"NAME +STATUS +ROLES +AGE +VERSION(?: |$)")
_NODE_CELLS = 5
# A table of versions in Markdown.
_TABLE = lazy_regex(r"\|[^|]{1,80}\| *[Vv]ersion *\|\s*")
_ROW = lazy_regex(r"\| *(?P<name>[\w.-]+)(?P<driver> CSI [Dd]river)? *\| *v?(?P<version>\d+\.\d+\.\d+[\w.+-]*) *\|\s*")
_NAMED = {"kubelet": "kubelet", "containerd": "containerd", "cri-o": "crio"}


class CommandOutput:
    """The lines of a log that begin no record, from the first to the last, and the facts in them."""

    def __init__(self) -> None:
        """Nothing was printed yet."""
        self.facts: list[SnapshotFact] = []
        self._last = 0
        self._node = ""
        self._heading = ""
        self._client = False

    def add(self, number: int, line: str) -> None:
        """Take the next line; a table ends where lines are left out or blank."""
        if number != self._last + 1 or not line.strip():
            self._heading, self._client = "", False
        self._last = number
        self.facts.extend(self._read(number, line.removeprefix(_BULLET)))

    def _read(self, number: int, line: str) -> Iterator[SnapshotFact]:
        if crictl.is_heading(line) or _NODES.match(line) or _TABLE.fullmatch(line):
            self._heading = line
        elif self._heading:
            yield from self._row(number, line)
        elif named := _NODE.fullmatch(line):
            self._node = named[1]
        elif (info := _INFO.fullmatch(line)) and self._node:
            yield from _of_node(number, info[1], info[2], line, self._node)
        elif _CLIENT.match(line):
            self._client = True
        elif self._client and (server := _SERVER.fullmatch(f"{line} ")):
            yield version(number, "kube-apiserver", server[1], line)
        elif host := _UNAME.fullmatch(line):
            yield version(number, "kernel", host[2], line, host[1])
        else:
            yield from crictl.lone_row(number, line)
            yield from packages.installed(number, line)
            yield from versions.read_answer(number, line)

    def _row(self, number: int, line: str) -> Iterator[SnapshotFact]:
        if self._heading.startswith("|"):
            found = _ROW.fullmatch(line)
            name, is_driver = (found["name"], found["driver"]) if found else ("", None)
            component = f"{name}{DRIVER_SUFFIX}" if is_driver else _NAMED.get(name, "")
            if found and component:
                yield version(number, component, found["version"], line)
        elif crictl.is_heading(self._heading):
            yield from crictl.row(number, self._heading, line)
        else:
            yield from _listed_node(number, self._heading, line)


def _listed_node(number: int, heading: str, line: str) -> Iterator[SnapshotFact]:
    """A row of `kubectl get nodes`, perhaps with `-o wide`."""
    cells = line.split()
    if len(cells) < _NODE_CELLS or not cells[4].startswith("v"):
        return
    yield version(number, "kubelet", cells[4], line, cells[0])
    component, version_text = (
        nodes.runtime_version(cells[-1]) if heading.rstrip().endswith("CONTAINER-RUNTIME") else ("", "")
    )
    if component:
        yield version(number, component, version_text, line, cells[0])


def _of_node(number: int, key: str, value: str, line: str, node: str) -> Iterator[SnapshotFact]:
    component, version_text = ("kubelet", value) if key == "Kubelet Version" else ("kernel", value)
    if key == "Container Runtime Version":
        component, version_text = nodes.runtime_version(value)
    if component and version_text:
        yield version(number, component, version_text, line.strip(), node)
