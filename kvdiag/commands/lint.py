"""Everything that is wrong with patterns: those of kvdiag, and a user's rules, events and groups of kinds."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from kvdiag.errors import PatternError
from kvdiag.events.folder import built_in
from kvdiag.events.own import lint_own, read_own
from kvdiag.events.template import template_fault
from kvdiag.events.vocabulary import EVENTS, make_vocabulary, own_folders, read_entries
from kvdiag.lifecycles.load import lint as lint_lifecycles
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.library import KINDS, Library, load
from kvdiag.rules.lint import lint
from kvdiag.rules.lint_words import Words, hot
from kvdiag.slips import suggestion
from kvdiag.yamlread import read_yaml


def check_patterns(folders: Sequence[Path]) -> tuple[Library, list[PatternError]]:
    """All rules there are, with those of the user's folders, and every fault, file by file in the order of lines."""
    library = load([built_in(), *folders])
    known, own = read_entries(built_in() / EVENTS), list[Entry]()
    faults = [*lint_lifecycles(built_in()), *library.errors]
    for folder in own_folders(folders):
        entries, broken = read_own(folder)
        own += entries
        faults += broken
    found = list(lint_own(own, known)) if own else []
    wrong = {fault.place for fault in found}
    own_sound = [entry for entry in own if not wrong & {entry.place, *(one.place for one in entry.wordings)}]
    lines = [entry for rule in library.rules for entry in rule.lines if not any(map(template_fault, entry.wordings))]
    words = Words.of(make_vocabulary([*known, *own_sound, *lines]), [*known, *own_sound])
    for wording in (wording for entry in own for wording in entry.wordings):
        found += [PatternError(wording.place, problem) for problem in hot(wording.anchor, words)]
    kinds = {entry.kind: entry for entry in (*own, *(entry for rule in library.rules for entry in rule.lines))}
    kinds |= words.vocabulary.kinds
    found += [fault for folder in (built_in(), *folders) for fault in _groups(folder / KINDS, kinds)]
    names = frozenset(rule.name for rule in library.rules)
    found += [fault for rule in library.rules for fault in lint(rule, kinds, names, words)]
    return library, sorted((*faults, *found), key=_place)


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
