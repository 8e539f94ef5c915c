"""Texts and commands are filled with the finding's own names, so that a command can be run as it is shown."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.clock import SECOND
from kvdiag.model.event import Event, Ref
from kvdiag.model.record import Origin
from kvdiag.model.rule import Fix
from kvdiag.model.timeline import Entity
from kvdiag.model.values import SubjectKind
from kvdiag.rules.distribution import plain
from kvdiag.rules.fill import LONGEST_VALUE, command, fixes, sentence, slots, values
from tests.rules.one_rule import one_rule

HOSTILE = [
    "a b",
    "it's",
    'say "x"',
    "$(touch /tmp/x)",
    "`id`",
    "a;b",
    "a\nb",
    "-rf",
    "*",
    "~",
    "\\",
    "{pod}",
    "a|b&c>d",
]


def event(second, refs=(), **attrs):
    """Give an event that names these things and says these values."""
    return Event(second * SECOND, "k", "", tuple(Ref(*ref) for ref in refs), attrs, Origin("log", second), "", "", 0)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_one_word_of_the_shell(name):
    """Whatever a log calls a thing, in a command it stands as one word that the shell does not look into."""
    assert shlex.split(command("umount {staging_path} -l", {"staging_path": name})) == ["umount", name, "-l"]


@pytest.mark.parametrize("name", HOSTILE)
def test_the_shell_agrees(name):
    """A real shell gives the name back as it was."""
    line = command("printf %s {staging_path}", {"staging_path": name.replace("-rf", "x-rf")})
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout == name.replace("-rf", "x-rf")


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_any_name_is_one_word(name):
    """There is no name that becomes two words or none."""
    assert shlex.split(command("run {name}", {"name": name}))[1:] == [name]


@pytest.mark.parametrize(
    ("text", "said", "filled"),
    [
        ("umount {staging_path}", {}, "umount <staging_path>"),
        ("umount {staging_path}", {"staging_path": ""}, "umount <staging_path>"),
        (
            "kubectl get -o jsonpath='{.spec.drivers[*].name}' {node}",
            {"node": "n"},
            "kubectl get -o jsonpath='{.spec.drivers[*].name}' n",
        ),
        ("", {}, ""),
    ],
)
def test_a_slot_of_a_command_that_nobody_knows_stays_visible(text, said, filled):
    """A command with an unknown name cannot be run by mistake; braces that are no slot stay."""
    assert command(text, said) == filled


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("Volume {volume} of {pod}", "Volume data of ?"),
        ("{volume}[[ of pod {pod}]] is stuck", "data is stuck"),
        ("{volume}[[ on {node}]] is stuck", "data on n1 is stuck"),
        ("{volume}[[ on {node} of {pod}]].", "data."),
        ("nothing to fill ", "nothing to fill"),
        ("{Volume} {} {volume!r}", "{Volume} {} {volume!r}"),
    ],
)
def test_sentences(text, filled):
    """A slot nobody knows becomes `?`, or its optional part is left out."""
    assert sentence(text, {"volume": "data", "node": "n1", "pod": ""}) == filled


def test_a_filled_value_is_not_filled_again():
    """A name that looks like a slot stays what it is."""
    assert sentence("{a}", {"a": "{b}", "b": "no"}) == "{b}"
    assert command("{a}", {"a": "{b}", "b": "no"}) == "'{b}'"


def test_a_log_cannot_flood_a_sentence():
    """A value of any length is cut in a sentence, and whole in a command."""
    long = "x" * (LONGEST_VALUE + 1)
    assert sentence("{error}", {"error": long}) == "x" * LONGEST_VALUE + "…"
    assert command("{error}", {"error": long}) == long


def test_values():
    """A text may speak of the subject's names, of what its lines said last, and of how often and how long."""
    entity = Entity(kind=SubjectKind.VOLUME, key="k", name="data", ids={"pod": "shop/web-0", "driver": "d"})
    told = [
        ("", event(1, [("pod_uid", "u1"), ("driver", "other")], error="first", backoff="500ms")),
        ("", event(2, [("pod_uid", "u2")], error="second", backoff="1s")),
        ("", event(3, error="", backoff="1s")),
    ]
    said = values(entity, told, 3, SECOND, 64 * SECOND)
    assert said == {
        "pod": "shop/web-0",
        "driver": "d",
        "volume": "data",
        "pod_uid": "u2",
        "error": "second",
        "backoff": "1s",
        "count": "3",
        "span": "1m3s",
        "often": "3 times over 1m3s",
        "ladder": "500ms 1s",
    }


@pytest.mark.parametrize(
    ("count", "ends", "often"), [(1, 0, "once"), (1, 9, "once"), (2, 0, "2 times"), (2, 9, "2 times over 9s")]
)
def test_often(count, ends, often):
    """`{often}` reads well for one and for many."""
    entity = Entity(kind=SubjectKind.POD, key="k", name="n")
    assert values(entity, [], count, 0, ends * SECOND)["often"] == often


def test_fixes_and_their_slots():
    """Text and guard of a fix are sentences, its command is one for the shell; lint sees the slots of all texts."""
    rule = one_rule(
        says="{pod}",
        cause="{node}",
        fix=(Fix(text="On {node}.", run="umount {target_path}", after="{volume} is unused"),),
    )
    assert list(fixes(rule, {"node": "n 1", "target_path": "/a b", "volume": "v"}, plain())) == [
        Fix(text="On n 1.", run="umount '/a b'", after="v is unused")
    ]
    assert slots(rule) == {"pod", "node", "target_path", "volume"}
