"""The logs in an archive as sources, including those of nested archives and journal files."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kvdiag.base.errors import InputError
from kvdiag.inputs import sniff
from kvdiag.inputs.compressed import Budget, MeteredReader
from kvdiag.inputs.folders import EmptyError, SkippedError
from kvdiag.inputs.gzipped import DamagedError
from kvdiag.inputs.source import Source, damage_text, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from typing import IO

    from kvdiag.inputs.archives import Member
    from kvdiag.inputs.readers import Reader

MOST_NESTED = 4  # archives in archives: a zip of must-gathers of sosreports is three
MAX_REPORTED = 20  # unreadable members of an archive that are reported individually


class Archive(NamedTuple):
    """An archive: its name, `tar` or `zip`, its bytes from the first, and its file if it is one."""

    name: str
    content: str
    reader: Reader
    file: IO[bytes] | None = None


class InputHooks(NamedTuple):
    """Callbacks: `problem` receives inputs that cannot be read, `evidence` recognizes useful files that are no logs."""

    problem: Callable[[InputError], None]
    evidence: Callable[[str, bytes], str]


class ArchiveReader:
    """Reads an input that contains other inputs."""

    def __init__(self, budget: Budget, hooks: InputHooks, fault: type[InputError]) -> None:
        """`fault` is the error for an unreadable archive: InputError if the user named it, else SkippedError."""
        self._budget, self._problem, self._evidence, self._fault = budget, hooks.problem, hooks.evidence, fault
        self._names: dict[str, int] = {}
        self._reported, self._unreported = 0, 0
        self._is_broken = False

    def sources(self, archive: Archive) -> Iterator[Source]:
        """Yield the logs, each to be read before the next is requested; report an archive without logs."""
        yield from self._logs(archive, 1)
        if self._unreported:
            self._problem(SkippedError(archive.name, f"{self._unreported} more files in it are not logs"))
        if not self._names and not self._is_broken:
            self._problem(self._fault(archive.name, "no log in this archive; name the logs, or an archive of some"))

    def _logs(self, archive: Archive, depth: int) -> Iterator[Source]:
        try:
            for member in _members(archive, self._budget):
                if not _is_hidden(member.name):
                    yield from self._open_member(member, f"{archive.name}/{member.name}", depth)
        except DamagedError as damage:
            self._is_broken = True
            self._problem(self._fault(archive.name, damage_text(damage, read=bool(self._names))))
        except OSError as error:
            self._is_broken = True
            self._problem(unreadable(archive.name, error))

    def _open_member(self, member: Member, name: str, depth: int) -> Iterator[Source]:
        if member.problem:
            self._skip(name, member.problem, is_log=True)
            return
        sniffed, reader = sniff.open_sniffed(member.reader, self._budget)
        if sniffed.problem:
            self._skip(name, sniffed.problem, is_log=sniff.looks_like_log(member.name, b""))
        elif sniffed.content in {"tar", "zip"}:
            if depth < MOST_NESTED:
                yield from self._logs(Archive(name, sniffed.content, reader), depth + 1)
            else:
                self._skip(name, f"archives are read {MOST_NESTED} deep; unpack it and give its contents", is_log=True)
        elif sniffed.content == "journal":
            yield self._source(name, member, sniffed, journal_file(reader))
        elif evidence := self._evidence(name, sniffed.text):
            yield self._source(name, member, sniffed, reader, evidence)
        elif sniff.looks_like_log(member.name, sniffed.text):
            yield self._source(name, member, sniffed, reader)

    def _source(self, name: str, member: Member, sniffed: sniff.Sniffed, reader: Reader, evidence: str = "") -> Source:
        """Return a member as a source; the second of one name gets a number."""
        count = self._names[name] = self._names.get(name, 0) + 1
        return Source(
            name=f"{name}#{count}" if count > 1 else name,
            path=None,
            problem=self._problem,
            size=member.size,
            modified=member.modified,
            compression=sniffed.compression,
            given=reader,
            evidence=evidence,
        )

    def _skip(self, name: str, why: str, *, is_log: bool) -> None:
        """Report why a member that seems to be a log is not read; every bundle has many files that are no logs."""
        if is_log and why == sniff.EMPTY:
            self._problem(EmptyError(name, why))
        elif is_log and self._reported < MAX_REPORTED:
            self._reported += 1
            self._problem(SkippedError(name, why))
        elif is_log:
            self._unreported += 1


def journal_file(packed: Reader, path: Path | None = None) -> Reader:
    """Return a reader of the entries of a binary journal file, at a path or inside an archive."""
    from kvdiag.inputs.journalfile import JournalFile

    return JournalFile(packed, path)


def _members(archive: Archive, budget: Budget) -> Iterator[Member]:
    from kvdiag.inputs.archives import spooled, tar_members, zip_members

    if archive.content == "tar":
        yield from tar_members(archive.reader)
        return
    with archive.file or spooled(archive.reader) as file:
        for member in zip_members(file):
            yield member._replace(reader=MeteredReader(member.reader, budget.add_unpacked))


def _is_hidden(name: str) -> bool:
    """Return whether a file or a folder above it is hidden: `.git/…`, macOS's `._kubelet.log`."""
    return any(part.startswith(".") and part != ".." for part in name.split("/"))
