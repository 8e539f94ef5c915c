"""Compare known bugs with the versions seen: affected, fixed or unknown."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from kvdiag.base.versions import contains, format_range, intersection, is_subset, read_range, read_version
from kvdiag.model.event import may_be_same_node
from kvdiag.model.report import BugMatch
from kvdiag.model.rule import Bug, Rule
from kvdiag.model.timeline import SeenVersion

AFFECTED, FIXED, UNKNOWN = "affected", "fixed", "unknown"


def known_bugs(
    rule: Rule,
    versions: Sequence[SeenVersion],
    node: str,
    values: Mapping[str, str],
    at: int | None = None,
    *,
    bound: Collection[str] = (),
) -> Iterator[BugMatch]:
    """Yield the rule's bugs that apply to this finding, for example to its driver, with the status at the time `at`.

    `bound` are the names of the rule's events that are part of the match.
    """
    for bug in rule.bugs:
        if bug.by and not set(bug.by) & set(bound):
            continue
        if all(fnmatchcase(values.get(name, ""), glob) for name, glob in bug.where.items()):
            yield _match(bug, find_version(_component(bug, values), versions, node, at))


def _component(bug: Bug, values: Mapping[str, str]) -> str:
    return values.get("driver", bug.component) if bug.component == "csi-driver" else bug.component


def applies(rule: Rule, versions: Sequence[SeenVersion], node: str, at: int) -> bool:
    """Return False if a version that ran at that time (microseconds UTC) is outside of the rule's range."""
    return all(
        (version := find_version(component, versions, node, at)) is None or status(version, affected) != FIXED
        for component, affected in rule.applies.items()
    )


def find_version(
    component: str, versions: Sequence[SeenVersion], node: str, at: int | None = None
) -> SeenVersion | None:
    """Return the version of a component on a node: from --component, else printed in a log, in a file, or inferred.

    Of several printed versions, the last one before `at` is taken, else the first one after it; without `at` the last.
    """
    candidates = [v for v in versions if v.component == component and may_be_same_node(node, v.node)]
    order = {"option": 0, "banner": 1, "file": 2, "wording": 3}
    return min(candidates, key=lambda v: (order.get(v.how, 4), *_distance(v, at)), default=None)


def _distance(version: SeenVersion, at: int | None) -> tuple[bool, int]:
    time = version.time or 0
    return (False, -time) if at is None or time <= at else (True, time)


def status(version: SeenVersion, affected: str) -> str:
    """Return whether the version, or the whole range inferred from wordings, lies in the affected range."""
    span = read_range(affected)
    if version.version:
        read = read_version(version.version)
        return UNKNOWN if read is None else AFFECTED if contains(span, read) else FIXED
    inferred = read_range(version.span)
    if is_subset(inferred, span):
        return AFFECTED
    return UNKNOWN if intersection(inferred, span) else FIXED


def _match(bug: Bug, version: SeenVersion | None) -> BugMatch:
    state = UNKNOWN if version is None else status(version, bug.affected)
    shown = "" if version is None else version.version or format_range(read_range(version.span))
    description = _describe(bug, state, version, shown)
    return BugMatch(
        component=bug.component,
        version=shown,
        status=state,
        fixed=bug.fixed,
        reference=bug.reference,
        sentence=f"{description} ({bug.doubt})" if bug.doubt else description,
    )


def _describe(bug: Bug, state: str, version: SeenVersion | None, shown: str) -> str:
    fixed = f"fixed in {', '.join(bug.fixed)}" if bug.fixed else "no fixed release known"
    if version is None:
        return f"{bug.component} version not found in these logs; affected: {bug.affected}, {fixed}"
    name = f"{version.component} {shown}" if version.version else f"{version.component} {shown} (from log wording)"
    read = read_version(version.version) if version.version else None
    if state == AFFECTED:
        if read and read.vendor:
            return f"{name}: upstream {read.plain} is affected, {fixed}; vendor build {read.tail} may include the fix"
        return f"{name}: affected, {fixed}"
    if state == FIXED:
        return f"{name}: not affected (affected: {bug.affected}); look for another cause"
    return f"{name}: cannot tell; affected: {bug.affected}, {fixed}"
