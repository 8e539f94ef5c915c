"""Read the files of tar and zip archives one after the other, without unpacking to disk.

A tar is read as a stream, also from a pipe. A zip has its list of files at the end: if it is not seekable, it is first
copied to an unnamed temporary file of limited size. Links, devices and pipes in an archive are skipped. Names with `..`
are harmless: nothing is written, and a name is only used in the report.
"""

from __future__ import annotations

import lzma
import re
import stat
import tarfile
import tempfile
import zipfile
import zlib
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count, groupby
from pathlib import PurePosixPath
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from kvdiag.inputs.folders import age_order
from kvdiag.inputs.gzipped import DamagedError
from kvdiag.inputs.readers import read_up_to
from kvdiag.inputs.truncated_zip import scan_members

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvdiag.inputs.readers import Reader

MOST_SPOOLED = 1 << 30  # bytes of a zip that is not seekable; the limit of the temporary file
_IN_MEMORY = 4 << 20  # of them, before they go to a temporary file
_LARGEST_HEADER = 128 << 10  # bytes of the headers of one tar member: a long name, extended attributes
LARGEST_LIST = 16 << 20  # bytes of a zip's list of files: 150,000 of them, and ten times as much memory
MOST_MEMBERS = 150_000  # files of a tar: each log that is read takes 2 KB until the report is written
_CHUNK = 64 << 10
_ENCRYPTED = 1
_NUMBER = re.compile(r"[0-9]{1,12}")
_DIGITS = 12
_EARLIEST, _LATEST = 1_388_534_400, 4_102_444_800  # 2014 and 2100
# Exceptions of the libraries for archives that are damaged or malicious.
_FAULTS = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError)
_OTHER_FAULTS = (ValueError, LookupError, ArithmeticError, RuntimeError)


class Member(NamedTuple):
    """A file of an archive; read `reader` before the next member is requested. `problem`: why it cannot be read."""

    name: str
    size: int
    modified: float | None
    reader: Reader
    problem: str = ""


def tar_members(archive: Reader) -> Iterator[Member]:
    """Yield the regular files of a tar in their order. Raises DamagedError if the archive is damaged."""
    stream = _ForwardReader(archive)
    with _as_damage():
        tar = tarfile.TarFile(fileobj=cast("IO[bytes]", stream))
    for number in count():
        with _as_damage():
            stream.begin()
            member = tar.next()
        if member is None:
            break
        if number == MOST_MEMBERS:
            raise TooLongError(f"it has more than {MOST_MEMBERS:,} files")
        if member.isreg():
            inside = _MemberReader(stream, min(_stored(member), tar.offset - stream.tell()))
            yield Member(_clean_name(member.name), member.size, _plausible_date(member.mtime), inside)
            inside.end()
        tar.members.clear()  # type: ignore[attr-defined]  # tarfile keeps them for look-ups by name: 2 KB each
        tar.pax_headers = {}
    if stream.last.strip(b"\0"):
        raise DamagedError("the header of a member is damaged")


def _stored(member: tarfile.TarInfo) -> int:
    """Return how many bytes of a member are in the archive; of a sparse file only its data."""
    sparse: list[tuple[int, int]] | None = getattr(member, "sparse", None)
    return sum(size for _, size in sparse) if sparse else member.size


def zip_members(archive: IO[bytes]) -> Iterator[Member]:
    """Yield the files of a zip, older ones of a rotated set first. Raises DamagedError if it is damaged."""
    try:
        with _as_damage():
            opened = zipfile.ZipFile(cast("IO[bytes]", _SeekableFile(archive)))
    except TooLongError:
        raise
    except DamagedError:
        for name, inside in scan_members(archive):
            yield Member(_clean_name(name), 0, None, inside)
        raise
    with _as_damage(), opened:
        listed = [info for info in opened.infolist() if not info.is_dir() and not _is_special(info)]
        listed.sort(key=_folder)
        for _, group in groupby(listed, key=_folder):
            for info in sorted(group, key=lambda info: age_order(PurePosixPath(_clean_name(info.filename)))):
                yield _zipped(opened, info)


def _folder(info: zipfile.ZipInfo) -> str:
    """Return a natural sort key of the folder; `age_order` takes ten times the memory, and a zip may have 150,000."""
    return _NUMBER.sub(lambda number: number[0].zfill(_DIGITS), _clean_name(info.filename).rpartition("/")[0])


