"""What was slow to read is kept, what nobody uses any more goes, and a cache that is broken is none."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kvdiag.base import cache
from kvdiag.base.codec import shape_of
from kvdiag.base.yamlread import Word

KEY = "0123456789abcdef" * 4
OTHER = "fedcba9876543210" * 4
LONG_AGO = time.time() - cache.UNUSED - cache.DAY


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A cache of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "kvdiag"


def kept(key: str, data: object = 1) -> object:
    """Ask the cache for what `data` is built from."""
    return cache.cached("events", key, object, lambda: data)


def name_of(key: str) -> str:
    """Give the name of the file of what `kept` keeps."""
    return f"events-{cache.digest([key.encode(), shape_of(object).encode()])[:32]}.bin"


def age(path, moment: float = LONG_AGO) -> None:
    """Let a file have been used last at a moment."""
    os.utime(path, (moment, moment))


def test_it_is_built_once(folder):
    """What lies in the cache is not built again."""
    assert kept(KEY, "first") == kept(KEY, "second") == "first"
    assert [path.name for path in folder.iterdir()] == [name_of(KEY)]


def kept_bytes(data: bytes) -> bytes:
    """Ask the cache for bytes; those of another program are refused."""

    def read(said: bytes) -> bytes:
        if said.startswith(b"other"):
            raise ValueError("another program's")
        return said

    return cache.cached_bytes("scanner", KEY, lambda: data, read)


def test_what_was_just_built_is_as_it_will_be_read(folder):
    """A text that knows its place in a file, or a tuple, is what JSON makes of it, the first time too."""
    built = kept(KEY, {Word("name"): (Word("value"),)})
    assert built == kept(KEY) == {"name": ["value"]}
    assert {type(one) for one in (*built, *built["name"])} == {str}
    assert len(list(folder.iterdir())) == 1


def test_bytes_are_built_once(folder):
    """So are bytes that are no JSON."""
    assert kept_bytes(b"first") == kept_bytes(b"second") == b"first"
    assert [path.name for path in folder.iterdir()] == [f"scanner-{KEY[:32]}.bin"]


@pytest.mark.parametrize("broken", [b"", b"short", b"\0" * 40, b"first"])
def test_broken_bytes_are_built_anew(folder, broken):
    """What does not begin with its own sha256 is never read."""
    kept_bytes(b"first")
    (folder / f"scanner-{KEY[:32]}.bin").write_bytes(broken)
    assert kept_bytes(b"second") == kept_bytes(b"third") == b"second"


def test_bytes_of_another_program(folder):
    """What cannot be read is built anew."""
    kept_file = folder / f"scanner-{KEY[:32]}.bin"
    folder.mkdir(mode=0o700)
    kept_file.write_bytes(hashlib.sha256(b"other's").digest() + b"other's")
    kept_file.chmod(0o600)
    assert kept_bytes(b"own") == b"own"


def test_a_fingerprint_tells_every_change(tmp_path):
    """Other bytes, another file in its place, another name: each is another fingerprint; reading is none."""
    path = tmp_path / "rule.yaml"
    path.write_text("one")
    seen = [cache.fingerprint([path])]
    assert path.read_text() == "one"
    assert cache.fingerprint([path]) == seen[0]
    path.write_text("two")
    seen.append(cache.fingerprint([path]))
    (tmp_path / "other").write_text("two")
    (tmp_path / "other").replace(path)
    seen.append(cache.fingerprint([path]))
    seen.append(cache.fingerprint([path.rename(tmp_path / "again.yaml")]))
    assert len(set(seen)) == len(seen)


def test_what_is_not_used_goes(folder):
    """When something new is written, files that were last used long ago are removed, and a killed writer's rests too."""
    kept(KEY)
    (old,) = folder.iterdir()
    rest = folder / "tmpab12cd.tmp"
    rest.write_text("{")
    age(old)
    age(rest)
    kept(OTHER)
    assert [path.name for path in folder.iterdir()] == [name_of(OTHER)]


def test_what_is_used_stays(folder):
    """A use counts as much as the writing: a file that was read meanwhile stays, however old it is."""
    kept(KEY)
    (old,) = folder.iterdir()
    age(old)
    kept(KEY)
    kept(OTHER)
    assert old.exists()


def test_what_is_too_much_goes(folder):
    """However many are written in a day, those that were used last are kept, and the new one with them."""
    folder.mkdir()
    for number in range(cache.MOST + 10):
        path = folder / f"events-{number:032x}.bin"
        path.write_text("1")
        age(path, time.time() - 1000 + number)
    kept(KEY)
    names = {path.name for path in folder.iterdir()}
    assert len(names) == cache.MOST
    assert {name_of(KEY), f"events-{cache.MOST + 9:032x}.bin"} <= names
    assert f"events-{10:032x}.bin" not in names


