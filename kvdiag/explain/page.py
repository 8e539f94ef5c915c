"""What `explain` tells, before it is put into words: a topic in one mode, a rule, a line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kvdiag.explain.benign import Benign
from kvdiag.explain.line import Line
from kvdiag.explain.message import Fit
from kvdiag.explain.topic import Answer, Topic, TopicStep
from kvdiag.model.capability import Capability
from kvdiag.model.error_anatomy import ErrorAnatomy
from kvdiag.model.vocabulary import Entry, Wording

_MAPPING = re.compile(r"\bU?n?[Mm]ap(?:Volume|Device|PodDevice)\b")
_HOLE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class StepWording:
    """How a log tells of a step: who prints it, from which klog -v on, in which words."""

    kind: str
    component: str
    verbosity: int
    words: str
    about: str


@dataclass(frozen=True, slots=True)
class StepPage:
    """A step with the lines that show it and the rules that watch it."""

    step: TopicStep
    note: str
    lines: tuple[StepWording, ...]
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicPage:
    """A topic in one mode, its commands ready to be typed; `mode` is empty where a topic has none."""

    topic: Topic
    mode: str
    steps: tuple[StepPage, ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class RulePage:
    """A rule as `rules show` tells it, and (topic, step) of everything it looks at."""

    id: str
    name: str
    text: str
    steps: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class WordPage:
    """A kind of event, an RPC or a reason of kubectl's: what it is, the lines that tell of it, and the rules."""

    name: str
    summary: str
    lines: tuple[StepWording, ...]
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CapabilityPage:
    """A capability, what needs it at once, the rules that break it and those that suffer from its failure."""

    capability: Capability
    needed_by: tuple[str, ...]
    broken_by: tuple[str, ...]
    felt_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinePage:
    """A line, what its events are called, whether it is known to be harmless, and the rules that look at it.

    Of a message without the head of a line that no rule looks at, `fits` are those whose words it shares. `anatomy` is
    the cause of the error that it reports.
    """

    line: Line
    labels: tuple[str, ...]
    benign: Benign | None
    rules: tuple[str, ...]
    fits: tuple[Fit, ...] = ()
    anatomy: ErrorAnatomy | None = None


def step_wording(entry: Entry, *, mapped: bool = False) -> StepWording:
    """An entry of the vocabulary as a person meets it in a log; `mapped` for a block volume's words if it has some."""
    words = _words(_chosen(entry.wordings, mapped=mapped)) if entry.wordings else ""
    return StepWording(
        kind=entry.kind, component=entry.component, verbosity=entry.verbosity, words=words, about=entry.about
    )


def _chosen(wordings: tuple[Wording, ...], *, mapped: bool) -> Wording:
    """The first spelling that no later version has given up, else the first."""
    of_blocks = [w for w in wordings if mapped and _MAPPING.search(w.message)]
    current = (w for w in of_blocks or wordings if not any("<" in versions for versions in w.since.values()))
    return next(current, wordings[0])


def _words(wording: Wording) -> str:
    r"""The template as a line reads: `for volume "<spec_name>" … podUID=<pod_uid>`."""
    text = wording.message.removeprefix("] ")
    open_quote = '"' if wording.fields and text.endswith('"') and not text.startswith('"') else ""
    text = open_quote + text.replace('[["]]', "").replace("[[", "").replace("]]", "").replace("{{", "\0").replace(
        "}}", "\1"
    )
    text = _HOLE.sub(lambda hole: "…" if hole[1] == "_" else f"<{hole[1]}>", text.replace("...", "…"))
    fields = "".join(f" {key}=<{name}>" for name, key in wording.fields.items())
    return text.replace("\0", "{").replace("\1", "}") + fields
