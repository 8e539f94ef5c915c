"""Where signatures are kept: the ones that come with kvdiag, and folders of the user's own."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kvdiag.cache import cached, fingerprint
from kvdiag.errors import PatternError
from kvdiag.model.rule import Rule
from kvdiag.rules.packed import pack, unpack

LARGEST = 1 << 20  # bytes of a rule's file
DISTRIBUTIONS = "distributions.yaml"
CAPABILITIES = "capabilities.yaml"
SKIPPED = {"events", "lifecycles", "topics", DISTRIBUTIONS, CAPABILITIES}  # what is not a rule


class Library(NamedTuple):
    """Rules in order of their ids, and what was wrong with files that hold none."""

    rules: tuple[Rule, ...]
    errors: tuple[PatternError, ...] = ()


def rule_files(folder: Path) -> Iterator[Path]:
    """The signature files of a folder, in order of their paths."""
    for path in sorted(folder.rglob("*.y*ml")):
        if path.suffix in {".yaml", ".yml"} and not SKIPPED & set(path.relative_to(folder).parts):
            yield path


def load(folders: Sequence[Path], *, fresh: bool = False) -> Library:
    """Every rule of the folders; `fresh` reads the files themselves, tests included, and collects their errors.

    Otherwise rules come from the cache when the files have not changed; they have no tests then.
    Raises PatternError for the first broken file unless `fresh`.
    """
    files = [path for folder in folders for path in rule_files(folder)]
    if fresh:
        return _read_all(files)
    try:
        key = fingerprint(files)
    except OSError as error:
        raise _unreadable(Path(error.filename), error) from None
    rules = cached(
        "rules",
        key,
        lambda: [pack(rule) for rule in _sound(files)],
        lambda data: tuple(unpack(packed) for packed in data),
    )
    return Library(rules)


def _bytes(path: Path) -> bytes:
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


def _sound(files: Sequence[Path]) -> Sequence[Rule]:
    library = _read_all(files)
    if library.errors:
        raise library.errors[0]
    return library.rules


def _read_all(files: Sequence[Path]) -> Library:
    from kvdiag.rules.schema import read_rule, unique  # YAML and grammar, which a filled cache spares us

    rules: list[Rule] = []
    errors: list[PatternError] = []
    for path in files:
        try:
            rules.append(read_rule(_bytes(path).decode(), str(path)))
        except PatternError as error:
            errors.append(error)
        except (OSError, UnicodeDecodeError) as error:
            errors.append(_unreadable(path, error))
    errors.extend(unique(rules))
    return Library(tuple(sorted(rules, key=lambda rule: rule.id)), tuple(errors))
