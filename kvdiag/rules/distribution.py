"""Commands for the node's distribution: its units, sockets, folders and tools.

A rule writes `{restart:kubelet}` or `{crictl} pods`; on MicroK8s that becomes `systemctl restart
snap.microk8s.daemon-kubelite`, on Talos a talosctl command. The commands of each distribution are data
(patterns/distributions.yaml). The distribution of a node is detected from its log lines, paths and versions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from kvdiag.base.cache import cached, digest
from kvdiag.base.clock import HOUR, MINUTE, parse_duration, rfc3339, to_datetime
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.base.regex import lazy_regex
from kvdiag.model.event import may_be_same_node
from kvdiag.model.rule import Fix, Rule
from kvdiag.model.timeline import History
from kvdiag.model.values import EMPTY
from kvdiag.rules.library import DISTRIBUTIONS

PODS = (  # whose pods and logs kubectl finds
    "node",
    "previous",
    "driver",
    "controller",
    "attacher",
    "resizer",
    "provisioner",
    "provider",
)
SERVICES = ("kubelet", "runtime", "cri", "containerd", "crio", "docker", "kernel", "manifests", "networks", "plugins")
SHIMS = {"docker": "kubelet", "cri-dockerd": "cri-docker"}
"""By runtime without its own CRI server the systemd unit of the CRI server in front of it."""
_KUBELET_RUNS = "kubelet.run"  # the capability
REMOTE_TOOLS = {"kubectl", "oc", "talosctl", "minikube", "#"}
MOST_EVENTS = 2000  # events of a node that are searched for marks, which are in every line or in the first ones
MOST_CHARACTERS = 2000  # of an event's line
MOST_TURNS = 8  # rounds of replacement, as a command may contain placeholders of others
_PLACEHOLDER = lazy_regex(r"\{([a-z]+)(?::([a-z]+))?(?: since (\d+[hms]))?\}")
_PLACEHOLDER_LIKE = lazy_regex(r"\{[a-z]+(?::| since )[^{}]*\}")  # has the form of a command placeholder, not of a slot
_JOURNAL_SINCE = lazy_regex(r"\{journal:([a-z]+) since (\d+[hms])\}")
_SINCE = lazy_regex(r" --since=-(\d+[hms])\b")  # of journalctl
_KUBECTL_SINCE = lazy_regex(r" --since=\d+[hms]\b")
_OPTIONAL = lazy_regex(r"\[\[(.*?)\]\]")
_MINOR = lazy_regex(r"v?1\.(\d{1,3})(?!\d)")
WITHOUT_DOCKERSHIM = 24  # minor version of kubelet that removed dockershim
UNKNOWN = "unknown"  # runtime of a kubelet with dockershim, if no line shows which one runs
EITHER = "either"  # the same of a kubelet without dockershim: containerd or CRI-O


class Distribution(NamedTuple):
    """A distribution: texts and versions that identify it, its container runtime, how to open a shell, its commands.

    `direct` opens a shell without a pod, for a node whose kubelet does not run.
    """

    name: str
    signs: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()
    runtime: str = ""
    enter: Fix | None = None
    direct: Fix | None = None
    commands: Mapping[str, str] = EMPTY


class DistributionFile(NamedTuple):
    """All of patterns/distributions.yaml: marks of each runtime, commands of Docker for crictl's, the distributions."""

    runtimes: Mapping[str, tuple[str, ...]]
    docker: Mapping[str, str]
    distributions: tuple[Distribution, ...]


class LogWindow(NamedTuple):
    """The time of a finding, microseconds UTC; `is_local` if the zone of its log is only assumed."""

    begins: int
    ends: int
    is_local: bool = False

    @property
    def times(self) -> dict[str, str]:
        """Return both as journalctl reads them; without a zone they are in that of the node, as the lines are."""
        form = "'%Y-%m-%d %H:%M:%S'" if self.is_local else "'%Y-%m-%d %H:%M:%S UTC'"
        return {"since": to_datetime(self.begins).strftime(form), "until": to_datetime(self.ends).strftime(form)}


