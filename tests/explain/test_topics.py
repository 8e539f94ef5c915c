"""Topics are data: what is in a file is what is told, and a fault in it is told with its place."""

from __future__ import annotations

from textwrap import dedent

import pytest

from kvdiag.analysis.explain import Explainer
from kvdiag.base.errors import PatternError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.explain.topic import Answer, load_topics, read_topic
from kvdiag.rules.library import rule_files

TOPIC = """\
topic: tea
title: How tea is made
says: |
  Water is boiled.
  Leaves are added.

  Then one waits.
modes: {green: Not too hot., black: Hot.}
steps:
  - name: boil
    by: kettle
    does: The water boils.
    calls: [heat, whistle]
    shows: [volume.released]
    before: It whistles.
  - {name: cool, by: cook, does: One waits., only: [green], notes: {green: Three minutes.}}
answers:
  - {question: "How long?", answer: "Until it is done.", run: [date]}
  - {question: "How hot?", answer: "Boiling.", only: [black]}
doubts: [Water may be hard.]
checked: at home
see: [tea]
links: [https://example.org]
"""
TOPICS = load_topics(builtin_patterns() / "topics")
EXPLAINER = Explainer()
each_topic = pytest.mark.parametrize("topic", TOPICS.values(), ids=TOPICS.keys())


def test_what_is_written_is_what_is_read():
    """Every key of a file becomes a value; lines of prose are joined, paragraphs stay apart."""
    topic = read_topic(TOPIC, "tea.yaml")
    assert (topic.name, topic.title) == ("tea", "How tea is made")
    assert topic.summary == "Water is boiled. Leaves are added.\n\nThen one waits."
    assert topic.answers == (
        Answer("How long?", "Until it is done.", ("date",)),
        Answer("How hot?", "Boiling.", (), ("black",)),
    )
    assert (topic.doubts, topic.checked) == (("Water may be hard.",), "at home")
    assert (topic.see, topic.links) == (("tea",), ("https://example.org",))
    boil, cool = topic.steps
    assert (boil.by, boil.calls, boil.shows, boil.before) == (
        "kettle",
        ("heat", "whistle"),
        ("volume.released",),
        "It whistles.",
    )
    assert (cool.only, cool.notes) == (("green",), {"green": "Three minutes."})


def test_a_mode_has_its_own_steps():
    """A step with `only` belongs to those modes, one without to all."""
    topic = read_topic(TOPIC, "tea.yaml")
    assert [step.name for step in topic.steps_in("green")] == ["boil", "cool"]
    assert [step.name for step in topic.steps_in("black")] == ["boil"]
    assert [answer.question for answer in topic.answers_in("green")] == ["How long?"]
    assert len(list(topic.answers_in("black"))) == 2


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("title: How", "titel: How", "tea.yaml:2:1: unknown key 'titel'; did you mean 'title'?"),
        ("topic: tea\n", "", "tea.yaml:1:1: the key 'topic' is missing"),
        ("topic: tea", "topic: Tea Time", "tea.yaml:1:8: 'Tea Time': a name is lower-case words joined by dashes"),
        ("only: [black]", "only: [white]", "tea.yaml:19:55: unknown mode 'white'; choose from green, black"),
        ("only: [green]", "only: [grey]", "tea.yaml:16:53: unknown mode 'grey'; choose from green, black"),
        ("notes: {green:", "notes: {blue:", "tea.yaml:16:69: unknown mode 'blue'; choose from green, black"),
        ("    by: kettle\n", "", "tea.yaml:10:5: the key 'by' is missing"),
        ("calls: [heat, whistle]", "calls: heat", "tea.yaml:13:12: a list is expected here, not 'heat'"),
    ],
)
def test_a_fault_has_a_place(old, new, fault):
    """A fault is told with file, line and column, and with what was meant."""
    with pytest.raises(PatternError) as told:
        read_topic(TOPIC.replace(old, new), "tea.yaml")
    assert str(told.value) == fault


def test_a_topic_without_steps_is_none():
    """A file that tells no step explains nothing."""
    with pytest.raises(PatternError, match="needs at least one step"):
        read_topic("topic: tea\ntitle: T\nsays: S\nsteps: []\n", "tea.yaml")


def write(folder, text, name="tea.yaml"):
    """Put one file into a folder of topics."""
    (folder / name).write_text(dedent(text), "utf-8")
    return folder


def test_the_file_has_the_name_of_the_topic(tmp_path):
    """One finds a topic where one looks for it."""
    with pytest.raises(PatternError, match=r"the topic is named 'tea', but its file is coffee.yaml"):
        load_topics(write(tmp_path, TOPIC, "coffee.yaml"))


