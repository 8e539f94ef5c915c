"""Where rules are kept: the built-in ones, folders of the user's own, and the cache in front of both."""

from __future__ import annotations

import hashlib
import os

import pytest

from kvdiag.base.errors import PatternError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.rules import library
from kvdiag.rules.library import load, load_rule_store, rule_files

RULE = """\
id: {id}
name: {name}
title: Something
severity: low
per: pod
events: {{a: {{kind: pod.added}}}}
when: a
says: x
cause: y
tests:
  - {{name: one, log: a line, finds: {{x: confirmed}}}}
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Give an empty cache folder of our own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kvdiag"


@pytest.fixture
def folder(tmp_path):
    """Give a folder with two rules."""
    made = tmp_path / "mine"
    write(made / "pod" / "second.yaml", "KV902", "second")
    write(made / "first.yml", "KV901", "first")
    return made


def write(path, rule_id, name):
    """Write a rule."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(RULE.format(id=rule_id, name=name), "utf-8")


def ids(loaded):
    """Give the ids of rules."""
    return [rule.id for rule in loaded]


@pytest.mark.usefixtures("cache")
def test_rules_come_in_order_of_their_ids(folder):
    """Every YAML file of a folder and its folders is a rule, whatever its place."""
    assert ids(load_rule_store([folder])) == ["KV901", "KV902"]


@pytest.mark.usefixtures("cache")
def test_what_is_no_rule_file(folder):
    """The vocabulary's folder and files of another kind are passed by."""
    (folder / "events").mkdir()
    (folder / "events" / "kubelet.yaml").write_text("events: []", "utf-8")
    (folder / "README.md").write_text("# rules", "utf-8")
    (folder / "x.yxml").write_text("no", "utf-8")
    assert [path.name for path in rule_files(folder)] == ["first.yml", "second.yaml"]
    assert ids(load_rule_store([folder])) == ["KV901", "KV902"]


@pytest.mark.usefixtures("cache")
def test_folders_of_the_user_are_added():
    """A folder that is given comes beside what is built in, and does not replace it."""
    assert {path.parent.name for path in rule_files(builtin_patterns())} == {
        "pod",
        "volume",
        "csi",
        "sandbox",
        "runtime",
        "node",
    }


@pytest.mark.usefixtures("cache")
def test_several_folders(folder, tmp_path):
    """Rules of all folders are one library."""
    write(tmp_path / "more" / "third.yaml", "KV900", "third")
    assert ids(load_rule_store([folder, tmp_path / "more"])) == ["KV900", "KV901", "KV902"]


def test_the_cache_gives_the_same_rules(folder, cache, monkeypatch):
    """The second time rules come from the cache, without reading YAML, and are the same but for their tests."""
    first = load_rule_store([folder])
    assert len(list(cache.iterdir())) == 1
    monkeypatch.setattr(library, "_read_all", lambda _files: pytest.fail("the files were read again"))
    assert list(load_rule_store([folder])) == list(first)
    assert first[0].tests == ()


def test_a_changed_file_is_read_anew(folder, cache):
    """A rule that was edited, added or removed is never taken from an old cache."""
    load_rule_store([folder])
    write(folder / "first.yml", "KV903", "first")
    assert ids(load_rule_store([folder])) == ["KV902", "KV903"]
    (folder / "first.yml").unlink()
    assert ids(load_rule_store([folder])) == ["KV902"]
    assert len(list(cache.iterdir())) == 3


def kept(data):
    """Give what the cache says of its own bytes, and them."""
    return hashlib.sha256(data).digest() + data


@pytest.mark.parametrize(
    "damage",
    [
        *(b"", b"{", b"\xff\xfe", kept(b""), kept(b"null"), kept(b"[1]"), kept(b"[{}]"), kept(b'{"a":1}\n{}')),
        kept(b'[["KV900","lost","stable",[],[]]]'),
        kept(b'[["KV900","lost","stable",[],[{"kind":1}]]]\n{}'),
    ],
)
def test_a_broken_cache_is_ignored(folder, cache, monkeypatch, damage):
    """A cache that holds anything else is built anew."""
    load_rule_store([folder])
    (path,) = cache.iterdir()
    path.write_bytes(damage)
    assert ids(load_rule_store([folder])) == ["KV901", "KV902"]
    monkeypatch.setattr(library, "_read_all", lambda _files: pytest.fail("the files were read again"))
    assert ids(load_rule_store([folder])) == ["KV901", "KV902"]


def test_a_cache_that_cannot_be_written(folder, tmp_path, monkeypatch):
    """Where there can be no cache folder, rules are read from their files."""
    (tmp_path / "file").write_text("", "utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert ids(load_rule_store([folder])) == ["KV901", "KV902"]


@pytest.mark.usefixtures("cache")
def test_fresh_reads_tests_and_collects_all_errors(folder):
    """Lint sees every fault of a folder at once, and the rules that are sound, with their tests."""
    (folder / "bad.yaml").write_text("id: KV1", "utf-8")
    (folder / "worse.yaml").write_bytes(b"\xff\xfe\xff")
    write(folder / "twin.yaml", "KV901", "twin")
    fresh = load([folder])
    assert ids(fresh.rules) == ["KV901", "KV901", "KV902"]
    assert [test.name for test in fresh.rules[0].tests] == ["one"]
    assert [str(error).replace(f"{folder}{os.sep}", "")[:40] for error in fresh.errors] == [
        "bad.yaml:1:1: the key 'name' is missing",
        "worse.yaml:1:1: cannot be read: 'utf-8' ",
        "twin.yaml:1:5: KV901 is already used at ",
    ]


@pytest.mark.usefixtures("cache")
def test_the_first_error_is_raised(folder):
    """An analysis does not begin with a broken rule; nothing of it is cached."""
    (folder / "bad.yaml").write_text("id: KV1", "utf-8")
    with pytest.raises(PatternError, match=r"bad\.yaml:1:1: the key 'name' is missing"):
        load_rule_store([folder])
    with pytest.raises(PatternError, match=r"bad\.yaml:1:1: the key 'name' is missing"):
        load_rule_store([folder])


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("fresh", [True, False])
def test_what_cannot_be_opened(folder, fresh):
    """A folder or a dead link with a rule's ending is an error with its place, and no traceback."""
    (folder / "folder.yaml").mkdir()
    if fresh:
        errors = load([folder]).errors
    else:
        with pytest.raises(PatternError) as caught:
            load_rule_store([folder])
        errors = (caught.value,)
    assert [error.place for error in errors] == [f"{folder / 'folder.yaml'}:1:1"]
    assert errors[0].problem.startswith("cannot be read: ")


def test_log_files_beside_a_rule(folder):
    """A log file named like the rule is a test of it: it must match, or must not with `quiet` before `.log`."""
    path = next(rule_files(folder))
    logs = {"log": {"*": ""}, "word.log": {"*": ""}, "quiet.log": {}, "word.quiet.log": {}}
    for ending in logs:
        path.with_name(f"{path.stem}.{ending}").write_bytes(b"a line \xff\n")
    path.with_name("orphan.log").write_text("a line\n")
    read = next(rule for rule in load([folder]).rules if rule.name == path.stem)
    assert {test.name.removeprefix(f"{path.stem}."): test.finds for test in read.tests[1:]} == logs
    assert [fault.place for fault in library.orphan_logs(folder)] == [f"{path.with_name('orphan.log')}:1:1"]
