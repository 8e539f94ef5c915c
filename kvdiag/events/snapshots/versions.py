"""What a program said of its own version, kept in a file of its own.

Kubernetes v1.29.3
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.events.snapshots.fact import SnapshotFact, version

_LONGEST = 1024  # such a file has a line or four
_PATTERNS = (
    ("kubelet", lazy_regex(r"Kubernetes (v\d+\.\d+\.\d+\S*)\s*")),  # kubelet --version
    ("containerd", lazy_regex(r"containerd \S+\.\S+ v?(\d+\.\d+\.\d+\S*)(?: [0-9a-f]*)?\s*")),
    ("containerd", lazy_regex(r"RuntimeVersion:\s+v?(\d+\.\d+\.\d+\S*)\s*")),  # crictl version, below its name
)
_KIND_FILE = "/kubernetes-version.txt"
_BARE = lazy_regex(r"v\d+\.\d+\.\d+\S*\s*")


def opens(name: str, head: str) -> bool:
    """Whether a text is the answer to `--version`, or what kind keeps of it."""
    if len(head) > _LONGEST:
        return False
    return _is_kind(name, head) or any(_component(line, head) for line in head.splitlines())


def read(text: str) -> Iterator[SnapshotFact]:
    """Give the version of each line that has one."""
    for number, line in enumerate(text.splitlines(), start=1):
        for component, pattern in _PATTERNS:
            if (found := pattern.fullmatch(line)) and component == _component(line, text):
                yield version(number, component, found[1], line)
    if _BARE.fullmatch(text):
        yield version(1, "kubelet", text.strip(), text.strip())


def read_answer(number: int, line: str) -> Iterator[SnapshotFact]:
    """Give the version in a line that names its program; `RuntimeVersion` does not."""
    for component, pattern in _PATTERNS[:2]:
        if found := pattern.fullmatch(line):
            yield version(number, component, found[1], line)


def _component(line: str, text: str) -> str:
    if line.startswith("RuntimeVersion") and not re.search(r"^RuntimeName:\s+containerd\s*$", text, re.MULTILINE):
        return ""
    return next((component for component, pattern in _PATTERNS if pattern.fullmatch(line)), "")


def _is_kind(name: str, head: str) -> bool:
    return f"/{name}".endswith(_KIND_FILE) and _BARE.fullmatch(head) is not None