def test_a_file_that_is_no_text(tmp_path):
    """Bytes that are not UTF-8 are a fault with a place, not a traceback."""
    (tmp_path / "tea.yaml").write_bytes(b"topic: \xff\xfe")
    with pytest.raises(PatternError, match=r"tea.yaml:1:1: cannot be read"):
        load_topics(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (
            "volume.released",
            "volume.releasd",
            "unknown event kind 'volume.releasd'; did you mean 'volume.released'?",
        ),
        ("see: [tea]", "see: [teas]", "unknown topic 'teas'; did you mean 'tea'?"),
        ("run: [date]", "run: ['{restart:kettle}']", "no distribution defines {restart:kettle}"),
    ],
)
def test_names_lead_somewhere(old, new, fault, tmp_path):
    """An event kind or topic that is named must exist."""
    explainer = Explainer(folder=write(tmp_path, TOPIC.replace(old, new)))
    with pytest.raises(PatternError) as told:
        _ = explainer.topics
    assert fault in str(told.value)


def test_topics_are_not_taken_for_rules():
    """The folder of topics lies beside the rules and is not read as such."""
    assert not [path for path in rule_files(builtin_patterns()) if "topics" in path.parts]


def test_all_topics_are_there():
    """The ways of a volume and of a pod, up and down, can be asked for."""
    assert set(TOPICS) == {
        "volume-lifecycle",
        "pod-termination",
        "sandbox-gc",
        "detach",
        "unstage",
        "unpublish",
        "reconstruction",
        "orphan-cleanup",
        "verbosity",
    }
    assert {"fs", "block", "inline", "rwx"} <= set(TOPICS["volume-lifecycle"].modes)
    assert all("block" in TOPICS[name].modes for name in ("unstage", "unpublish"))


@each_topic
def test_each_mode_tells_something(topic):
    """Every mode of every topic has steps, unique names, lines of a log, and rules that watch it."""
    for mode in topic.modes or [""]:
        page = EXPLAINER.page(topic, mode)
        names = [step.step.name for step in page.steps]
        assert len(set(names)) == len(names) > 1
        assert any(step.lines for step in page.steps)
        assert any(step.rules for step in page.steps)
        assert all(line.words or line.about for step in page.steps for line in step.lines)


@pytest.mark.parametrize(
    ("mode", "command"),
    [("systemd", "journalctl -u kubelet"), ("talos", "talosctl -n NODE logs kubelet"), ("k3s", "journalctl -u 'k3s*'")],
)
def test_commands_in_the_words_of_a_distribution(mode, command):
    """A mode called like a distribution has its commands, any other the usual ones."""
    answers = EXPLAINER.page(TOPICS["verbosity"], mode).answers
    assert command in [run for answer in answers for run in answer.run]


def order(topic, mode):
    """Give the names of the steps of a topic in a mode."""
    return [step.name for step in TOPICS[topic].steps_in(mode)]


def test_the_order_of_a_volume():
    """Unpublish comes before unstage, unstage before release, release before the detach."""
    steps = order("volume-lifecycle", "fs")
    wanted = ["attach", "verify", "stage", "publish", "unpublish", "unstage", "release", "detach"]
    assert [step for step in steps if step in wanted] == wanted


def test_an_inline_volume_is_neither_attached_nor_staged():
    """What does not happen to an inline volume is not told of it."""
    assert not {"attach", "stage", "unstage", "detach"} & set(order("volume-lifecycle", "inline"))


def test_the_controller_detaches_and_not_kubelet():
    """The detach is the controller's; kubelet only lets go."""
    by = {step.name: step.by for step in TOPICS["volume-lifecycle"].steps}
    assert (by["release"], by["detach"]) == ("kubelet", "kube-controller-manager")
    assert TOPICS["detach"].summary.startswith("kubelet does not detach.")


def test_a_driver_without_staging_is_not_asked_to_unstage():
    """MountDevice succeeded is logged all the same; nothing is unstaged."""
    assert "stage" in order("volume-lifecycle", "no-stage")
    assert "unstage" not in order("volume-lifecycle", "no-stage")


def test_the_way_of_a_block_device():
    """Unpublish and unstage of a block device go through the unmapping functions, in their order."""
    calls = [call for step in TOPICS["unpublish"].steps_in("block") for call in step.calls]
    way = ["unmountVolumes", "OperationExecutor.UnmountVolume", "GenerateUnmapVolumeFunc"]
    way += ["csiBlockMapper.UnmapPodDevice", "unpublishVolumeForBlock", "csiDriverClient.NodeUnpublishVolume"]
    assert [call for call in calls if call in way] == way
    calls = [call for step in TOPICS["unstage"].steps_in("block") for call in step.calls]
    way = ["unmountDetachDevices", "GenerateUnmapDeviceFunc", "csiBlockMapper.TearDownDevice"]
    way += ["unstageVolumeForBlock", "csiDriverClient.NodeUnstageVolume"]
    assert [call for call in calls if call in way] == way


def test_is_a_deleted_claim_still_in_use():
    """The answer names the finalizer and the VolumeAttachments."""
    (answer,) = (a for a in TOPICS["volume-lifecycle"].answers if "still in use" in a.question)
    assert "kubernetes.io/pvc-protection" in answer.answer
    assert "VolumeAttachment" in answer.answer
