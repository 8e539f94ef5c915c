"""Findings of evicted events: kept as they were, and joined with later findings.

The rules are evaluated before an eviction and once more after it. A finding that is gone then stays as it was; of one
that is still found, the count in the evicted part is remembered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from kvdiag.analysis.retention.budget import ALWAYS, NEXT, Left, active_events, active_subjects
from kvdiag.model.event import Event
from kvdiag.model.report import Finding
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import History
from kvdiag.model.values import SubjectKind, Verdict
from kvdiag.rules.demand import kinds_of

MAX_FINDINGS = 10_000  # findings of evicted events: 10 KB each
MIN_FINDINGS_PER_RULE = 100  # of one rule, however many there are of others


class Judge(Protocol):
    """What is asked for the findings of a history."""

    def findings(self, history: History) -> list[Finding]:
        """What the rules find and the user wants, ranked."""

    def again(self, history: History, rules: Sequence[Rule]) -> list[Finding]:
        """What these rules find, in no order and whatever explains it."""


class FindingRetention:
    """Keeps the findings of evicted events; `judge` gives the findings of a history."""

    is_whole = False

    def __init__(self, judge: Judge) -> None:
        """Start with no findings."""
        self._judge = judge
        self._found: Sequence[Finding] = ()  # before the eviction
        self._over = _Findings()  # of which nothing is left
        self._gone = _Findings()  # of which some is left: the part that is not
        self._cut = ALWAYS[0]  # what ended before it was judged with all that was near it
        self._unlisted = Counter[str]()  # by rule, what there was no room for

    @property
    def notes(self) -> tuple[str, ...]:
        """That counts may be low, and how many findings are not listed."""
        note = f"events before {{until}} were dropped to limit memory; counts may be low; {NEXT}"
        more = ", ".join(f"{count:,} of {rule}" for rule, count in sorted(self._unlisted.items()))
        return (note, f"findings not listed: {more}") if more else (note,)

    def retain(self, history: History, cut: int) -> Iterator[Event]:
        """The first events of what goes on, and what proves a finding about that."""
        self._found, self._cut = self._news(self._judge.findings(history)), cut
        still = {(timeline.subject.kind, timeline.subject.key) for timeline in active_subjects(history, cut)}
        yield from active_events(history, cut)
        for finding in self._found:
            if (finding.subject.kind, finding.subject.key) in still:
                yield from (one.event for one in finding.evidence)

    def on_evicted(self, history: Left) -> None:
        """Keep what is found no more, and of what still is how often it was in the part that is gone."""
        gone, self._gone, still = self._gone, _Findings(), _Findings(self._still(history))
        beside = {finding.key for finding in self._found}
        for finding in self._found:
            whole = joined(gone.take(finding), finding, beside)
            again = still.find(finding)
            if again is not None:
                self._gone.put(whole._replace(count=max(0, whole.count - again.count)), again.key)
            else:
                self._end(joined(self._over.take(whole), whole, beside), whole.key)
        self._found = ()

    def _still(self, history: Left) -> Iterable[Finding]:
        """What is found in what is left, by the rules that found something before."""
        rules = list({finding.rule.name: finding.rule for finding in self._found}.values())
        return self._judge.again(history(kinds_of(rules)), rules) if rules else ()

    def _end(self, finding: Finding, key: str) -> None:
        """Nothing is left of it: it is listed as far as there is room, and counted in any case."""
        rule = finding.rule.name
        if len(self._over) < MAX_FINDINGS or self._over.of(rule) < MIN_FINDINGS_PER_RULE:
            self._over.put(finding, key)
        else:
            self._unlisted[rule] += 1

    def _news(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings without those that only the lines make that are left of what was evicted.

        What they miss was there when they were not found.
        """
        made = {one.key for one in findings if _misses(one, self._cut) and not self._is_known(one)}
        return [_not_under(one, made) for one in findings if one.key not in made]

    def _is_known(self, finding: Finding) -> bool:
        return any(known.find(finding) is not None for known in (self._gone, self._over))

    def forget(self) -> frozenset[str]:
        """Go on without what nothing is left of; its keys."""
        over, self._over = self._over, _Findings()
        return over.keys

    def all(self, findings: Sequence[Finding]) -> list[Finding]:
        """The findings of evicted events joined with `findings`: one for each rule and subject."""
        over, gone = self._over.copy(), self._gone.copy()
        news = self._news(findings)
        beside = {finding.key for finding in news}
        known = [joined(gone.take(finding), finding, beside) for finding in news]
        return [*over, *(joined(over.take(finding), finding, beside) for finding in known)]


