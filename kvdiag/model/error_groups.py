"""Groups of similar lines of level warning or worse: unexplained, explained by a finding, or benign."""

from __future__ import annotations

from typing import NamedTuple

from kvdiag.model.error_anatomy import ErrorAnatomy
from kvdiag.model.record import Origin
from kvdiag.model.values import Level


class ErrorGroup(NamedTuple):
    """Lines of one program from one call site that end in the same words.

    `where` is the file and line of the call, or the reason of an event, empty if the format has none. `message` is the
    message of the first line, with the varying parts replaced; `sample` is that line as logged. Times are microseconds
    UTC, None if the lines have none. `is_ongoing` until the end of the log. `sources` are the logs, `origin` the first
    line. `explained_by` is the rule of a finding, `benign` an entry of harmless lines, `why` its reason; `anatomy` is
    the innermost cause of a group that has neither.
    """

    component: str
    where: str
    level: Level
    message: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    begins: int | None
    ends: int | None
    is_ongoing: bool
    subjects: tuple[str, ...]
    origin: Origin
    sample: str = ""
    explained_by: str = ""
    benign: str = ""
    anatomy: ErrorAnatomy | None = None
    sources: tuple[str, ...] = ()
    why: str = ""


class RetriedPod(NamedTuple):
    """A pod without a finding that failed `count` times between two times (microseconds UTC) in logs of `sources`."""

    pod: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    begins: int
    ends: int
    sources: tuple[str, ...]
    is_ongoing: bool


class StuckSubject(NamedTuple):
    """A pod, volume or node without a finding that waits for a step; `since` is microseconds UTC.

    `kind` is pod, volume or node; `waits_for` names the missing step. `failure` is the last step that failed, `retries`
    the number of failures; both are empty if it waits without an error. `groups` are the errors that may show why, the
    likeliest first.
    """

    kind: str
    name: str
    node: str
    state: str
    waits_for: str
    since: int
    failure: str
    retries: int
    groups: tuple[ErrorGroup, ...] = ()


class Histogram(NamedTuple):
    """Counts of lines over time: `counts[n]` lines from `begins + n * width` on, in microseconds UTC."""

    begins: int
    width: int
    counts: tuple[int, ...]


NEVER = Histogram(0, 1, ())


class Errors(NamedTuple):
    """How many lines there are, how many of them are explained or benign, and the groups of the rest.

    Ongoing groups come first, then the most frequent. `known` are the groups that are explained or benign; `unlisted`
    counts lines of groups beyond the limit. `stuck` are subjects without a finding that wait for a step, `retried`
    other pods that fail again and again. `when` counts all lines that are not benign, up to the number of lines that
    are stored individually.
    """

    lines: int = 0
    explained: int = 0
    benign: int = 0
    groups: tuple[ErrorGroup, ...] = ()
    known: tuple[ErrorGroup, ...] = ()
    unlisted: int = 0
    retried: tuple[RetriedPod, ...] = ()
    stuck: tuple[StuckSubject, ...] = ()
    when: Histogram = NEVER

    @property
    def unexplained(self) -> int:
        """Return how many lines are neither explained nor benign."""
        return self.lines - self.explained - self.benign
