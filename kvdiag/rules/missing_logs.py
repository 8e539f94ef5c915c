"""Logs that would settle a doubt, and the commands that collect them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial

from kvdiag.base.clock import MINUTE, rfc3339
from kvdiag.base.regex import lazy_regex
from kvdiag.model.event import may_be_same_node
from kvdiag.model.report import Finding, Need
from kvdiag.model.timeline import History
from kvdiag.model.values import Role, Severity, Verdict
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.absence import SETTLE, Window, doubts
from kvdiag.rules.capabilities import Capabilities
from kvdiag.rules.distribution import Dialect, LogWindow, dialect_of
from kvdiag.rules.fill import ANY_DRIVER, REMARK, command, limited
from kvdiag.rules.grammar import absences

MOST_COMMANDS = 4  # commands; the first ones are about the nearest capability
BEFORE = 10 * MINUTE  # the cause may have begun this long before its symptom
_JOURNAL = lazy_regex(r"\{journal:(\w+)(?: since \w+)?\}")
UNKNOWN_SLOT = "'<"  # how `command` leaves a slot whose value no log shows; such a command cannot be run
_RUNTIMES = {"containerd", "crio", "docker"}


class CollectCommands:
    """Selects commands for symptoms without a known cause."""

    def __init__(self, history: History, known: Capabilities) -> None:
        """Take the logs that exist, and the graph of capabilities."""
        self._history, self._known = history, known
        self._dialect = cache(partial(dialect_of, history))

    def to_collect(self, finding: Finding) -> tuple[str, ...]:
        """Return commands for an unexplained symptom, those without their output in the logs first; else none."""
        if finding.role is not Role.SYMPTOM or finding.explained_by or finding.severity is Severity.INFO:
            return ()
        if any(one.event.attrs.get("exit_code") for one in finding.evidence):
            return ()  # the program exited by itself: only its own log can show why
        node = finding.subject.ids.get("node", "")
        texts = self._known.to_collect(finding.rule)
        logged = self._logged(node)
        missing = [text for text in texts if not (read := _JOURNAL.search(text)) or read[1] not in logged]
        begins = rfc3339(finding.begins - BEFORE, "seconds")
        driver = finding.subject.ids.get("driver", ANY_DRIVER)
        values = {"node": node, **finding.subject.ids, "driver_sign": driver, "since_time": begins}
        concerned = _without_unconcerned(missing or texts, finding)
        commands = (
            command(limited(self._at_finding_time(text, finding, self._dialect(node)), values), values)
            for text in concerned
        )
        known = (one for one in commands if one and not one.startswith(REMARK) and UNKNOWN_SLOT not in one)
        return tuple(dict.fromkeys(known))[:MOST_COMMANDS]

    def _logged(self, node: str) -> set[str]:
        """Return the services of the node that have a log."""
        found = {one.component for one in self._history.coverage if may_be_same_node(node, one.node)}
        return found | ({"runtime"} if found & _RUNTIMES else set())

    def _at_finding_time(self, text: str, finding: Finding, dialect: Dialect) -> str:
        """Return the command, limited to the time of the finding if that is known."""
        if finding.evidence and not any(self._history.has_date(one.event) for one in finding.evidence):
            return dialect.expand(text)
        is_local = self._history.is_local(one.event for one in finding.evidence)
        window = LogWindow(finding.begins - BEFORE, finding.ends + MINUTE, is_local)
        return dialect.expand(_JOURNAL.sub(r"{between:\1}", text), window.times)


CONTROLLER, ATTACHER = "kube-controller-manager", "external-attacher"
_SIDECARS = ("rpc error: code = ", "csi-provisioner", "external-provisioner", "external-resizer", ATTACHER)
_IN_TREE = ("persistentvolume-controller", "volume_expand")  # as kubectl names parts of the controller manager


def _is_of_driver(finding: Finding) -> bool:
    """Return whether a CSI driver or its sidecar printed the error; kube-controller-manager at most quotes that."""
    return _shows(finding, _SIDECARS)


def _shows(finding: Finding, words: Sequence[str]) -> bool:
    lines = [one.event.logged.decode("utf-8", "replace") for one in finding.evidence]
    return any(word in line for line in lines for word in words)


def _without_unconcerned(texts: Sequence[str], finding: Finding) -> Sequence[str]:
    """Return the commands without the log of kube-controller-manager if a CSI driver failed, or the reverse."""
    if _is_of_driver(finding):
        left = [text for text in texts if CONTROLLER not in text]
    elif _shows(finding, _IN_TREE):
        left = [text for text in texts if not text.startswith("{logs:")]
    else:
        return texts
    return left or texts


AROUND = MINUTE  # a log should cover this long before and after a finding
ON_NODE = {"kubelet", "containerd", "crio", "kernel"}  # components whose logs are on the node
COMMANDS = {
    "kube-controller-manager": "kubectl logs -n kube-system -l component=kube-controller-manager --tail=-1"
    " --since-time={since_time}",
    "external-attacher": "{logs:attacher}",
    "csi-controller": "{logs:controller}",
    "csi-driver": "{logs:driver}",
}


def needs(findings: Sequence[Finding], history: History, entries: Mapping[str, Entry]) -> tuple[Need, ...]:
    """Return the logs that possible findings need, one per component; for severity info only if there are no others.

    Symptoms of a confirmed cause need no further log.
    """
    found: dict[str, Need] = {}
    keys: dict[str, dict[str, None]] = defaultdict(dict)
    ids: dict[str, Mapping[str, str]] = {}
    dialect = cache(partial(dialect_of, history))
    certain = {finding.key for finding in findings if finding.verdict is Verdict.CONFIRMED}
    possible = [
        finding for finding in findings if finding.verdict is Verdict.POSSIBLE and finding.explained_by not in certain
    ]
    for finding in [one for one in possible if one.severity is not Severity.INFO] or possible:
        for need in _needs(finding, history, entries, dialect):
            found[need.component] = _merged(found.get(need.component), need)
            keys[need.component][finding.key] = None
            ids.setdefault(need.component, finding.subject.ids)
    is_local = bool(found) and history.is_local(history.events)
    return tuple(
        need._replace(findings=tuple(keys[component]), run=_command(need, ids[component], dialect, is_local=is_local))
        for component, need in found.items()
    )


def _needs(
    finding: Finding, history: History, entries: Mapping[str, Entry], dialect: Callable[[str], Dialect]
) -> Iterator[Need]:
    node = finding.subject.ids.get("node", "")
    window = Window(finding.begins - AROUND, finding.ends + AROUND + SETTLE)
    is_undated = not any(history.has_date(one.event) for one in finding.evidence)
    for name in dict.fromkeys((*(absent.name for absent in absences(finding.rule.when)), *finding.rule.cut)):
        kinds = finding.rule.events[name].kinds
        if doubts(kinds, window, node, history, entries):
            doubted_components = {doubt.component for doubt in finding.doubts}
            others = _RUNTIMES - {dialect(node).runtime}  # of the node; they have no log there
            doubted = [one for one in _witnesses(kinds, history, entries) if one[0] in doubted_components - others]
            if ATTACHER in (one[0] for one in _witnesses(kinds, history, entries)) and _is_of_driver(finding):
                doubted = [
                    (ATTACHER, verbosity) if one == CONTROLLER else (one, verbosity) for one, verbosity in doubted
                ]
            for component, verbosity in doubted[:1]:
                least_verbosity = 0 if _is_events(component, history) else verbosity
                begins, ends = (None, None) if is_undated else (window.begins, window.ends)
                yield Need(component, least_verbosity, begins, ends, (), "")


def _is_events(component: str, history: History) -> bool:
    """Return whether a component has only kubectl events, which have no verbosity."""
    known = [coverage for coverage in history.coverage if coverage.component == component]
    return bool(known) and all(coverage.is_events for coverage in known)


def _witnesses(kinds: Iterable[str], history: History, entries: Mapping[str, Entry]) -> list[tuple[str, int]]:
    """Return the components that could prove the absence with the needed -v, first those that have a log."""
    witnesses = [(one, entry.verbosity) for kind in kinds if (entry := entries.get(kind)) for one in entry.components]
    seen = {coverage.component for coverage in history.coverage}
    return sorted((one for one in witnesses if one[0]), key=lambda one: one[0] not in seen)


def _merged(before: Need | None, need: Need) -> Need:
    if before is not None:
        begins = min((b for b in (before.begins, need.begins) if b is not None), default=None)
        ends = max((e for e in (before.ends, need.ends) if e is not None), default=None)
        need = Need(need.component, max(before.verbosity, need.verbosity), begins, ends, (), "")
    return need


def _command(need: Need, ids: Mapping[str, str], dialect: Callable[[str], Dialect], *, is_local: bool) -> str:
    """Return the command that collects the log on its node; for several nodes that of one."""
    node = ids.get("node", "")
    if need.component in ON_NODE:
        run = command(_of_node(need, dialect(node), is_local=is_local), {"node": node})
        return "" if run.startswith(REMARK) else run
    values = {"node": node, "driver_sign": ids.get("driver", ANY_DRIVER)}
    if need.begins is not None:
        values["since_time"] = rfc3339(need.begins, "seconds")
    return command(limited(dialect(node).expand(COMMANDS.get(need.component, "")), values), values)


def _of_node(need: Need, dialect: Dialect, *, is_local: bool) -> str:
    if need.begins is None or need.ends is None:
        return dialect.expand(f"{{journal:{need.component}}}")
    window = LogWindow(need.begins, need.ends, is_local)
    return dialect.expand(f"{{between:{need.component}}}", window.times)
