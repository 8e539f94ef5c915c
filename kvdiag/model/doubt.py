"""Why a finding is only possible, as a value; `kvdiag.report.phrases` renders it as text."""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple


class DoubtReason(Enum):
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
    UNSAID = auto()  # the line `text` does not contain `needed`, its component or version
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
