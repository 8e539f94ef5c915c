"""Convert the result of an analysis to rows of the tables in `kvdiag.fleet.schema`, without secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from kvdiag.base.versions import format_range, read_range
from kvdiag.events.made_names import attachment_name
from kvdiag.fleet.values import Bundle, Outcome
from kvdiag.model.event import Event
from kvdiag.model.report import Finding, Reading, Report
from kvdiag.model.timeline import Coverage, History, SeenVersion, Timeline
from kvdiag.model.values import SubjectKind
from kvdiag.report.json_report import finding as plain_finding
from kvdiag.report.jsontext import json_text
from kvdiag.safe.secrets import redacted, redacted_value

Row = dict[str, Any]
Relative = Callable[[str], str]
_RUNTIMES = ("containerd", "crio", "cri-dockerd")
_SHARED = ("volume_handle", "spec_name", "attachment")
"""Names of a volume that are the same on every node."""
_SURELY = ("volume_handle:", "attachment:", "spec_name:pvc-")
_CLEAN_ALREADY = frozenset(
    {"json", "says", "cause", "first_step", "first_command", "text"}
)  # redacted by those who write them here


def rows(
    report: Report, history: History, bundle: Bundle, relative: Relative, wide: AbstractSet[str]
) -> Mapping[str, Iterable[Row]]:
    """Return the rows of each table except `failed` and `joined`; `relative` shortens the name of a source.

    Stored are events that may be evaluated together with those of other nodes: of volumes that may be on another node,
    of pods that use such a volume, and of nodes (kinds in `wide`).
    """
    volume_rows = [_volume(one) for one in _volumes(history)]
    volumes = {id(e): t.subject.key for t in _volumes(history) for e in t.events}
    movable = {row["volume"] for row in volume_rows if row["names"]}
    pods = {pod for row in volume_rows if row["names"] for pod in row["pods"]}

    def is_movable(event: Event) -> bool:
        is_of_pod = any(ref.kind == "pod_uid" and ref.value in pods for ref in event.refs)
        return volumes.get(id(event)) in movable or is_of_pod

    tables: Mapping[str, Iterable[Row]] = {
        "findings": [finding_row(one, history.versions, bundle.node, relative) for one in report.findings],
        "events": (
            _event(one, volumes.get(id(one), ""), relative, redacted(one.text) if is_kept else "")
            for one in history.events
            if (is_kept := is_movable(one)) or one.kind in wide
        ),
        "volumes": volume_rows,
        "inputs": [_input(one, relative) for one in report.inputs],
        "coverage": [_coverage(one) for one in history.coverage],
        "versions": [_version(one, relative) for one in history.versions],
        "errors": list(_errors(report, relative)),
    }
    return {name: of_table if name == "events" else map(_shown, of_table) for name, of_table in tables.items()}


def _shown(row: Row) -> Row:
    """Return a row without secrets, also in names, redacted in the same way on all nodes."""
    return {name: value if name in _CLEAN_ALREADY else _clean(value) for name, value in row.items()}


def _clean(value: Any) -> Any:  # noqa: ANN401  # what a column may hold
    if isinstance(value, str):
        return redacted(value)
    if isinstance(value, dict):
        return {name: _clean(part) for name, part in value.items()}
    return [_clean(part) for part in value] if isinstance(value, list) else value


def _clean_document(value: Any, key: str = "") -> Any:  # noqa: ANN401  # JSON's own types
    """Return the value without secrets as `json_text` redacts it; its lines are those of the events, cleaned once."""
    if isinstance(value, str):
        return redacted_value(key, value)
    if isinstance(value, dict):
        return {redacted(name): _clean_document(part, name) for name, part in value.items()}
    return [_clean_document(part, key) for part in value] if isinstance(value, list | tuple) else value


def finding_row(found: Finding, versions: Sequence[SeenVersion], node: str, relative: Relative) -> Row:
    """Return a finding with the versions at its beginning."""
    ids, running = found.subject.ids, _running(versions, found.begins)
    driver = ids.get("driver", "")
    document = plain_finding(_relative_evidence(found, relative))
    step: Mapping[str, str] = next(iter(document["fix"]), {})
    return {
        "rule": found.rule.name,
        "rule_id": found.rule.id,
        "title": found.rule.title,
        "severity": found.severity.label,
        "severity_rank": int(found.severity),
        "verdict": str(found.verdict),
        "role": str(found.role),
        "subject_kind": str(found.subject.kind),
        "subject": found.subject.name,
        "subject_key": found.subject.key,
        "subject_node": ids.get("node", ""),
        "volume_handle": ids.get("volume_handle", ""),
        "pod": ids.get("pod", ""),
        "driver": driver,
        "driver_version": running.get(driver, ""),
        "kubelet_version": running.get("kubelet", ""),
        "runtime_version": next((running[name] for name in _RUNTIMES if name in running), ""),
        "begins": found.begins,
        "ends": found.ends,
        "healed": found.healed,
        "count": found.count,
        "says": redacted(found.texts.all.says),
        "cause": redacted(found.texts.all.cause),
        "first_step": redacted(step.get("text") or ""),
        "first_command": redacted(step.get("run") or ""),
        "finding": found.key,
        "explained_by": found.explained_by,
        "incident": found.incident,
        "nodes": sorted(_nodes(found)) or [node],
        "affected": [bug.reference for bug in found.texts.all.bugs if bug.status == "affected"],
        "surer_than": [],
        "json": json_text(_clean_document(document), redact=False).rstrip("\n"),
    }


def _nodes(found: Finding) -> set[str]:
    """The nodes whose lines a finding rests on, and those between which its volume moved."""
    events = [one.event for one in found.evidence]
    moved = {event.attrs.get(name, "") for event in events for name in ("from_node", "to_node")}
    return (moved | {event.node for event in events}) - {""}


def _relative_evidence(found: Finding, relative: Relative) -> Finding:
    evidence = tuple(
        one._replace(
            event=one.event._replace(origin=one.event.origin._replace(source=relative(one.event.origin.source)))
        )
        for one in found.evidence
    )
    return found._replace(evidence=evidence)


def _running(versions: Sequence[SeenVersion], at: int) -> dict[str, str]:
    """Return the version of each component at a time: the last one printed before it, else the first one."""
    printed = sorted((one for one in versions if one.version), key=lambda one: one.time or 0)
    first = {one.component: one.version for one in reversed(printed)}
    return first | {one.component: one.version for one in printed if (one.time or 0) <= at}


def _event(event: Event, volume: str, relative: Relative, text: str) -> Row:
    """Return the row of an event without secrets; there are so many that each value is cleaned once."""
    return {
        "time": event.time,
        "ends": event.ends,
        "kind": event.kind,
        "component": redacted(event.component),
        "log_node": redacted(event.node),
        "volume": redacted(volume),
        "refs": [{"kind": ref.kind, "value": redacted(ref.value)} for ref in event.refs],
        "attrs": [{"kind": name, "value": redacted_value(name, value)} for name, value in event.attrs.items()],
        "source": redacted(relative(event.origin.source)),
        "line": event.origin.line,
        "count": event.count,
        "text": text,
    }


def _volumes(history: History) -> Iterator[Timeline]:
    return (one for (kind, _), one in history.timelines.items() if kind is SubjectKind.VOLUME)


def _volume(timeline: Timeline) -> Row:
    ids, events = timeline.subject.ids, timeline.events
    return {
        "volume": timeline.subject.key,
        "name": timeline.subject.name,
        "volume_handle": ids.get("volume_handle", ""),
        "driver": ids.get("driver", ""),
        "pv": ids.get("spec_name", ""),
        "names": sorted(_names_everywhere(timeline)),
        "pods": sorted({ref.value for event in events for ref in event.refs if ref.kind == "pod_uid"}),
        "begins": events[0].time,
        "ends": max(event.ends for event in events),
        "last_event": events[-1].kind,
    }


def _names_everywhere(timeline: Timeline) -> set[str]:
    """Return the names by which other nodes know this volume; none if it cannot be on another node.

    A pod's own volume, such as a ConfigMap, has a name too, which means nothing on other nodes.
    """
    refs = {ref for event in timeline.events for ref in event.refs}
    nodes = {event.node for event in timeline.events if event.node} | {ref.value for ref in refs if ref.kind == "node"}
    drivers = {ref.value for ref in refs if ref.kind == "driver"} | {timeline.subject.ids.get("driver", "")} - {""}
    handles = {ref.value for ref in refs if ref.kind == "volume_handle"}
    names = {f"{ref.kind}:{ref.value}" for ref in refs if ref.kind in _SHARED}
    if not any(name.startswith(_SURELY) for name in names):
        return set()
    hashes = ((handle, driver, node) for handle in handles for driver in drivers for node in nodes)
    return names | {f"attachment:{attachment_name(*key)}" for key in hashes}


def _input(one: Reading, relative: Relative) -> Row:
    return {
        "source": relative(one.source),
        "format": one.format,
        "component": one.component,
        "log_node": one.node,
        "lines": one.lines,
        "records": one.records,
        "recognised": one.recognised,
        "unread": one.unread,
        "begins": one.begins,
        "ends": one.ends,
        "clock": one.clock,
    }


def _coverage(one: Coverage) -> Row:
    return {
        "component": one.component,
        "log_node": one.node,
        "begins": one.begins,
        "ends": one.ends,
        "verbosity": one.verbosity,
        "gaps": [gap._asdict() for gap in one.gaps],
    }


def _version(one: SeenVersion, relative: Relative) -> Row:
    return {
        "component": one.component,
        "version": one.version or format_range(read_range(one.span)),
        "how": one.how,
        "span": one.span,
        "log_node": one.node,
        "source": relative(one.origin.source) if one.origin else None,
        "line": one.origin.line if one.origin else None,
        "time": one.time,
    }


def _errors(report: Report, relative: Relative) -> Iterator[Row]:
    for group in (*report.errors.groups, *report.errors.known):
        yield {
            "component": group.component,
            "call": group.where,
            "level": str(group.level),
            "says": redacted(group.message),
            "count": group.count,
            "begins": group.begins,
            "ends": group.ends,
            "goes_on": group.is_ongoing,
            "subjects": list(group.subjects),
            "source": relative(group.origin.source),
            "line": group.origin.line,
            "explained_by": group.explained_by,
            "benign": group.benign,
        }


def failed_row(outcome: Outcome, at: int, problem: str = "") -> Mapping[str, Any]:
    """Return the row for a failed bundle, or with `problem` for an unreadable part of one."""
    step = "fix or remove that input" if problem else outcome.next_step
    return {
        "place": outcome.place,
        "reason": problem or outcome.reason,
        "next_step": step,
        "at": at,
        "is_partial": bool(problem),
    }
