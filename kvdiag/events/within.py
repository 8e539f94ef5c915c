r"""Words inside an error, whoever prints it: whom the line around them is about.

    E1120 … "CreatePodSandbox for pod failed" err="… failed to find plugin \"flannel\" in path …" pod="shop/web-0"

kubelet, runtime, CNI plug-in, crictl and a table of events tell one failure each in its own sentence around the same
inner words. An entry of the vocabulary without a component reads those; the pod stands elsewhere in the line.
"""

from __future__ import annotations

from kvdiag.events.names import pods_in, refs_of
from kvdiag.events.raw import EventMatch
from kvdiag.model.event import Ref
from kvdiag.regex import lazy_regex

_SEARCHED = 16_384  # bytes of a line
_POD = lazy_regex(
    rb'[ ,"](?:pod\\*"?[=:]\\*"([-.0-9A-Za-z]{1,253}/[-.0-9A-Za-z]{1,253})\\*"'
    rb'|object=\\*"([-.0-9A-Za-z/]{1,507})\\*"(?: fieldPath=\\*"[^"]{0,300}")? kind=\\*"Pod)'
)
_UID = lazy_regex(rb'(?:[ ,"]podUID\\*"?[=:]|[(]UID: )\\*"?([0-9a-fA-F-]{32,36})(?![0-9a-fA-F-])')
_LEGACY = lazy_regex(
    rb"([0-9A-Za-z][-.0-9A-Za-z]{0,252}_[0-9A-Za-z][-.0-9A-Za-z]{0,252}"
    rb"\([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\))"
)


def with_pod(meaning: EventMatch, line: bytes) -> EventMatch:
    """What the words mean, and where they stand within an error the pod of the line, unless they name one."""
    if not meaning.entry.is_within or any(ref.kind in {"pod", "pod_uid"} for ref in meaning.refs):
        return meaning
    return EventMatch.known(meaning.entry, (*meaning.refs, *pod_around(line)), meaning.attrs)


def pod_around(line: bytes) -> tuple[Ref, ...]:
    """The pod that a line names, by name and UID as far as it does; none when it names none or several."""
    line = line[:_SEARCHED]
    found: dict[Ref, None] = {}
    for pattern, kind in ((_POD, "pod"), (_UID, "pod_uid"), (_LEGACY, "pod")):
        for name in pattern.finditer(line):
            found.update(dict.fromkeys(refs_of(kind, name[name.lastindex or 1])))
    found.update(dict.fromkeys(() if found else pods_in(line)))
    kinds = [ref.kind for ref in found]
    return tuple(found) if len(kinds) == len(set(kinds)) else ()
