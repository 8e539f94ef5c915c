"""Doubts in words, one sentence each."""

from __future__ import annotations

from collections.abc import Mapping

from kvdiag.base.clock import CLOCKS_DIFFER, say_duration, to_datetime
from kvdiag.model.doubt import Doubt, Reason

SENTENCES: Mapping[Reason, str] = {
    Reason.NO_LOG: "no {component} log covers {at}",
    Reason.VERBOSITY: "needs -v={verbosity}: the {component} log has no line above -v={seen}",
    Reason.BEGINS_LATE: "the {component} log begins at {at}, after {until}",
    Reason.ENDS_SOON: "the {component} log ends {took} after {at}",
    Reason.ENDS_EARLY: "the {component} log ends at {at}, before {until}",
    Reason.UNTIMED: "the lines of the {component} log have no time: what came before and after them is unknown",
    Reason.GAP: "{text} at {at}",
    Reason.CLOCKS: "{text} are {took} apart, on two machines whose clocks may be off by " + say_duration(CLOCKS_DIFFER),
    Reason.DISAGREE: "{text} tell the same act {took} apart: the clock of one of these logs is wrong or jumped",
    Reason.PAIRING: "{text} may answer another RPC: several were in flight",
    Reason.SILENCE: "{text} is not repeated after {at}, although a retry was due in {took} and the log goes on",
    Reason.PROOF: "{text}",
    Reason.UNSAID: "{text} does not show the {needed}",
    Reason.EARLIER: "the tries before {text} are not in these logs; they may have failed for another reason",
    Reason.AUTHOR: "only {text} shows it, the output of a container, and nothing proves which program runs in it",
    Reason.VERSION: "{text} version not found in these logs; this rule applies to {needed} "
    "(set it with --component {text}=…)",
}


def say_doubt(doubt: Doubt) -> str:
    """The sentence for a doubt; words of a log in it are not made safe to show yet."""
    said = doubt._asdict() | {"at": _when(doubt.at), "until": _when(doubt.until), "took": say_duration(doubt.took)}
    return SENTENCES[doubt.reason].format_map(said)


def _when(stamp: int) -> str:
    return to_datetime(stamp).strftime("%Y-%m-%d %H:%M:%S")
