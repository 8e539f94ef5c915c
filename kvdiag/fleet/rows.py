"""Convert the result of an analysis to rows of the tables in `kvdiag.fleet.schema`, without secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kvdiag.base.versions import format_range, read_range
from kvdiag.events.made_names import attachment_name
from kvdiag.fleet.shared import SharedKinds
from kvdiag.fleet.values import Bundle, Outcome
from kvdiag.model.event import Event, Ref
from kvdiag.model.report import Finding, Reading, Report
from kvdiag.model.timeline import Coverage, History, SeenVersion, Timeline
from kvdiag.model.values import SubjectKind
from kvdiag.report.json_report import finding as plain_finding
from kvdiag.report.jsontext import json_text
from kvdiag.safe.secrets import may_hold_secret, redacted, redacted_value

Row = dict[str, Any]
Relative = Callable[[str], str]
_RUNTIMES = ("containerd", "crio", "cri-dockerd")
_SHARED = ("volume_handle", "spec_name", "attachment")
"""Names of a volume that are the same on every node."""
POD = "pod_uid"
_SURELY = ("volume_handle:", "attachment:", "spec_name:pvc-")
_CLEAN_ALREADY = frozenset(
    {"json", "says", "cause", "first_step", "first_command", "text"}
)  # redacted by those who write them here


def rows(
    report: Report, history: History, bundle: Bundle, relative: Relative, kinds: SharedKinds
) -> Mapping[str, Iterable[Row]]:
    """Return the rows of each table except `failed` and `joined`; `relative` shortens the name of a source."""
    volumes = [history.timelines[key] for key in history.timelines if key[0] is SubjectKind.VOLUME]
    movable = [one for one in volumes if _names_everywhere(one)]
    tables: Mapping[str, Iterable[Row]] = {
        "findings": [finding_row(one, history.versions, bundle.node, relative) for one in report.findings],
        "events": _events(history.events, (volumes, movable), relative, kinds),
        "volumes": map(_volume, movable),
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
        return _value(key, value)
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


def _events(
    events: Iterable[Event],
    volumes: tuple[Iterable[Timeline], Iterable[Timeline]],
    relative: Relative,
    kinds: SharedKinds,
) -> Iterator[Row]:
    """Yield the rows of the events of the node, and of the volumes that may be on another one: the second of `volumes`.

    Of events that no rule about volumes uses, the first with its names is enough, also of those that name a volume's
    pod. On a node with many pods, these are nine of ten.
    """
    volume_of = {id(event): "" for timeline in volumes[0] for event in timeline.events}
    volume_of |= {id(event): timeline.subject.key for timeline in volumes[1] for event in timeline.events}
    pods = {ref for timeline in volumes[1] for event in timeline.events for ref in event.refs if ref.kind == POD}
    named: set[tuple[Ref, ...]] = set()
    for event in events:
        volume = volume_of.get(id(event))
        if volume and event.kind in kinds.of_volumes:
            named.add(event.refs)
            yield _event(event, volume, relative, _text(event))
        elif event.kind in kinds.of_nodes:
            yield _event(event, volume or "", relative, "")
        elif event.refs not in named and (volume or (volume is None and not pods.isdisjoint(event.refs))):
            named.add(event.refs)
            yield _event(event, volume or "", relative, "")


@lru_cache(4096)
def _value(name: str, value: str) -> str:
    """Return a named value without secrets; most values of a log are repeated."""
    return redacted_value(name, value)


def _event(event: Event, volume: str, relative: Relative, text: str) -> Row:
    """Return the row of an event without secrets; there are so many that each value is cleaned once."""
    return {
        "time": event.time,
        "ends": event.ends,
        "kind": event.kind,
        "component": redacted(event.component),
        "log_node": redacted(event.node),
        "volume": redacted(volume),
        "refs": _refs(event.refs),
        "attrs": [{"kind": name, "value": _value(name, value)} for name, value in event.attrs.items()],
        "source": redacted(relative(event.origin.source)),
        "line": event.origin.line,
        "count": event.count,
        "text": text,
    }


_MADE_NAME = re.compile(r"(?=[a-z.-]*[0-9])[a-z0-9]+(?:[.-][a-z0-9]+)+")  # as web-0 and web-7d9f8b6c5-x2x4z
_WORD = re.compile(r"[a-z0-9]+")
_LETTERS, _MIXED = "kvbtmzqhrwcjnfxd", "7k2v9b4t1m8z3q5h"


def _text(event: Event) -> str:
    """Return the line of an event without secrets.

    A line is looked through with a typical name of the same form in place of its pod's: the result is known then for
    the lines of all pods of a deployment, which takes a twentieth of the time.
    """
    text, name = event.text, event.ref("pod_name") or event.ref("pod").partition("/")[2]
    typical = "" if f"-{name}" in text else _typical(name)  # after a hyphen it may begin with the letter of an option
    if typical and redacted(alike := text.replace(name, typical)) == alike:
        return text
    return redacted(text)


@lru_cache(1024)
def _typical(name: str) -> str:
    """Return another name of the same form; an empty one if it may be a word of a command, a secret, or before one."""
    return "" if not _MADE_NAME.fullmatch(name) or may_hold_secret(name) else _WORD.sub(_typical_word, name)


def _typical_word(found: re.Match[str]) -> str:
    word = found[0]
    letters = _LETTERS if word.isalpha() else "7294183650" if word.isdecimal() else _MIXED
    return (letters * (len(word) // len(letters) + 1))[: len(word)]


@lru_cache(1024)
def _refs(refs: tuple[Ref, ...]) -> list[Row]:
    return [{"kind": ref.kind, "value": redacted(ref.value)} for ref in refs]


def _volume(timeline: Timeline) -> Row:
    ids, events = timeline.subject.ids, timeline.events
    return {
        "volume": timeline.subject.key,
        "name": timeline.subject.name,
        "volume_handle": ids.get("volume_handle", ""),
        "driver": ids.get("driver", ""),
        "pv": ids.get("spec_name", ""),
        "names": sorted(_names_everywhere(timeline)),
        "pods": sorted({ref.value for event in events for ref in event.refs if ref.kind == POD}),
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
