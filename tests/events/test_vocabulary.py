"""The vocabulary is read, merged, cached and checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kvdiag.base.errors import PatternError
from kvdiag.events.lint import lint_events
from kvdiag.events.vocabulary import (
    load_vocabulary,
    make_vocabulary,
    read_entries,
    read_vocabulary,
)
from kvdiag.model.vocabulary import Entry, Wording
from tests import patterns
from tools.event_kinds import kinds_page

ROOT = Path(__file__).parents[2]
PATTERNS = ROOT / "patterns" / "events"

EVENT = """
component: kubelet
events:
  - kind: thing.made
    about: a thing was made
    verbosity: 2
    label: thing made
    anchor: Made the thing
    message: 'Made the thing"'
    fields: {pod_uid: podUID}
    since: {kubelet: ">=1.22 <1.27 || >=1.30.1"}
    samples: ['I0715 x.go:1] "Made the thing" podUID="5b0c7a1e-2f4d-4c8e-9a63-0d1e2f3a4b5c"']
calls:
  - {kind: csi.thing.called, label: NodeThing called, about: it was called, verbosity: 5}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Give a folder with one file, and a cache folder of its own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    patterns = tmp_path / "events"
    patterns.mkdir()
    (patterns / "a.yaml").write_text(EVENT, encoding="utf-8")
    return patterns


def without_samples(folder):
    """Give the entries as the cache keeps them."""
    return [entry._replace(samples=()) for entry in read_entries(folder)]


def test_the_cache_gives_the_same(folder):
    """What is read from the cache equals what is read from the files, samples aside."""
    first = load_vocabulary(folder)
    kept = list((folder.parent / "cache" / "kvdiag").glob("events-*.bin"))
    assert len(kept) == 1
    assert json.loads(kept[0].read_bytes()[32:])[0][0] == "thing.made"
    assert load_vocabulary(folder) == first
    assert first.entries == make_vocabulary(without_samples(folder)).entries
    assert read_vocabulary(folder).kinds["thing.made"].samples
    assert not first.kinds["thing.made"].samples


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'{"compiled": 0, "entries": []}', b'{"compiled": 1, "entries": [[1]]}']
)
def test_a_corrupt_cache_is_ignored(folder, damage):
    """A damaged cache is built anew."""
    first = load_vocabulary(folder)
    kept = next((folder.parent / "cache" / "kvdiag").glob("events-*.bin"))
    kept.write_bytes(damage)
    assert load_vocabulary(folder) == first


def test_a_cache_that_cannot_be_written_is_none(folder, monkeypatch):
    """Without a place to write to, everything works all the same."""
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/no/such/place")
    assert load_vocabulary(folder).kinds["thing.made"].verbosity == 2


def test_a_changed_file_is_seen(folder):
    """A file that changed is read again."""
    load_vocabulary(folder)
    (folder / "a.yaml").write_text(EVENT.replace("thing.made", "thing.done"), encoding="utf-8")
    assert "thing.done" in load_vocabulary(folder).kinds


def entry(kind="thing.made", **more):
    """Make an entry with one wording."""
    wording = Wording(
        anchor=more.pop("anchor", "Made the thing"), message=more.pop("message", "Made the thing"), place="b.yaml:2:3"
    )
    return Entry(kind=kind, component=more.pop("component", "kubelet"), wordings=(wording,), place="b.yaml:1:1", **more)


def test_extra_entries_come_last(folder):
    """Entries of the user are tried after those of the files."""
    vocabulary = load_vocabulary(folder, [entry("my.own", anchor="Made the thing")])
    assert vocabulary.literals == (b"Made the thing",)
    assert [vocabulary.owner(number).kind for number in vocabulary.by_literal[0]] == ["thing.made", "my.own"]


SPELLED = """
events:
  - kind: thing.made
    label: thing made
    about: a thing was made{entry}
    wordings:
      - {{anchor: Made the thing}}
      - {{anchor: Made another{wording}}}
    samples: []
"""


@pytest.mark.parametrize(
    ("entry", "wording", "expected"),
    [
        ("", "", (0, [0, 0])),
        ("2", "", (2, [2, 2])),
        ("", "4", (4, [0, 4])),
        ("2", "4", (2, [2, 4])),
        ("4", "2", (4, [4, 2])),
        ("0", "4", (0, [0, 4])),
    ],
)
def test_a_wording_may_be_printed_later_than_its_kind(tmp_path, entry, wording, expected):
    """A wording has the verbosity of its entry unless it names one; an entry that names none has the highest.

    What is seen proves the lowest.
    """
    spelled = SPELLED.format(entry=entry and f"\n    verbosity: {entry}", wording=wording and f", verbosity: {wording}")
    (tmp_path / "a.yaml").write_text(spelled, encoding="utf-8")
    (made,) = read_vocabulary(tmp_path).entries
    assert (made.verbosity, [one.verbosity for one in made.wordings]) == expected
    assert made.min_verbosity == min(expected[1])


