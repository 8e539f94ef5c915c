"""Load rules: the built-in ones and those in folders of the user."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from kvdiag.base.cache import cached_bytes, digest, fingerprint
from kvdiag.base.codec import shape_of
from kvdiag.base.errors import PatternError
from kvdiag.model.rule import ANY_SUBJECT, Rule, RuleTest
from kvdiag.rules.rule_store import RuleStore, StoredSummary, decode_store, encode_store

LARGEST = 1 << 20  # bytes of a rule file; real ones have a few KB
QUIET = ".quiet"  # in the name of a log file that the rule must not match
DISTRIBUTIONS = "distributions.yaml"
CAPABILITIES = "capabilities.yaml"
KINDS = "kinds.yaml"
# Files and folders in patterns/ that contain no rules.
NOT_RULES = {
    "events",
    "lifecycles",
    "topics",
    DISTRIBUTIONS,
    CAPABILITIES,
    KINDS,
    "frequent.yaml",
    "anatomy",
}


class Library(NamedTuple):
    """Rules in order of their ids, and the errors of invalid files."""

    rules: tuple[Rule, ...]
    errors: tuple[PatternError, ...] = ()


def rule_files(folder: Path) -> Iterator[Path]:
    """Return the rule files of a folder in order of their paths."""
    return map(Path, _rule_paths(folder))


def _rule_paths(folder: Path) -> Iterator[str]:
    """Yield the same paths as strings: at each start they are only compared, and creating Path objects takes longer."""
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - NOT_RULES)
        # Includes folders, so that a folder named *.yaml is reported.
        found = sorted((*folders, *(set(names) - NOT_RULES)))
        yield from (f"{where}{os.sep}{name}" for name in found if name.endswith((".yaml", ".yml")))


def log_tests(path: Path) -> Iterator[RuleTest]:
    """Yield a test for each log file beside a rule file: `RULE.log` and `RULE.WORD.log` must match.

    `RULE.quiet.log` and `RULE.WORD.quiet.log` must not.
    """
    for log in sorted(path.parent.glob(f"{path.stem}.*log")):
        if log.suffix == ".log":
            finds = {} if log.stem.endswith(QUIET) else {ANY_SUBJECT: ""}
            yield RuleTest(log.name, _read_bytes(log).decode("utf-8", "replace"), finds, place=f"{log}:1:1")


def orphan_logs(folder: Path) -> Iterator[PatternError]:
    """Yield an error for each log file in the folders of rules that no rule file is named like."""
    rules = list(rule_files(folder))
    tests = {test.place for path in rules for test in log_tests(path)}
    for log in sorted(file for parent in {path.parent for path in rules} for file in parent.glob("*.log")):
        if f"{log}:1:1" not in tests:
            yield PatternError(f"{log}:1:1", "no rule file beside it has this name; a log of a rule is RULE.log")


def load(folders: Sequence[Path], *, only: AbstractSet[str] | None = None) -> Library:
    """Read the rules of the folders with their tests, and collect the errors of invalid files.

    With `only`, read from the first folder only the files with these names: a rule's file has the rule's name.
    """
    group_files = [path for folder in folders if (path := folder / KINDS).is_file()]
    first, *others = [list(rule_files(folder)) for folder in folders]
    chosen = [path for path in first if only is None or path.stem in only]
    return _read_all([*chosen, *chain.from_iterable(others)], group_files)


def load_rule_store(folders: Sequence[Path]) -> RuleStore:
    """Return the rules without their tests, from the cache if the files are unchanged.

    Raise PatternError for the first invalid file.
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
    """Return the rules of a folder, from the cache if its files and the groups of kinds are unchanged."""
    return cached_bytes(
        "rules",
        digest([shape_of(tuple[StoredSummary, Rule]).encode(), fingerprint([*files, *group_files]).encode()]),
        lambda: encode_store(_read_valid([*map(Path, files)], group_files)),
        decode_store,
    )


def _read_bytes(path: Path) -> bytes:
    """Return the bytes of a rule's file. Raise PatternError if it is not a regular file of a plausible size."""
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
    # Slow imports (YAML, grammar), not needed if the cache is filled.
    from kvdiag.rules.schema import read_rule, unique

    rules: list[Rule] = []
    errors: list[PatternError] = []
    groups = _groups(group_files, errors)
    for path in files:
        try:
            rule = read_rule(_read_bytes(path).decode(), str(path), groups)
            rules.append(rule._replace(tests=(*rule.tests, *log_tests(path))))
        except PatternError as error:
            errors.append(error)
        except (OSError, UnicodeDecodeError) as error:
            errors.append(_unreadable(path, error))
    errors.extend(unique(rules))
    return Library(tuple(sorted(rules, key=lambda rule: rule.id)), tuple(errors))


def _groups(group_files: Sequence[Path], errors: list[PatternError]) -> dict[str, tuple[str, ...]]:
    """Return the named groups of kinds; a user's group replaces the built-in group of that name."""
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
