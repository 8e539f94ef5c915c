"""Why a finding is possible and not confirmed, as a value; `kvdiag.report.doubts` puts it into words."""

from __future__ import annotations

from enum import Enum, auto
from typing import NamedTuple


class DoubtReason(Enum):
    """What speaks against certainty, with the fields of a `Doubt` that say more."""

    NO_LOG = auto()  # no log of `component` covers `at`
    VERBOSITY = auto()  # the log of `component` shows -v=`seen` at most, `verbosity` is needed
    BEGINS_LATE = auto()  # the log of `component` begins at `at`, after `until`
    ENDS_SOON = auto()  # the log of `component` ends `took` after `at`, too soon for something to come
    ENDS_EARLY = auto()  # the log of `component` ends at `at`, before `until`
    UNTIMED = auto()  # the lines of `component` have no time, so that it is not known what came before and after them
    GAP = auto()  # at `at` something may be missing, as `text` says
    CLOCKS = auto()  # the events of `text` are `took` apart, and of two machines
    DISAGREE = auto()  # the lines of `text` tell the same act `took` apart
    PAIRING = auto()  # the answer in the line `text` may be that to another call
    SILENCE = auto()  # what the line `text` says was last said at `at`, due again in `took`, and never came
    PROOF = auto()  # what would prove it was not seen, as the rule says in `text`
    UNSAID = auto()  # the line `text` does not say what `needed`, its component or version, is
    EARLIER = auto()  # the failures before the line `text`, which its backoff proves, are in no log
    AUTHOR = auto()  # only the log `text` says it, of a container that its owner named as he liked
    VERSION = auto()  # the version of `text` is not known, and only `needed` are concerned


class Doubt(NamedTuple):
    """A reason with what it is about. `component` is whose log would settle it; empty where no log would.

    `at` and `until` are microseconds UTC, `took` is microseconds; `text` is made of the rule's words, or of a
    log's name and line.
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
