"""A symptom whose cause is in none of the logs: which commands would show it, by what the failed capability needs."""

from __future__ import annotations

from functools import cache, partial

from kvdiag.base.clock import MINUTE, to_datetime
from kvdiag.base.regex import lazy_regex
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History
from kvdiag.model.values import Role, Severity
from kvdiag.rules.capabilities import Capabilities
from kvdiag.rules.distribution import Dialect, dialect_of
from kvdiag.rules.fill import command

MOST_COMMANDS = 4  # commands; the first show what lies nearest
BEFORE = 10 * MINUTE  # the cause of what began then may have begun
_JOURNAL = lazy_regex(r"\{journal:(\w+)(?: since \w+)?\}")
_RUNTIMES = {"containerd", "crio", "docker"}


class CollectCommands:
    """What to collect for symptoms that nothing explains."""

    def __init__(self, history: History, known: Capabilities) -> None:
        """The logs that are there already, and what needs what."""
        self._history, self._known = history, known
        self._dialect = cache(partial(dialect_of, history))

    def to_collect(self, finding: Finding) -> tuple[str, ...]:
        """Commands for a symptom, those first whose output is not among the logs; none for any other finding."""
        if finding.role is not Role.SYMPTOM or finding.explained_by or finding.severity is Severity.INFO:
            return ()
        if any(one.event.attrs.get("exit_code") for one in finding.evidence):
            return ()  # a program that ended by itself: its exit code is what there is to know here
        node = finding.subject.ids.get("node", "")
        texts = self._known.to_collect(finding.rule)
        logged = self._logged(node)
        missing = [text for text in texts if not (read := _JOURNAL.search(text)) or read[1] not in logged]
        values = {"node": node, **finding.subject.ids}
        commands = (
            command(self._at_finding_time(text, finding, self._dialect(node)), values) for text in missing or texts
        )
        return tuple(dict.fromkeys(one for one in commands if one))[:MOST_COMMANDS]

    def _logged(self, node: str) -> set[str]:
        """Services whose logs of the node are there."""
        found = {one.component for one in self._history.coverage if not node or not one.node or one.node == node}
        return found | ({"runtime"} if found & _RUNTIMES else set())

    def _at_finding_time(self, text: str, finding: Finding, dialect: Dialect) -> str:
        """The command for the time of the finding, where that is known."""
        if finding.evidence and all(one.event.origin.source in self._history.unanchored for one in finding.evidence):
            return dialect.expand(text)
        stamps = (finding.begins - BEFORE, finding.ends + MINUTE)
        since, until = (to_datetime(one).strftime("'%Y-%m-%d %H:%M:%S UTC'") for one in stamps)
        return dialect.expand(_JOURNAL.sub(r"{between:\1}", text), {"since": since, "until": until})
