"""Lint patterns: the built-in ones, or a user's rules, events and groups of kinds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from kvdiag.base.errors import PatternError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.base.suggestions import suggestion
from kvdiag.base.yamlread import read_yaml
from kvdiag.events.lint import lint_events, read_user_events
from kvdiag.events.template import template_fault
from kvdiag.events.vocabulary import EVENTS, make_vocabulary, read_entries, user_event_folders
from kvdiag.history.lifecycles.load import lint as lint_lifecycles
from kvdiag.model.rule import Rule
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.library import KINDS, Library, load, load_rule_store, orphan_logs
from kvdiag.rules.lint import lint
from kvdiag.rules.lint_samples import LogSamples, frequent_anchor
from kvdiag.rules.lint_truth import lint_look_alikes
from kvdiag.rules.rule_store import RuleStore
from kvdiag.rules.schema import unique


def check_patterns(folders: Sequence[Path]) -> tuple[Library, list[PatternError]]:
    """Return the checked rules, and every fault ordered by file and line.

    Check the user's folders against the built-in patterns; without a folder, check the built-in patterns.
    """
    folders = [folder for folder in folders if folder.resolve() != builtin_patterns().resolve()]
    library = load([builtin_patterns(), *folders], only=frozenset() if folders else None)
    others = load_rule_store([builtin_patterns()]) if folders else RuleStore(())
    known, user_entries = read_entries(builtin_patterns() / EVENTS), list[Entry]()
    faults = [*library.errors, *_duplicates(library.rules, others), *([] if folders else built_in_faults(known))]
    for folder in user_event_folders(folders):
        entries, broken = read_user_events(folder)
        user_entries += entries
        faults += broken
    found = list(lint_events(user_entries, known)) if user_entries else []
    broken_places = {fault.place for fault in found}
    valid_entries = [
        entry for entry in user_entries if not broken_places & {entry.place, *(one.place for one in entry.wordings)}
    ]
    lines = list(_lines(library.rules, others))
    valid_lines = [entry for entry in lines if not any(map(template_fault, entry.wordings))]
    samples = LogSamples.from_entries(make_vocabulary([*known, *valid_entries, *valid_lines]), [*known, *valid_entries])
    for wording in (wording for entry in user_entries for wording in entry.wordings):
        found += [PatternError(wording.place, problem) for problem in frequent_anchor(wording.anchor, samples)]
    kinds = {**{entry.kind: entry for entry in (*user_entries, *lines)}, **samples.vocabulary.kinds}
    found += [fault for folder in folders or (builtin_patterns(),) for fault in _groups(folder / KINDS, kinds)]
    found += [fault for folder in folders or (builtin_patterns(),) for fault in orphan_logs(folder)]
    names = frozenset(rule.name for rule in library.rules) | {head.name for head in others.summaries}
    found += [fault for rule in library.rules for fault in lint(rule, kinds, names, samples)]
    for rule in library.rules:
        found += [PatternError(rule.place_of(path), problem) for path, problem in lint_look_alikes(rule, names)]
    return library, sorted((*faults, *found), key=_place)


def built_in_faults(known: Iterable[Entry]) -> Iterator[PatternError]:
    """Yield faults of the built-in events and lifecycles."""
    yield from filter(None, (template_fault(wording) for entry in known for wording in entry.wordings))
    yield from lint_lifecycles(builtin_patterns())


def _duplicates(rules: Sequence[Rule], others: RuleStore) -> Iterator[PatternError]:
    """Yield ids and names of a user's rules that a built-in rule already has."""
    words = {word for rule in rules for word in (rule.id, rule.name)}
    candidates = others.filter(lambda head: not words.isdisjoint((head.id, head.name)))
    return (fault for rule in rules for fault in unique([*candidates, rule]))


def _lines(rules: Iterable[Rule], others: RuleStore) -> Iterator[Entry]:
    """Yield the raw lines of both sets of rules, in the order in which they are tried."""
    by_id = {rule.id: rule.lines for rule in rules} | {head.id: head.lines for head in others.summaries}
    return chain.from_iterable(by_id[one] for one in sorted(by_id))


def _groups(path: Path, kinds: Collection[str]) -> Iterator[PatternError]:
    """Yield unknown kinds in a `kinds.yaml`; an unreadable one was already reported with the rules."""
    with suppress(PatternError, OSError, UnicodeDecodeError):
        for group in read_yaml(path.read_text("utf-8"), str(path)).table().values():
            for item in group.sequence():
                if item.text() not in kinds:
                    yield item.error(f"unknown event kind {item.text()!r}{suggestion(item.text(), kinds)}")


def _place(fault: PatternError) -> tuple[str, int, int]:
    file, line, column = fault.place.rsplit(":", 2)
    return file, int(line), int(column)
