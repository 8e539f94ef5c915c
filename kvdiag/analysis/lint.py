"""Everything that is wrong with patterns: those of kvdiag, or a user's rules, events and groups of kinds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path

from kvdiag.base.errors import PatternError
from kvdiag.base.slips import suggestion
from kvdiag.base.yamlread import read_yaml
from kvdiag.events.folder import built_in
from kvdiag.events.own import lint_own, read_own
from kvdiag.events.template import template_fault
from kvdiag.events.vocabulary import EVENTS, make_vocabulary, own_folders, read_entries
from kvdiag.history.lifecycles.load import lint as lint_lifecycles
from kvdiag.model.rule import Rule
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.library import KINDS, Library, load, shelf
from kvdiag.rules.lint import lint
from kvdiag.rules.lint_truth import lint_look_alikes
from kvdiag.rules.lint_words import Words, hot
from kvdiag.rules.schema import unique
from kvdiag.rules.shelf import Shelf


def check_patterns(folders: Sequence[Path]) -> tuple[Library, list[PatternError]]:
    """The rules that were checked, and every fault, file by file in the order of lines.

    Those of the user's folders, held against what comes with kvdiag; without a folder, what comes with kvdiag.
    """
    folders = [folder for folder in folders if folder.resolve() != built_in().resolve()]
    library = load([built_in(), *folders], only=frozenset() if folders else None)
    others = shelf([built_in()]) if folders else Shelf(())
    known, own = read_entries(built_in() / EVENTS), list[Entry]()
    faults = [*library.errors, *_taken(library.rules, others), *([] if folders else built_in_faults(known))]
    for folder in own_folders(folders):
        entries, broken = read_own(folder)
        own += entries
        faults += broken
    found = list(lint_own(own, known)) if own else []
    wrong = {fault.place for fault in found}
    own_sound = [entry for entry in own if not wrong & {entry.place, *(one.place for one in entry.wordings)}]
    lines = list(_lines(library.rules, others))
    sound = [entry for entry in lines if not any(map(template_fault, entry.wordings))]
    words = Words.of(make_vocabulary([*known, *own_sound, *sound]), [*known, *own_sound])
    for wording in (wording for entry in own for wording in entry.wordings):
        found += [PatternError(wording.place, problem) for problem in hot(wording.anchor, words)]
    kinds = {**{entry.kind: entry for entry in (*own, *lines)}, **words.vocabulary.kinds}
    found += [fault for folder in folders or (built_in(),) for fault in _groups(folder / KINDS, kinds)]
    names = frozenset(rule.name for rule in library.rules) | {head.name for head in others.heads}
    found += [fault for rule in library.rules for fault in lint(rule, kinds, names, words)]
    for rule in library.rules:
        found += [PatternError(rule.place_of(path), problem) for path, problem in lint_look_alikes(rule, names)]
    return library, sorted((*faults, *found), key=_place)


def built_in_faults(known: Iterable[Entry]) -> Iterator[PatternError]:
    """Faults of the events and lifecycles that come with kvdiag."""
    yield from filter(None, (template_fault(wording) for entry in known for wording in entry.wordings))
    yield from lint_lifecycles(built_in())


def _taken(rules: Sequence[Rule], others: Shelf) -> Iterator[PatternError]:
    """Ids and names of a user's rules that one of kvdiag's has."""
    words = {word for rule in rules for word in (rule.id, rule.name)}
    near = others.those(lambda head: not words.isdisjoint((head.id, head.name)))
    return (fault for rule in rules for fault in unique([*near, rule]))


def _lines(rules: Iterable[Rule], others: Shelf) -> Iterator[Entry]:
    """The lines that rules of both have, in the order in which they are tried."""
    by_id = {rule.id: rule.lines for rule in rules} | {head.id: head.lines for head in others.heads}
    return chain.from_iterable(by_id[one] for one in sorted(by_id))


def _groups(path: Path, kinds: Collection[str]) -> Iterator[PatternError]:
    """Kinds that a `kinds.yaml` names and that do not exist; one that cannot be read was told with the rules."""
    with suppress(PatternError, OSError, UnicodeDecodeError):
        for group in read_yaml(path.read_text("utf-8"), str(path)).table().values():
            for item in group.sequence():
                if item.text() not in kinds:
                    yield item.error(f"no event kind is called {item.text()!r}{suggestion(item.text(), kinds)}")


def _place(fault: PatternError) -> tuple[str, int, int]:
    file, line, column = fault.place.rsplit(":", 2)
    return file, int(line), int(column)
