"""A journal's binary file is read where there is a journalctl, and told with what to do where there is none.

`tests/data/journal/node.journal.zst` was made by systemd-journal-remote 252 from four invented entries.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tarfile
from pathlib import Path

import pytest

from kvdiag.inputs import journalfile

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PACKED = Path(__file__).parents[1] / "data" / "journal" / "node.journal.zst"
needs_journalctl = pytest.mark.skipif(not shutil.which("journalctl"), reason="there is no journalctl here")


def unpacked(folder: Path) -> Path:
    """The file as journald has it."""
    path = folder / "system.journal"
    path.write_bytes(zstd.decompress(PACKED.read_bytes()))
    return path


def in_a_tar(folder: Path) -> Path:
    """The file inside an archive."""
    content, path = zstd.decompress(PACKED.read_bytes()), folder / "node.tar"
    with tarfile.open(path, "w") as writer:
        member = tarfile.TarInfo("var/log/journal/0a1b/system.journal")
        member.size = len(content)
        writer.addfile(member, io.BytesIO(content))
    return path


GIVEN = {"as it is": unpacked, "packed": lambda _: PACKED, "in an archive": in_a_tar}


@needs_journalctl
@pytest.mark.parametrize("way", GIVEN)
def test_entries(kvdiag, tmp_path, way):
    """Every entry is a record with its host, process and time, one of two lines is one, and no copy is left."""
    path = GIVEN[way](tmp_path)
    (tmp_path / "tmp").mkdir()
    done = kvdiag("parse", path, TMPDIR=str(tmp_path / "tmp"))
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(r["component"], r["node"], r["time"]) for r in records] == [
        ("kubelet", "worker-7", "2024-03-12T07:53:20.000001Z"),
        ("kubelet", "worker-7", "2024-03-12T07:53:21.000001Z"),
        ("containerd", "worker-7", "2024-03-12T07:53:22.100000Z"),
        ("kubelet", "worker-7", "2024-03-12T07:53:30.000001Z"),
    ]
    assert records[-1]["fields"]["err"] == "first line\nsecond line"
    assert (done.stderr, done.returncode) == ("", 0)
    assert list((tmp_path / "tmp").iterdir()) == []


@needs_journalctl
def test_standard_input(kvdiag):
    """So is one that comes through a pipe."""
    report = json.loads(kvdiag("analyze", "-o", "json", stdin=PACKED.read_bytes()).stdout)
    assert {(v["component"], v["version"]) for v in report["versions"] if v["how"] == "banner"} == {
        ("kubelet", "1.29.4"),
        ("containerd", "1.7.13"),
    }


@needs_journalctl
def test_damaged(kvdiag, tmp_path):
    """What journalctl says of a file that it cannot read is told."""
    path = tmp_path / "system.journal"
    path.write_bytes(b"LPKSHHRH" + bytes(1000))
    done = kvdiag("analyze", path)
    assert f"kvdiag: {path}: journalctl failed (Failed to open" in done.stderr
    assert done.returncode == 3


def test_without_journalctl(kvdiag, tmp_path):
    """Where there is no journalctl the command to run elsewhere is told, and the exit code says it."""
    done = kvdiag("analyze", unpacked(tmp_path), PATH=str(tmp_path))
    assert "journalctl is not installed here; try where it was written: journalctl --file FILE" in done.stderr
    assert done.returncode == 3


def test_journalctl_that_does_not_end(tmp_path, monkeypatch):
    """A journalctl that says something and then nothing is given up; what it said is used."""
    program = tmp_path / "journalctl"
    program.write_text("#!/bin/sh\necho MESSAGE=x\nexec sleep 100\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(journalfile, "PATIENCE", 1.0)
    reader = journalfile.JournalFile(io.FileIO(unpacked(tmp_path)))
    buffer = memoryview(bytearray(100))
    assert bytes(buffer[: reader.readinto(buffer)]) == b"MESSAGE=x\n"
    with pytest.raises(journalfile.UnreadJournalError, match="no output from journalctl for 1 seconds"):
        reader.readinto(buffer)
