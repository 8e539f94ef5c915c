"""A story → logs: every wording of every kind in it at least once, and never words of two eras in one log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import islice, zip_longest
from typing import NamedTuple

from kvdiag.base.clock import DAY, say_duration
from kvdiag.base.errors import PatternError
from kvdiag.base.versions import Range, intersection, read_range
from kvdiag.events.calls_told import call_lines, is_told
from kvdiag.events.cast import Cast
from kvdiag.events.names import PLACEHOLDERS
from kvdiag.events.rendering import Spelling, Spellings, can_say, idle_line, render
from kvdiag.events.vocabulary import make_vocabulary
from kvdiag.model.rule import Rule, RuleTest
from kvdiag.model.story import StoryLine, backoff
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.story import LADDER, Story

MIDNIGHT = 19_794 * DAY  # 12 March 2024, the day of all stories
OWN = "line."  # a story calls the lines of its rule `line.refused`
LOGS = "logs"
BYSTANDER = {  # of kinds that no rule asks for
    "kubelet": "housekeeping.ended",
    "containerd": "image.pull.started",
    "crio": "image.pull.started",
    "kube-controller-manager": "volume.attach.started",
    "external-attacher": "attacher.detach-started",
}
RUNTIMES = {"containerd", "crio"}
MOST = 200  # logs of one story


_Said = tuple[int, str]  # when, and the line
_Axis = tuple[tuple[str, ...], tuple[tuple[str, tuple[str, ...]], ...], bool]


class Telling(NamedTuple):
    """A story as a log; `wordings` are those that tell it, for people."""

    log: str
    wordings: tuple[str, ...]


class _Way(NamedTuple):
    """One way to say an event: a kind, the vocabulary's spelling of it (None: a call), and the values it is given."""

    entry: Entry
    spelling: Spelling | None
    values: Mapping[str, str]

    @property
    def era(self) -> Mapping[str, str]:
        return self.spelling.wording.since if self.spelling else {}

    @property
    def component(self) -> str:
        return self.spelling.component if self.spelling else self.entry.component


class Teller:
    """Tells stories in the words of the vocabulary, and in a rule's own."""

    def __init__(self, spellings: Spellings, kinds: Mapping[str, Entry], rule: Rule) -> None:
        """`spellings` and `kinds` are the vocabulary's."""
        own = make_vocabulary(rule.lines)
        self._spellings, self._kinds = (spellings, Spellings(own)), {**kinds, **own.kinds}
        self._rule = rule

    def tell(self, test: RuleTest, *, once: bool) -> Iterator[Telling]:
        """Logs that have each kind, value and wording at least once; `once`: one wording of each kind.

        Left out are wordings of versions that the rule does not apply to, and what the test excepts.
        Raises PatternError where no wording can say what the story wants.
        """
        axes = self._axes(test, once=once)
        left = {key: list(range(len(ways))) for key, ways in axes.items()}
        for number in range(MOST):
            chosen: dict[_Axis, _Way] = {}
            if number and not any(left.values()):
                return
            for key in sorted(axes, key=lambda key: -len(left[key])):
                at = _pick(axes[key], left[key], number, chosen.values())
                left[key] = [other for other in left[key] if other != at]
                chosen[key] = axes[key][at]
            yield self._told(test.story, chosen)

    def _axes(self, test: RuleTest, *, once: bool) -> Mapping[_Axis, Sequence[_Way]]:
        axes: dict[_Axis, Sequence[_Way]] = {}
        for line in test.story:
            if _is_event(line) and _axis(line) not in axes:
                spelled: list[list[tuple[Entry, Spelling | None]]] = []
                for kind in line.kinds:
                    spelled.append(list(islice(self._spelled(kind, line, test.but), 1 if once else None)))
                    if not spelled[-1]:
                        said = ", ".join(line.values)
                        raise PatternError(test.place, f"no wording of {kind} can be told{said and f' with {said}'}")
                axes[_axis(line)] = tuple(_ways(line, spelled))
        return axes

    def _spelled(self, kind: str, line: StoryLine, but: Sequence[str]) -> Iterator[tuple[Entry, Spelling | None]]:
        kind = kind.replace(OWN, f"{OWN}{self._rule.name}.") if kind.startswith(OWN) else kind
        entry = self._kinds.get(kind)
        wanted = {*_values(line), *(("backoff",) if _is_ladder(line) else ())}
        if entry is not None and is_told(entry, wanted):
            yield entry, None
        for spelling in (one for some in self._spellings for one in some.of(kind)):
            left_out = any(words in spelling.wording.message for words in but)
            if not left_out and can_say(spelling, wanted) and _together(spelling.wording.since, self._rule.applies):
                yield spelling.entry, spelling

    def _told(self, story: Story, chosen: Mapping[_Axis, _Way]) -> Telling:
        lines: dict[str, list[_Said]] = defaultdict(list)
        heard = sorted({way.component for way in chosen.values()})
        asked: set[tuple[str, str]] = set()
        said: dict[str, None] = {}
        for line in story:
            if line.kinds[0] == LOGS:
                for component in heard:
                    lines[component] += [(at, idle_line(component, MIDNIGHT + at)) for at in line.moments]
                continue
            if not _is_event(line):
                component = line.kinds[0]
                lines[component] += [(at, self._going_on(component, MIDNIGHT + at)) for at in line.moments]
                continue
            way = chosen[_axis(line)]
            said[way.spelling.wording.message if way.spelling else way.entry.kind] = None
            names = {key: options[0] for key, options in line.values.items() if _is_name(key)}
            lines[way.component] += self._events(line, way, Cast.called(line.of, names), asked)
        return Telling("".join(_log(component, told) for component, told in lines.items()), tuple(said))

    def _going_on(self, component: str, time: int) -> str:
        """A line by which a component is known to be there, at a verbosity that shows all that it does."""
        kind = BYSTANDER.get(component, "")
        spelled = next((one for some in self._spellings for one in some.of(kind)), None)
        return render(spelled, {}, Cast.called("bystander"), time) if spelled else idle_line(component, time)

    def _events(self, line: StoryLine, way: _Way, cast: Cast, asked: set[tuple[str, str]]) -> Iterator[_Said]:
        for number, at in enumerate(line.moments):
            if way.spelling is not None:
                waits = say_duration(backoff(number if _is_ladder(line) else 0))
                usual = {"backoff": waits} if can_say(way.spelling, ["backoff"]) else {}
                yield at, render(way.spelling, {**usual, **way.values}, cast, MIDNIGHT + at)
                continue
            thing, _, outcome = way.entry.kind.rpartition(".")
            call = (thing, cast.names["volume_handle"])
            for text in call_lines(way.entry, way.values, cast, MIDNIGHT + at, asked=call in asked):
                yield at, text
            asked.add(call) if outcome == "called" else asked.discard(call)


