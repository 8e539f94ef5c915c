"""The sources of the paths that the user named: files, the logs in folders, standard input."""

from __future__ import annotations

import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kvdiag.base.errors import InputError, UsageError, skip_faults
from kvdiag.inputs import sniff
from kvdiag.inputs.bundle import Archive, ArchiveReader, InputHooks, journal_file
from kvdiag.inputs.compressed import Budget, MeteredReader
from kvdiag.inputs.files import open_file
from kvdiag.inputs.folders import EmptyError, EmptyFileCounter, SkippedError, age_order, walk_files
from kvdiag.inputs.readers import Reader, ReplayReader
from kvdiag.inputs.source import STDIN, Source, Stdin, unreadable

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence
    from io import FileIO

    Problem = Callable[[InputError], None]
    Identity = tuple[int, int]  # device and inode: what a file is, whatever the path

_STDIN_IDENTITY = (-1, -1)
_REFUSED = {
    stat.S_IFSOCK: "a socket, which cannot be read as a log; name a file",
    stat.S_IFCHR: "a device, not a log; name a file, or use - for standard input",
    stat.S_IFBLK: "a device, not a log; name a file",
}


def sources(
    paths: Sequence[str],
    problem: Problem,
    evidence: Callable[[str, bytes], str] = lambda _name, _head: "",
    stdin: Callable[[], Reader] | None = None,
) -> Iterator[Source]:
    """Yield the sources of `paths`, in their order; no path and `-` mean standard input.

    Of a folder, at any depth, the files that are logs, older ones of a rotated set first. A file that is reached twice
    is yielded once. Unreadable inputs go to `problem`, now or while a source is read, and the others are still read: an
    InputError if the user named it, a SkippedError if it was found. `evidence` takes the name and first bytes of a file
    that is no log, and returns the kind of evidence in it, if any; the source has it. `stdin` opens the saved standard
    input. Raises UsageError if standard input is a terminal.
    """
    seen: set[Identity] = set()
    empties = EmptyFileCounter(problem)
    hooks = InputHooks(empties, lambda name, head: "" if sniff.begins_as_log(head) else evidence(name, head))
    for path in paths or ("-",):
        if path == "-":
            yield from _stdin(seen, hooks, stdin or Stdin)
        else:
            yield from _named(path, seen, hooks)
    empties.report()


def _stdin(seen: set[Identity], hooks: InputHooks, stdin: Callable[[], Reader]) -> Iterator[Source]:
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("nothing to read: give files or folders, or pipe a log: journalctl -u kubelet | kvdiag …")
    if _STDIN_IDENTITY not in seen:
        seen.add(_STDIN_IDENTITY)
        yield from _guarded(STDIN, _stream(STDIN, stdin(), hooks), hooks)


def _named(name: str, seen: set[Identity], hooks: InputHooks) -> Iterator[Source]:
    """Yield the sources of one path."""
    path = Path(name)
    try:
        status = path.stat()
    except FileNotFoundError:
        hooks.problem(InputError(name, f"no such file or folder; {_suggestion(path)}"))
    except OSError as error:
        hooks.problem(unreadable(name, error))
    else:
        if stat.S_ISDIR(status.st_mode):
            yield from _folder(path, seen, hooks)
        elif why := _REFUSED.get(stat.S_IFMT(status.st_mode)):
            hooks.problem(InputError(name, why))
        elif _is_new(status, seen):
            yield from _guarded(name, _file(_FileEntry(name, path, status, InputError), hooks), hooks)


def _guarded(name: str, found: Iterator[Source], hooks: InputHooks) -> Iterator[Source]:
    """Yield the sources of one file; a bug in kvdiag while the file is opened skips this file only."""
    with skip_faults(name, hooks.problem):
        yield from found


def _is_new(status: os.stat_result, seen: set[Identity]) -> bool:
    identity = (status.st_dev, status.st_ino)
    is_new = identity not in seen
    seen.add(identity)
    return is_new


class _FileEntry(NamedTuple):
    """A file; `fault` is the error if it cannot be read: InputError if the user named it, SkippedError if it was found.

    `below` is its path below the folder that the user named.
    """

    name: str
    path: Path
    status: os.stat_result
    fault: type[InputError]
    below: str = ""


