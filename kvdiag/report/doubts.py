"""Sentences for doubts: why a finding is only possible."""

from __future__ import annotations

from collections.abc import Mapping

from kvdiag.base.clock import CLOCKS_DIFFER, format_duration, to_datetime
from kvdiag.model.doubt import Doubt, DoubtReason

SENTENCES: Mapping[DoubtReason, str] = {
    DoubtReason.NO_LOG: "no {component} log covers {at}",
    DoubtReason.VERBOSITY: "needs -v={verbosity}: the {component} log has no line above -v={seen}",
    DoubtReason.BEGINS_LATE: "the {component} log begins at {at}, after {until}",
    DoubtReason.ENDS_SOON: "the {component} log ends {took} after {at}",
    DoubtReason.ENDS_EARLY: "the {component} log ends at {at}, before {until}",
    DoubtReason.UNTIMED: "the lines of the {component} log have no time: what came before and after them is unknown",
    DoubtReason.GAP: "{text} at {at}",
    DoubtReason.CLOCKS: "{text} are {took} apart, on two machines whose clocks may be off by "
    + format_duration(CLOCKS_DIFFER),
    DoubtReason.DISAGREE: "{text} tell the same act {took} apart: the clock of one of these logs is wrong or jumped",
    DoubtReason.PAIRING: "{text} may answer another RPC: several were in flight",
    DoubtReason.SILENCE: "{text} is not repeated after {at}, although a retry was due in {took} and the log goes on",
    DoubtReason.PROOF: "{text}",
    DoubtReason.UNSAID: "{text} does not show the {needed}",
    DoubtReason.EARLIER: "the tries before {text} are not in these logs; they may have failed for another reason",
    DoubtReason.AUTHOR: "only {text} shows it, the output of a container, and nothing proves which program runs in it",
    DoubtReason.VERSION: "{text} version not found in these logs; this rule applies to {needed} "
    "(set it with --component {text}=…)",
}


def format_doubt(doubt: Doubt) -> str:
    """Return the sentence for a doubt. The caller must escape and redact it."""
    values = doubt._asdict() | {"at": _when(doubt.at), "until": _when(doubt.until), "took": format_duration(doubt.took)}
    return SENTENCES[doubt.reason].format_map(values)


def _when(stamp: int) -> str:
    return to_datetime(stamp).strftime("%Y-%m-%d %H:%M:%S")