class Dialect(NamedTuple):
    """The distribution and container runtime whose commands are used for one node."""

    distribution: Distribution
    runtime: str

    def expand(self, text: str, more: Mapping[str, str] = EMPTY) -> str:
        """Return the text with command placeholders replaced.

        Slots of the finding, such as {node}, and unknown placeholders stay.
        """
        if self.runtime in SHIMS:
            for crictl, docker in _data().docker.items():
                text = text.replace(crictl, docker)
        for _ in range(MOST_TURNS):
            expanded = _PLACEHOLDER.sub(
                lambda part: self._expand_placeholder(part[0], part[1], part[2] or "", part[3] or "", more), text
            )
            if expanded == text:
                break
            text = expanded
        return text

    def expand_at(self, text: str, window: LogWindow) -> str:
        """Return the text expanded; a log that is read since some time ago is read around this time instead."""

        def times(before: str) -> dict[str, str]:
            begins = window.begins - (parse_duration(before) or HOUR)
            return window._replace(begins=begins, ends=window.ends + MINUTE).times

        def around(part: re.Match[str]) -> str:
            return self.expand(f"{{between:{part[1]}}}", times(part[2]))

        text = self.expand(_JOURNAL_SINCE.sub(around, text))
        text = _SINCE.sub(lambda part: " --since {since} --until {until}".format_map(times(part[1])), text)
        return _KUBECTL_SINCE.sub(lambda _: f" --since-time={rfc3339(window.begins - HOUR, 'seconds')}", text)

    def of_rule(self, rule: Rule) -> Dialect:
        """Return the commands for a finding of the rule: none that need a pod on a node whose kubelet does not run."""
        known = self.distribution
        if known.direct is None or _KUBELET_RUNS not in {*rule.breaks, *rule.suffers}:
            return self
        commands = {name: text for name, text in known.commands.items() if text.split(" ")[0] not in REMOTE_TOOLS}
        return self._replace(distribution=known._replace(enter=known.direct, commands=commands))

    def enter(self, texts: Sequence[str]) -> Iterator[Fix]:
        """Yield the step that opens a shell on the node, if the distribution has one and a command needs it."""
        if self.distribution.enter and any(self._runs_on_node(text) for text in texts):
            yield self.distribution.enter

    def _runs_on_node(self, text: str) -> bool:
        """Return whether a command is typed in a shell on the node, and not on another machine as kubectl is."""
        words = self.expand(text).split()
        return bool(words) and words[0] not in REMOTE_TOOLS

    def _expand_placeholder(
        self, placeholder: str, verb: str, service: str, since: str, more: Mapping[str, str]
    ) -> str:
        service = {"runtime": self.runtime, "cri": SHIMS.get(self.runtime, self.runtime)}.get(service, service)
        template = self._template(verb, service)
        if template is None:
            return placeholder
        values = {"since": since, "unit": self._template("unit", service) or service, **more}
        command = _OPTIONAL.sub(lambda part: part[1] if since or more else "", template)
        for name, value in values.items():
            command = command.replace(f"{{{name}}}", value)
        return command

    def _template(self, verb: str, service: str) -> str | None:
        defaults = distributions()[0].commands
        keys = (f"{verb}:{service}", verb) if service else (verb,)
        if verb in _SERVICE_ONLY and not service:
            return None
        return next(
            (table[key] for table in (self.distribution.commands, defaults) for key in keys if key in table), None
        )


_SERVICE_ONLY = {"unit", "journal", "between", "status", "options", "restart", "stop", "start"}


def default_dialect() -> Dialect:
    """Return the commands for an unknown node: systemd and containerd."""
    return Dialect(distributions()[0], distributions()[0].runtime)


def unknown_placeholders(text: str) -> Iterator[str]:
    """Yield the placeholders of a text that no distribution defines."""
    for part in _PLACEHOLDER_LIKE.finditer(text):
        parsed = _PLACEHOLDER.fullmatch(part[0])
        if not parsed or parsed[2] not in {*SERVICES, *PODS} or default_dialect().expand(part[0]) == part[0]:
            yield part[0]


def is_placeholder(name: str) -> bool:
    """Return whether `{name}` is a command placeholder and not a slot of the finding."""
    return name in distributions()[0].commands