def test_files_of_others_stay(folder):
    """Nothing is removed that kvdiag has not written, and no link is followed."""
    folder.mkdir()
    note, outside = folder / "notes.bin", folder.parent / name_of(KEY)
    for path in (note, outside):
        path.write_text("{}")
        age(path)
    link = folder / f"rules-{'a' * 32}.bin"
    link.symlink_to(outside)
    os.utime(link, (LONG_AGO, LONG_AGO), follow_symlinks=False)
    kept(OTHER)
    assert note.exists()
    assert not link.is_symlink()
    assert outside.exists()


def test_a_date_is_written_once_an_hour(folder):
    """A file that was used just now is left as it is."""
    kept(KEY)
    (path,) = folder.iterdir()
    before = time.time() - cache.HOUR / 2
    age(path, before)
    kept(KEY)
    assert path.stat().st_mtime == pytest.approx(before, abs=1)


def test_many_at_once(folder):
    """Processes that write and remove at the same time all get what they asked for."""
    folder.mkdir()
    for number in range(200):
        path = folder / f"events-{number:032x}.bin"
        path.write_text("1")
        age(path)
    code = (
        "import sys; from kvdiag.base import cache;"
        "print(*[cache.cached('events', f'{n:032x}', int, lambda: 1) for n in range(200, 230)])"
    )
    with ThreadPoolExecutor(4) as pool:
        runs = list(
            pool.map(lambda _: subprocess.run([sys.executable, "-c", code], check=True, capture_output=True), range(4))
        )
    assert {run.stdout for run in runs} == {b"1 " * 29 + b"1\n"}
    assert len(list(folder.iterdir())) == 30


def poisoned(folder):
    """Give the path of what is kept under the key, with another content."""
    kept(KEY)
    (path,) = folder.iterdir()
    path.write_text('"poison"')
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.chmod(0o620),
        lambda path: path.chmod(0o602),
        lambda path: path.parent.chmod(0o777),
        lambda path: path.rename(path.parent.parent / "x") and path.symlink_to(path.parent.parent / "x"),
        lambda path: (path.unlink(), os.mkfifo(path)),
        lambda path: (path.unlink(), path.mkdir()),
        lambda path: path.write_text(" " * (cache.LARGEST + 1) + '"poison"'),
        lambda path: os.truncate(path, 1 << 40),
    ],
    ids=["of the group", "of all", "folder of all", "link", "fifo", "folder", "large", "huge"],
)
def test_what_another_could_have_written_is_no_cache(folder, change):
    """A file or folder that others may write to, a link, a FIFO: as if there were none, and nothing is waited for."""
    path = poisoned(folder)
    change(path)
    assert kept(KEY) != "poison"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("whose", ["file", "folder"])
def test_what_another_user_owns_is_no_cache(folder, whose):
    """As root under sudo, the home may be another's."""
    path = poisoned(folder)
    os.chown(path if whose == "file" else path.parent, 1234, -1)
    assert kept(KEY) != "poison"


def test_a_damaged_file_is_built_anew(folder):
    """JSON in which letters were flipped is still JSON: its sha256 tells."""
    kept(KEY, ["name"])
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes().replace(b"name", b"\\ame"))
    assert kept(KEY, ["other"]) == kept(KEY, ["third"]) == ["other"]


@pytest.mark.parametrize("link", ["kvdiag", ""])
def test_nothing_is_written_through_a_link(tmp_path, monkeypatch, link):
    """A link in the place of the folder is refused; so is one of another user above it."""
    target, home = tmp_path / "target", tmp_path / "home"
    target.mkdir(mode=0o700)
    (target / "kvdiag").mkdir(mode=0o700)
    home.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    if link:
        (home / "cache").mkdir()
        (home / "cache" / link).symlink_to(target / "kvdiag")
    else:
        (home / "cache").symlink_to(target)
        if os.geteuid():
            pytest.skip("only root can make a link of another user")
        os.lchown(home / "cache", 12345, 12345)
    assert kept(KEY, "first") == "first"
    assert list((target / "kvdiag").iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a folder of another user")
def test_a_folder_below_one_of_another_user(tmp_path, monkeypatch):
    """Who owns the folder above could put another one in its place."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
    kept(KEY, "first")
    assert len(list((home / "cache" / "kvdiag").iterdir())) == 1
    os.chown(home, 12345, 12345)
    assert kept(KEY, "second") == "second"
