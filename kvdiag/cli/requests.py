"""The logs that a report of `kvdiag analyze -o json` asks for, as `kvdiag collect --for` finds them on a node.

No command of a report is run and no path of it is opened, as it may quote what a log says: a request is a name of
`LOGS`, or a pattern for folders of /var/log/pods.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from kvdiag.base.errors import UsageError
from kvdiag.cli.node_bundle import LOGS, LogRequest

MOST = 64 << 20  # bytes of a report
_DRIVERS = "*csi*"
_FOLDERS = {
    "kube-controller-manager": "kube-system_kube-controller-manager-*",
    **dict.fromkeys(("external-attacher", "csi-controller", "csi-driver"), _DRIVERS),
}
"""Components that log in pods, by their folders."""
_SPAN = re.compile(r"--since '(?P<begins>[\d: -]{19}) UTC' --until '(?P<ends>[\d: -]{19}) UTC'")
_JOURNAL = re.compile(r"(?:minikube ssh -- sudo )?journalctl (?:-u (?P<unit>[\w.@-]+)|-k)\b")
_POD = re.compile(r"kubectl -n (?P<namespace>[a-z0-9-]{1,63}) logs (?P<pod>[a-z0-9.-]{1,253})(?: |$)")


class Requests(NamedTuple):
    """What may be on a node, the commands for what is not, and the nodes that the report names."""

    logs: tuple[LogRequest, ...]
    commands: tuple[str, ...]
    nodes: tuple[str, ...]

    def note_of_other_node(self, host: str) -> str:
        """Return a note if the report names nodes and none of them has this host name; a domain may differ."""
        if not host or not self.nodes or any(_short(host) == _short(node) for node in self.nodes):
            return ""
        return f"the report is about {', '.join(self.nodes[:3])}, and the host name here is {host}: is this the node?"


def read_requests(path: Path) -> Requests:
    """Read a report. Raise UsageError if it is none, or asks for nothing."""
    try:
        with path.open("rb") as file:
            report = json.loads(file.read(MOST))
        asked = [*(_of_need(need) for need in report["to_be_certain"]), *_of_findings(report["findings"])]
        nodes = sorted(set(_nodes(report)))
    except OSError as error:
        raise UsageError(f"--for {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UsageError(f"--for {path}: not a report of `kvdiag analyze -o json`") from None
    if not asked:
        raise UsageError(f"--for {path}: no finding of it asks for another log")
    commands = tuple(dict.fromkeys(one for one in asked if isinstance(one, str)))
    return Requests(tuple(_merged(one for one in asked if isinstance(one, LogRequest))), commands, tuple(nodes))


def _nodes(report: Mapping[str, Any]) -> Iterator[str]:
    """Yield the nodes of its logs and findings."""
    subjects = (finding.get("subject", {}) for finding in report["findings"])
    places = [*report.get("inputs", []), *(subject.get("ids", {}) for subject in subjects)]
    yield from (node for place in places if isinstance(node := place.get("node"), str) and node)


def _short(name: str) -> str:
    return name.partition(".")[0].lower()


def _of_need(need: Mapping[str, Any]) -> LogRequest | str:
    component, run = str(need["component"]), str(need["run"])
    begins, ends = (datetime.fromisoformat(need[name]) if need[name] else None for name in ("begins", "ends"))
    log = component if component in LOGS else _FOLDERS.get(component, "")
    return LogRequest(log, begins, ends, run) if log else run or f"the log of {component}"


def _of_findings(findings: Iterable[Mapping[str, Any]]) -> Iterator[LogRequest | str]:
    """Yield what the commands of unexplained findings collect."""
    for run in (str(run) for finding in findings for run in finding["collect"]):
        span = _SPAN.search(run)
        begins, ends = (_moment(span[name]) if span else None for name in ("begins", "ends"))
        journal, pod = _JOURNAL.match(run), _POD.match(run)
        log = (journal["unit"] or "kernel") if journal else f"{pod['namespace']}_{pod['pod']}_*" if pod else ""
        yield LogRequest(log, begins, ends, run) if pod or log in LOGS else run


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)


def _merged(asked: Iterable[LogRequest]) -> Iterator[LogRequest]:
    """Yield one request for each log, from the first to the last time; without times if one has none."""
    by_log: dict[str, list[LogRequest]] = {}
    for one in asked:
        by_log.setdefault(one.log, []).append(one)
    for log, of_log in by_log.items():
        begins = [one.begins for one in of_log if one.begins]
        ends = [one.ends for one in of_log if one.ends]
        has_times = len(begins) == len(ends) == len(of_log)
        yield LogRequest(log, min(begins) if has_times else None, max(ends) if has_times else None, of_log[0].run)
