"""Which findings the user asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kvdiag.errors import UsageError
from kvdiag.model.options import Options
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History
from kvdiag.model.values import Severity, SubjectKind, Verdict
from kvdiag.report.clean import clean


def severity_of(word: str, option: str) -> Severity:
    """The least severity that is wanted. Raises UsageError, which names the option, for a word that is none."""
    known = [severity.label for severity in Severity]
    if word not in known:
        raise UsageError(f"{option} {clean(word)}: unknown severity; choose from {', '.join(known)}")
    return Severity.of(word)


def is_wanted(finding: Finding, options: Options, history: History) -> bool:
    """Whether a finding is one of those that the options of `analyze` ask for: by subject, severity and verdict."""
    if (finding.verdict is Verdict.POSSIBLE and not options.show_possible) or finding.severity < options.severity:
        return False
    names = set(_names(finding, history))
    checks: list[tuple[str, Callable[[str], bool]]] = [
        (options.namespace, lambda wanted: any(name.startswith(f"{wanted}/") for name in names)),
        (options.pod, lambda wanted: any(_is_pod(name, wanted) for name in names)),
        (options.volume, lambda wanted: wanted in names),
        (options.node, lambda wanted: finding.subject.ids.get("node", "") in {wanted, ""}),
    ]
    return all(check(wanted) for wanted, check in checks if wanted)


def _is_pod(name: str, wanted: str) -> bool:
    return name == wanted or name.endswith(f"/{wanted}")


def _names(finding: Finding, history: History) -> Iterator[str]:
    """Every name of the subject and of the pods and volumes it is linked with; a node's finding concerns all."""
    yield from finding.subject.ids.values()
    yield finding.subject.name
    timeline = history.timelines.get((finding.subject.kind, finding.subject.key))
    for key in timeline.uses if timeline else ():
        if key[0] in {SubjectKind.POD, SubjectKind.VOLUME} and key in history.timelines:
            yield from history.timelines[key].subject.ids.values()