def _zipped(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    name, modified, checksum = _clean_name(info.filename), _modified_at(info), info.CRC
    del info.CRC  # otherwise zipfile checks it, and does not return the last bytes if it is wrong
    if info.flag_bits & _ENCRYPTED:
        why = "it is encrypted; unpack the archive with its password first"
        return Member(name, info.file_size, modified, _ZipMemberReader(None), why)
    try:
        with _as_damage():
            return Member(name, info.file_size, modified, _ZipMemberReader(archive.open(info), checksum))
    except DamagedError as damage:
        return Member(name, info.file_size, modified, _ZipMemberReader(None), f"{damage}; copy the archive again")


def spooled(reader: Reader) -> IO[bytes]:
    """Return a seekable private copy. Raises TooLongError above MOST_SPOOLED bytes."""
    copy = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (the caller closes it)
    buffer, size = memoryview(bytearray(_CHUNK)), 0
    while got := reader.readinto(buffer):
        size += got
        if size > MOST_SPOOLED:
            copy.close()
            raise TooLongError(f"it has more than {MOST_SPOOLED >> 30} GiB and is not seekable")
        copy.write(buffer[:got])
    copy.seek(0)
    return cast("IO[bytes]", copy)


class TooLongError(DamagedError):
    """The archive needs more memory or disk than its limit."""

    advice = "unpack it and name the logs"


class _ForwardReader:
    """A reader as a file for tarfile: read in order, seekable forwards only, with a limit for headers."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._at, self._header_bytes = 0, 0
        self._skipped = memoryview(bytearray(_CHUNK))
        self.last = b""

    def begin(self) -> None:
        """Reset the header limit: the header of another member begins."""
        self._header_bytes = 0

    def tell(self) -> int:
        """Return the position, in bytes from the beginning."""
        return self._at

    def seek(self, to: int) -> None:
        """Read forwards to a position."""
        if to < self._at:
            raise DamagedError("the header of a member is damaged")
        while to > self._at and self.readinto(self._skipped[: to - self._at]):
            pass

    def read(self, size: int) -> bytes:
        """Read bytes of a header."""
        self._header_bytes += size
        if self._header_bytes > _LARGEST_HEADER:
            raise DamagedError(f"the header of a member has more than {_LARGEST_HEADER >> 10} KiB")
        self.last = read_up_to(self, size)
        return self.last

    def readinto(self, buffer: memoryview, /) -> int:
        """Read bytes of a member's content."""
        got = self._reader.readinto(buffer)
        self._at += got
        return got

    def close(self) -> None:
        """Do nothing: the opener closes the file."""


class _MemberReader:
    """The bytes of one member of a tar."""

    def __init__(self, stream: _ForwardReader, size: int) -> None:
        self._stream, self._left = stream, size

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer until the member ends. Raises DamagedError if the archive ends before."""
        if not self._left:
            return 0
        got = self._stream.readinto(buffer[: self._left])
        if not got:
            self._left = 0
            raise DamagedError("the archive is truncated")
        self._left -= got
        return got

    def end(self) -> None:
        """Return no more bytes: the stream continues with the next member."""
        self._left = 0

    def close(self) -> None:
        """Do nothing: the opener closes the file."""


class _SeekableFile:
    """A file for zipfile, with a limit for the size of the list of files."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        """Read `size` bytes, or to the end when negative."""
        data = self._file.read(size if 0 <= size <= LARGEST_LIST else LARGEST_LIST + 1)
        if len(data) > LARGEST_LIST:
            raise TooLongError(f"its list of files has more than {LARGEST_LIST >> 20} MiB")
        return data

    def seek(self, to: int, whence: int = 0) -> int:
        """Move to a position, in bytes; `whence` as of `io.IOBase.seek`."""
        return self._file.seek(to, whence)

    def tell(self) -> int:
        """The position, in bytes from the beginning."""
        return self._file.tell()

    def seekable(self) -> bool:
        """True: the members are read by position."""
        return True

    def close(self) -> None:
        """Do nothing: the opener closes the file."""


class _ZipMemberReader:
    """The bytes of one member of a zip."""

    def __init__(self, file: IO[bytes] | None, checksum: int = 0) -> None:
        self._file = cast("zipfile.ZipExtFile | None", file)
        self._checksum, self._summed = checksum, 0

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer with one read. Raises DamagedError if the member is damaged or its checksum is wrong."""
        if self._file is None:
            return 0
        with _as_damage():
            got = self._file.read1(len(buffer))
        self._summed = zlib.crc32(got, self._summed)
        if not got and self._summed != self._checksum:
            raise DamagedError("its checksum is wrong")
        buffer[: len(got)] = got
        return len(got)

    def close(self) -> None:
        """Close the member, not the archive."""
        if self._file is not None:
            self._file.close()


@contextmanager
def _as_damage() -> Iterator[None]:
    """Raise the libraries' exceptions for broken archives as DamagedError."""
    try:
        yield
    except DamagedError:
        raise
    except _FAULTS as error:
        raise DamagedError(f"the archive is damaged ({str(error).lower() or 'it ends too early'})") from error
    except _OTHER_FAULTS as error:
        raise DamagedError("the archive is damaged") from error


def _is_special(info: zipfile.ZipInfo) -> bool:
    """Return whether a member is a link or a device, by the Unix mode in the upper half of its attributes."""
    mode = info.external_attr >> 16
    return stat.S_IFMT(mode) not in {0, stat.S_IFREG}


def _modified_at(info: zipfile.ZipInfo) -> float | None:
    """Return when a member was modified, as if its local time were UTC."""
    try:
        return _plausible_date(datetime(*info.date_time, tzinfo=UTC).timestamp())
    except ValueError:
        return None


def _plausible_date(modified: float) -> float | None:
    """Return None for dates before 2014 or after 2100, which reproducible archives have."""
    return modified if _EARLIEST < modified < _LATEST else None


def _clean_name(name: str) -> str:
    """`./var/log/messages`, `/var/log/messages` → `var/log/messages`; bytes that are no UTF-8 are shown as such."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "/".join(part for part in text.split("/") if part not in {"", "."})