def _log(component: str, told: Sequence[_Said]) -> str:
    """The log of one component, in order of time."""
    ordered = sorted(told, key=lambda one: one[0])
    return f"==> {component}.log <==\n" + "".join(f"{text}\n" for _, text in ordered)


def _is_event(line: StoryLine) -> bool:
    """Whether it is one, or only that a component goes on."""
    return "." in line.kinds[0]


def _is_ladder(line: StoryLine) -> bool:
    return line.count > 1 and line.every == LADDER


def _axis(line: StoryLine) -> _Axis:
    """Lines that are said in the same way: those of the same kinds and values."""
    return line.kinds, tuple(_values(line).items()), _is_ladder(line)


def _values(line: StoryLine) -> Mapping[str, tuple[str, ...]]:
    """What it says but for the names of its cast."""
    return {key: options for key, options in line.values.items() if not _is_name(key)}


def _is_name(key: str) -> bool:
    known = PLACEHOLDERS.get(key)
    return known is not None and known.kind is not None


def _ways(line: StoryLine, spelled: Sequence[Sequence[tuple[Entry, Spelling | None]]]) -> Iterator[_Way]:
    """Every spelling of every kind and every value at least once; first each kind."""
    said = [one for turn in zip_longest(*spelled) for one in turn if one is not None]
    values = _values(line)
    for number in range(max(len(said), *(len(options) for options in values.values()), 0)):
        entry, spelling = said[number % len(said)]
        yield _Way(entry, spelling, {key: options[number % len(options)] for key, options in values.items()})


def _pick(ways: Sequence[_Way], untold: Sequence[int], number: int, others: Iterable[_Way]) -> int:
    """The next way that was not told yet and is of the era of the others, or else any that is."""
    said = list(others)
    for at in (*untold, *((number + turn) % len(ways) for turn in range(len(ways)))):
        if all(_on_one_node(ways[at], other) for other in said):
            return at
    return number % len(ways)


def _on_one_node(way: _Way, other: _Way) -> bool:
    """Whether one node can say both: its components have one version each, and it has one runtime."""
    return {way.component, other.component} != RUNTIMES and _together(way.era, other.era)


def _together(some: Mapping[str, str], others: Mapping[str, str]) -> bool:
    """Whether there is a version of each component in both ranges."""
    return all(
        intersection(_range(some[component]), _range(others[component])) for component in some.keys() & others.keys()
    )


@cache
def _range(text: str) -> Range:
    return read_range(text)
