"""Keep findings of evicted events, and merge them with later findings.

Rules are evaluated before an eviction and again after it. A finding that is gone then is kept as it was; of one that is
still found, the count in the evicted part is stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from kvdiag.analysis.retention.budget import ALWAYS, NEXT, RemainingHistory, active_events, active_subjects
from kvdiag.model.event import Event
from kvdiag.model.report import Finding
from kvdiag.model.rule import Rule
from kvdiag.model.timeline import History
from kvdiag.model.values import SubjectKind, Verdict
from kvdiag.rules.required_kinds import kinds_of

MAX_FINDINGS = 10_000  # findings of evicted events: 10 KB each
MIN_FINDINGS_PER_RULE = 100  # findings kept of each rule, even beyond MAX_FINDINGS


class Judge(Protocol):
    """Provides the findings of a history."""

    def findings(self, history: History) -> list[Finding]:
        """Return the requested findings, ranked."""

    def find_with(self, history: History, rules: Sequence[Rule]) -> list[Finding]:
        """Return all findings of these rules, not ranked."""


class FindingRetention:
    """Keeps the findings of evicted events; `judge` provides the findings of a history."""

    is_whole = False

    def __init__(self, judge: Judge) -> None:
        """Start with no findings."""
        self._judge = judge
        self._found: Sequence[Finding] = ()  # before the eviction
        self._ended = _FindingIndex()  # all events of these are evicted
        self._evicted = _FindingIndex()  # evicted parts of findings that still have events
        self._cut = ALWAYS[0]  # events that ended before this were evaluated together with everything near them
        self._unlisted = Counter[str]()  # by rule the number of findings beyond the limit

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that counts may be too low, and how many findings are not listed."""
        note = f"events before {{until}} were dropped to limit memory; counts may be low; {NEXT}"
        more = ", ".join(f"{count:,} of {rule}" for rule, count in sorted(self._unlisted.items()))
        return (note, f"findings not listed: {more}") if more else (note,)

    def retain(self, history: History, cut: int) -> Iterator[Event]:
        """Yield the first events of active subjects, and the evidence of findings about them."""
        self._found, self._cut = self._without_artifacts(self._judge.findings(history)), cut
        active = {(timeline.subject.kind, timeline.subject.key) for timeline in active_subjects(history, cut)}
        yield from active_events(history, cut)
        for finding in self._found:
            if (finding.subject.kind, finding.subject.key) in active:
                yield from (one.event for one in finding.evidence)

    def on_evicted(self, history: RemainingHistory) -> None:
        """Store findings that are gone, and for the others their count in the evicted part."""
        evicted, self._evicted, remaining = self._evicted, _FindingIndex(), _FindingIndex(self._find_remaining(history))
        listed_keys = {finding.key for finding in self._found}
        for finding in self._found:
            merged = merge_findings(evicted.pop(finding), finding, listed_keys)
            found_again = remaining.find(finding)
            if found_again is not None:
                self._evicted.add(merged._replace(count=max(0, merged.count - found_again.count)), found_again.key)
            else:
                self._end(merge_findings(self._ended.pop(merged), merged, listed_keys), merged.key)
        self._found = ()

    def _find_remaining(self, history: RemainingHistory) -> Iterable[Finding]:
        """Return the findings on the remaining events, by the rules that found something before."""
        rules = list({finding.rule.name: finding.rule for finding in self._found}.values())
        return self._judge.find_with(history(kinds_of(rules)), rules) if rules else ()

    def _end(self, finding: Finding, key: str) -> None:
        """Store a finding that is gone, if there is room; else count it as not listed."""
        rule = finding.rule.name
        if len(self._ended) < MAX_FINDINGS or self._ended.count_of_rule(rule) < MIN_FINDINGS_PER_RULE:
            self._ended.add(finding, key)
        else:
            self._unlisted[rule] += 1

    def _without_artifacts(self, findings: Sequence[Finding]) -> list[Finding]:
        """Return the findings without those that exist only because other events were evicted.

        When those events were still in memory, the finding was not made.
        """
        artifacts = {one.key for one in findings if _may_miss_events(one, self._cut) and not self._is_known(one)}
        return [_not_under(one, artifacts) for one in findings if one.key not in artifacts]

    def _is_known(self, finding: Finding) -> bool:
        return any(known.find(finding) is not None for known in (self._evicted, self._ended))

    def forget(self) -> frozenset[str]:
        """Drop the findings that are gone, and return their keys."""
        ended, self._ended = self._ended, _FindingIndex()
        return ended.keys

    def all(self, findings: Sequence[Finding]) -> list[Finding]:
        """Merge the findings of evicted events with `findings`: one for each rule and subject."""
        ended, evicted = self._ended.copy(), self._evicted.copy()
        current = self._without_artifacts(findings)
        listed_keys = {finding.key for finding in current}
        known = [merge_findings(evicted.pop(finding), finding, listed_keys) for finding in current]
        return [*ended, *(merge_findings(ended.pop(finding), finding, listed_keys) for finding in known)]


