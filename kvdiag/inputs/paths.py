"""What the user named → the sources to read: files, the logs of folders, standard input."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kvdiag.errors import InputError, UsageError
from kvdiag.inputs import sniff
from kvdiag.inputs.folders import SkippedError, age_order, walked
from kvdiag.inputs.source import STDIN, Source, unreadable

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    Problem = Callable[[InputError], None]
    Identity = tuple[int, int]  # device and inode: what a file is, whatever the path

_STDIN_IDENTITY = (-1, -1)
_REFUSED = {
    stat.S_IFSOCK: "a socket, which cannot be read as a log; name a file",
    stat.S_IFCHR: "a device, not a log; name a file, or use - for standard input",
    stat.S_IFBLK: "a device, not a log; name a file",
}


def sources(paths: Sequence[str], problem: Problem) -> Iterator[Source]:
    """Give what can be read of `paths`, in their order; no path and `-` mean standard input.

    Of a folder, at any depth, the files that are logs, the older ones of a rotated set first. A file that is reached
    twice is given once. What cannot be read goes to `problem`, now or while a source is read, and the others go on:
    an InputError for what was named, a SkippedError for what was found. Raises UsageError when standard input is a
    terminal.
    """
    seen: set[Identity] = set()
    for path in paths or ("-",):
        if path == "-":
            yield from _stdin(seen, problem)
        else:
            yield from _named(path, seen, problem)


def _stdin(seen: set[Identity], problem: Problem) -> Iterator[Source]:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("nothing to read: name files or folders, or pipe a log in: journalctl -u kubelet | kvdiag …")
    if _STDIN_IDENTITY not in seen:
        seen.add(_STDIN_IDENTITY)
        yield Source(name=STDIN, path=None, problem=problem)


def _named(name: str, seen: set[Identity], problem: Problem) -> Iterator[Source]:
    """Give the sources of one path the user wrote."""
    path = Path(name)
    try:
        status = path.stat()
    except FileNotFoundError:
        problem(InputError(name, f"no such file or folder; {_suggestion(path)}"))
    except OSError as error:
        problem(unreadable(name, error))
    else:
        if stat.S_ISDIR(status.st_mode):
            yield from _folder(path, seen, problem)
        elif why := _REFUSED.get(stat.S_IFMT(status.st_mode)):
            problem(InputError(name, why))
        elif _is_new(status, seen):
            yield from _file(name, path, status, problem)


def _is_new(status: os.stat_result, seen: set[Identity]) -> bool:
    identity = (status.st_dev, status.st_ino)
    is_new = identity not in seen
    seen.add(identity)
    return is_new


def _file(name: str, path: Path, status: os.stat_result, problem: Problem) -> Iterator[Source]:
    if not stat.S_ISREG(status.st_mode):  # a FIFO: to look into it is to take from it
        yield Source(name=name, path=path, problem=problem)
    elif seen := _looked_at(path, problem):
        if seen.problem:
            problem(InputError(name, seen.problem))
        else:
            yield _regular(name, path, status, seen.compression, problem)


def _folder(folder: Path, seen: set[Identity], problem: Problem) -> Iterator[Source]:
    """Give the logs of a folder; say so when there is none."""
    holds_log = False
    for path in sorted(walked(folder, problem), key=age_order):
        try:
            status = path.stat()
        except OSError as error:  # on a live node logs are rotated away meanwhile
            problem(SkippedError(str(path), unreadable(str(path), error).problem))
            continue
        if not _is_new(status, seen):
            holds_log = True
        elif source := _found(path, status, problem):
            holds_log = True
            yield source
    if not holds_log:
        problem(InputError(str(folder), "no log in this folder; name the logs, or a folder that holds some"))


def _found(path: Path, status: os.stat_result, problem: Problem) -> Source | None:
    """Give a file of a folder as a source if it is a log."""
    seen = _looked_at(path, problem)
    if not seen:
        return None
    if seen.problem:
        problem(SkippedError(str(path), seen.problem))
        return None
    is_log = sniff.looks_like_log(path.name, seen.text)
    return _regular(str(path), path, status, seen.compression, problem) if is_log else None


def _looked_at(path: Path, problem: Problem) -> sniff.Look | None:
    try:
        with path.open("rb", buffering=0) as file:
            return sniff.look(file.read(sniff.HEAD) or b"")
    except OSError as error:
        problem(unreadable(str(path), error))
        return None


def _regular(name: str, path: Path, status: os.stat_result, compression: str, problem: Problem) -> Source:
    return Source(
        name=name,
        path=path,
        problem=problem,
        size=status.st_size,
        modified=status.st_mtime,
        compression=compression,
    )


def _suggestion(path: Path) -> str:
    from difflib import get_close_matches

    try:
        near = get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1)
    except OSError:
        near = []
    return f"did you mean {path.with_name(near[0])}?" if near else "check the path"
