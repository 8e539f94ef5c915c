"""The files of a folder, at any depth, and their sort order: older files of a rotated set first."""

from __future__ import annotations

import re
import stat
from typing import TYPE_CHECKING

from kvdiag.base.errors import InputError
from kvdiag.base.regex import lazy_regex
from kvdiag.inputs.files import pseudo_devices
from kvdiag.inputs.source import unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path, PurePath

# kubelet.log.2.gz, kubelet.log-20240301, and the kubelet's own 0.log.20240301-101112
_ROTATED = lazy_regex(r"(.*?)(?:\.([0-9]{1,4})|[.-]([0-9]{8}(?:-?[0-9]{4,6})?))?(?:\.(?:gz|bz2|xz|zst))?", re.DOTALL)


class SkippedError(InputError):
    """A file in a folder that cannot be read as a log. The user did not name it, so the exit code does not change."""

    exit_code = 0


class EmptyError(SkippedError):
    """An empty file in a folder."""


class EmptyFileCounter:
    """Counts empty files, to report all of them in one line; other problems are reported immediately."""

    def __init__(self, problem: Callable[[InputError], None]) -> None:
        self._problem = problem
        self._first: EmptyError | None = None
        self._more = 0

    def __call__(self, error: InputError) -> None:
        """Report a problem, or count an empty file."""
        if not isinstance(error, EmptyError):
            self._problem(error)
        elif self._first is None:
            self._first = error
        else:
            self._more += 1

    def report(self) -> None:
        """Report the empty files, after the last file."""
        first = self._first
        if first is not None and self._more:
            files = "1 more file is" if self._more == 1 else f"{self._more:,} more files are"
            why = f"it is empty, and {files}; were they copied before anything was written?"
            self._problem(SkippedError(first.source, why))
        elif first is not None:
            self._problem(first)


def walk_files(folder: Path, problem: Callable[[InputError], None]) -> Iterator[Path]:
    """Yield the regular files of a folder without hidden ones.

    Symlinks are followed if their target is in the folder. A folder is entered once, so that loops end. FIFOs, sockets,
    devices, /proc and /sys are skipped, since opening or reading their files may block forever.
    """
    walk = _Walk(folder, problem)
    pending = [folder]
    while pending:
        for path in walk.visible(pending.pop()):
            mode = walk.mode(path)
            if stat.S_ISDIR(mode):
                pending.append(path)
            elif stat.S_ISREG(mode):
                yield path
    walk.report_links()


class _Walk:
    """The state of a walk through a folder."""

    def __init__(self, folder: Path, problem: Callable[[InputError], None]) -> None:
        self._folder, self._problem = folder, problem
        self._root = folder.resolve()
        self._entered: set[tuple[int, int]] = set()
        self._pseudo_devices = pseudo_devices()
        self._dangling: list[Path] = []
        self._outside: list[Path] = []

    def visible(self, folder: Path) -> list[Path]:
        """Return the files of a folder that was not entered before."""
        try:
            status = folder.stat()
            if (status.st_dev, status.st_ino) in self._entered:
                return []
            self._entered.add((status.st_dev, status.st_ino))
            if status.st_dev in self._pseudo_devices:
                self._problem(SkippedError(str(folder), "skipped: kernel pseudo file system, no logs there"))
                return []
            return [path for path in folder.iterdir() if not path.name.startswith(".")]
        except OSError as error:
            self._problem(unreadable(str(folder), error))
            return []

    def mode(self, path: Path) -> int:
        """Return the mode of a path, or of its target; 0 if it is skipped."""
        try:
            if not path.is_symlink():
                return path.stat().st_mode
            if not path.exists():
                self._dangling.append(path)
                return 0
            if not path.resolve().is_relative_to(self._root):
                self._outside.append(path)
                return 0
            return path.stat().st_mode
        except (OSError, RuntimeError) as error:  # a circle of links is a RuntimeError before Python 3.13
            fault = error if isinstance(error, OSError) else OSError(None, "its symlinks form a loop")
            self._problem(unreadable(str(path), fault))
            return 0

    def report_links(self) -> None:
        """Report the symlinks that were skipped: a copy of /var/log/containers contains only symlinks."""
        if self._dangling:
            links = f"{len(self._dangling)} dangling symlinks, such as {self._dangling[0]}"
            self._problem(SkippedError(str(self._folder), f"{links}; copy their targets (cp -L)"))
        if self._outside:
            first = self._outside[0]
            links = "a symlink leads" if len(self._outside) == 1 else f"{len(self._outside):,} symlinks lead"
            summary = f"{links} out of this folder and {'was' if len(self._outside) == 1 else 'were'} skipped"
            where = f"{first} to {first.resolve()}"
            self._problem(
                SkippedError(str(self._folder), f"{summary}, such as {where}; give the target itself to have it read")
            )


def age_order(path: PurePath) -> tuple[list[list[str | int]], tuple[int, int, str], str]:
    """Return a natural sort key (2 before 10) with the older files of a rotated set first."""
    match = _ROTATED.fullmatch(path.name)
    base, number, date = match.groups() if match else (path.name, None, None)
    age = (0, 0, date) if date else (1, -int(number), "") if number else (2, 0, "")
    return [_natural(part) for part in (*path.parent.parts, base)], age, path.name


def _natural(text: str) -> list[str | int]:
    """`10.log` → `["", 10, ".log"]`: numbers compare as numbers, and always with numbers."""
    return [int(part) if number % 2 else part for number, part in enumerate(re.split(r"([0-9]{1,18})", text))]
