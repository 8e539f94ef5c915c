"""Phrases that several outputs share: places, doubts, causes, commands, counts."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from kvdiag.base.clock import CLOCKS_DIFFER, MINUTE, SECOND, format_duration
from kvdiag.base.regex import lazy_regex
from kvdiag.base.versions import format_range, read_range
from kvdiag.formats.authors import DRIVER, SIDECARS
from kvdiag.formats.bodies.eventtable import FORMATS
from kvdiag.formats.bodies.registry import read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.history.views.causes import causes
from kvdiag.model.error_anatomy import EFFECT, PLAIN, STRONG, ErrorAnatomy
from kvdiag.model.error_groups import ErrorGroup
from kvdiag.model.event import NO_NAME, Event
from kvdiag.model.record import Body
from kvdiag.model.report import Doubt, DoubtReason, Evidence, Finding, Reading, Report, Scale, Undated
from kvdiag.model.rule import Fix
from kvdiag.model.timeline import SeenVersion
from kvdiag.model.values import Level, Severity, State, SubjectKind
from kvdiag.report.incidents import Incident, failures, notes
from kvdiag.report.times import format_time, read_span
from kvdiag.safe.clean import clean


def in_checkout(source: str) -> str:
    """Return the path relative to the current folder if the log lies below it; else the path that the user gave."""
    path = Path(source)
    if not path.is_absolute():
        return source
    folder = Path.cwd()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else source


def uri(source: str) -> str:
    """Return a relative URI reference for a log below the current folder, else `file:///…`."""
    path = in_checkout(source)
    return f"file://{quote(path)}" if path.startswith("/") else quote(path)


def cause_phrase(cause: Finding, *, is_listed: bool = False) -> str:
    """Return `because of csi-nodeunpublish-state-lost on volume pvc-1: The driver …`; only the name if `is_listed`."""
    where = f" on {cause.subject.kind} {cause.subject.name}: {cause.says}"
    return f"because of {cause.rule.name}{'' if is_listed else where}"


def explain_command(rule: str) -> str:
    """Return the command that explains a rule."""
    return f"kvdiag explain {rule}"


WITHHELD = "command left out: a name in it looks like a secret"


def safe_fix(fix: Fix, *, redact: bool) -> Fix:
    """Return the step with its command, or with the reason why the command is withheld."""
    return fix if clean(fix.run, redact=redact) == fix.run else fix._replace(run="", withheld=WITHHELD)


# The clock was assumed, as no log has the date.
GUESSED = lazy_regex(r"the file's date|assumed from today|without a time")
MOST_NAMED = 5  # logs, unless -v
DRIVERS = frozenset((DRIVER, *SIDECARS))  # whose errors come from calls for volumes, not from retries of kubelet
SYSTEMD = "systemd"  # says which unit failed, not why
CONTAINERD = "containerd"
EXCERPT = 50  # lines; warnings in a longer log are no answer
_FAILED = frozenset((Level.ERROR, Level.FATAL))
_NO_SERVER = frozenset(("ENOENT", "ECONNREFUSED"))  # of a socket
ERRNO = lazy_regex(r"E[A-Z0-9]{2,14}")
QUOTED = 0  # strength of an error of which only the last words are known
FEW_ERRORS = 5  # groups of a report that is about one failure
OPERATION = 'Operation for "{'  # how kubelet begins the error of a volume; names of objects follow
IDS = ["pod_uid", "volume_handle", "driver", "sandbox_id", "container_id"]


def symptoms_by_cause(findings: Sequence[Finding]) -> Mapping[str, list[Finding]]:
    """Group symptoms by the key of the root cause that explains them."""
    under: dict[str, list[Finding]] = defaultdict(list)
    above = causes(findings)
    for finding in findings:
        top = above.get(finding.key) if finding.explained_by else None
        if top is not None:
            under[top.key].append(finding)
    return under


def evidence_message(evidence: Evidence) -> str:
    """Return the message of a line of evidence without its header, which is printed beside it.

    The lines below it that its error has, such as the output of mount, are part of it.
    """
    body = read_body(peel(evidence.event.logged).body)
    message = _message(body) if body is not None and body.message else evidence.event.text
    below = " ".join(evidence.event.attrs.get("error", "").partition("\n")[2].split())
    return message if below in " ".join(message.replace(r"\n", " ").split()) else f"{message} {below}"


def tries_in_row(event: Event) -> int:
    """Return how many events a row of kubectl stands for; 1 for any other line."""
    body = read_body(peel(event.logged).body) if event.count > 1 else None
    return event.count if body is not None and body.format in FORMATS else 1


def message_of_line(line: str) -> str:
    """Return the message of a log line without its header; for an event its object and message."""
    peeled = peel(line.encode("utf-8", "replace"))
    body = read_body(peeled.body)
    if body is None or not body.message:
        return peeled.body.decode("utf-8", "replace")
    return _message(body)


def _message(body: Body) -> str:
    if body.format in FORMATS:
        return f"{body.fields.get('object', '')} {body.message}".strip()
    fields = " ".join(f"{key}={value}" for key, value in body.fields.items())
    text = f"{body.message} {fields}".strip()
    return text.partition(" Error: ")[2] or text if text.startswith(OPERATION) else text


def subject_lines(finding: Finding) -> Iterator[str]:
    """Yield the subject by name, then its ids, which users search the logs for."""
    subject = finding.subject
    where = [f"on {subject.ids['node']}"] if subject.kind is not SubjectKind.NODE and subject.ids.get("node") else []
    pod = [f"of pod {subject.ids['pod']}"] if subject.kind is not SubjectKind.POD and subject.ids.get("pod") else []
    named = f"{subject.kind} {subject.name}" if subject.key or subject.kind is not SubjectKind.NODE else subject.name
    named = f"a {subject.kind}" if subject.name == NO_NAME else named
    part = [f"{finding.rule.same[0].replace('_', ' ')} {subject.part} of"] if subject.part else []
    is_of_cluster = bool(part) and finding.rule.same[0] == "resource"  # a claim is of no node
    yield f"resource {subject.part}" if is_of_cluster else " ".join([*part, named, *pod, *where])
    ids = [f"{name} {value}" for name in IDS if (value := subject.ids.get(name)) and value != subject.name]
    yield ", ".join(ids)


def versions_seen(versions: Sequence[SeenVersion]) -> Iterator[str]:
    """Yield each component with its version: as printed in the logs, else the range inferred from wordings."""
    printed = {version.component for version in versions if version.version}
    seen = set()
    for version in versions:
        name = f"{version.component} {version.version}"
        if version.version and name not in seen:
            seen.add(name)
            yield name
        elif version.component not in printed:
            yield f"{version.component} {format_range(read_range(version.span))} (from log wording)"


def nothing_found(report: Report) -> str:
    """Return the sentence for a report without findings."""
    if report.is_empty:
        return "Nothing was logged in the requested time."
    nothing = "No known failure found." if is_recognized(report) else "No log lines recognized."
    return _first_error(report)[0] or nothing


def first_check(report: Report) -> Fix | None:
    """Return the step that checks the cause that `nothing_found` names; None if it names none, or has no command."""
    anatomy = None if report.is_empty else _first_error(report)[1]
    return Fix(anatomy.step, anatomy.check) if anatomy and anatomy.check else None


_FATAL = lazy_regex(r".{0,60}?\bFATAL?\b")  # a program's own word at the start of its line


def _first_error(report: Report) -> tuple[str, ErrorAnatomy | None]:
    """Return a sentence on the error that says most of why, and the cause that it names.

    Empty in a log that goes on after it, or has many kinds.
    """
    groups = [group for group in report.errors.groups if group.component != SYSTEMD]
    is_excerpt = sum(reading.lines for reading in report.inputs) <= EXCERPT
    ends = max((reading.ends for reading in report.inputs if reading.ends is not None), default=0)
    recent = [group for group in groups if group.is_ongoing or group.ends is None or ends - group.ends <= MINUTE]
    recent = recent if len(groups) <= FEW_ERRORS else []
    last = [group for group in recent if group.level in _FAILED]
    warned = [group for group in recent if group.level not in _FAILED and is_excerpt]
    failed = [group for group in groups if group.level in _FAILED]
    fatal = [group for group in failed if group.level is Level.FATAL or _FATAL.match(group.sample)]
    fatal.sort(key=lambda group: (group.ends or 0, group.origin.line), reverse=True)  # the last one ended its program
    sure = [*fatal, *(group for group in failed if group.component in DRIVERS)]
    ranked = last or warned
    first = [group for group in ranked if not _is_vague(group) and not _is_consequence(group, groups)]
    order = ((STRONG, (*sure, *last, *warned)), (PLAIN, first), (QUOTED, first), (PLAIN, ranked), (QUOTED, ranked))
    for least, candidates in order:
        for group in candidates:
            if group.anatomy and group.anatomy.strength >= least and (least or group.anatomy.quoted):
                return _named(group, group.anatomy, is_cause=bool(least))
    return "", None


def _named(group: ErrorGroup, anatomy: ErrorAnatomy, *, is_cause: bool) -> tuple[str, ErrorAnatomy | None]:
    which = "An error line" if group.level in _FAILED else "A line"
    if is_cause:
        return f"No rule matches. {which} names a cause: {anatomy.sentence}.", anatomy
    return f"No rule matches. {which} says: “{anatomy.quoted}”.", None


def _is_vague(group: ErrorGroup) -> bool:
    """Return whether a cause is an errno alone, `a file or folder does not exist`, or the error above says why."""
    anatomy = group.anatomy
    if anatomy is not None and anatomy.note == EFFECT:
        return True
    if anatomy is None or anatomy.strength >= STRONG or anatomy.object or "“" in anatomy.sentence:
        return False
    return ERRNO.fullmatch(anatomy.primitive) is not None


def _is_consequence(group: ErrorGroup, groups: Sequence[ErrorGroup]) -> bool:
    """Return whether a socket is missing whose program has errors of its own."""
    anatomy = group.anatomy
    if anatomy is None or anatomy.object_kind != "socket" or anatomy.primitive not in _NO_SERVER:
        return False
    server = PurePosixPath(anatomy.object).name.removesuffix(".sock")
    return any(other.component in {server, f"{server}d"} for other in groups if other is not group)


def no_alarm(noted: Sequence[Incident]) -> str:
    """Return the sentence for a report with notes alone, with the reason if one is of a failure that no line ends."""
    return "No alarm, as no failure is shown to last" if any(map(is_early, noted)) else "No alarm"


def is_early(incident: Incident) -> bool:
    """Return whether a note is of a failure that no line ends, and that may be one of a few tries."""
    return incident[0].state in {State.ONGOING, State.UNKNOWN} and incident[0].rule.severity > Severity.INFO


def count_sentence(report: Report) -> str:
    """Return the number of failures by severity, of explained symptoms and of notes."""
    found, noted = failures(report.findings), notes(report.findings)
    by = Counter(incident[0].severity for incident in found)
    graded = ", ".join(f"{number} {severity.label}" for severity, number in sorted(by.items(), reverse=True))
    symptoms = sum(finding.explained_by is not None for finding in report.findings)
    none = no_alarm(noted) if noted else "No failure found"
    parts = [f"{count_noun(len(found), 'failure')}: {graded}" if found else none]
    parts += [f"{count_noun(symptoms, 'symptom')} explained"] if symptoms else []
    return "; ".join([*parts, *([count_noun(len(noted), "note")] if noted else [])])


def count_noun(number: int, word: str) -> str:
    """Return `1 note` or `2 notes`."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def input_summary(readings: Sequence[Reading], folder: str) -> str:
    """Return the number of logs and lines, and the time span that they cover."""
    logs = readings[0].source if len(readings) == 1 else f"{len(readings)} logs{f' in {folder}' if folder else ''}"
    span = read_span(readings)
    lines = count_noun(sum(reading.lines for reading in readings), "line")
    return f"{logs}: {lines}{f', {span}' if span else ''}"


