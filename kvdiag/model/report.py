"""The report of an analysis: findings, inputs, versions and errors."""

from __future__ import annotations

from enum import StrEnum, auto
from typing import NamedTuple, Protocol

from kvdiag.model.error_anatomy import ErrorAnatomy
from kvdiag.model.error_groups import Errors
from kvdiag.model.event import Event
from kvdiag.model.lanes import Lanes
from kvdiag.model.rule import Fix, Rule
from kvdiag.model.timeline import Entity, SeenVersion
from kvdiag.model.values import Role, Severity, State, SubjectKind, Verdict


class DoubtReason(StrEnum):
    """The reasons for a doubt, each with the fields of `Doubt` that it uses."""

    NO_LOG = auto()  # no log of `component` covers `at`
    VERBOSITY = auto()  # the log of `component` shows -v=`seen` at most, `verbosity` is needed
    BEGINS_LATE = auto()  # the log of `component` begins at `at`, after `until`
    ENDS_SOON = auto()  # the log of `component` ends `took` after `at`, before the expected line was due
    ENDS_EARLY = auto()  # the log of `component` ends at `at`, before `until`
    UNTIMED = auto()  # the lines of `component` have no time, so their order relative to others is unknown
    GAP = auto()  # at `at` lines may be missing, because of `text`
    CLOCKS = auto()  # the events of `text` are `took` apart, on two machines whose clocks may differ
    DISAGREE = auto()  # the lines of `text` report the same operation `took` apart
    PAIRING = auto()  # the response in the line `text` may belong to another call
    SILENCE = auto()  # the repeating line `text` was last printed at `at`; the next was due after `took` and is missing
    PROOF = auto()  # no line proves it; `text` is the rule's explanation
    NOT_SHOWN = auto()  # the line `text` does not contain `needed`, its component or version
    EARLIER = auto()  # the backoff in the line `text` proves earlier failures that are in no log
    AUTHOR = auto()  # only the log `text` reports it; its container's name is chosen by the user
    VERSION = auto()  # the version of `text` is unknown, and only the versions `needed` are affected


class Doubt(NamedTuple):
    """A reason with its details. `component` is the component whose log would settle it; empty if no log would.

    `at` and `until` are microseconds UTC, `took` is microseconds; `text` is a sentence of the rule, or a log's name
    and line.
    """

    reason: DoubtReason
    component: str = ""
    at: int = 0
    until: int = 0
    took: int = 0
    verbosity: int = 0
    seen: int = 0
    text: str = ""
    needed: str = ""


class Evidence(NamedTuple):
    """A line of evidence: the rule's name for it and the event; `total` is how many such lines there were."""

    step: str
    event: Event
    total: int = 1


class BugMatch(NamedTuple):
    """A known bug checked against the versions seen: `status` is affected, fixed or unknown."""

    component: str
    version: str
    status: str
    fixed: tuple[str, ...]
    reference: str
    sentence: str


class FindingTexts(NamedTuple):
    """The texts of a finding, with the names of its subject.

    `heading` is the rule's title with these names, `row` the same without the object, for a row that shows it; empty
    where the rule has none or a name is not in the logs. `anatomy` is the innermost cause, if the rule reads it from
    the error.
    """

    says: str = ""
    cause: str = ""
    fix: tuple[Fix, ...] = ()
    bugs: tuple[BugMatch, ...] = ()
    heading: str = ""
    row: str = ""
    anatomy: ErrorAnatomy | None = None

    @property
    def titles(self) -> tuple[str, str]:
        """Return the heading and the row."""
        return self.heading, self.row

    @property
    def all(self) -> FindingTexts:
        """Return these texts, as they need not be filled."""
        return self


class TextSource(Protocol):
    """Fills the texts of a finding when they are asked for: of many findings few are shown."""

    @property
    def says(self) -> str:
        """Return the sentence of the finding."""

    @property
    def titles(self) -> tuple[str, str]:
        """Return the heading and the row."""

    @property
    def all(self) -> FindingTexts:
        """Return all texts."""


