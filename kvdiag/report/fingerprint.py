"""What a finding is called from run to run: the same fault of the same workload, whatever its UIDs are this time.

The digest is made of the rule, the kind and name of the subject, its pod and its node; UUIDs, container ids and what
Deployments, DaemonSets and Jobs put behind a pod's name count for nothing.
"""

from __future__ import annotations

import hashlib

from kvdiag.base.regex import lazy_regex
from kvdiag.model.event import NAMELESS
from kvdiag.model.report import Finding

_ID = lazy_regex(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?<![0-9a-z])[0-9a-f]{12,64}(?![0-9a-z])")
# The alphabet of names that the API server generates has no vowels and no 0, 1 and 3.
_GENERATED = lazy_regex(r"(?:-[bcdf-hj-np-tv-xz24-9]{8,10})?-[bcdf-hj-np-tv-xz24-9]{5}$")


def fingerprint(finding: Finding) -> str:
    """32 hex digits, stable over runs, nodes of the log's path, and versions of kvdiag."""
    parts = (finding.rule.name, *map(_stable, _names(finding)))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _names(finding: Finding) -> tuple[str, ...]:
    subject, node = finding.subject, finding.subject.ids.get("node", "")
    names = (subject.kind, subject.name, subject.ids.get("pod", ""), "" if node.startswith(NAMELESS) else node)
    return (*names, subject.part) if subject.part else names


def _stable(name: str) -> str:
    return _GENERATED.sub("-*", _ID.sub("*", name))
