"""Synthesize logs from a story: every wording of every kind at least once, incompatible versions never together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice, zip_longest
from typing import NamedTuple

from kvdiag.base.clock import DAY, format_duration
from kvdiag.base.errors import PatternError
from kvdiag.base.versions import Range, intersection, read_range
from kvdiag.events.names import PLACEHOLDERS
from kvdiag.events.rendering import (
    FixturePod,
    Spelling,
    Spellings,
    can_render,
    idle_line,
    is_renderable,
    render,
    render_call,
)
from kvdiag.events.vocabulary import make_vocabulary
from kvdiag.model.rule import Rule, RuleTest, StoryLine, backoff
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.story import LADDER, Story

MIDNIGHT = 19_794 * DAY  # 12 March 2024, the day of all stories
RULE_LINE = "line."  # prefix of the rule's own lines in a story: `line.refused`
LOGS = "logs"
FILLER_KINDS = {  # by component a kind that no rule uses
    "kubelet": "housekeeping.ended",
    "containerd": "image.pull.started",
    "crio": "image.pull.started",
    "kube-controller-manager": "volume.attach.started",
    "external-attacher": "attacher.detach-started",
}
RUNTIMES = {"containerd", "crio"}
MOST_LOGS = 200  # logs of one story, a bound on combinations


_TimedLine = tuple[int, str]  # time and line
_Axis = tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...], bool]


class SynthesizedLog(NamedTuple):
    """A story as a log; `wordings` are those used in it, for error messages."""

    log: str
    wordings: tuple[str, ...]


class _Rendering(NamedTuple):
    """One way to print an event: a kind, a spelling from the vocabulary (None for an RPC), and its values."""

    entry: Entry
    spelling: Spelling | None
    values: Mapping[str, str]

    @property
    def versions(self) -> Mapping[str, str]:
        return self.spelling.wording.since if self.spelling else {}

    @property
    def component(self) -> str:
        return self.spelling.component if self.spelling else self.entry.component


class LogSynthesizer:
    """Synthesizes logs with the wordings of the vocabulary and of a rule."""

    def __init__(self, spellings: Spellings, kinds: Mapping[str, Entry], rule: Rule) -> None:
        """Take the rule; `spellings` and `kinds` are those of the vocabulary."""
        rule_vocabulary = make_vocabulary(rule.lines)
        self._spellings, self._kinds = (spellings, Spellings(rule_vocabulary)), {**kinds, **rule_vocabulary.kinds}
        self._rule = rule

    def synthesize(self, test: RuleTest, *, once: bool) -> Iterator[SynthesizedLog]:
        """Yield logs that contain each kind, value and wording at least once; with `once` one wording of each kind.

        Wordings of versions outside of the rule's range are left out, as are those that the test excepts. Raise
        PatternError if no wording can express a line of the story.
        """
        axes = self._axes(test, once=once)
        unused = {key: list(range(len(renderings))) for key, renderings in axes.items()}
        for number in range(MOST_LOGS):
            chosen: dict[_Axis, _Rendering] = {}
            if number and not any(unused.values()):
                return
            for key in sorted(axes, key=lambda key: -len(unused[key])):
                at = _pick(axes[key], unused[key], number, chosen.values())
                unused[key] = [other for other in unused[key] if other != at]
                chosen[key] = axes[key][at]
            yield self._render(test.story, chosen)

    def _axes(self, test: RuleTest, *, once: bool) -> Mapping[_Axis, Sequence[_Rendering]]:
        axes: dict[_Axis, Sequence[_Rendering]] = {}
        for line in test.story:
            if _is_event(line) and _axis(line) not in axes:
                spelled: list[list[tuple[Entry, Spelling | None]]] = []
                for kind in line.kinds:
                    spelled.append(list(islice(self._matching_spellings(kind, line, test.but), 1 if once else None)))
                    if not spelled[-1]:
                        names = ", ".join(line.values)
                        raise PatternError(
                            test.place, f"no wording of {kind} can express the line{names and f' with {names}'}"
                        )
                axes[_axis(line)] = tuple(_renderings(line, spelled))
        return axes

    def _matching_spellings(
        self, kind: str, line: StoryLine, but: Sequence[str]
    ) -> Iterator[tuple[Entry, Spelling | None]]:
        kind = kind.replace(RULE_LINE, f"{RULE_LINE}{self._rule.name}.") if kind.startswith(RULE_LINE) else kind
        entry = self._kinds.get(kind)
        required = {*_values(line), *(("backoff",) if _is_ladder(line) else ())}
        if entry is not None and is_renderable(entry, required):
            yield entry, None
        for spelling in (one for some in self._spellings for one in some.of_kind(kind)):
            left_out = any(words in spelling.wording.message for words in but)
            if not left_out and can_render(spelling, required) and _overlap(spelling.wording.since, self._rule.applies):
                yield spelling.entry, spelling

    def _render(self, story: Story, chosen: Mapping[_Axis, _Rendering]) -> SynthesizedLog:
        lines: dict[str, list[_TimedLine]] = defaultdict(list)
        components = sorted({rendering.component for rendering in chosen.values()})
        open_calls: set[tuple[str, str]] = set()
        wordings: dict[str, None] = {}
        for line in story:
            if line.kinds[0] == LOGS:
                for component in components:
                    lines[component] += [(at, idle_line(component, MIDNIGHT + at)) for at in line.moments]
                continue
            if not _is_event(line):
                component = line.kinds[0]
                lines[component] += [(at, self._filler_line(component, MIDNIGHT + at)) for at in line.moments]
                continue
            way = chosen[_axis(line)]
            wordings[way.spelling.wording.message if way.spelling else way.entry.kind] = None
            names = {key: options[0] for key, options in line.values.items() if _is_name(key)}
            lines[way.component] += self._events(line, way, FixturePod.named(line.of, names), open_calls)
        return SynthesizedLog("".join(_log(component, timed) for component, timed in lines.items()), tuple(wordings))

    def _filler_line(self, component: str, time: int) -> str:
        """Return a line that proves that a component is logging, at the highest verbosity that rules need."""
        kind = FILLER_KINDS.get(component, "")
        spelling = next((one for some in self._spellings for one in some.of_kind(kind)), None)
        return render(spelling, {}, FixturePod.named("bystander"), time) if spelling else idle_line(component, time)

    def _events(
        self, line: StoryLine, rendering: _Rendering, pod: FixturePod, open_calls: set[tuple[str, str]]
    ) -> Iterator[_TimedLine]:
        for number, at in enumerate(line.moments):
            if rendering.spelling is not None:
                waits = format_duration(backoff(number if _is_ladder(line) else 0))
                usual = {"backoff": waits} if can_render(rendering.spelling, ["backoff"]) else {}
                yield at, render(rendering.spelling, {**usual, **rendering.values}, pod, MIDNIGHT + at)
                continue
            operation, _, outcome = rendering.entry.kind.rpartition(".")
            call = (operation, pod.names["volume_handle"])
            for text in render_call(
                rendering.entry, rendering.values, pod, MIDNIGHT + at, is_requested=call in open_calls
            ):
                yield at, text
            open_calls.add(call) if outcome == "called" else open_calls.discard(call)


def _log(component: str, lines: Sequence[_TimedLine]) -> str:
    """Return the log of one component in order of time."""
    ordered = sorted(lines, key=lambda one: one[0])
    return f"==> {component}.log <==\n" + "".join(f"{text}\n" for _, text in ordered)


def _is_event(line: StoryLine) -> bool:
    """Return whether the line is an event, and not only a component that keeps logging."""
    return "." in line.kinds[0]


def _is_ladder(line: StoryLine) -> bool:
    return line.count > 1 and line.every == LADDER


def _axis(line: StoryLine) -> _Axis:
    """Return a key that lines with the same kinds and values share: they use the same wording."""
    return line.kinds, tuple(_values(line).items()), _is_ladder(line)


def _values(line: StoryLine) -> Mapping[str, tuple[str, ...]]:
    """Return the values of a line without the names of its objects."""
    return {key: options for key, options in line.values.items() if not _is_name(key)}


def _is_name(key: str) -> bool:
    known = PLACEHOLDERS.get(key)
    return known is not None and known.kind is not None


def _renderings(line: StoryLine, spelled: Sequence[Sequence[tuple[Entry, Spelling | None]]]) -> Iterator[_Rendering]:
    """Yield every spelling of every kind and every value at least once; first one of each kind."""
    spellings = [one for turn in zip_longest(*spelled) for one in turn if one is not None]
    values = _values(line)
    for number in range(max(len(spellings), *(len(options) for options in values.values()), 0)):
        entry, spelling = spellings[number % len(spellings)]
        yield _Rendering(entry, spelling, {key: options[number % len(options)] for key, options in values.items()})


def _pick(renderings: Sequence[_Rendering], unused: Sequence[int], number: int, others: Iterable[_Rendering]) -> int:
    """Return the next unused rendering that is compatible with the others, else any compatible one."""
    chosen = list(others)
    for at in (*unused, *((number + turn) % len(renderings) for turn in range(len(renderings)))):
        if all(_on_one_node(renderings[at], other) for other in chosen):
            return at
    return number % len(renderings)


def _on_one_node(rendering: _Rendering, other: _Rendering) -> bool:
    """Return whether one node can print both: one version of each component, one container runtime."""
    return {rendering.component, other.component} != RUNTIMES and _overlap(rendering.versions, other.versions)


def _overlap(some: Mapping[str, str], others: Mapping[str, str]) -> bool:
    """Return whether both version ranges share a version of each component."""
    return all(
        intersection(_range(some[component]), _range(others[component])) for component in some.keys() & others.keys()
    )


@cache
def _range(text: str) -> Range:
    return read_range(text)
