"""Where signatures are kept: the ones that come with kvdiag, and folders of the user's own."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from kvdiag.base.cache import cached_bytes, digest, fingerprint
from kvdiag.base.errors import PatternError
from kvdiag.model.rule import Rule
from kvdiag.model.vocabulary import Entry, Wording
from kvdiag.rules.rule_json import PACKED_VERSION
from kvdiag.rules.rule_store import RuleStore, decode_store, encode_store

LARGEST = 1 << 20  # bytes of a rule's file
FIELDS = (Rule._fields, Entry._fields, Wording._fields)  # of another release's cache they may be others
DISTRIBUTIONS = "distributions.yaml"
CAPABILITIES = "capabilities.yaml"
KINDS = "kinds.yaml"
NOT_RULES = {
    "events",
    "lifecycles",
    "topics",
    DISTRIBUTIONS,
    CAPABILITIES,
    KINDS,
    "frequent.yaml",
}  # what is not a rule


class Library(NamedTuple):
    """Rules in order of their ids, and what was wrong with files that hold none."""

    rules: tuple[Rule, ...]
    errors: tuple[PatternError, ...] = ()


def rule_files(folder: Path) -> Iterator[Path]:
    """The signature files of a folder, in order of their paths."""
    return map(Path, _rule_paths(folder))


def _rule_paths(folder: Path) -> Iterator[str]:
    """The paths of the same; at each start they are only looked at, and to make a Path takes longer."""
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - NOT_RULES)
        found = sorted((*folders, *(set(names) - NOT_RULES)))  # a folder with such an ending is told to be none
        yield from (f"{where}{os.sep}{name}" for name in found if name.endswith((".yaml", ".yml")))


def load(folders: Sequence[Path], *, only: AbstractSet[str] | None = None) -> Library:
    """Every rule of the folders as their files say it, tests included, with the errors of files that hold none.

    With `only`, of the first folder those files that are called so: a rule's file has its name.
    """
    group_files = [path for folder in folders if (path := folder / KINDS).is_file()]
    first, *others = [list(rule_files(folder)) for folder in folders]
    chosen = [path for path in first if only is None or path.stem in only]
    return _read_all([*chosen, *chain.from_iterable(others)], group_files)


def load_rule_store(folders: Sequence[Path]) -> RuleStore:
    """The same rules without their tests, from the cache where the files have not changed.

    Raises PatternError for the first broken file.
    """
    group_files = [path for folder in folders if (path := folder / KINDS).is_file()]
    try:
        first, *more = [_cached_store(list(_rule_paths(folder)), group_files) for folder in folders]
    except OSError as error:
        raise _unreadable(Path(error.filename), error) from None
    for other in more:
        first = first.merged(other)
    if more:
        from kvdiag.rules.schema import unique

        for fault in unique(first):
            raise fault
    return first


def _cached_store(files: Sequence[str], group_files: Sequence[Path]) -> RuleStore:
    """The rules of a folder, from the cache when its files and the groups of kinds have not changed."""
    return cached_bytes(
        "rules",
        digest([b"%d" % PACKED_VERSION, repr(FIELDS).encode(), fingerprint([*files, *group_files]).encode()]),
        lambda: encode_store(_read_valid([*map(Path, files)], group_files)),
        decode_store,
    )


def _read_bytes(path: Path) -> bytes:
    """The bytes of a rule's file. Raises PatternError for what is no file of a size that somebody wrote."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise PatternError(f"{path}:1:1", "cannot be read: not a regular file")
        if status.st_size > LARGEST:
            raise PatternError(f"{path}:1:1", f"cannot be read: larger than {LARGEST >> 20} MiB")
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> PatternError:
    return PatternError(f"{path}:1:1", f"cannot be read: {error}")


def _read_valid(files: Sequence[Path], group_files: Sequence[Path]) -> Sequence[Rule]:
    library = _read_all(files, group_files)
    if library.errors:
        raise library.errors[0]
    return library.rules


def _read_all(files: Sequence[Path], group_files: Sequence[Path]) -> Library:
    from kvdiag.rules.schema import read_rules, unique  # YAML and grammar, which a filled cache spares us

    rules: list[Rule] = []
    errors: list[PatternError] = []
    groups = _groups(group_files, errors)
    for path in files:
        try:
            rules.extend(read_rules(_read_bytes(path).decode(), str(path), groups))
        except PatternError as error:
            errors.append(error)
        except (OSError, UnicodeDecodeError) as error:
            errors.append(_unreadable(path, error))
    errors.extend(unique(rules))
    return Library(tuple(sorted(rules, key=lambda rule: rule.id)), tuple(errors))


def _groups(group_files: Sequence[Path], errors: list[PatternError]) -> dict[str, tuple[str, ...]]:
    """The named groups of kinds; a user's stands in the place of one that comes with kvdiag."""
    from kvdiag.base.yamlread import read_yaml
    from kvdiag.rules.selectors import read_groups

    groups: dict[str, tuple[str, ...]] = {}
    for path in group_files:
        try:
            groups |= read_groups(read_yaml(_read_bytes(path).decode(), str(path)))
        except PatternError as error:
            errors.append(error)
        except UnicodeDecodeError as error:
            errors.append(_unreadable(path, error))
    return groups
