"""Find what only several nodes show: evaluate the rules again on the events of shared volumes.

Volumes of two nodes in one cluster are the same if they share a handle of one driver, a PV or a VolumeAttachment.
Besides the volumes' own events, the history needs those of the pods that use them and those of their nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kvdiag.analysis.case import Case, load_patterns
from kvdiag.base.clock import from_datetime, to_datetime
from kvdiag.events.line_texts import LineTexts
from kvdiag.fleet.places import place
from kvdiag.fleet.questions import Questions
from kvdiag.fleet.rows import finding_row
from kvdiag.fleet.shared import shared_rules
from kvdiag.fleet.values import Job, Outcome, outcome_of, short_digest
from kvdiag.history.correlate.history import joined_history
from kvdiag.history.correlate.identity import UnionFind
from kvdiag.history.correlate.nodes import set_nodes
from kvdiag.model.event import CONTROLLERS, Event, Ref, event_order
from kvdiag.model.options import Options
from kvdiag.model.record import NO_PROVENANCE, Origin
from kvdiag.model.report import Finding
from kvdiag.model.timeline import Coverage, Gap, History, SeenVersion
from kvdiag.model.values import SubjectKind, Verdict
from kvdiag.rules.incidents import with_incidents

MOST_EVENTS = 50_000  # events evaluated together: about 250 MB
_SHARED = "SELECT bundle, node, volume, names, pods, result_key FROM volumes WHERE volume <> '' ORDER BY ALL"
_KEYS = "SELECT DISTINCT result_key FROM volumes WHERE bundle IN (SELECT unnest($bundles::VARCHAR[]))"
_EVENTS = """
  SELECT bundle, node, time, ends, kind, component, log_node, refs, attrs, source, line, count, text FROM events
  WHERE bundle IN (SELECT unnest($bundles::VARCHAR[])) AND (
    {{'bundle': bundle, 'volume': volume}} IN (SELECT unnest($places::STRUCT(bundle VARCHAR, volume VARCHAR)[]))
    OR list_has_any(list_transform(refs, lambda one: one.value), $pods::VARCHAR[])
    OR kind IN (SELECT unnest($kinds::VARCHAR[])))
  ORDER BY time, bundle, source, line, kind LIMIT {most}"""
_COVERAGE = """
  SELECT node, component, log_node, begins, ends, verbosity, gaps FROM coverage
  WHERE bundle IN (SELECT unnest($bundles::VARCHAR[])) ORDER BY ALL"""
_VERSIONS = """
  SELECT node, component, version, how, span, log_node, source, line, time FROM versions
  WHERE bundle IN (SELECT unnest($bundles::VARCHAR[])) ORDER BY ALL"""
_ALONE = "SELECT rule, subject_kind, subject_key, volume_handle, subject, subject_node, verdict, finding FROM findings"


class SharedVolume(NamedTuple):
    """A volume in the logs of several nodes: its key in each bundle, and the pods that use it.

    The digest is of the results of all these bundles.
    """

    places: frozenset[tuple[str, str]]
    pods: frozenset[str]
    digest: str = ""

    @property
    def bundles(self) -> frozenset[str]:
        """The bundles with events of the volume."""
        return frozenset(bundle for bundle, _ in self.places)


def join_cluster(job: Job) -> tuple[Outcome, Mapping[str, Sequence[dict[str, Any]]]]:
    """Return the findings of a cluster that no single node shows, as rows.

    What was found about volumes is kept where the results of all their nodes are the same as then.
    """
    dest, cluster, patterns = place(job.dest), job.bundle.cluster, load_patterns(Options())
    case = Case(Options(), patterns._replace(rules=shared_rules(patterns)))
    questions = Questions(dest, cluster, ("volumes", "findings", "joined", "judged"))
    alone = _NodeFindings(questions.ask(_ALONE).rows)
    shared = shared_volumes(questions.ask(_SHARED).rows)
    kept = _still_valid(questions, {one.digest for one in shared})
    found = _kept_rows(questions, kept)
    judged = [{"judged": batch, "volumes": sorted(volumes)} for batch, volumes in kept.items()]
    known = {volume for volumes in kept.values() for volume in volumes}
    cut = 0
    groups = list(_groups([one for one in shared if one.digest not in known]))
    bundles = {bundle for group in groups for one in group for bundle in one.bundles}
    if bundles:
        keys = {key for (key,) in questions.ask(_KEYS, bundles=sorted(bundles)).rows}
        questions = Questions(dest, cluster, ("events", "coverage", "versions"), keys=keys)
    for group in groups:
        batch, history = short_digest(sorted(one.digest for one in group)), _history(questions, group, case)
        judged.append({"judged": batch, "volumes": sorted(one.digest for one in group)})
        cut += len(history.events) >= MOST_EVENTS
        found += _new_rows(case.findings(history), history, alone, batch)
    worst = max(found, key=lambda row: row["severity_rank"], default=None)
    outcome = outcome_of(job)._replace(
        findings=len(found),
        worst=worst["severity_rank"] if worst else -1,
        worst_rule=worst["rule"] if worst else "",
        day=to_datetime(max((row["ends"] for row in found), default=from_datetime(datetime.now(UTC))))
        .date()
        .isoformat(),
        notes=(f"{cut} groups of shared volumes have more than {MOST_EVENTS:,} events; the latest were left out",)
        * (cut > 0),
    )
    return outcome, {"joined": found, "judged": judged}


def _new_rows(
    findings: Iterable[Finding], history: History, alone: _NodeFindings, batch: str
) -> Iterable[dict[str, Any]]:
    """Return the rows of findings that no node shows alone, or not for certain."""
    rows: dict[str, dict[str, Any]] = {}
    for one in with_incidents(findings):
        if one.subject.kind is not SubjectKind.VOLUME:  # others are complete in the logs of their node
            continue
        same = alone.same_as(one)
        if not any(row[-2] == one.verdict or one.verdict is Verdict.POSSIBLE for row in same):
            row = finding_row(one, history.versions, "", lambda source: source)
            rows[one.key] = row | {"surer_than": sorted({row[-1] for row in same}), "judged": batch}
    return rows.values()


def _still_valid(questions: Questions, current: AbstractSet[str]) -> Mapping[str, frozenset[str]]:
    """Return the batches of volumes judged before whose results are all the same; their rows are valid."""
    rows = questions.ask("SELECT judged, volumes FROM judged").rows
    return {batch: volumes for batch, names in rows if (volumes := frozenset(names)) <= current}


def _kept_rows(questions: Questions, batches: Iterable[str]) -> list[dict[str, Any]]:
    """Return the rows of earlier batches, as `finding_row` makes them."""
    answer = questions.ask(
        "SELECT * FROM joined WHERE judged IN (SELECT unnest($batches::VARCHAR[]))", batches=sorted(batches)
    )
    rows = (dict(zip(answer.columns, row, strict=True)) for row in answer.rows)
    return [
        {
            name: from_datetime(value) if isinstance(value, datetime) else value
            for name, value in row.items()
            if name not in _OF_RUN
        }
        for row in rows
    ]


_OF_RUN = frozenset({"cluster", "day", "node", "bundle", "result_key", "kvdiag"})  # columns that each run sets


def shared_volumes(rows: Iterable[Sequence[Any]]) -> list[SharedVolume]:
    """Return the volumes with events on more than one node; `rows` are those of `_SHARED`."""
    same = UnionFind()
    rows = list(rows)
    for bundle, _, volume, names, _, _ in rows:
        same.join([("of", bundle, volume), *(("name", name) for name in names)])
    groups: dict[object, list[Sequence[Any]]] = defaultdict(list)
    for row in rows:
        groups[same.root(("of", row[0], row[2]))].append(row)
    return [
        SharedVolume(
            frozenset((row[0], row[2]) for row in group),
            frozenset(pod for row in group for pod in row[4]),
            short_digest(sorted(f"{row[2]} {row[5]}" for row in group)),
        )
        for group in groups.values()
        if len({row[1] for row in group}) > 1
    ]


def _groups(shared: Sequence[SharedVolume]) -> Iterator[list[SharedVolume]]:
    """Yield groups of volumes that are evaluated together, up to `MOST_PLACES` places."""
    group: list[SharedVolume] = []
    for one in shared:
        group.append(one)
        if sum(len(each.places) for each in group) >= MOST_PLACES:
            yield group
            group = []
    if group:
        yield group


MOST_PLACES = 200  # places (bundle and volume) evaluated together


def _history(questions: Questions, group: Sequence[SharedVolume], case: Case) -> History:
    wide = case.patterns.vocabulary.wide
    bundles = sorted({bundle for one in group for bundle in one.bundles})
    places = [{"bundle": bundle, "volume": volume} for one in group for bundle, volume in sorted(one.places)]
    pods = sorted({pod for one in group for pod in one.pods})
    rows = questions.ask(
        _EVENTS.format(most=MOST_EVENTS), bundles=bundles, places=places, pods=pods, kinds=sorted(wide)
    ).rows
    texts = LineTexts()
    events = sorted((_event(row, texts) for row in rows), key=event_order)
    set_nodes(events, dict.fromkeys((event.origin.source for event in events), NO_PROVENANCE))
    nodes = _nodes_of_logs(events)
    coverage = [_coverage(row, nodes) for row in questions.ask(_COVERAGE, bundles=bundles).rows]
    versions = [_version(row, nodes) for row in questions.ask(_VERSIONS, bundles=bundles).rows]
    history = joined_history(events, wide, coverage, versions)
    begins = [history.begins, *(one.begins for one in coverage)]
    return history._replace(begins=min(begins), ends=max([history.ends, *(one.ends for one in coverage)]))


def _event(row: Sequence[Any], texts: LineTexts) -> Event:
    _, node, time, ends, kind, component, log_node, refs, attrs, source, line, count, text = row
    return Event(
        time=_stamp(time),
        kind=kind,
        component=component,
        refs=tuple(Ref(one["kind"], one["value"]) for one in refs),
        attrs={one["kind"]: one["value"] for one in attrs},
        origin=Origin(f"{node}/{source}", line),
        node=log_node,
        texts=texts,
        ends=_stamp(ends),
        count=count,
        text_at=texts.add(text.encode("utf-8", "replace")),
    )


def _nodes_of_logs(events: Iterable[Event]) -> Mapping[str, str]:
    """Return the node name in the logs of each bundle that has exactly one."""
    names_of: dict[str, set[str]] = defaultdict(set)
    for event in events:
        if event.node and not event.is_from_controller:
            names_of[event.origin.source.partition("/")[0]].add(event.node)
    return {bundle: names.pop() for bundle, names in names_of.items() if len(names) == 1}


def _coverage(row: Sequence[Any], nodes: Mapping[str, str]) -> Coverage:
    node, component, log_node, begins, ends, verbosity, gaps = row
    stretches = tuple(
        Gap(_stamp(one["begins"]), _stamp(one["ends"]), one["why"], one["component"]) for one in gaps or ()
    )
    where = "" if component in CONTROLLERS else log_node or nodes.get(node, "")
    return Coverage(component, where, _stamp(begins), _stamp(ends), verbosity, stretches)


def _version(row: Sequence[Any], nodes: Mapping[str, str]) -> SeenVersion:
    node, component, version, how, span, log_node, source, line, time = row
    origin = Origin(f"{node}/{source}", line) if source else None
    printed = "" if how == "wording" else version
    where = "" if component in CONTROLLERS else log_node or nodes.get(node, "")
    return SeenVersion(component, printed, how, where, origin, span, _stamp(time) if time else None)


class _NodeFindings:
    """The findings of single nodes, indexed by all names of a subject."""

    def __init__(self, rows: Iterable[Sequence[Any]]) -> None:
        self._by_name: dict[tuple[object, ...], list[Sequence[Any]]] = defaultdict(list)
        for row in rows:
            rule, kind, *names = row[:5]
            for name in {*names} - {""}:
                self._by_name[rule, kind, name].append(row)

    def same_as(self, finding: Finding) -> list[Sequence[Any]]:
        """Return findings of the same rule on the same subject; an unknown node equals any."""
        subject, ids = finding.subject, finding.subject.ids
        names = {subject.key, subject.name, ids.get("volume_handle", "")} - {""}
        node = ids.get("node", "")
        found = (row for name in sorted(names) for row in self._by_name[finding.rule.name, str(subject.kind), name])
        return [row for row in found if not node or not row[5] or row[5] == node]


def _stamp(moment: datetime) -> int:
    return from_datetime(moment)
