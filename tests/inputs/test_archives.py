"""Of an archive every log is read, and nothing in it can do harm."""

from __future__ import annotations

import gzip
import io
import lzma
import random
import stat
import struct
import sys
import tarfile
import tracemalloc
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kvdiag.base.errors import InputError
from kvdiag.inputs import archives, compressed
from kvdiag.inputs.folders import SkippedError
from kvdiag.inputs.paths import sources

LINE = b'I0919 11:11:20.322601  190330 kubelet.go:2130] "SyncLoop DELETE" source="api" pods=["default/web-0"]\n'
Files = dict[str, bytes] | list[tuple[str, bytes]]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Be in a folder of one's own, so that names are short."""
    monkeypatch.chdir(tmp_path)


def pairs(files: Files) -> Iterable[tuple[str, bytes]]:
    """Names and contents; a list may have a name twice."""
    return files.items() if isinstance(files, dict) else files


def tar(files: Files, *others: tarfile.TarInfo) -> bytes:
    """Make a tar, with members of other kinds behind the files."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as writer:
        for name, content in pairs(files):
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), 1_710_230_000
            writer.addfile(member, io.BytesIO(content))
        for other in others:
            writer.addfile(other)
    return packed.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """Make a member that is no file."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def zipped(files: Files) -> bytes:
    """Make a zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as writer:
        for name, content in pairs(files):
            writer.writestr(zipfile.ZipInfo(name, (2024, 3, 12, 8, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def read(*paths: str) -> tuple[dict[str, bytes], list[InputError]]:
    """Give what the paths hold, and the problems told."""
    problems, texts = [], {}
    buffer = memoryview(bytearray(100_000))
    for source in sources(paths, problems.append):
        text = b""
        with source.open() as reader:
            while got := reader.readinto(buffer):
                text += buffer[:got]
        assert source.name not in texts
        texts[source.name] = text
    return texts, problems


def read_archive(content: bytes, name: str = "b") -> tuple[dict[str, bytes], list[InputError]]:
    """Write and read an archive; its members without its name."""
    Path(name).write_bytes(content)
    texts, problems = read(name)
    return {member.removeprefix(f"{name}/"): text for member, text in texts.items()}, problems


def pretend_stdin(monkeypatch, content: bytes) -> None:
    """Give the process another standard input."""
    stdin = io.TextIOWrapper(io.BytesIO(content))
    stdin.isatty = lambda: False
    monkeypatch.setattr(sys, "stdin", stdin)


FILES = {
    "node/var/log/kubelet.log": LINE * 3,
    "node/var/log/messages": LINE * 2,
    "node/README.md": b"# What this is\n",
    "node/etc/hosts": b"127.0.0.1 localhost\n",
    "node/out.txt": LINE,
    "node/old.log.gz": gzip.compress(LINE * 4),
    "node/older.log.xz": lzma.compress(LINE * 5),
    "node/.cache/kubelet.log": LINE,
    "node/._kubelet.log": LINE,
}
LOGS = {
    "node/var/log/kubelet.log": LINE * 3,
    "node/var/log/messages": LINE * 2,
    "node/out.txt": LINE,
    "node/old.log.gz": LINE * 4,
    "node/older.log.xz": LINE * 5,
}
PACKED = {
    "tar": tar(FILES),
    "tar.gz": gzip.compress(tar(FILES)),
    "tar.xz": lzma.compress(tar(FILES)),
    "zip": zipped(FILES),
    "zip.gz": gzip.compress(zipped(FILES)),
    "zip in tar": tar({"node.zip": zipped(FILES)}),
    "tar in zip": zipped({"node.tar.gz": gzip.compress(tar(FILES))}),
    "tar in zip in tar": tar({"all.zip": zipped({"node.tar": tar(FILES)})}),
}
each_way = pytest.mark.parametrize("way", PACKED)


def base(name: str) -> str:
    """Give a member's name without those of the archives it is in."""
    return name[name.index("node/") :]