def input_lines(report: Report, *, is_all: bool) -> Iterator[str]:
    """Yield one line for each input of which little was recognized (all with `is_all`), then how clocks were inferred.

    What is shown of an input was recognized. Inputs with the same inferred clock share a line; more than `MOST_NAMED`
    of them are only counted.
    """
    readings = report.inputs
    shown = {evidence.event.origin.source for finding in report.findings for evidence in finding.evidence}
    shown |= {group.origin.source for group in report.errors.groups}
    poor = [
        reading
        for reading in readings
        if is_all or (reading.source not in shown and (not reading.records or reading.unread > reading.lines // 2))
    ]
    for reading in poor if is_all else poor[:MOST_NAMED]:
        how = "not read" if reading.format == "text" else "not recognized"
        unread = f", {reading.unread} {how}" if reading.unread else ""
        yield f"{reading.source}: {count_noun(reading.lines, 'line')}, {reading.component or reading.format}{unread}"
    if not is_all and len(poor) > MOST_NAMED:
        yield f"and {len(poor) - MOST_NAMED} more of which little was understood; -v lists them"
    clocks: dict[str, list[str]] = defaultdict(list)
    is_dated = any(reading.is_dated for reading in readings)
    for reading in readings:
        if reading.clock and (is_all or (is_dated and GUESSED.search(reading.clock))):
            clocks[reading.clock].append(reading.source)
    for clock, sources in clocks.items():
        named = ", ".join(sources) if is_all or len(sources) <= MOST_NAMED else f"{len(sources)} logs"
        yield f"Clock of {named}: {clock}"


def common_folder(report: Report) -> str:
    """Return the folder that contains all inputs, which is then left out of the printed places."""
    sources = [reading.source for reading in report.inputs]
    if len(sources) < 2 or not all("/" in source for source in sources) or len({s[0] == "/" for s in sources}) > 1:
        return ""
    return os.path.commonpath([source.rpartition("/")[0] for source in sources])


def is_recognized(report: Report) -> bool:
    """Return whether a line has a known format, or words that are known to be harmless."""
    return bool(report.errors.benign) or any(reading.records for reading in report.inputs)


def verdict(report: Report) -> str:
    """`2 failures found, worst: high; 1 note`."""
    found, noted = failures(report.findings), notes(report.findings)
    more = f"; {count_noun(len(noted), 'note')}" if noted else ""
    if not found:
        none = no_alarm(noted).lower() if noted else "no failure found"
        return f"{none}{more}" if is_recognized(report) else "no log lines recognized"
    worst = max(incident[0].severity for incident in found)
    return f"{count_noun(len(found), 'failure')} found, worst: {worst.label}{more}"


SENTENCES: Mapping[DoubtReason, str] = {
    DoubtReason.NO_LOG: "no full {component} log covers {at}",
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
    DoubtReason.NOT_SHOWN: "{text} does not show the {needed}",
    DoubtReason.EARLIER: "the tries before {text} are not in these logs; they may have failed for another reason",
    DoubtReason.AUTHOR: "only {text} shows it, the output of a container, and nothing proves which program runs in it",
    DoubtReason.VERSION: "{text} version not found in these logs; this rule applies to {needed} "
    "(set it with --component {text}=…)",
}
_OF_ROWS: Mapping[DoubtReason, str] = {  # of events, as kubectl prints them
    DoubtReason.VERBOSITY: "needs a kubelet log at -v={verbosity}",
    DoubtReason.UNTIMED: "rows of events have ages, which do not show the order of close ones",
}


def format_doubt(doubt: Doubt, undated: Undated | None = None) -> str:
    """Return the sentence for a doubt. The caller must escape and redact it."""
    values = doubt._asdict() | {
        "at": "this time" if undated is not None and doubt.reason is DoubtReason.NO_LOG else format_time(doubt.at),
        "until": format_time(doubt.until),
        "took": format_duration(doubt.took),
    }
    if doubt.reason is DoubtReason.NO_LOG and doubt.component == CONTAINERD:
        values["component"] = "container runtime"  # which one the node has may be unknown
    if undated is not None and undated.scale is Scale.AGE:
        return _OF_ROWS.get(doubt.reason, SENTENCES[doubt.reason]).format_map(values)
    if doubt.reason is DoubtReason.ENDS_SOON and doubt.took < SECOND:
        return f"the {doubt.component} log ends there, at {values['at']}".replace("  ", " ")
    return SENTENCES[doubt.reason].format_map(values).replace("  ", " ")  # a component may be unknown
