"""Explain topics, rules and lines from their texts, the vocabulary and the rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from kvdiag.analysis.case import load_patterns
from kvdiag.analysis.error_lines.lines import WORSE
from kvdiag.base.errors import InputError, PatternError, UsageError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.base.regex import lazy_regex
from kvdiag.base.suggestions import suggestion
from kvdiag.explain.benign import BENIGN, first_that_fits, load_benign
from kvdiag.explain.kubectl_reasons import KubectlReason, load_reasons
from kvdiag.explain.line import Change, Line, LineReader
from kvdiag.explain.message import Fit, matching_rules
from kvdiag.explain.page import CapabilityPage, LinePage, RulePage, StepPage, TopicPage, WordPage, step_wording
from kvdiag.explain.topic import REASONS, Answer, Topic, TopicStep, load_topics
from kvdiag.formats.rpc.fragments import kind_prefix, method_of
from kvdiag.history.ingest.blocks import Input
from kvdiag.model.error_anatomy import ErrorAnatomy
from kvdiag.model.event import Event
from kvdiag.model.options import Options
from kvdiag.model.rule import Rule
from kvdiag.rules.capabilities import capabilities
from kvdiag.rules.causes import with_command
from kvdiag.rules.distribution import Dialect, default_dialect, distributions, unknown_placeholders
from kvdiag.rules.grammar import names_in, positive_names
from kvdiag.rules.rule_page import show_rule
from kvdiag.rules.selection import selects

BLOCK = "block"
PLAIN = "plain"
Problem = Callable[[InputError], None]
_NAMELIKE = lazy_regex(r"(?i:kv\d{1,4})|(?:[A-Z]?[a-z]+|[A-Z]+)(?:[ _-][A-Za-z]?[a-z]+)*")


class Explainer:
    """Everything that `kvdiag explain` can explain. Raises PatternError for an invalid topic or rule."""

    def __init__(self, patterns: Sequence[Path] = (), folder: Path | None = None) -> None:
        """Take further rules from `patterns`, and topics from `folder` instead of the built-in ones."""
        self._folder = folder or builtin_patterns() / "topics"
        self._patterns = load_patterns(Options(patterns=tuple(patterns)))

    @cached_property
    def topics(self) -> dict[str, Topic]:
        """All topics by name."""
        topics = load_topics(self._folder)
        for fault in self._faults(topics):
            raise fault
        return topics

    def topic(self, word: str) -> Topic | None:
        """Return the topic of that name."""
        return self.topics.get(word.lower())

    def page(self, topic: Topic, mode: str = "") -> TopicPage:
        """Return a topic in a mode, by default its first. Raise UsageError for an unknown mode."""
        if mode and mode not in topic.modes:
            choices = f"choose from {', '.join(topic.modes)}" if topic.modes else "it has none"
            raise UsageError(f"{topic.name} has no mode {mode!r}; {choices}")
        mode = mode or next(iter(topic.modes), "")
        steps = tuple(self._step(step, mode) for step in topic.steps_in(mode))
        return TopicPage(topic, mode, steps, tuple(_answer_in_mode(answer, mode) for answer in topic.answers_in(mode)))

    def rule(self, word: str) -> RulePage | None:
        """Return the rule with that id or name, with the topic steps that its events belong to."""
        for rule in self._patterns.rules:
            if word.lower() in {rule.id.lower(), rule.name}:
                return RulePage(rule.id, rule.name, show_rule(rule), tuple(self._steps_of(rule)))
        return None

    def word(self, word: str) -> WordPage | None:
        """Explain a kind of event, an RPC such as NodePublishVolume, or a reason such as CrashLoopBackOff."""
        entries, reason = self._patterns.vocabulary.kinds, self._reasons.get(word.lower())
        if reason is not None:
            return WordPage(reason.name, reason.meaning, (), reason.rules)
        kinds = [kind for kind in (word.lower(), *_calls_of(word)) if kind in entries]
        if not kinds:
            return None
        rules = tuple(rule.name for rule in self._patterns.rules if _kinds(rule) & set(kinds))
        description = entries[kinds[0]].label if len(kinds) == 1 else f"{method_of(word)}: {len(kinds)} kinds of events"
        return WordPage(word, description, tuple(step_wording(entries[kind]) for kind in kinds), rules)

    def capability(self, word: str) -> CapabilityPage | None:
        """Explain a capability, such as cri.api, with the rules about it."""
        known, name = capabilities(), word.lower()
        if name not in known.by_name:
            return None
        one, rules = known.by_name[name], self._patterns.rules
        return CapabilityPage(
            one._replace(collect=tuple(default_dialect().expand(command) for command in one.collect)),
            needed_by=tuple(other.name for other in known if name in other.needs),
            broken_by=tuple(rule.name for rule in rules if name in rule.breaks),
            felt_by=tuple(rule.name for rule in rules if name in rule.suffers),
        )

    @cached_property
    def _reasons(self) -> dict[str, KubectlReason]:
        """All reasons by name. Raises PatternError if one names an unknown rule."""
        names = {rule.name for rule in self._patterns.rules}
        reasons = load_reasons(self._folder / f"{REASONS}.yaml")
        for reason in reasons.values():
            for name in (name for name in reason.rules if name not in names):
                raise PatternError(reason.place, f"unknown rule {name!r}{suggestion(name, names)}")
        return reasons

    def lines(self, source: Input, problem: Problem, change: Change = list) -> Iterator[LinePage]:
        """Yield a page for each record of an input; `change` is applied to its lines before they are parsed."""
        benign = load_benign(self._folder / f"{BENIGN}.yaml")
        for line in LineReader(self._patterns.vocabulary).read(source, problem, change):
            rules = tuple(rule.name for rule in self._patterns.rules if _selects_any(rule, line.events))
            kinds = self._patterns.vocabulary.kinds
            labels = tuple(kinds[event.kind].label for event in line.events)
            fitting = () if rules or _has_head(line) else self.fits(line.body.message)
            yield LinePage(line, labels, first_that_fits(benign, line.raw), rules, fitting, _anatomy(line))

    def fits(self, message: str) -> tuple[Fit, ...]:
        """Return the rules that match a message or a part of one, the best first."""
        selectors = (
            (rule, rule.events[name])
            for rule in self._patterns.rules
            for name in dict.fromkeys(positive_names(rule.when))
        )
        return matching_rules(message, selectors, self._patterns.vocabulary.kinds)

    def unknown(self, word: str) -> UsageError:
        """Return the error for an unknown word."""
        reasons = [reason.name for reason in self._reasons.values()]
        rules = [name for rule in self._patterns.rules for name in (rule.name, rule.id)]
        hint = suggestion(
            word, [*self.topics, *reasons, *capabilities().by_name, *self._patterns.vocabulary.kinds, *rules]
        )
        quoted = repr(word) if _NAMELIKE.fullmatch(word) else "that"  # not repeated: it may be a part of a secret key
        others = "a rule, a capability, an event kind, an RPC, a reason such as CrashLoopBackOff, or a log line"
        return UsageError(f"nothing is called {quoted}{hint}\ntopics are {', '.join(self.topics)}; or give {others}")

    def _step(self, step: TopicStep, mode: str) -> StepPage:
        kinds = self._patterns.vocabulary.kinds
        rules = tuple(name for name, rule_kinds in self._kinds.items() if not rule_kinds.isdisjoint(step.shows))
        lines = tuple(step_wording(kinds[kind], mapped=mode == BLOCK) for kind in step.shows)
        return StepPage(step, step.notes.get(mode, ""), lines, rules)

    def _steps_of(self, rule: Rule) -> Iterator[tuple[str, str]]:
        for topic in self.topics.values():
            for step in topic.steps:
                if not self._kinds[rule.name].isdisjoint(step.shows):
                    yield topic.name, step.name

    @cached_property
    def _kinds(self) -> Mapping[str, frozenset[str]]:
        """By rule the kinds of events in its condition."""
        return {rule.name: frozenset(_kinds(rule)) for rule in self._patterns.rules}

    def _faults(self, topics: dict[str, Topic]) -> Iterator[PatternError]:
        """Yield faults between files: unknown event kinds, topics, rules and placeholders."""
        kinds = self._patterns.vocabulary.kinds
        for topic in topics.values():
            for kind in (kind for step in topic.steps for kind in step.shows if kind not in kinds):
                yield PatternError(topic.place, f"unknown event kind {kind!r}{suggestion(kind, kinds)}")
            for name in (name for name in topic.see if name not in topics):
                yield PatternError(topic.place, f"unknown topic {name!r}{suggestion(name, topics)}")
            for command in (command for answer in topic.answers for command in answer.run):
                for part in unknown_placeholders(command):
                    yield PatternError(topic.place, f"no distribution defines {part}")


def _answer_in_mode(answer: Answer, mode: str) -> Answer:
    """Return the answer with the commands of the distribution that the mode is named after, if there is one."""
    found = next((one for one in distributions() if one.name == mode), None)
    dialect = Dialect(found, found.runtime or default_dialect().runtime) if found else default_dialect()
    run = tuple(dialect.expand(command).replace("{node}", "NODE") for command in answer.run)
    return Answer(answer.question, answer.answer, run, answer.only)


def _anatomy(line: Line) -> ErrorAnatomy | None:
    """Return the cause of the error that a line reports; None if it reports none."""
    from kvdiag.anatomy.decode import error_text, stated_level
    from kvdiag.anatomy.error import read_error  # a line alone is explained by it

    anatomy = read_error(error_text(line.body), program=line.component, level=stated_level(line.body))
    if not anatomy.primitive and (not anatomy.quoted or line.body.level not in WORSE or line.body.format == PLAIN):
        return None
    return with_command(anatomy, default_dialect())


def _has_head(line: Line) -> bool:
    """Return whether a line has a header of a program or carrier, with a time or level."""
    return bool(line.time) or line.format != PLAIN or line.carrier != PLAIN


def _calls_of(word: str) -> Iterator[str]:
    """Yield the kinds of an RPC's events, if the word is the name of one."""
    if method := method_of(word):
        yield from (f"{kind_prefix(method)}.{what}" for what in ("called", "succeeded", "failed"))


def _kinds(rule: Rule) -> set[str]:
    """Return the kinds of events in the rule's condition."""
    return {kind for name in names_in(rule.when) for kind in rule.events[name].kinds}


def _selects_any(rule: Rule, events: Sequence[Event]) -> bool:
    selectors = [rule.events[name] for name in names_in(rule.when)]
    return any(selects(selector, event) for selector in selectors for event in events)