@each_way
@pytest.mark.parametrize("given", ["named", "found", "stdin"])
def test_logs_of_an_archive(monkeypatch, way, given):
    """The logs of an archive are read, as a file, in a folder and from a pipe, and its documents are not."""
    Path("logs").mkdir()
    Path("logs/b").write_bytes(PACKED[way])
    if given in {"named", "found"}:
        texts, problems = read("logs/b" if given == "named" else "logs")
        assert all(name.startswith("logs/b/") for name in texts)
    else:
        pretend_stdin(monkeypatch, PACKED[way])
        texts, problems = read("-")
        assert all(name.startswith("stdin/") for name in texts)
    assert problems == []
    assert {base(name): text for name, text in texts.items()} == LOGS


def test_what_is_known_of_a_member():
    """Size, time and packing of a member are known before it is read; a date that no log has is none."""
    archive = tar(
        {"a.log": LINE, "b.log.gz": gzip.compress(LINE)},
    )
    Path("b.tar").write_bytes(archive)
    known = [(s.name, s.size, s.modified, s.compression) for s in sources(["b.tar"], pytest.fail)]
    packed = len(gzip.compress(LINE))
    assert known == [
        ("b.tar/a.log", len(LINE), 1_710_230_000, ""),
        ("b.tar/b.log.gz", packed, 1_710_230_000, "gzip"),
    ]
    member = tarfile.TarInfo("old.log")
    member.mtime = 0
    Path("old.tar").write_bytes(tar({}, member) + b"")
    Path("b.zip").write_bytes(zipped({"a.log": LINE}))
    assert [source.modified for source in sources(["b.zip"], pytest.fail)] == [1_710_230_400]


def test_rotated_members_of_a_zip():
    """Of a rotated set in a zip the older ones come first."""
    names = [
        "0.log",
        "0.log.20240301-101112",
        "0.log.20240229-101112.gz",
        "kubelet.log",
        "kubelet.log.2",
        "kubelet.log.1",
    ]
    texts, _ = read_archive(zipped(dict.fromkeys(names, LINE)))
    assert list(texts) == [*names[2:0:-1], "0.log", *names[4:], "kubelet.log"]


@pytest.mark.parametrize("pack", [tar, zipped])
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("/etc/passwd.log", "etc/passwd.log"),
        ("../../root/kubelet.log", "../../root/kubelet.log"),
        ("./a//./kubelet.log", "a/kubelet.log"),
        ("a/\x1b[2Jkubelet.log", "a/\x1b[2Jkubelet.log"),
    ],
)
def test_names(pack, name, shown, tmp_path):
    """Whatever a member is called, it is read, and nothing is written anywhere."""
    assert read_archive(pack({name: LINE})) == ({shown: LINE}, [])
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


def test_name_that_is_no_text():
    """Bytes of a name that are no UTF-8 are shown as such."""
    (name,) = read_archive(tar({"k\udcff.log": LINE}))[0]
    assert name == "k\ufffd.log"


def test_links_and_devices(tmp_path):
    """Links are not followed, devices and pipes not opened, and nothing is made."""
    Path("secret.log").write_bytes(b"secret\n" + LINE)
    members = [
        special("soft.log", tarfile.SYMTYPE, str(tmp_path / "secret.log")),
        special("hard.log", tarfile.LNKTYPE, "../secret.log"),
        special("zero.log", tarfile.CHRTYPE),
        special("disk.log", tarfile.BLKTYPE),
        special("pipe.log", tarfile.FIFOTYPE),
        special("folder.log", tarfile.DIRTYPE),
    ]
    assert read_archive(tar({"kubelet.log": LINE}, *members)) == ({"kubelet.log": LINE}, [])
    linked = zipfile.ZipInfo("soft.log")
    linked.external_attr = (stat.S_IFLNK | 0o777) << 16
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as writer:
        writer.writestr(linked, str(tmp_path / "secret.log"))
        writer.writestr("kubelet.log", LINE)
    assert read_archive(packed.getvalue()) == ({"kubelet.log": LINE}, [])


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("pack", [tar, zipped])
def test_duplicate_members(pack):
    """Two members of one name are two sources."""
    archive = pack([("kubelet.log", LINE), ("kubelet.log", LINE * 2)])
    assert read_archive(archive) == ({"kubelet.log": LINE, "kubelet.log#2": LINE * 2}, [])


