"""One input that holds several logs: what `minikube logs` prints, and tail and head of many files.

    ==> kubelet <==
    * ==> kube-controller-manager [3f2a9c71c3b7] <==
    ==> /var/log/containers/csi-0.log <==

Each part is a log of its own, with its own clock, component and order of time; its lines keep the numbers they have in
the input. That an input is of this kind shows in its first block: looking costs 0.1 ms once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain, groupby, islice
from operator import itemgetter

from kvdiag.regex import regex
from kvdiag.scan.blocks import Block

MOST_SECTIONS = 1_000  # of one input; what follows belongs to the last
HEADER = regex(rb"^(?:\* )?==> (?=\S)([^\r\n]{1,200}?) <==[ \t\r]*$", re.MULTILINE)
_TEXTS = frozenset({"audit", "last start", "describe nodes", "container status", "kernel"})


def sections(whole: Iterable[Block]) -> Iterator[tuple[str, Iterator[Block]]]:
    """The parts of an input with their names, in order; one without a name where it is no such input."""
    blocks = iter(whole)
    first = next(blocks, None)
    if first is None:
        return
    given = chain((first,), blocks)
    if HEADER.search(first.data) is None:
        yield "", given
        return
    for name, parts in groupby(_named(given), key=itemgetter(0)):
        yield name, (block for _, block in parts)


def is_text(name: str) -> bool:
    """Whether a section of this name is known to hold tables or the tool's own log, and no log of the node."""
    return name.lower() in _TEXTS


def _named(whole: Iterable[Block]) -> Iterator[tuple[str, Block]]:
    """Blocks cut at the headers, which belong to none, each with the name of its section."""
    name, seen = "", Counter[str]()
    for block in whole:
        at, line = 0, block.first_line
        headers = islice(HEADER.finditer(block.data), max(0, MOST_SECTIONS - seen.total()))
        for header in headers:
            part = block.data[at : header.start()]
            if part.strip(b"*\r\n "):
                yield name, Block(part, line, part.count(b"\n"), 0)
            line += part.count(b"\n") + 1
            at = min(header.end() + 1, len(block.data))
            name = _unique(header.group(1), seen)
        rest = block.data[at:]
        if rest and not (name == "" and not rest.strip(b"*\r\n ")):
            yield name, Block(rest, line, rest.count(b"\n") + (not rest.endswith(b"\n")), block.truncated)


def _unique(header: bytes, seen: Counter[str]) -> str:
    """The name in a header, as a path below the input; a second section of the same name gets a number."""
    name = header.decode("utf-8", "replace").strip().lstrip("/")
    seen[name] += 1
    return name if seen[name] == 1 else f"{name} ({seen[name]})"
