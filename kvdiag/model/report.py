"""What an analysis found, and what it was made from."""

from __future__ import annotations

from typing import NamedTuple

from kvdiag.model.doubt import Doubt
from kvdiag.model.error_groups import Errors
from kvdiag.model.event import Event
from kvdiag.model.lanes import Lanes
from kvdiag.model.rule import Fix, Rule
from kvdiag.model.timeline import Entity, SeenVersion
from kvdiag.model.values import Role, Severity, State, SubjectKind, Verdict


class Evidence(NamedTuple):
    """One line that a finding rests on: the rule's name for it and the event; `of` how many such lines there were."""

    step: str
    event: Event
    total: int = 1


class BugMatch(NamedTuple):
    """A known bug checked against the versions seen: `status` is affected, fixed or unknown; `says` is the sentence."""

    component: str
    version: str
    status: str
    fixed: tuple[str, ...]
    reference: str
    sentence: str


class Finding(NamedTuple):
    """A signature that matched one subject. Times are microseconds UTC; `explained_by` is the key of its cause.

    `state` is where the fault stood at the end of the logs. `healed` is when it ended by itself, `deleted` when its pod
    was removed before that (microseconds UTC); None where no line shows it. `through` are rules between
    the cause and this one; `explains` are the rules whose findings it accounts for. `incident` is the key of the first
    of several findings that are one fault with many victims. `collect` are commands that show the cause of a symptom
    where none of the logs does. `heading` is the rule's title with the names of this finding, `row` the same
    without the object, for a row that shows it; empty where the rule has none or a name is not in the logs.
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
    state: State = State.UNKNOWN
    healed: int | None = None
    deleted: int | None = None
    through: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    incident: str | None = None
    collect: tuple[str, ...] = ()
    folder: str = ""
    heading: str = ""
    row: str = ""

    @property
    def title(self) -> str:
        """The title shown to a person, with the object in it where the rule has such a heading."""
        return self.heading or self.rule.title

    @property
    def row_title(self) -> str:
        """The title where the object is shown beside it: in a row of a table."""
        return self.row or self.rule.title

    @property
    def key(self) -> str:
        """Unique in a report: rule, kind, key and part of the subject, and its node: `rule-name:volume:key@node`.

        Where logs of several incidents were read the folder follows: `rule-name:node:n1#cases/b`.
        """
        node = "" if self.subject.kind is SubjectKind.NODE else self.subject.ids.get("node", "")
        part = f"/{self.subject.part}" if self.subject.part else ""
        folder = f"#{self.folder}" if self.folder else ""
        return f"{self.rule.name}:{self.subject.kind}:{self.subject.key}{part}" + (f"@{node}" if node else "") + folder


class Need(NamedTuple):
    """A log that would confirm possible findings (their keys), at this klog `-v`, between two times (microseconds UTC).

    The times are None where the logs have none.

    `run` is the command that collects it, with names in capitals for what only the user knows; empty when unknown.
    """

    component: str
    verbosity: int
    begins: int | None
    ends: int | None
    findings: tuple[str, ...]
    run: str


class Reading(NamedTuple):
    """How one input was read. `unread` lines were not recognized; `sampled` when counts were scaled up.

    `begins` and `ends` are microseconds UTC; `clock` says how year and zone were found, empty when the log has them.
    """

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
    """Everything an output needs. `problems` are inputs that could not be read, `notes` caveats, both as shown.

    `is_empty`: nothing was logged in the requested time. `errors` are the lines of level warning or worse. `lanes` are
    there for an output that shows them. `span` is from when until when the logs go, as far as that was asked for
    (microseconds UTC); None where nothing tells.
    """

    version: str
    inputs: tuple[Reading, ...]
    versions: tuple[SeenVersion, ...]
    findings: tuple[Finding, ...]
    needs: tuple[Need, ...] = ()
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    is_empty: bool = False
    errors: Errors = Errors()
    lanes: Lanes | None = None
    span: tuple[int, int] | None = None
