"""Archives → their files, one after the other, without unpacking to disk.

A tar is read as it comes, from a pipe too. A zip has its list of files at the end: where it cannot be sought in, it is
first copied to a temporary file of bounded size that has no name. Links, devices and pipes in an archive are not
followed, names with `..` lead nowhere: nothing is written, and a name is only what a file is called in the report.
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

MOST_SPOOLED = 1 << 30  # bytes of a zip that cannot be sought in
_IN_MEMORY = 4 << 20  # of them, before they go to a temporary file
_LARGEST_HEADER = 128 << 10  # bytes that tell of one tar member: a long name, extended attributes
LARGEST_LIST = 16 << 20  # bytes of a zip's list of files: 150,000 of them, and ten times as much memory
MOST_MEMBERS = 150_000  # files of a tar: each log that is read takes 2 KB until the report is written
_CHUNK = 64 << 10
_ENCRYPTED = 1
_NUMBER = re.compile(r"[0-9]{1,12}")
_DIGITS = 12
_EARLIEST, _LATEST = 1_388_534_400, 4_102_444_800  # 2014 and 2100
# What the libraries raise for an archive that was made to break them, or is broken.
_FAULTS = (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, NotImplementedError)
_OTHER_FAULTS = (ValueError, LookupError, ArithmeticError, RuntimeError)


class Member(NamedTuple):
    """A file of an archive; `reader` is to be read before the next member is asked for. `problem`: why it cannot be."""

    name: str
    size: int
    modified: float | None
    reader: Reader
    problem: str = ""


def tar_members(archive: Reader) -> Iterator[Member]:
    """Give the regular files of a tar in their order. Raises DamagedError where it cannot be read further."""
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
        tar.members.clear()  # type: ignore[attr-defined]  # kept for look-ups that nobody makes here, 2 KB each
        tar.pax_headers = {}
    if stream.last.strip(b"\0"):
        raise DamagedError("the header of a member is damaged")


def _stored(member: tarfile.TarInfo) -> int:
    """How many bytes of a member stand in the archive; of one with holes only what is between them."""
    sparse: list[tuple[int, int]] | None = getattr(member, "sparse", None)
    return sum(size for _, size in sparse) if sparse else member.size


def zip_members(archive: IO[bytes]) -> Iterator[Member]:
    """Give the files of a zip, the older ones of a rotated set first. Raises DamagedError where it is no whole zip."""
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
    """Give a key that sorts folders as people do, in a tenth of the memory of `age_order`: a zip may have 150,000."""
    return _NUMBER.sub(lambda number: number[0].zfill(_DIGITS), _clean_name(info.filename).rpartition("/")[0])


def _zipped(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    name, modified, checksum = _clean_name(info.filename), _modified_at(info), info.CRC
    del info.CRC  # else zipfile checks it itself, and keeps what it read last to itself when it is wrong
    if info.flag_bits & _ENCRYPTED:
        why = "it is encrypted; unpack the archive with its password first"
        return Member(name, info.file_size, modified, _ZipMemberReader(None), why)
    try:
        with _as_damage():
            return Member(name, info.file_size, modified, _ZipMemberReader(archive.open(info), checksum))
    except DamagedError as damage:
        return Member(name, info.file_size, modified, _ZipMemberReader(None), f"{damage}; copy the archive again")


def spooled(reader: Reader) -> IO[bytes]:
    """Give what can be sought in: a private copy. Raises DamagedError when there is more than MOST_SPOOLED."""
    copy = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 (closed by the one who asked for it)
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
    """What would have to be kept to be read is too long for that."""

    advice = "unpack it and name the logs"


class _ForwardReader:
    """A reader as tarfile wants a file: read in order, sought forwards only, and no header without an end."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._at, self._header_bytes = 0, 0
        self._skipped = memoryview(bytearray(_CHUNK))
        self.last = b""

    def begin(self) -> None:
        """The header of another member begins."""
        self._header_bytes = 0

    def tell(self) -> int:
        """The position, in bytes from the beginning."""
        return self._at

    def seek(self, to: int) -> None:
        """Read up to a place."""
        if to < self._at:
            raise DamagedError("the header of a member is damaged")
        while to > self._at and self.readinto(self._skipped[: to - self._at]):
            pass

    def read(self, size: int) -> bytes:
        """Read what tells of a member."""
        self._header_bytes += size
        if self._header_bytes > _LARGEST_HEADER:
            raise DamagedError(f"the header of a member has more than {_LARGEST_HEADER >> 10} KiB")
        self.last = read_up_to(self, size)
        return self.last

    def readinto(self, buffer: memoryview, /) -> int:
        """Read what is in a member."""
        got = self._reader.readinto(buffer)
        self._at += got
        return got

    def close(self) -> None:
        """Do nothing: the opener closes the file."""


class _MemberReader:
    """The bytes of one member of a stream; none of the next one's."""

    def __init__(self, stream: _ForwardReader, size: int) -> None:
        self._stream, self._left = stream, size

    def readinto(self, buffer: memoryview, /) -> int:
        """Give bytes until the member ends. Raises DamagedError when the archive ends before."""
        if not self._left:
            return 0
        got = self._stream.readinto(buffer[: self._left])
        if not got:
            self._left = 0
            raise DamagedError("the archive is truncated")
        self._left -= got
        return got

    def end(self) -> None:
        """Give nothing more: the stream goes on to the next member."""
        self._left = 0

    def close(self) -> None:
        """Do nothing: the opener closes the file."""


class _SeekableFile:
    """A file as zipfile wants it, but for reading a list of files that would fill the memory."""

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
        """Give what one read unpacks. Raises DamagedError where the member is damaged, or was when it ends."""
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
    """Say as damage what a library says of a broken archive, in whichever way."""
    try:
        yield
    except DamagedError:
        raise
    except _FAULTS as error:
        raise DamagedError(f"the archive is damaged ({str(error).lower() or 'it ends too early'})") from error
    except _OTHER_FAULTS as error:
        raise DamagedError("the archive is damaged") from error


def _is_special(info: zipfile.ZipInfo) -> bool:
    """Whether a member is a link or a device, as zips made on Unix say in the upper half of their attributes."""
    mode = info.external_attr >> 16
    return stat.S_IFMT(mode) not in {0, stat.S_IFREG}


def _modified_at(info: zipfile.ZipInfo) -> float | None:
    """Give when a member was modified, as if the clock that wrote it had been in Greenwich."""
    try:
        return _plausible_date(datetime(*info.date_time, tzinfo=UTC).timestamp())
    except ValueError:
        return None


def _plausible_date(modified: float) -> float | None:
    """Leave out dates before Kubernetes and after its time: archives that are to be reproducible have such."""
    return modified if _EARLIEST < modified < _LATEST else None


def _clean_name(name: str) -> str:
    """`./var/log/messages`, `/var/log/messages` → `var/log/messages`; bytes that are no UTF-8 are shown as such."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    return "/".join(part for part in text.split("/") if part not in {"", "."})