def _is_same(one: Finding, other: Finding) -> bool:
    """Whether both are about the same; what node it is on may be learnt late."""
    nodes = one.subject.ids.get("node", ""), other.subject.ids.get("node", "")
    same = (one.rule.name, one.subject.kind, one.subject.part, one.folder) == (
        other.rule.name,
        other.subject.kind,
        other.subject.part,
        other.folder,
    )
    if SubjectKind.NODE is one.subject.kind is other.subject.kind:
        return same and (one.subject.key == other.subject.key or not (one.subject.key and other.subject.key))
    return same and one.subject.key == other.subject.key and (nodes[0] == nodes[1] or not all(nodes))


class _Findings:
    """Findings to be found again by what they are about: there may be thousands."""

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._about: dict[tuple[object, ...], dict[str, Finding]] = {}
        self._of = Counter[str]()  # by rule
        for finding in findings:
            self.put(finding, finding.key)

    def __iter__(self) -> Iterator[Finding]:
        return (finding for group in self._about.values() for finding in group.values())

    def __len__(self) -> int:
        return self._of.total()

    def of(self, rule: str) -> int:
        """Count the findings of one rule."""
        return self._of[rule]

    @property
    def keys(self) -> frozenset[str]:
        """The keys of all findings (`Finding.key`)."""
        return frozenset(key for group in self._about.values() for key in group)

    def copy(self) -> _Findings:
        """Give a shallow copy, so that findings can be taken out of it."""
        made = _Findings()
        made._about = {about: dict(group) for about, group in self._about.items()}
        made._of = self._of.copy()
        return made

    def put(self, finding: Finding, key: str) -> None:
        """Keep a finding under `key`."""
        group = self._about.setdefault(_group(finding), {})
        self._of[finding.rule.name] += key not in group
        group[key] = finding

    def find(self, finding: Finding) -> Finding | None:
        """Give the first finding of the same rule and subject, None when there is none."""
        return next((f for f in self._about.get(_group(finding), {}).values() if _is_same(f, finding)), None)

    def take(self, finding: Finding) -> Finding | None:
        """Give the one of that key, else the first about the same, and keep it no more."""
        group = self._about.get(_group(finding), {})
        same = finding.key if finding.key in group else next((k for k, f in group.items() if _is_same(f, finding)), "")
        taken = group.pop(same, None)
        self._of[finding.rule.name] -= taken is not None
        if not group:
            self._about.pop(_group(finding), None)
        return taken


def _group(finding: Finding) -> tuple[object, ...]:
    """Give what two findings about the same have in common in any case; a node's name may be learnt late."""
    is_of_node = finding.subject.kind is SubjectKind.NODE
    return finding.rule.name, finding.subject.kind, "" if is_of_node else finding.subject.key, finding.folder


def joined(before: Finding | None, after: Finding, beside: AbstractSet[str]) -> Finding:
    """One finding of two about the same subject: the words and proof of the one that began first, and both counts.

    Whether it is over and what explains it, `after` tells where it has news, as of what is over only some lines were
    kept; not if the cause was no longer among the findings `beside` it.
    """
    if before is None:
        return after
    first, second = (before, after) if before.begins <= after.begins else (after, before)
    latest = after if _reach(after) > _reach(before) else before
    is_as_before = (before.healed is None) is (after.healed is None)
    told = first if is_as_before else latest
    is_lost = not after.explained_by and before.explained_by and before.explained_by not in beside
    ranked = before if is_lost else latest
    return told._replace(
        subject=after.subject if len(after.subject.ids) >= len(before.subject.ids) else before.subject,
        begins=first.begins,
        ends=max(before.ends, after.ends),
        count=before.count + after.count,
        verdict=first.verdict if first.verdict is Verdict.CONFIRMED else second.verdict,
        severity=max(first.severity, second.severity) if is_as_before and latest is after else told.severity,
        role=ranked.role,
        explained_by=ranked.explained_by,
        through=ranked.through,
        evidence=(*first.evidence, *(e for e in second.evidence if e.event.time > first.ends)),
    )


def _not_under(finding: Finding, keys: AbstractSet[str]) -> Finding:
    """The finding as one that none of those explains."""
    if finding.explained_by not in keys:
        return finding
    return finding._replace(role=finding.rule.role, explained_by=None, through=())


def _misses(finding: Finding, cut: int) -> bool:
    """Whether it is all of a time before the cut, and only possible, as something of that time may be missing."""
    return _reach(finding) < cut and finding.verdict is Verdict.POSSIBLE


def _reach(finding: Finding) -> int:
    """The last moment that it tells of."""
    return max(finding.ends, finding.healed or 0)
