"""The version of kvdiag and its rules that judges bundles: with another one, results are outdated."""

from __future__ import annotations

import hashlib
from functools import cache

from kvdiag import __version__
from kvdiag.base.pattern_folder import builtin_patterns

STORED = 3  # a new number, and all bundles are analyzed again: their rows hold something else
_SHORT = 12  # digits: two sets of rules differ by chance once in 10^14


@cache
def judge_version() -> str:
    """Return kvdiag's version, and a digest of its patterns: `0.1.0+3f2a91c07be4`."""
    total = hashlib.sha256(f"{STORED}".encode())
    root = builtin_patterns()
    for path in sorted(root.rglob("*.yaml")):
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes())
    return f"{__version__}+{total.hexdigest()[:_SHORT]}"
