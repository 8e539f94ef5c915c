"""What the errors of a pod's life say: at what an attempt to sync failed, and how long it is silent when it is over."""

from __future__ import annotations

from kvdiag.base.clock import MINUTE, SECOND, parse_duration
from kvdiag.base.regex import lazy_regex
from kvdiag.history.lifecycles.load import lifecycles
from kvdiag.model.event import Event
from kvdiag.model.values import SubjectKind

# How long after a failure that lasts the kubelet tells of it again: in back-off its next look at the pod is 10 to 15
# seconds later, or when the back-off ends, but no more than 90; a call to the runtime or a mount may take 4 minutes.
_PATIENCE, _LONGEST, _SLACK = 15 * SECOND, 90 * SECOND, 5 * SECOND
_CALL = 5 * MINUTE
_BACKED_OFF = lazy_regex(r"[Bb]ack-off (\d[\dhms.]*) restarting")


def failed_at(error: str) -> str:
    """What an attempt to sync a pod failed at: `backoff`, `start`, `sandbox` or `kill`; empty for anything else."""
    known = lifecycles().definition(SubjectKind.POD).errors.items() if error else ()
    return next((detail for detail, texts in known if any(text in error for text in texts)), "")


def silence(event: Event) -> int | None:
    """After how long a silence of the kubelet a failure is over; None for what is not told again while it lasts."""
    if event.kind not in lifecycles().kinds(SubjectKind.POD, "lasts"):
        return None
    error = event.attrs.get("error", "")
    backs_off = event.kind in lifecycles().kinds(SubjectKind.POD, "backs-off")
    if not backs_off and failed_at(error) != "backoff":
        return _CALL
    backoff_match = _BACKED_OFF.search(error)
    waits = parse_duration(event.attrs.get("backoff", "") or (backoff_match[1] if backoff_match else "")) or _LONGEST
    return max(_PATIENCE, min(waits * 3 // 2, _LONGEST)) + _SLACK
