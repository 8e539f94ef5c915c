"""Read a binary journal file by running `journalctl --file`, if it is installed.

`-o export` is lossless: times to the microsecond, host and unit of every entry, messages with many lines or with
binary data. Only the fields that kvdiag uses are requested.
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import tempfile
from contextlib import ExitStack
from typing import TYPE_CHECKING

from kvdiag.inputs.gzipped import DamagedError
from kvdiag.inputs.journal import FIELDS

if TYPE_CHECKING:
    from pathlib import Path

    from kvdiag.inputs.readers import Reader

JOURNALCTL = "journalctl"
PATIENCE = 60.0  # seconds without output; journalctl may loop forever in a damaged file
MOST_COPIED = 1 << 30  # bytes of a file that is inside an archive; journald begins a new one at 128 MB
_CHUNK = 64 << 10
_LONGEST_COMPLAINT = 400


class UnreadJournalError(DamagedError):
    """journalctl is not installed, or failed."""

    advice = "try where it was written: journalctl --file FILE -o short-iso-precise > journal.log"


class JournalFile:
    """The entries of a journal file as text. journalctl is started when the first byte is read."""

    def __init__(self, packed: Reader, path: Path | None = None) -> None:
        """Read the file at `path`, or a private copy of `packed`, since journalctl needs a file."""
        self._packed, self._path = packed, path
        self._resources = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    def readinto(self, buffer: memoryview, /) -> int:
        """Fill the buffer with journalctl's output. Raises UnreadJournalError if it is missing, fails or hangs."""
        process = self._process or self._begin()
        output = process.stdout
        if output is None:
            return 0
        ready, _, _ = select.select([output], [], [], PATIENCE)
        if not ready:
            self.close()
            raise UnreadJournalError(f"no output from journalctl for {PATIENCE:.0f} seconds")
        got = os.readv(output.fileno(), [buffer])
        if not got:
            self._end(process)
        return got

    def close(self) -> None:
        """Stop journalctl and remove the copy."""
        self._resources.close()
        self._packed.close()

    def _begin(self) -> subprocess.Popen[bytes]:
        program = shutil.which(JOURNALCTL)
        if program is None:
            raise UnreadJournalError("a binary journal, and journalctl is not installed here")
        file = str(self._path) if self._path else self._copied()
        fields = ",".join(field.decode() for field in sorted(FIELDS))
        command = [program, "--file", file, "-o", "export", f"--output-fields={fields}", "--no-pager", "-q"]
        self._complaints = self._resources.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (in an ExitStack)
        self._process = subprocess.Popen(  # noqa: S603 (no shell, and nothing but the file's name is from outside)
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self._complaints
        )
        self._resources.callback(_stop, self._process)
        return self._process

    def _copied(self) -> str:
        copy = self._resources.enter_context(tempfile.NamedTemporaryFile(suffix=".journal"))  # noqa: SIM115
        buffer, size = memoryview(bytearray(_CHUNK)), 0
        while got := self._packed.readinto(buffer):
            size += got
            if size > MOST_COPIED:
                raise UnreadJournalError(f"a binary journal of more than {MOST_COPIED >> 30} GiB in an archive")
            copy.write(buffer[:got])
        copy.flush()
        return copy.name

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """Raise UnreadJournalError with journalctl's error message if it failed."""
        failed = process.wait(PATIENCE)
        self._complaints.seek(0)
        complaint = self._complaints.read(_LONGEST_COMPLAINT).decode("utf-8", "replace").strip()
        self._resources.close()
        if failed:
            raise UnreadJournalError(f"journalctl failed ({complaint or failed})")


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()
