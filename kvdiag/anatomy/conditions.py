"""Conditions of rules on the anatomy of an error: its cause, the object of the cause, its peer, the operations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache, lru_cache

from kvdiag.anatomy.data import tables
from kvdiag.anatomy.error import read_error
from kvdiag.anatomy.read import EXIT_CODE, causes_in, has_exit_code, has_number
from kvdiag.base.regex import lazy_regex
from kvdiag.model.error_anatomy import WEAK, ErrorAnatomy

CAUSE, PEER, OPERATION = "cause", "peer", "operation"
_CHOICE = lazy_regex(r"\[(\w)\w{0,3}\]")  # [Dd] of a glob
MOST_KEPT = 1024  # anatomies of different errors: at most 16 KiB of text each, and a log repeats the same ones

MOST_ANSWERS = 64  # of one condition: a log repeats its errors, and an answer takes 20 µs again


@lru_cache(maxsize=MOST_KEPT)
def anatomy_of(text: str, kind: str) -> ErrorAnatomy:
    """Return the anatomy of the error of an event, for conditions only; its kind may say which operation failed.

    Secrets are not removed, which takes twice as long as all the rest.
    """
    return read_error(text, operations=_operations_of(kind), redact=False)


@lru_cache(maxsize=MOST_KEPT)
def _operations_of(kind: str) -> tuple[str, ...]:
    return tuple(one.id for one in tables().operations if kind in one.kinds)


def words_of(name: str) -> Collection[str]:
    """Return the words that a condition of that name may use."""
    known = tables()
    if name == CAUSE:
        return {*(one.id for one in known.primitives), EXIT_CODE, *known.groups}
    return {one.id for one in (known.peers if name == PEER else known.operations)}


def condition_of(asked: Mapping[str, Collection[str]], is_object: Callable[[str], bool]) -> Callable[[str, str], bool]:
    """Return a function that tests the error of an event and its kind. `asked` has the words by the condition's name.

    An error is read only if it has words of one of the causes: 10 µs instead of 300.
    """
    causes = expanded(asked.get(CAUSE, ()))
    included = frozenset(word for word in causes if not word.startswith("!"))
    refused = frozenset(word[1:] for word in causes if word.startswith("!"))
    may_have = _words_of_causes(included) if included else bool
    peers, operations = (_accepts(asked.get(name, ())) for name in (PEER, OPERATION))

    @lru_cache(maxsize=MOST_ANSWERS)
    def fits(text: str, kind: str) -> bool:
        if not may_have(text):
            return False
        anatomy = anatomy_of(text, kind)
        is_cause = anatomy.primitive in included if included else anatomy.primitive not in refused
        return (
            is_cause
            and anatomy.primitive not in refused
            and is_object(anatomy.object)
            and peers((anatomy.peer,))
            and operations(anatomy.operations)
        )

    return fits


def expanded(words: Collection[str]) -> tuple[str, ...]:
    """Return the words with groups of causes replaced by their members, also behind `!`."""
    groups = tables().groups
    found = []
    for word in words:
        name = word.removeprefix("!")
        found += [word.replace(name, one) for one in groups.get(name, (name,))]
    return tuple(dict.fromkeys(found))


def texts_of_causes(words: Collection[str]) -> tuple[str, ...]:
    """Return the texts of causes and groups of causes as globs, without those behind `!`."""
    asked = set(expanded(words))
    known = (one for one in tables().primitives if one.id in asked)
    return tuple(f"*{'*'.join(part.literal for part in parts)}*" for one in known for parts in one.texts)


def strong_cause_in(glob: str) -> str:
    """Return the cause whose text is in a glob over an error; empty if the glob has no words of a known cause.

    Weak causes, such as a deadline, count only if the glob has no other words.
    """
    words = _CHOICE.sub(r"\1", glob).replace("*", " ").replace("?", "x").strip()
    return causes_in(words, tables()) or next((one for text, one in _beheaded().items() if text in words), "")


@cache
def _beheaded() -> Mapping[str, str]:
    """Return causes by their texts without the first letter, which a glob leaves out to match in either case."""
    known = (one for one in tables().primitives if one.strength > WEAK)
    return {f" {part[0].literal}"[2:]: one.id for one in known for part in one.texts if len(part) == 1}


def _accepts(words: Collection[str]) -> Callable[[Collection[str]], bool]:
    included = frozenset(word for word in words if not word.startswith("!"))
    refused = frozenset(word[1:] for word in words if word.startswith("!"))
    return lambda found: refused.isdisjoint(found) and (not included or not included.isdisjoint(found))


def _words_of_causes(causes: Collection[str]) -> Callable[[str], bool]:
    """Return a function that tests whether a text may have one of the causes: a literal of each text of them."""
    known = [one for one in tables().primitives if one.id in causes]
    literals = tuple({max((part.literal for part in parts), key=len) for one in known for parts in one.texts})
    is_numbered = any(one.number for one in known)
    is_exit = EXIT_CODE in causes

    def may_have(text: str) -> bool:
        low = text.lower()
        for literal in literals:  # a generator takes as long as the test
            if literal in low:
                return True
        return (is_numbered and has_number(text)) or (is_exit and has_exit_code(text))

    return may_have
