"""Select commands that may show the cause of a symptom that no finding explains."""

from __future__ import annotations

from functools import cache, partial

from kvdiag.base.clock import MINUTE, to_datetime
from kvdiag.base.regex import lazy_regex
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History
from kvdiag.model.values import Role, Severity
from kvdiag.rules.capabilities import Capabilities
from kvdiag.rules.distribution import Dialect, dialect_of
from kvdiag.rules.fill import ANY_DRIVER, command, limited

MOST_COMMANDS = 4  # commands; the first ones are about the nearest capability
BEFORE = 10 * MINUTE  # the cause may have begun this long before its symptom
_JOURNAL = lazy_regex(r"\{journal:(\w+)(?: since \w+)?\}")
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
        begins = to_datetime(finding.begins - BEFORE).strftime("%Y-%m-%dT%H:%M:%SZ")
        driver = finding.subject.ids.get("driver", ANY_DRIVER)
        values = {"node": node, **finding.subject.ids, "driver_sign": driver, "since_time": begins}
        texts = missing or texts
        commands = (
            command(limited(self._at_finding_time(text, finding, self._dialect(node)), values), values)
            for text in texts
        )
        return tuple(dict.fromkeys(one for one in commands if one))[:MOST_COMMANDS]

    def _logged(self, node: str) -> set[str]:
        """Return the services of the node that have a log."""
        found = {one.component for one in self._history.coverage if not node or not one.node or one.node == node}
        return found | ({"runtime"} if found & _RUNTIMES else set())

    def _at_finding_time(self, text: str, finding: Finding, dialect: Dialect) -> str:
        """Return the command, limited to the time of the finding if that is known."""
        if finding.evidence and all(one.event.origin.source in self._history.unanchored for one in finding.evidence):
            return dialect.expand(text)
        stamps = (finding.begins - BEFORE, finding.ends + MINUTE)
        since, until = (to_datetime(one).strftime("'%Y-%m-%d %H:%M:%S UTC'") for one in stamps)
        return dialect.expand(_JOURNAL.sub(r"{between:\1}", text), {"since": since, "until": until})