def test_nothing_to_read():
    """An archive without a log is a problem when it was named, a word when it was found."""
    Path("logs").mkdir()
    Path("logs/kubelet.log").write_bytes(LINE)
    Path("logs/b.tar").write_bytes(tar({"README.md": b"nothing\n"}))
    _, (problem,) = read("logs/b.tar")
    assert str(problem) == "logs/b.tar: no log in this archive; name the logs, or an archive of some"
    assert problem.exit_code == 3
    _, (problem,) = read("logs")
    assert isinstance(problem, SkippedError)


def test_members_that_are_no_text():
    """A member that is called a log and is none is told, twenty at most one by one; others are not."""
    files = {f"{n}.log": b"\x7fELF" + bytes(99) for n in range(30)} | {"core": bytes(500), "kubelet.log": LINE}
    texts, problems = read_archive(tar(files))
    assert texts == {"kubelet.log": LINE}
    assert str(problems[0]) == "b/0.log: a program, not a log; name a log"
    assert str(problems[-1]) == "b: 10 more files in it are not logs"
    assert (len(problems), {p.exit_code for p in problems}) == (21, {0})


@pytest.mark.parametrize("packing", ["", "gz"])
def test_cut_tar(packing):
    """Of a tar that is cut all is read that is there, and the place is told."""
    content = tar({"a.log": LINE * 100, "b.log": LINE * 100, "c.log": LINE})[: 512 + 10_240 + 512 + 5000]
    texts, problems = read_archive(gzip.compress(content) if packing else content)
    assert texts["a.log"] == LINE * 100
    assert (LINE * 100).startswith(texts["b.log"])
    assert len(texts["b.log"]) > 4000
    assert "c.log" not in texts
    assert any("b/b.log: the archive is truncated; what came before it was read" in str(p) for p in problems)
    assert {p.exit_code for p in problems} == {3}