def test_kinds_of_two_places_are_merged():
    """One kind from two places has the wordings of both, and the higher verbosity."""
    both = make_vocabulary(
        [entry(verbosity=2), entry("other.one"), entry(anchor="Made another", message="Made another", verbosity=4)]
    )
    assert [wording.anchor for wording in both.kinds["thing.made"].wordings] == ["Made the thing", "Made another"]
    assert both.kinds["thing.made"].verbosity == 4
    assert [both.owner(index).kind for index in range(3)] == ["thing.made", "other.one", "thing.made"]


def test_a_kind_of_two_components():
    """Each wording belongs to the component that prints it; the kind has the wordings and components of both."""
    both = make_vocabulary(
        [entry(), entry(component="containerd", anchor="It made the thing", message="It made the thing")]
    )
    assert [both.owner(index).component for index in range(2)] == ["kubelet", "containerd"]
    assert both.kinds["thing.made"].components == ("kubelet", "containerd")
    assert len(both.kinds["thing.made"].wordings) == 2
    thrice = make_vocabulary([*both.entries, entry(component="containerd", anchor="Thing", message="Thing made")])
    assert thrice.kinds["thing.made"].components == ("kubelet", "containerd")
    relayed = make_vocabulary([*both.entries, entry(component="", anchor="Thing", message="Thing made")])
    assert relayed.kinds["thing.made"].components == ("kubelet", "containerd"), "a relay is no witness"


@pytest.mark.parametrize(("key", "value"), [("scope", "node"), ("poll", True), ("reader", "grpc")])
def test_contradictions_name_both_places(key, value):
    """One kind cannot have two scopes, be a poll and be none, or have two readers."""
    with pytest.raises(PatternError, match=rf"b.yaml:1:1: thing.made has {key} .* in b.yaml:1:1"):
        make_vocabulary([entry(), entry(**{key: value})])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("anchor: Made", "ancor: Made", "a.yaml:8:5: unknown key 'ancor'; did you mean 'anchor'?"),
        ("    about: a thing was made\n", "", "a.yaml:4:5: the key 'about' is missing"),
        ("    label: thing made\n", "", "a.yaml:4:5: the key 'label' is missing"),
        ("verbosity: 2", "verbosity: high", "a.yaml:6:16: a whole number is expected"),
        ("verbosity: 2", "scope: pod", "unknown 'pod'; known are node, subject"),
    ],
)
def test_faults_of_files(folder, old, new, message):
    """A file that cannot be used is refused with the place of the fault."""
    (folder / "a.yaml").write_text(EVENT.replace(old, new), encoding="utf-8")
    with pytest.raises(PatternError) as caught:
        load_vocabulary(folder)
    assert message in str(caught.value)


def test_a_file_that_is_no_utf8(folder):
    """A file that is not UTF-8 is refused."""
    (folder / "a.yaml").write_bytes(b"a: \xff")
    with pytest.raises(PatternError, match="not UTF-8"):
        load_vocabulary(folder)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("kind: thing.made", "kind: Made", "'Made' is no kind"),
        ("anchor: Made the thing", "anchor: 'Made \"the'", "not part of the message"),
        ("Made the thing", "Made <the> thing", "would not survive JSON"),
        ("anchor: Made the thing", "anchor: ade", "is too weak"),
        (">=1.22 <1.27 || >=1.30.1", "since 1.22", "is no range of versions of kubelet"),
        ('] "Made the thing" ', '] "Made a thing" ', "is not read at all"),
        ("{driver}", "{driver}", ""),
    ],
)
def test_lint(folder, old, new, message):
    """Lint finds what would not work, and nothing in a good file."""
    (folder / "a.yaml").write_text(EVENT.replace(old, new), encoding="utf-8")
    said = "\n".join(map(str, lint_events(read_entries(folder))))
    assert message in said
    assert bool(said) == bool(message)


def test_the_page_of_kinds_is_up_to_date():
    """docs/event-kinds.md says what the vocabulary says; `python -m tools.event_kinds` writes it."""
    assert (ROOT / "docs" / "event-kinds.md").read_text(encoding="utf-8") == kinds_page(patterns.vocabulary())
