"""Lines of level warning or worse, by what they say: those that nothing explains, and those that something does."""

from __future__ import annotations

from typing import NamedTuple

from kvdiag.model.record import Origin
from kvdiag.model.values import Level


class ErrorGroup(NamedTuple):
    """Lines of one program that come from the same place and end in the same words.

    `where` is the file and line of the call, or the reason of an event, empty where the format has none. `says` is what
    the first of them says, with what differs folded; `sample` is that line as it is in the log. Times are microseconds
    UTC, None where the lines have none. `goes_on` until the end of the log. `origin` is the first of them.
    `explained_by` is the rule of a finding, `benign` an entry of harmless lines.
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


class RetriedPod(NamedTuple):
    """A pod that failed `count` times between two times (microseconds UTC), and that no finding is about."""

    pod: str
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    begins: int
    ends: int
    is_ongoing: bool


class Histogram(NamedTuple):
    """How many lines there were when: `counts[n]` of them from `begins + n * width` on, in microseconds UTC."""

    begins: int
    width: int
    counts: tuple[int, ...]


NEVER = Histogram(0, 1, ())


class Errors(NamedTuple):
    """How many lines there are, how many of them are explained or benign, and the groups of the rest.

    Those that go on come first, then the most frequent. `known` are the groups of what is explained or benign;
    `unlisted` counts lines whose group is not listed, as there are too many. `retried` are pods that
    fail again and again. `when` tells of all but the benign, and
    but those beyond the number of which it is known where each stands.
    """

    lines: int = 0
    explained: int = 0
    benign: int = 0
    groups: tuple[ErrorGroup, ...] = ()
    known: tuple[ErrorGroup, ...] = ()
    unlisted: int = 0
    retried: tuple[RetriedPod, ...] = ()
    when: Histogram = NEVER

    @property
    def unexplained(self) -> int:
        """How many lines nothing explains."""
        return self.lines - self.explained - self.benign
