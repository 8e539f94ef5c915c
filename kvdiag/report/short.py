"""Names and ids as short as a person can still find them in a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvdiag.base.regex import lazy_regex
from kvdiag.model.event import THIS_NODE

if TYPE_CHECKING:
    from kvdiag.report.report_text import FindingText

_LINKING = frozenset({"a", "of", "on", "pod", "volume", "node", "sandbox", "container", "driver"})
_UUID = lazy_regex(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_DIGEST = lazy_regex(r"\b([0-9a-f]{12})[0-9a-f]{52}\b")


def short_ids(text: str) -> str:
    """`pvc-6fe0f8b2…` for a UUID, the first twelve digits of a container's id: -v shows them whole."""
    return _DIGEST.sub(r"\1…", _UUID.sub(r"\1…", text))


def is_named(finding: FindingText) -> bool:
    """Whether title and sentence have every name that the line about the subject would have."""
    if finding.subject.lines[0] == THIS_NODE:  # says nothing, and is not true of a controller
        return True
    names = [word for word in finding.subject.lines[0].split() if word not in _LINKING]
    return len(finding.subject.victims) < 2 and all(name in f"{finding.title} {finding.says}" for name in names)


def named(finding: FindingText, most: int | None = None) -> str:
    """What a finding is about; of several victims the first: `17 pods of worker-1: web-0, web-1, web-2 and 14 more`."""
    names = finding.subject.victims
    if len(names) < 2:
        return finding.subject.lines[0]
    shown = names[:most] if most is not None and len(names) > most + 1 else names
    left = len(names) - len(shown)
    return f"{finding.subject.short}: {', '.join(shown)}" + (f" and {left} more (-v names all)" if left else "")