def _file(at: _FileEntry, hooks: InputHooks) -> Iterator[Source]:
    """Yield a file as a source, or the sources in it."""
    try:
        is_pipe = at.fault is InputError and stat.S_ISFIFO(at.status.st_mode)  # opening it waits for its writer
        file = at.path.open("rb", buffering=0) if is_pipe else open_file(at.path)
    except OSError as error:
        hooks.problem(unreadable(at.name, error))
        return
    if is_pipe:  # its first bytes can be read only once
        yield from _stream(at.name, file, hooks)
        return
    with file:
        yield from _regular(at, file, hooks)


def _regular(at: _FileEntry, file: FileIO, hooks: InputHooks) -> Iterator[Source]:
    budget = Budget()
    try:
        sniffed, reader = sniff.open_sniffed(MeteredReader(file, budget.add_packed), budget)
    except OSError as error:
        hooks.problem(unreadable(at.name, error))
        return
    if sniffed.problem == sniff.EMPTY and at.below:
        if sniff.looks_like_log(at.below, b""):
            hooks.problem(EmptyError(at.name, sniffed.problem))
    elif sniffed.problem:
        hooks.problem(at.fault(at.name, sniffed.problem))
    elif sniffed.content == "zip" and not sniffed.compression:
        budget.add_packed(at.status.st_size)
        yield from ArchiveReader(budget, hooks, at.fault).sources(Archive(at.name, sniffed.content, reader, file))
    elif sniffed.content in {"tar", "zip"}:
        yield from ArchiveReader(budget, hooks, at.fault).sources(Archive(at.name, sniffed.content, reader))
    elif sniffed.content == "journal":
        entries = journal_file(reader, None if sniffed.compression else at.path)
        yield Source(name=at.name, path=at.path, problem=hooks.problem, size=at.status.st_size, given=entries)
    elif (
        (word := hooks.evidence(at.name, sniffed.text))
        or at.fault is InputError
        or sniff.looks_like_log(at.below, sniffed.text)
    ):
        yield Source(
            name=at.name,
            path=at.path,
            problem=hooks.problem,
            size=at.status.st_size,
            modified=at.status.st_mtime,
            compression=sniffed.compression,
            evidence=word,
            is_named=at.fault is InputError,
        )


def _stream(name: str, stream: Reader, hooks: InputHooks) -> Iterator[Source]:
    """Yield the sources of a pipe, whose first bytes are read once and replayed."""
    budget = Budget()
    try:
        sniffed, reader = sniff.open_sniffed(MeteredReader(stream, budget.add_packed), budget)
    except OSError as error:
        hooks.problem(unreadable(name, error))
        return
    if sniffed.problem:
        hooks.problem(InputError(name, sniffed.problem))
        reader.close()
        reader = ReplayReader(b"")
    if sniffed.content in {"tar", "zip"}:
        yield from ArchiveReader(budget, hooks, InputError).sources(Archive(name, sniffed.content, reader))
    else:
        reader = journal_file(reader) if sniffed.content == "journal" else reader
        word = hooks.evidence(name, sniffed.text)
        yield Source(
            name=name,
            path=None,
            problem=hooks.problem,
            compression=sniffed.compression,
            given=reader,
            evidence=word,
            is_named=True,
        )


def _folder(folder: Path, seen: set[Identity], hooks: InputHooks) -> Iterator[Source]:
    """Yield the logs of a folder; report a folder without logs."""
    holds_log = False
    for path in sorted(walk_files(folder, hooks.problem), key=age_order):
        try:
            status = path.stat()
        except OSError as error:  # on a live node logs are rotated away meanwhile
            hooks.problem(SkippedError(str(path), unreadable(str(path), error).problem))
            continue
        if not _is_new(status, seen):
            holds_log = True
        else:
            at = _FileEntry(str(path), path, status, SkippedError, path.relative_to(folder).as_posix())
            for source in _guarded(at.name, _file(at, hooks), hooks):
                holds_log = True
                yield source
    if not holds_log:
        hooks.problem(InputError(str(folder), "no logs in this folder; give the logs, or a folder that contains some"))


def _suggestion(path: Path) -> str:
    from difflib import get_close_matches

    try:
        near = get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=1)
    except OSError:
        near = []
    return f"did you mean {path.with_name(near[0])}?" if near else "check the path"
