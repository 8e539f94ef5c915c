"""The script of a test, and what a near miss changes in it."""

from __future__ import annotations

import pytest

from kvdiag.base.clock import HOUR, MINUTE, SECOND
from kvdiag.base.errors import PatternError
from kvdiag.base.yamlread import read_yaml
from kvdiag.model.rule import SUBJECT
from kvdiag.rules.schema_tests import read_tests

BASE = """\
- name: two hours
  story: |
    08:00    volume.unpublish.failed error="target is busy" x3 every 20s
    +5s      pod.added|pod.deleted @other
    09:00:00.5 logs
  finds: confirmed
"""


def read_all(text):
    """Read tests."""
    return read_tests(read_yaml(text, "x.yaml").sequence())


def story(near=""):
    """Give the story of the base, or of what is near it, as short tuples."""
    told = read_all(BASE + (f"- near: two hours\n  {near}\n  finds: {{}}\n" if near else ""))[-1].story
    return [(line.time - 8 * HOUR, "|".join(line.kinds), line.count) for line in told]


def test_a_story():
    """Times, kinds, values, casts and repeats are read."""
    first, second, third = read_all(BASE)[0].story
    assert first.values == {"error": ("target is busy",)}
    assert [moment - 8 * HOUR for moment in first.moments] == [0, 20 * SECOND, 40 * SECOND]
    assert (second.time, second.kinds, second.of) == (8 * HOUR + 45 * SECOND, ("pod.added", "pod.deleted"), "other")
    assert (third.time, third.kinds) == (9 * HOUR + SECOND // 2, ("logs",))


def test_a_ladder():
    """Kubelet's waits double from half a second on."""
    (line,) = read_all('- {name: x, story: "08:00 volume.unpublish.failed x4 ladder", finds: {}}')[0].story
    assert [moment - 8 * HOUR for moment in line.moments] == [0, SECOND // 2, SECOND * 3 // 2, SECOND * 7 // 2]


@pytest.mark.parametrize(
    ("value", "read"),
    [("word", ("word",)), ('"a|b"|c', ("a|b", "c")), (r'"say \"no\""', ('say "no"',)), ('""', ("",))],
)
def test_values(value, read):
    """A value is a word or stands in quotes; a bar outside of them parts alternatives."""
    (line,) = read_all(f"- {{name: x, story: '08:00 pod.added error={value}', finds: {{}}}}")[0].story
    assert line.values["error"] == read


@pytest.mark.parametrize(
    ("near", "told"),
    [
        ("drop: pod.added", [(0, "volume.unpublish.failed", 3), (60 * MINUTE + SECOND // 2, "logs", 1)]),
        ("keep: volume.unpublish.failed x2", [(0, "volume.unpublish.failed", 2)]),
        ("every: volume.unpublish.failed 10s", [(0, "volume.unpublish.failed", 3), (25 * SECOND, "pod.added|pod.deleted", 1)]),
        ("delay: volume.unpublish.failed by 2h", [(45 * SECOND, "pod.added|pod.deleted", 1)]),
        ("instead: {pod.added: pod.removed}", [(0, "volume.unpublish.failed", 3), (45 * SECOND, "pod.removed", 1)]),
        ("add: +1m pod.removed", [(0, "volume.unpublish.failed", 3), (45 * SECOND, "pod.added|pod.deleted", 1)]),
        ("add: 07:59 pod.removed", [(-MINUTE, "pod.removed", 1)]),
    ],
)  # fmt: skip
def test_near(near, told):
    """A near miss says what is otherwise; lines stay in order of time."""
    assert story(near)[: len(told)] == told


def test_given():
    """Lines can be given other values, or be about another pod; the second of two alone."""
    near = "given: ['pod.added @third', 'volume.unpublish.failed error=x']"
    first, second, _ = read_all(BASE + f"- near: two hours\n  {near}\n  finds: {{}}\n")[-1].story
    assert (first.values, second.of) == ({"error": ("x",)}, "third")
    changed = read_all(BASE + "- near: two hours\n  given: '1.pod.added @third'\n  finds: {}\n")[-1].story
    assert changed[1].of == "third"


def test_a_name_of_its_own():
    """A near miss without a name is called by what it changes."""
    assert read_all(BASE + "- near: two hours\n  drop: pod.added\n  finds: {}\n")[1].name == "two hours: drop pod.added"


@pytest.mark.parametrize(
    ("finds", "read"),
    [
        ("confirmed info", {SUBJECT: "confirmed info"}),
        ("possible", {SUBJECT: "possible"}),
        ("{}", {}),
        ("{a: confirmed}", {"a": "confirmed"}),
    ],
)
def test_finds(finds, read):
    """A verdict alone is that of the subject of the story; a severity may stand with it."""
    assert read_all(BASE.replace("finds: confirmed", f"finds: {finds}"))[0].finds == read


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("08:00    ", "8am ", "is not a time; write 08:00"),
        ("+5s", "+5", "'5' is not a duration"),
        ("pod.added|pod.deleted", "Pod Added", "'Pod' is neither a kind of event nor a component"),
        ("@other", "other", "'other' is neither key=value, @name nor x3 every 20s"),
        ("x3 every 20s", "x3", "after x6, write 'ladder' or 'every 20s'"),
        ("x3 every 20s", "x3 every day", "'day' is not a duration"),
        ("finds: confirmed", "finds: confirmd", "unknown 'confirmd'; did you mean 'confirmed'?"),
        ("finds: confirmed", "finds: confirmed\n  drop: pod.added", "'drop' needs 'near', the name of the test whose story it changes"),
        ("finds: confirmed", "finds: confirmed\n  log: x", "a test has exactly one of 'log', 'story' and 'near'"),
    ],
)  # fmt: skip
def test_faults(old, new, fault):
    """What cannot be read is told with its place and what to write."""
    with pytest.raises(PatternError) as error:
        read_all(BASE.replace(old, new, 1))
    assert fault in str(error.value)


@pytest.mark.parametrize(
    ("near", "fault"),
    [
        ("near: two hour\n  drop: pod.added", "no earlier story has the name 'two hour'; did you mean 'two hours'?"),
        ("near: two hours\n  drop: pod.removed", "the story of 'near' has no 'pod.removed'"),
        ("near: two hours\n  drop: 2.pod.added", "the story of 'near' has no '2.pod.added'"),
        ("near: two hours\n  keep: pod.added", "write which kind, and how many of it"),
        ("near: two hours\n  delay: pod.added 5m", "write what is delayed and by how much"),
    ],
)  # fmt: skip
def test_faults_of_a_near_miss(near, fault):
    """A near miss can only change what is there."""
    with pytest.raises(PatternError) as error:
        read_all(BASE + f"- {near}\n  finds: {{}}\n")
    assert fault in str(error.value)