def _is_same(one: Finding, other: Finding) -> bool:
    """Return whether both have the same rule and subject; the node of a subject may become known late."""
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


class _FindingIndex:
    """Findings indexed by rule and subject: there may be thousands."""

    def __init__(self, findings: Iterable[Finding] = ()) -> None:
        self._groups: dict[tuple[object, ...], dict[str, Finding]] = {}
        self._counts = Counter[str]()  # by rule
        for finding in findings:
            self.add(finding, finding.key)

    def __iter__(self) -> Iterator[Finding]:
        return (finding for group in self._groups.values() for finding in group.values())

    def __len__(self) -> int:
        return self._counts.total()

    def count_of_rule(self, rule: str) -> int:
        """Return the number of findings of one rule."""
        return self._counts[rule]

    @property
    def keys(self) -> frozenset[str]:
        """The keys of all findings (`Finding.key`)."""
        return frozenset(key for group in self._groups.values() for key in group)

    def copy(self) -> _FindingIndex:
        """Return a shallow copy, from which findings can be removed."""
        copied = _FindingIndex()
        copied._groups = {about: dict(group) for about, group in self._groups.items()}
        copied._counts = self._counts.copy()
        return copied

    def add(self, finding: Finding, key: str) -> None:
        """Add a finding under `key`."""
        group = self._groups.setdefault(_group_key(finding), {})
        self._counts[finding.rule.name] += key not in group
        group[key] = finding

    def find(self, finding: Finding) -> Finding | None:
        """Return the first finding of the same rule and subject; None if there is none."""
        return next((f for f in self._groups.get(_group_key(finding), {}).values() if _is_same(f, finding)), None)

    def pop(self, finding: Finding) -> Finding | None:
        """Remove and return the finding of that key, else the first of the same rule and subject."""
        group = self._groups.get(_group_key(finding), {})
        same = finding.key if finding.key in group else next((k for k, f in group.items() if _is_same(f, finding)), "")
        found = group.pop(same, None)
        self._counts[finding.rule.name] -= found is not None
        if not group:
            self._groups.pop(_group_key(finding), None)
        return found


def _group_key(finding: Finding) -> tuple[object, ...]:
    """Return what findings of the same rule and subject share; the name of a node may become known late."""
    is_of_node = finding.subject.kind is SubjectKind.NODE
    return finding.rule.name, finding.subject.kind, "" if is_of_node else finding.subject.key, finding.folder


def merge_findings(before: Finding | None, after: Finding, listed_keys: AbstractSet[str]) -> Finding:
    """Merge two findings of one rule and subject: texts and evidence of the earlier one, the sum of both counts.

    State and cause are those of `after` if it has newer lines, since of a finding that is over only some lines were
    kept. If its cause is no longer among the findings `listed_keys`, the cause of `before` is kept.
    """
    if before is None:
        return after
    first, second = (before, after) if before.begins <= after.begins else (after, before)
    latest = after if _last_moment(after) > _last_moment(before) else before
    is_as_before = (before.healed is None) is (after.healed is None)
    base = first if is_as_before else latest
    is_lost = not after.explained_by and before.explained_by and before.explained_by not in listed_keys
    ranked = before if is_lost else latest
    return base._replace(
        subject=after.subject if len(after.subject.ids) >= len(before.subject.ids) else before.subject,
        begins=first.begins,
        ends=max(before.ends, after.ends),
        count=before.count + after.count,
        verdict=first.verdict if first.verdict is Verdict.CONFIRMED else second.verdict,
        severity=max(first.severity, second.severity) if is_as_before and latest is after else base.severity,
        role=ranked.role,
        explained_by=ranked.explained_by,
        through=ranked.through,
        evidence=(*first.evidence, *(e for e in second.evidence if e.event.time > first.ends)),
    )


def _not_under(finding: Finding, keys: AbstractSet[str]) -> Finding:
    """Return the finding without its cause, if that is one of `keys`."""
    if finding.explained_by not in keys:
        return finding
    return finding._replace(role=finding.rule.role, explained_by=None, through=())


def _may_miss_events(finding: Finding, cut: int) -> bool:
    """Return whether it is a possible finding from before the cut, where evicted events may be missing."""
    return _last_moment(finding) < cut and finding.verdict is Verdict.POSSIBLE


def _last_moment(finding: Finding) -> int:
    """Return the last time that the finding is about."""
    return max(finding.ends, finding.healed or 0)
