"""The tables of patterns/anatomy are read strictly, and each wrong value is told with its place."""

from __future__ import annotations

import pytest

from kvdiag.anatomy.data import FOLDER, tables
from kvdiag.anatomy.data_file import parse
from kvdiag.anatomy.decode import flatten
from kvdiag.anatomy.objects import KINDS
from kvdiag.base.errors import PatternError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.rules.distribution import default_dialect, unknown_placeholders

GOOD = 'source: x\nprimitives:\n  - {id: WIDGET, texts: [widget broken], says: "the widget is broken"}\n'


def test_good_file():
    """A minimal file is read."""
    assert parse({"a.yaml": GOOD}).primitives[0].id == "WIDGET"


@pytest.mark.parametrize(
    ("old", "new", "place", "words"),
    [
        ("texts", "text", "a.yaml:3:", "unknown key 'text'"),
        ("WIDGET", "Widget-1", "a.yaml:3:", "an id is a word"),
        ("[widget broken]", "[a]", "a.yaml:3:", "at least 3 characters"),
        ('says: "the', 'strength: 9, says: "the', "a.yaml:3:", "a strength is 1"),
        ('says: "the', 'objects: [widget], says: "the', "a.yaml:3:", "unknown kind of object 'widget'"),
        ('says: "the', 'says: {path: p, any: a}, owner: "the', "a.yaml:3:", "the form 'path' is of no kind"),
        ("the widget", "the {widget}", "a.yaml:3:", "unknown slot {widget}"),
        ('says: "the', 'where: [fly], says: "the', "a.yaml:1:1", "unknown operation 'fly'"),
        ("source: x", "author: x", "a.yaml:1:1", "unknown key 'author'"),
    ],
)
def test_wrong_file(old, new, place, words):
    """The message has the place of the value and says what is wrong."""
    with pytest.raises(PatternError) as error:
        parse({"a.yaml": GOOD.replace(old, new, 1)})
    assert str(error.value).startswith(place)
    assert words in str(error.value)


def test_text_of_two_primitives():
    """One text cannot mean two things."""
    with pytest.raises(PatternError, match="is of both WIDGET and GADGET"):
        parse({"a.yaml": GOOD + "  - {id: GADGET, texts: [widget broken], says: x}\n"})


def test_each_file_has_a_source():
    """Each table says where its texts come from; `parse` demands it."""
    assert all("\nsource: " in f"\n{path.read_text('utf-8')}" for path in (builtin_patterns() / FOLDER).glob("*.yaml"))


def test_commands_of_the_tables():
    """Each command has only placeholders that the distributions know."""
    known = tables()
    commands = [text for one in known.primitives for text in one.check.values()]
    commands += [owner.check for owner in known.owners]
    assert not [part for text in commands for part in unknown_placeholders(text)]
    assert all(default_dialect().expand(text) for text in commands if text)


def test_kinds_are_used():
    """Each kind of object is asked for by a primitive."""
    assert {kind for one in tables().primitives for kind in one.objects} == set(KINDS)


def test_sentences_do_not_end():
    """A sentence is a part of others: it begins small and ends without a full stop."""
    texts = [text for one in tables().primitives for text in one.says.values() if text]
    assert not [
        text
        for text in texts
        if text.endswith(".") or (text[0].isupper() and not text[1:3].isupper() and text.split()[0] not in NAMES)
    ]


NAMES = {
    "RBAC", "Azure", "Cinder", "CephFS", "Ceph", "Windows", "AppArmor", "SELinux", "XFS", "Multus", "Nova", "Longhorn",
    "Vault", "Whereabouts",
}  # fmt: skip


def test_texts_can_match():
    """A text is as texts are when they are searched: with the quoting undone, and in small letters."""
    parts = [part.literal for one in tables().primitives for text in one.texts for part in text]
    assert not [part for part in parts if part != flatten(part, redact=False).lower()]
