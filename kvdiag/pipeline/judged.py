"""What was found in events that were let go: kept as it was found, and joined with what is found later.

Before events are let go all is judged, and after it once more. What is found no more without them stays as it was
found; of what is still found, how often it was in the part that is gone is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kvdiag.model.event import Event
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History
from kvdiag.model.values import SubjectKind, Verdict
from kvdiag.pipeline.relief import NEXT, going_on, lasting

Judge = Callable[[History], list[Finding]]


class Judged:
    """The findings of what was let go; `judge` gives those of a history."""

    notes: tuple[str, ...] = (f"what ended before {{until}} was judged as it was read, counts may be low; {NEXT}",)
    is_whole = False

    def __init__(self, judge: Judge) -> None:
        """Nothing was found yet."""
        self._judge = judge
        self._found: Sequence[Finding] = ()  # before events are let go
        self._over: dict[str, Finding] = {}  # of which nothing is left
        self._gone: dict[str, Finding] = {}  # of which some is left: the part that is not

    def keep(self, history: History, cut: int) -> Iterator[Event]:
        """The first events of what goes on, and what proves a finding about that."""
        self._found = self._judge(history)
        still = {(timeline.subject.kind, timeline.subject.key) for timeline in lasting(history, cut)}
        yield from going_on(history, cut)
        for finding in self._found:
            if (finding.subject.kind, finding.subject.key) in still:
                yield from (one.event for one in finding.evidence)

    def left(self, history: Callable[[], History]) -> None:
        """Keep what is found no more, and of what still is how often it was in the part that is gone."""
        left = self._judge(history())
        gone, self._gone = self._gone, {}
        for finding in self._found:
            whole = joined(_taken(gone, finding), finding)
            again = next((other for other in left if _is_same(finding, other)), None)
            if again is not None:
                self._gone[again.key] = whole._replace(count=max(0, whole.count - again.count))
            else:
                self._over[whole.key] = joined(_taken(self._over, whole), whole)
        self._found = ()

    def forget(self) -> frozenset[str]:
        """Go on without what nothing is left of; its keys."""
        keys = frozenset(self._over)
        self._over.clear()
        return keys

    def all(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings of what was let go and those of what was left, each subject's of one rule as one."""
        over, gone = dict(self._over), dict(self._gone)
        told = [joined(_taken(over, finding), joined(_taken(gone, finding), finding)) for finding in findings]
        return [*over.values(), *told]


def _is_same(one: Finding, other: Finding) -> bool:
    """Whether both are about the same; what node it is on may be learnt late."""
    nodes = one.subject.ids.get("node", ""), other.subject.ids.get("node", "")
    same = (one.rule.name, one.subject.kind) == (other.rule.name, other.subject.kind)
    if SubjectKind.NODE is one.subject.kind is other.subject.kind:
        return same and (one.subject.key == other.subject.key or not (one.subject.key and other.subject.key))
    return same and one.subject.key == other.subject.key and (nodes[0] == nodes[1] or not all(nodes))


def _taken(findings: dict[str, Finding], finding: Finding) -> Finding | None:
    """The finding about the same, taken out."""
    key = finding.key if finding.key in findings else next((k for k, f in findings.items() if _is_same(f, finding)), "")
    return findings.pop(key, None)


def joined(before: Finding | None, after: Finding) -> Finding:
    """One finding of two about the same subject: the words and proof of the one that began first, and both counts."""
    if before is None:
        return after
    first, second = (before, after) if before.begins <= after.begins else (after, before)
    return first._replace(
        subject=after.subject if len(after.subject.ids) >= len(before.subject.ids) else before.subject,
        ends=max(before.ends, after.ends),
        count=before.count + after.count,
        verdict=first.verdict if first.verdict is Verdict.CONFIRMED else second.verdict,
        evidence=(*first.evidence, *(e for e in second.evidence if e.event.time > first.ends)),
    )
