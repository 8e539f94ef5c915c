"""A topic: steps in their order, who does each, and which events show it; read from `patterns/topics/*.yaml`.

topic: unstage
title: How a volume is unmounted from the node
steps:
- name: device-unmounted
by: kubelet
does: kubelet asks the driver to unstage the volume.
shows: [volume.unstage.started, volume.unstage.succeeded]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kvdiag.base.decode import Record, each, error_at, matching, prose, table
from kvdiag.base.errors import PatternError
from kvdiag.base.yamlread import Node, read_text, read_yaml
from kvdiag.explain.benign import BENIGN
from kvdiag.model.values import EMPTY

REASONS = "reasons"  # the file beside the topics that says what the reasons mean that kubectl shows


class TopicStep(NamedTuple):
    """One step. `calls` are the functions it runs through, outermost first; `shows` the event kinds that tell of it.

    `before` must be true before the next step; `only` are the modes it belongs to, all when empty; `notes` say what is
    different in a mode.
    """

    name: str
    by: str
    does: str
    calls: tuple[str, ...] = ()
    rpc: str = ""
    shows: tuple[str, ...] = ()
    before: str = ""
    only: tuple[str, ...] = ()
    notes: Mapping[str, str] = EMPTY


class Answer(NamedTuple):
    """A question that people ask, its answer, and the commands that tell it of their own cluster.

    In a command `{journal:kubelet}` and the like are said in the words of a distribution. `only` are the modes it
    belongs to, all when empty.
    """

    question: str
    answer: str
    run: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


class Topic(NamedTuple):
    """One file of topics; `modes` say of each mode what it stands for, the first is the usual one.

    `checked` is the source that its steps were read in, `doubts` what could not be verified there.
    """

    name: str
    title: str
    summary: str
    steps: tuple[TopicStep, ...]
    modes: Mapping[str, str] = EMPTY
    answers: tuple[Answer, ...] = ()
    doubts: tuple[str, ...] = ()
    checked: str = ""
    see: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    place: str = ""

    def steps_in(self, mode: str) -> Iterator[TopicStep]:
        """The steps of a mode, in order."""
        return (step for step in self.steps if not step.only or mode in step.only)

    def answers_in(self, mode: str) -> Iterator[Answer]:
        """The answers of a mode, in order."""
        return (answer for answer in self.answers if not answer.only or mode in answer.only)


def load_topics(folder: Path) -> dict[str, Topic]:
    """Every topic of a folder by name. Raises PatternError with `file:line:column` for one that cannot be used."""
    topics: dict[str, Topic] = {}
    for path in sorted(folder.glob("*.yaml")):
        if path.stem in {BENIGN, REASONS}:
            continue
        topic = read_topic(read_text(path), str(path))
        if topic.name != path.stem:
            raise PatternError(topic.place, f"the topic is named {topic.name!r}, but its file is {path.name}")
        topics[topic.name] = topic
    return topics


_NAMED = matching(re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*"), "a name is lower-case words joined by dashes")
_STEP = Record(TopicStep, name=_NAMED, does=prose, before=prose, only=each(Node.word), notes=table(prose))
_ANSWER = Record(Answer, answer=prose, only=each(Node.word))
_TOPIC = Record(
    Topic,
    keys={"name": "topic", "summary": "says"},
    name=_NAMED,
    summary=prose,
    steps=each(_STEP),
    answers=each(_ANSWER),
    doubts=each(prose),
    checked=prose,
    see=each(_NAMED),
)


def read_topic(text: str, file: str) -> Topic:
    """The topic in `text`; `file` is what the user knows it as. Raises PatternError at the first fault."""
    node = read_yaml(text, file)
    topic = _TOPIC(node)
    if not topic.steps:
        raise node.table()["steps"].error("a topic needs at least one step")
    for step in topic.steps:
        _check_modes((*step.notes, *step.only), topic.modes)
    for answer in topic.answers:
        _check_modes(answer.only, topic.modes)
    return topic


def _check_modes(words: Iterable[str], modes: Mapping[str, str]) -> None:
    for word in words:
        if word not in modes:
            raise error_at(word, f"unknown mode {str(word)!r}; choose from {', '.join(modes) or 'none'}")
