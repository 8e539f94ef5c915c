"""The files of a folder, at any depth, in the order their logs were written."""

from __future__ import annotations

import re
import stat
from typing import TYPE_CHECKING

from kvdiag.errors import InputError
from kvdiag.inputs.source import unreadable
from kvdiag.regex import regex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path, PurePath

# kubelet.log.2.gz, kubelet.log-20240301, and the kubelet's own 0.log.20240301-101112
_ROTATED = regex(r"(.*?)(?:\.([0-9]{1,4})|[.-]([0-9]{8}(?:-?[0-9]{4,6})?))?(?:\.(?:gz|bz2|xz|zst))?", re.DOTALL)


class SkippedError(InputError):
    """A file in a folder that cannot be read as a log. Nobody named it: worth a word, not an exit code."""

    exit_code = 0


class EmptyError(SkippedError):
    """A file in a folder that has nothing in it."""


class Empties:
    """Counts the empty files that were found, to tell of all of them in one line; anything else is told at once."""

    def __init__(self, problem: Callable[[InputError], None]) -> None:
        self._problem = problem
        self._first: EmptyError | None = None
        self._more = 0

    def __call__(self, error: InputError) -> None:
        """Tell of a problem, or count it."""
        if not isinstance(error, EmptyError):
            self._problem(error)
        elif self._first is None:
            self._first = error
        else:
            self._more += 1

    def tell(self) -> None:
        """No more files are looked at."""
        first = self._first
        if first is not None and self._more:
            files = "1 more file is" if self._more == 1 else f"{self._more:,} more files are"
            why = f"it is empty, and {files}; were they copied before anything was written?"
            self._problem(SkippedError(first.source, why))
        elif first is not None:
            self._problem(first)


def walked(folder: Path, problem: Callable[[InputError], None]) -> Iterator[Path]:
    """Give the regular files of a folder, hidden ones left out.

    Links are followed, a folder is entered once, so that links in a circle end. FIFOs, sockets and devices are passed
    by: opening one that nobody named could block for ever.
    """
    entered: set[tuple[int, int]] = set()
    pending, dangling = [folder], []
    while pending:
        for path in _visible(pending.pop(), entered, problem):
            mode = _mode(path, problem)
            if stat.S_ISDIR(mode):
                pending.append(path)
            elif stat.S_ISREG(mode):
                yield path
            elif stat.S_ISLNK(mode):
                dangling.append(path)
    if dangling:  # a copy of /var/log/containers is nothing but these: one word for all
        links = f"{len(dangling)} links lead nowhere, such as {dangling[0]}"
        problem(SkippedError(str(folder), f"{links}; copy what they point at (cp -L)"))


def _visible(folder: Path, entered: set[tuple[int, int]], problem: Callable[[InputError], None]) -> list[Path]:
    try:
        status = folder.stat()
        if (status.st_dev, status.st_ino) in entered:
            return []
        entered.add((status.st_dev, status.st_ino))
        return [path for path in folder.iterdir() if not path.name.startswith(".")]
    except OSError as error:
        problem(unreadable(str(folder), error))
        return []


def _mode(path: Path, problem: Callable[[InputError], None]) -> int:
    """Give what the path leads to; a link that leads nowhere, or to itself, counts as a link."""
    try:
        return path.lstat().st_mode if path.is_symlink() and not path.exists() else path.stat().st_mode
    except OSError as error:
        problem(unreadable(str(path), error))
        return 0


def age_order(path: PurePath) -> tuple[list[list[str | int]], tuple[int, int, str], str]:
    """Give the key that sorts paths as people do (2 before 10), the older files of a rotated set first."""
    match = _ROTATED.fullmatch(path.name)
    base, number, date = match.groups() if match else (path.name, None, None)
    age = (0, 0, date) if date else (1, -int(number), "") if number else (2, 0, "")
    return [_natural(part) for part in (*path.parent.parts, base)], age, path.name


def _natural(text: str) -> list[str | int]:
    """`10.log` → `["", 10, ".log"]`: numbers compare as numbers, and always with numbers."""
    return [int(part) if number % 2 else part for number, part in enumerate(re.split(r"([0-9]+)", text))]
