"""What would turn a possible finding into a verdict: which log, at which verbosity, from when to when.

A finding is possible because an absence in its sentence could not be proven. For each such absence this names the
witness that is missing, the one the logs already have some of before one they have nothing of.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kvdiag.clock import MINUTE, to_datetime
from kvdiag.model.report import Finding, Need
from kvdiag.model.timeline import History
from kvdiag.model.values import Verdict
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.grammar import absences
from kvdiag.rules.witness import SETTLE, Window, doubts

AROUND = MINUTE  # before and after a finding that a log should cover
COMMANDS = {
    "kubelet": "journalctl -u kubelet --since '{since} UTC' --until '{until} UTC'",
    "containerd": "journalctl -u containerd --since '{since} UTC' --until '{until} UTC'",
    "kernel": "journalctl -k --since '{since} UTC' --until '{until} UTC'",
    "crio": "journalctl -u crio --since '{since} UTC' --until '{until} UTC'",
    "kube-controller-manager": "kubectl logs -n kube-system -l component=kube-controller-manager --since-time={rfc}",
    "external-attacher": "kubectl logs -n NAMESPACE CONTROLLER-POD -c csi-attacher --since-time={rfc}",
    "csi-controller": "kubectl logs -n NAMESPACE CONTROLLER-POD -c DRIVER --since-time={rfc}",
    "csi-driver": "kubectl logs -n NAMESPACE DRIVER-POD -c DRIVER --since-time={rfc}",
}


def needs(findings: Sequence[Finding], history: History, entries: Mapping[str, Entry]) -> tuple[Need, ...]:
    """What the possible findings lack, one a component, over all of them."""
    found: dict[str, Need] = {}
    for finding in findings:
        if finding.verdict is Verdict.POSSIBLE:
            for need in _needs(finding, history, entries):
                found[need.component] = _joined(found.get(need.component), need)
    return tuple(found.values())


def _needs(finding: Finding, history: History, entries: Mapping[str, Entry]) -> Iterator[Need]:
    node = finding.subject.ids.get("node", "")
    window = Window(finding.begins - AROUND, finding.ends + AROUND + SETTLE)
    is_adrift = all(one.event.origin.source in history.adrift for one in finding.evidence)
    for absent in absences(finding.rule.when):
        kinds = finding.rule.events[absent.name].kinds
        if doubts(kinds, window, node, history, entries):
            component, verbosity = _witness(kinds, history, entries)
            if component and any(component in doubt for doubt in finding.doubts):
                begins, ends = (None, None) if is_adrift else (window.begins, window.ends)
                yield Need(component, verbosity, begins, ends, (finding.key,), "")


def _witness(kinds: Iterable[str], history: History, entries: Mapping[str, Entry]) -> tuple[str, int]:
    """Who could have shown the absence: a component some log of which is there, else the first that prints it."""
    witnesses = [(one, entry.verbosity) for kind in kinds if (entry := entries.get(kind)) for one in entry.components]
    seen = {coverage.component for coverage in history.coverage}
    return next((one for one in witnesses if one[0] in seen), witnesses[0] if witnesses else ("", 0))


def _joined(before: Need | None, need: Need) -> Need:
    if before is not None:
        keys = tuple(dict.fromkeys((*before.findings, *need.findings)))
        begins = min((b for b in (before.begins, need.begins) if b is not None), default=None)
        ends = max((e for e in (before.ends, need.ends) if e is not None), default=None)
        need = Need(need.component, max(before.verbosity, need.verbosity), begins, ends, keys, "")
    return need._replace(run=_command(need))


def _command(need: Need) -> str:
    command = COMMANDS.get(need.component, "")
    if need.begins is None or need.ends is None:
        return command.partition(" --since")[0]
    since, until = to_datetime(need.begins), to_datetime(need.ends)
    day = "%Y-%m-%d %H:%M:%S"
    said = {"since": since.strftime(day), "until": until.strftime(day), "rfc": since.strftime("%Y-%m-%dT%H:%M:%SZ")}
    return command.format(**said)