class Finding(NamedTuple):
    """A signature that matched one subject. Times are microseconds UTC; `explained_by` is the key of its cause.

    `state` is the state of the fault at the end of the logs. `healed` is when it ended by itself, `deleted` when its
    pod was removed before that (microseconds UTC); None if no line shows it. `through` are the rules between the cause
    and this one; `explains` are the rules of the findings that it explains. `incident` is the key of the first of
    several findings that are one fault with many victims. `collect` are commands that show the cause of a symptom if
    no log does. `sources` are the logs of its lines and of its end.
    """

    rule: Rule
    subject: Entity
    verdict: Verdict
    severity: Severity
    role: Role
    begins: int
    ends: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    evidence: tuple[Evidence, ...]
    texts: TextSource
    doubts: tuple[Doubt, ...] = ()
    explained_by: str | None = None
    state: State = State.UNKNOWN
    healed: int | None = None
    deleted: int | None = None
    through: tuple[str, ...] = ()
    explains: tuple[str, ...] = ()
    incident: str | None = None
    collect: tuple[str, ...] = ()
    folder: str = ""
    sources: frozenset[str] = frozenset()

    @property
    def says(self) -> str:
        """Return the sentence that says what happened."""
        return self.texts.says

    @property
    def anatomy(self) -> ErrorAnatomy | None:
        """Return the innermost cause in the errors of the finding, if its rule reads it."""
        return self.texts.all.anatomy if self.rule.cause_from else None

    @property
    def title(self) -> str:
        """The title shown to a person, with the object in it where the rule has such a heading."""
        return self.texts.titles[0] or self.rule.title

    @property
    def row_title(self) -> str:
        """The title where the object is shown beside it: in a row of a table."""
        return self.texts.titles[1] or self.rule.title

    @property
    def place(self) -> tuple[str, ...]:
        """Return what the key of the finding is made of, besides the rule; comparing it takes a fifth of the time."""
        subject = self.subject
        return (subject.kind, subject.key, subject.part, subject.ids.get("node", ""), self.folder)

    @property
    def key(self) -> str:
        """Return a key that is unique in a report, with rule, subject and node: `rule-name:volume:key@node`.

        If logs of several incidents were read, the folder follows: `rule-name:node:n1#cases/b`.
        """
        node = "" if self.subject.kind is SubjectKind.NODE else self.subject.ids.get("node", "")
        part = f"/{self.subject.part}" if self.subject.part else ""
        folder = f"#{self.folder}" if self.folder else ""
        return f"{self.rule.name}:{self.subject.kind}:{self.subject.key}{part}" + (f"@{node}" if node else "") + folder


class Need(NamedTuple):
    """A log that would confirm possible findings (their keys), at this klog `-v`, between two times (microseconds UTC).

    The times are None if the logs have none.

    `run` is the command that collects it, with placeholders in capitals; empty if unknown.
    """

    component: str
    verbosity: int
    begins: int | None
    ends: int | None
    findings: tuple[str, ...]
    run: str


class Scale(StrEnum):
    """What a log without dates shows beside its lines: ages, uptimes of the machine, or only their order."""

    AGE = auto()
    UPTIME = auto()
    LINE = auto()
    MIXED = auto()  # of several logs, each counts from another moment


class Undated(NamedTuple):
    """How lines without dates count time; `zero` is when they were printed (ages) or the boot, as assumed (µs UTC).

    `lines` are the numbers of these lines if not all of the log count so; `others` is how the rest count, None if they
    have dates.
    """

    scale: Scale
    zero: int
    lines: frozenset[int] | None = None
    others: Undated | None = None


class Reading(NamedTuple):
    """How one input was read. `unread` lines have no known format; `sampled` if counts were scaled up.

    `begins` and `ends` are microseconds UTC; `clock` describes how year and zone were found, empty if the log has them.
    `undated` is set if no line has a date, or if ages stand between lines with dates.
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
    undated: Undated | None = None

    @property
    def is_dated(self) -> bool:
        """Return whether a line has a date."""
        return self.undated is None or (self.undated.lines is not None and self.undated.others is None)


class Excerpt(NamedTuple):
    """Consecutive lines of an input, redacted; `first_line` is the number of the first, from 1."""

    source: str
    first_line: int
    lines: tuple[str, ...]


class Report(NamedTuple):
    """The report that outputs render. `problems` are inputs that could not be read, `notes` are caveats, both as text.

    `is_empty`: nothing was logged in the requested time. `errors` are the lines of level warning or worse. `lanes` and
    `excerpts` are set for outputs that show them. `span` is the begin and end of the logs within the requested time
    (microseconds UTC); None if unknown.
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
    excerpts: tuple[Excerpt, ...] = ()