def test_cut_gzip_of_a_tar():
    """So it is when the cut is in the compression."""
    chance = random.Random(5)  # noqa: S311
    log = b"".join(LINE[:-1] + b" %x\n" % chance.getrandbits(99) for _ in range(2000))
    packed = gzip.compress(tar({"a.log": log, "b.log": log[::-1]}))
    texts, problems = read_archive(packed[: len(packed) * 3 // 4])
    assert texts["a.log"] == log
    assert texts["b.log"]
    assert log[::-1].startswith(texts["b.log"])
    assert "the compressed data is truncated; what came before it was read" in str(problems[0])


def test_damaged_header():
    """A header in the middle that is damaged ends the reading and is told; tarfile alone would be silent."""
    content = bytearray(tar({"a.log": LINE, "b.log": LINE}))
    content[1024 + 148 : 1024 + 156] = b"7777777\0"
    texts, (problem,) = read_archive(bytes(content))
    assert texts == {"a.log": LINE}
    assert str(problem).startswith("b: the header of a member is damaged; what came before it was read")


def header(kind: bytes, size: int, name: str = "x") -> bytes:
    """Make a tar header that says whatever size."""
    member = tarfile.TarInfo(name)
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("kind", [tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_endless_header(kind):
    """A name or attribute of gigabytes is refused before it is read."""
    texts, (problem,) = read_archive(header(kind, 8 << 30) + bytes(4096))
    assert texts == {}
    assert "the header of a member has more than 128 KiB" in str(problem)


def test_headers_in_headers():
    """Long names without end, one before the other, are refused."""
    one = header(tarfile.GNUTYPE_LONGNAME, 10) + b"a".ljust(512, b"\0")
    _, (problem,) = read_archive(one * 2000)
    assert "the header of a member has more than 128 KiB" in str(problem)


def test_negative_size():
    """A size below zero does not send the reader back."""
    content = bytearray(header(tarfile.REGTYPE, 0, "a.log"))
    content[124:136] = b"\xff" * 12
    content[148:156] = b" " * 8
    content[148:156] = b"%06o\0 " % sum(content)
    texts, problems = read_archive(bytes(content) + bytes(2048))
    assert texts == {}
    assert problems


@pytest.mark.parametrize("lie", [1 << 31, 10])
def test_zip_with_lying_sizes(lie):
    """A member that has more or less than its entry says is read as far as it goes, and it is told."""
    content = zipped({"a.log": LINE * 100, "b.log": LINE})
    entry = content.index(b"PK\x01\x02")
    lying = content[: entry + 24] + struct.pack("<I", lie) + content[entry + 28 :]
    texts, problems = read_archive(lying)
    assert (LINE * 100).startswith(texts.get("a.log", b""))
    assert texts["b.log"] == LINE
    assert [problem.source for problem in problems] == ["b/a.log"] * len(problems)
    assert problems or texts["a.log"] == LINE * 100


def test_encrypted_zip():
    """A member that is encrypted is told; the others are read."""
    content = bytearray(zipped({"a.log": LINE, "b.log": LINE}))
    for mark, at in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        content[content.index(mark) + at] |= 1
    texts, (problem,) = read_archive(bytes(content))
    assert texts == {"b.log": LINE}
    assert str(problem) == "b/a.log: it is encrypted; unpack the archive with its password first"


@pytest.mark.parametrize(
    ("form", "is_piped"),
    [(zipfile.ZIP_DEFLATED, False), (zipfile.ZIP_DEFLATED, True), (zipfile.ZIP_STORED, False)],
)
def test_cut_zip(form, is_piped):
    """A zip without its end has no list of files; what its own headers tell of is read, and that is told."""
    packed = io.BytesIO()
    packed.seekable = lambda: not is_piped  # type: ignore[method-assign]  # then lengths stand behind what is packed
    chance = random.Random(5)  # noqa: S311
    log = b"".join(LINE[:-1] + b" %x\n" % chance.getrandbits(99) for _ in range(500))
    with zipfile.ZipFile(packed, "w", form) as writer:
        for name, content in {"a.log": log, "b/": b"", "b/core": bytes(999), "b/c.log": log[::-1]}.items():
            writer.writestr(name, content)
    whole_zip = packed.getvalue()
    texts, (problem,) = read_archive(whole_zip[:-40])
    assert texts == {"a.log": log, "b/c.log": log[::-1]}
    assert str(problem).startswith("b: the archive is damaged (file is not a zip file); what came before it was read")
    texts, problems = read_archive(whole_zip[: len(whole_zip) * 3 // 4])
    assert texts["a.log"] == log
    assert log[::-1].startswith(texts["b/c.log"])
    assert all("the archive is truncated; what came before it was read" in str(problem) for problem in problems)


def test_damaged_member_of_a_zip():
    """Damage in one member does not cost the others."""
    content = bytearray(zipped({"a.log": LINE * 100 + random.Random(1).randbytes(99).hex().encode(), "b.log": LINE}))  # noqa: S311
    at = content.index(b"PK\x03\x04") + 30 + 5
    content[at + 60 : at + 80] = b"\xff" * 20
    texts, problems = read_archive(bytes(content))
    assert texts["b.log"] == LINE
    assert any("damaged" in str(problem) for problem in problems)


@pytest.mark.parametrize("lines", [0, 1, 20_000])
def test_wrong_checksum_in_a_zip(lines):
    """A member whose checksum is wrong is read to its end, and it is told."""
    content = zipped({"a.log": LINE * lines, "b.log": LINE})
    entry = content.index(b"PK\x01\x02")
    texts, (problem,) = read_archive(content[: entry + 16] + b"\x01\x02\x03\x04" + content[entry + 20 :])
    assert texts == {"a.log": LINE * lines, "b.log": LINE} if lines else {"b.log": LINE}
    assert str(problem).startswith("b/a.log: its checksum is wrong; ")


def test_order_in_a_zip():
    """Folders of a zip come as people sort them, each with its files together, the older of a rotated set first."""
    names = ["web-10/0.log", "web-2/0.log", "web-10/0.log.2", "a.log", "web-2/0.log.1", "web-10/0.log.10"]
    texts, _ = read_archive(zipped(dict.fromkeys(names, LINE)))
    assert list(texts) == [
        "a.log",
        *("web-2/0.log.1", "web-2/0.log"),
        *("web-10/0.log.10", "web-10/0.log.2", "web-10/0.log"),
    ]


def test_zip_through_a_pipe_is_bounded(monkeypatch):
    """A zip that cannot be sought in is copied up to a bound."""
    monkeypatch.setattr(archives, "MOST_SPOOLED", 1000)
    pretend_stdin(monkeypatch, zipped({"a.log": random.Random(1).randbytes(3000)}))  # noqa: S311
    texts, (problem,) = read("-")
    assert texts == {}
    assert str(problem).endswith("unpack it and name the logs")


def test_list_of_files_is_bounded(monkeypatch):
    """A zip whose list of files alone would fill the memory is refused."""
    monkeypatch.setattr(archives, "LARGEST_LIST", 10_000)
    texts, (problem,) = read_archive(zipped({f"{n}.log": LINE for n in range(1000)}))
    assert texts == {}
    assert "its list of files has more than" in str(problem)


def test_number_of_members_is_bounded(monkeypatch):
    """Of a tar with more files than are read the first are, and that there are more is said."""
    monkeypatch.setattr(archives, "MOST_MEMBERS", 10)
    texts, (problem,) = read_archive(tar({f"{n:02}.log": LINE for n in range(12)}))
    assert sorted(texts) == [f"{n:02}.log" for n in range(10)]
    assert "it has more than 10 files; what came before it was read, unpack it and name the logs" in str(problem)


def test_nested_too_deep():
    """Archives in archives in archives end somewhere."""
    content = tar({"kubelet.log": LINE})
    for _ in range(6):
        content = tar({"kubelet.log": LINE, "in.tar": content})
    texts, (problem,) = read_archive(content)
    assert len(texts) == 4
    assert "archives are read 4 deep; unpack it and give its contents" in str(problem)


BOMBS = {
    "tar.gz": lambda: gzip.compress(tar({"a.log": LINE, "b.log": LINE + b"a" * (8 << 20), "c.log": LINE})),
    "zip": lambda: zipped({"a.log": LINE, "b.log": LINE + b"a" * (8 << 20), "c.log": LINE}),
    "nested": lambda: zipped({"in.zip": zipped({"a.log": LINE, "b.log": LINE + b"a" * (8 << 20)})}),
    "bomb of bombs": lambda: zipped({"in.zip": zipped({f"{n}.log": LINE + b"a" * (1 << 20) for n in range(20)})}),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_bombs(monkeypatch, bomb):
    """What unpacks to far more than any log ends at the bound; what came before it is used."""
    monkeypatch.setattr(compressed, "FREE", 1 << 20)
    texts, problems = read_archive(BOMBS[bomb]())
    assert sum(map(len, texts.values())) < 7 << 20
    assert any(text == LINE or text.startswith(LINE) for text in texts.values())
    assert any(
        "it decompresses to more than 250 times its size; no log compresses that well" in str(problem)
        for problem in problems
    )
    assert 3 in {problem.exit_code for problem in problems}


def test_many_members():
    """Any number of members is read in bounded memory."""
    packed = io.BytesIO()
    empty = tarfile.TarInfo("etc/some-file").tobuf()
    for _ in range(4_000):
        packed.write(empty)
    packed.write(tar({"kubelet.log": LINE}))
    Path("b.tar").write_bytes(packed.getvalue())
    del packed
    tracemalloc.start()
    texts, problems = read("b.tar")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (texts, problems) == ({"b.tar/kubelet.log": LINE}, [])
    assert peak < 2 << 20


@pytest.mark.parametrize(
    "content", [tar(FILES), zipped(FILES), gzip.compress(tar(FILES))], ids=["tar", "zip", "tar.gz"]
)
def test_any_damage(content, tmp_path):
    """Whatever byte is changed and wherever it is cut: no traceback, and what is given is what was packed."""

    @given(st.integers(0, len(content) - 1), st.integers(0, 255), st.integers(1, len(content)))
    @settings(suppress_health_check=[HealthCheck.too_slow])
    def holds(at, byte, cut):
        damaged = bytearray(content)
        damaged[at] = byte
        path = tmp_path / "damaged"
        path.write_bytes(bytes(damaged[:cut]))
        problems = []
        buffer = memoryview(bytearray(100_000))
        for source in sources([str(path)], problems.append):
            with source.open() as reader:
                while reader.readinto(buffer):
                    pass
        assert all(isinstance(problem, InputError) for problem in problems)

    holds()
