"""Divide an input that contains several logs: `minikube logs`, and tail or head of several files.

    ==> kubelet <==
    * ==> kube-controller-manager [3f2a9c71c3b7] <==
    ==> /var/log/containers/csi-0.log <==
    ==== START logs for container web of pod shop/web-0 ====   (and ==== END … ==== behind it)

The last is of `kubectl cluster-info dump`, which has the cluster's objects before and between its logs.

Each section is a separate log with its own clock, component and order of time; its lines keep their numbers in the
input. The first block decides whether an input has sections, which takes 0.1 ms. Only an input that begins with objects
of the cluster is searched to its end.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice
from operator import itemgetter

from kvdiag.base.regex import lazy_regex
from kvdiag.inputs.scan.blocks import Block

MOST_SECTIONS = 1_000  # of one input; the rest belongs to the last section
_OF = rb"(?P<container>[^\s/]{1,253}) of pod (?P<pod>[^\s/]{1,253}/[^\s/]{1,253}) ===="
_HEADER = rb"^(?:(?:\* )?==> (?=\S)(?P<name>[^\r\n]{1,200}?) <==|==== START logs for container " + _OF + rb")[ \t\r]*$"
HEADER = lazy_regex(_HEADER, re.MULTILINE)
# If a log has no final newline, the end mark follows on the same line.
_MARK = lazy_regex(
    _HEADER + rb"|(?P<end>==== END logs for container [^\s/]{1,253} of pod [^\s/]{1,507}/[^\s/]{1,253} ====)[ \t\r]*$",
    re.MULTILINE,
)
_OBJECTS = lazy_regex(rb'\s*(?:\{\s*"(?:kind|apiVersion|metadata)"\s*:|(?:kind|apiVersion): )')
_BETWEEN = b"objects"  # the text between the logs of a dump
_TEXTS = frozenset({"audit", "last start", "describe nodes", "container status", "kernel"})
# The first line of minikube's own log.
_MINIKUBE_LOG = lazy_regex(rb" out\.go:\d{1,5}\] Setting (?:OutFile|ErrFile) to fd ")
_HEAD = 4096


def sections(whole: Iterable[Block]) -> Iterator[tuple[str, Iterator[Block]]]:
    """Yield the sections of an input with their names, in order; one without a name if it has no sections."""
    blocks = iter(whole)
    first = next(blocks, None)
    if first is None:
        return
    remaining = chain((first,), blocks)
    if not has_sections(first.data):
        yield "", remaining
        return
    for name, parts in groupby(_named_blocks(remaining), key=itemgetter(0)):
        yield name, (block for _, block in parts)


def has_sections(data: bytes) -> bool:
    """Return whether an input that begins with this data contains several logs, or objects before them."""
    has_headers = b"==" in data and HEADER.search(data) is not None  # two bytes: ten times faster
    return has_headers or _OBJECTS.match(data) is not None


def is_text(name: str) -> bool:
    """Return whether a section of this name contains tables or the tool's own log, and no log of the node."""
    return name.lower() in _TEXTS


def classify_section(name: str, part: Iterator[Block]) -> tuple[bool, Iterator[Block]]:
    """Return whether to skip a section, by its name or as minikube's own log, and all its blocks.

    minikube translates the titles of its sections (`==> Letzter Start <==`), but not the first line of its log.
    """
    first = next(part, None)
    if first is None:
        return is_text(name), iter(())
    is_minikube_log = bool(name) and _MINIKUBE_LOG.search(first.data, 0, _HEAD) is not None
    return is_text(name) or is_minikube_log, chain((first,), part)


def _named_blocks(whole: Iterable[Block]) -> Iterator[tuple[str, Block]]:
    """Yield blocks divided at the headers, each with the name of its section; headers are dropped."""
    name: str | None = ""
    seen = Counter[str]()
    for block in whole:
        at, line = 0, block.first_line
        for mark in islice(_MARK.finditer(block.data), max(0, MOST_SECTIONS - seen.total())):
            part = block.data[at : mark.start()]
            if part.strip(b"*\r\n "):
                name = _unique(_BETWEEN, seen) if name is None else name
                lines = part.count(b"\n") + (not part.endswith(b"\n"))
                yield name, Block(part, line, lines, 0, block.torn_within(line, lines))
            line += part.count(b"\n") + 1
            at = min(mark.end() + 1, len(block.data))
            name = None if mark["end"] else _unique(mark["name"] or _path(mark), seen)
        rest = block.data[at:]
        if rest and (name or rest.strip(b"*\r\n ")):
            name = _unique(_BETWEEN, seen) if name is None else name
            lines = rest.count(b"\n") + (not rest.endswith(b"\n"))
            yield name, Block(rest, line, lines, block.truncated, block.torn_within(line, lines))


def _path(mark: re.Match[bytes]) -> bytes:
    """Return the name of a container's section in a dump, as a path of a known layout."""
    return b"namespaces/" + mark["pod"].replace(b"/", b"/pods/") + b"/" + mark["container"]


def _unique(header: bytes, seen: Counter[str]) -> str:
    """Return the name in a header, as a path below the input; a second section of the same name gets a number."""
    name = header.decode("utf-8", "replace").strip().lstrip("/")
    seen[name] += 1
    return name if seen[name] == 1 else f"{name} ({seen[name]})"
