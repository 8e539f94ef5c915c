"""What an analysis found, and what it was made from."""

from __future__ import annotations

from typing import NamedTuple

from kvdiag.model.doubt import Doubt
from kvdiag.model.event import Event
from kvdiag.model.rule import Fix, Rule
from kvdiag.model.timeline import Entity, SeenVersion
from kvdiag.model.values import Role, Severity, SubjectKind, Verdict


class Evidence(NamedTuple):
    """One line that a finding rests on: the rule's name for it and the event; `of` how many such lines there were."""

    step: str
    event: Event
    of: int = 1


class BugMatch(NamedTuple):
    """A known defect judged against the versions seen: status is affected, fixed or unknown."""

    component: str
    version: str
    status: str
    fixed: tuple[str, ...]
    reference: str
    says: str


class Finding(NamedTuple):
    """A signature that matched one subject. Times are microseconds UTC; `explained_by` is the key of its cause.

    `healed` is when the fault was over by itself, as the same logs tell; None while it lasts.
    """

    rule: Rule
    subject: Entity
    verdict: Verdict
    severity: Severity
    role: Role
    begins: int
    ends: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    says: str
    cause: str
    fix: tuple[Fix, ...]
    evidence: tuple[Evidence, ...]
    doubts: tuple[Doubt, ...] = ()
    bugs: tuple[BugMatch, ...] = ()
    explained_by: str | None = None
    healed: int | None = None

    @property
    def key(self) -> str:
        """Unique in a report: rule, subject, and the node that told of it."""
        node = "" if self.subject.kind is SubjectKind.NODE else self.subject.ids.get("node", "")
        return f"{self.rule.name}:{self.subject.kind}:{self.subject.key}" + (f"@{node}" if node else "")


class Need(NamedTuple):
    """A log that would settle possible findings (their keys), at this klog verbosity, between these moments.

    The moments are None where the logs do not say when it was.

    `run` is the command that collects it, with names in capitals for what only the user knows; empty when unknown.
    """

    component: str
    verbosity: int
    begins: int | None
    ends: int | None
    findings: tuple[str, ...]
    run: str


class Reading(NamedTuple):
    """How one input was read. `unread` lines were not understood; `sampled` when the counts were scaled up."""

    source: str
    format: str
    component: str
    lines: int
    records: int
    recognised: int
    unread: int
    truncated: int = 0
    begins: int | None = None
    ends: int | None = None
    clock: str = ""
    node: str = ""
    sampled: bool = False


class Report(NamedTuple):
    """Everything an output needs. `problems` are inputs that could not be read, in the words for the user.

    `is_empty` says that nothing was logged in the time that was asked for.
    """

    version: str
    inputs: tuple[Reading, ...]
    versions: tuple[SeenVersion, ...]
    findings: tuple[Finding, ...]
    needs: tuple[Need, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_empty: bool = False