def dialect_of(history: History, node: str) -> Dialect:
    """Return the commands for a node, detected from its logs."""
    texts = list(_texts(history, node))
    signs = {one.name: one.signs for one in distributions()}
    votes = _votes(texts, signs)
    runtimes = _votes(texts, _runtimes())
    for version in history.versions:
        if may_be_same_node(node, version.node):
            votes.update(one.name for one in distributions() if any(part in version.version for part in one.versions))
    best = [one for one in votes if votes[one] == max(votes.values())]
    whole = "\n".join(texts) if len(best) > 1 else ""  # versions of one distribution share marks
    name = max(best, key=lambda one: sum(sign in whole for sign in signs[one]), default="plain")
    distribution = next(one for one in distributions() if one.name == name)
    seen_runtime = max(runtimes, key=lambda one: runtimes[one], default="")
    if seen_runtime == "docker" and _is_without_dockershim(history, node):
        seen_runtime = "cri-dockerd"
    if not seen_runtime and name == "plain":
        is_new = _is_without_dockershim(history, node)
        seen_runtime = EITHER if is_new else UNKNOWN if _may_have_dockershim(history, node) else ""
    return Dialect(distribution, seen_runtime or distribution.runtime or default_dialect().runtime)


def _is_without_dockershim(history: History, node: str) -> bool:
    """Return whether kubelet's version, or the lowest that has its wording, has no dockershim."""
    known = [*_minors(history, node, ">=")]
    return bool(known) and min(known) >= WITHOUT_DOCKERSHIM


def _may_have_dockershim(history: History, node: str) -> bool:
    """Return whether kubelet's version, or a bound of it from its wording, has dockershim."""
    known = [*_minors(history, node, "<")]
    return bool(known) and max(known) < WITHOUT_DOCKERSHIM


def _minors(history: History, node: str, bound: str) -> Iterator[int]:
    """Yield the minor versions of the node's kubelet: known ones, or bounds from wordings such as `<1.21`, `>=1.24`."""
    for seen in history.versions:
        if seen.component == "kubelet" and may_be_same_node(node, seen.node):
            bounds = (one.removeprefix(bound) for one in seen.span.split() if one.startswith(bound))
            for text in (seen.version, *bounds):
                found = _MINOR.match(text)
                if found:
                    yield int(found[1])


def _votes(texts: Sequence[str], signs: Mapping[str, Sequence[str]]) -> Counter[str]:
    """Return for each name the number of texts with one of its marks.

    Most marks occur nowhere; one search over all texts at once excludes those.
    """
    whole = "\n".join(texts)
    present = [(name, sign) for name, marks in signs.items() for sign in marks if sign in whole]
    return Counter(name for text in texts for name in dict.fromkeys(name for name, sign in present if sign in text))


def _texts(history: History, node: str) -> Iterator[str]:
    """Yield the first lines of a node and the names of their files."""
    events = (event for event in history.events if may_be_same_node(node, event.node))
    sources = set()
    for event in islice(events, MOST_EVENTS):
        if event.origin.source not in sources:
            sources.add(event.origin.source)
            yield event.origin.source
        below = event.attrs.get("error", "").partition("\n")[2]  # the text is that of the first line
        yield f"{event.text}\n{below}"[:MOST_CHARACTERS]


@cache
def distributions() -> tuple[Distribution, ...]:
    """Return all distributions, the default one first."""
    return _data().distributions


@cache
def _runtimes() -> Mapping[str, tuple[str, ...]]:
    return _data().runtimes


@cache
def _data() -> DistributionFile:
    path = builtin_patterns() / DISTRIBUTIONS
    text = path.read_bytes()
    return cached("distributions", digest([text]), DistributionFile, lambda: _read(text.decode(), str(path)))


def _read(text: str, file: str) -> DistributionFile:
    from kvdiag.base.decode import Record, each, table  # slow imports (YAML), not needed if the cache is filled
    from kvdiag.base.yamlread import Node, read_yaml

    distribution = Record(Distribution, commands=table(Node.scalar))
    return Record(DistributionFile, distributions=each(distribution))(read_yaml(text, file))
