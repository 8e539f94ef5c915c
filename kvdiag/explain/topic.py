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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kvdiag.base.errors import PatternError
from kvdiag.base.yamlread import Node, read_text, read_yaml
from kvdiag.explain.benign import BENIGN

REASONS = "reasons"  # the file beside the topics that says what the reasons mean that kubectl shows

_TOPIC = ("topic", "title", "says", "modes", "steps", "answers", "doubts", "checked", "see", "links")
_STEP = ("name", "by", "does", "calls", "rpc", "shows", "before", "only", "notes")
_ANSWER = ("question", "answer", "run", "only")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicStep:
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
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """A question that people ask, its answer, and the commands that tell it of their own cluster.

    In a command `{journal:kubelet}` and the like are said in the words of a distribution. `only` are the modes it
    belongs to, all when empty.
    """

    question: str
    answer: str
    run: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One file of topics; `modes` say of each mode what it stands for, the first is the usual one.

    `checked` is the source that its steps were read in, `doubts` what could not be verified there.
    """

    name: str
    title: str
    summary: str
    steps: tuple[TopicStep, ...]
    modes: Mapping[str, str] = field(default_factory=dict)
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


def read_topic(text: str, file: str) -> Topic:
    """The topic in `text`; `file` is what the user knows it as. Raises PatternError at the first fault."""
    node = read_yaml(text, file)
    top = node.mapping(_TOPIC, ("topic", "title", "says", "steps"))
    modes = dict(top["modes"].texts()) if "modes" in top else {}
    steps = tuple(_step(item, modes) for item in top["steps"].sequence())
    if not steps:
        raise top["steps"].error("a topic needs at least one step")
    return Topic(
        name=_named(top["topic"]),
        title=top["title"].text(),
        summary=_prose(top["says"]),
        steps=steps,
        modes=modes,
        answers=tuple(_answer(item, modes) for item in _items(top, "answers")),
        doubts=tuple(_prose(item) for item in _items(top, "doubts")),
        checked=_prose(top["checked"]) if "checked" in top else "",
        see=tuple(_named(item) for item in _items(top, "see")),
        links=tuple(item.text() for item in _items(top, "links")),
        place=node.place,
    )


def _step(node: Node, modes: Mapping[str, str]) -> TopicStep:
    keys = node.mapping(_STEP, ("name", "by", "does"))
    notes = keys["notes"].table() if "notes" in keys else {}
    for name, note in notes.items():
        _known(note, name, modes)
    return TopicStep(
        name=_named(keys["name"]),
        by=keys["by"].text(),
        does=_prose(keys["does"]),
        calls=tuple(item.text() for item in _items(keys, "calls")),
        rpc=keys["rpc"].text() if "rpc" in keys else "",
        shows=tuple(item.text() for item in _items(keys, "shows")),
        before=_prose(keys["before"]) if "before" in keys else "",
        only=_only(keys, modes),
        notes={name: _prose(note) for name, note in notes.items()},
    )


def _answer(node: Node, modes: Mapping[str, str]) -> Answer:
    keys = node.mapping(_ANSWER, ("question", "answer"))
    run = tuple(item.text() for item in _items(keys, "run"))
    return Answer(keys["question"].text(), _prose(keys["answer"]), run, _only(keys, modes))


def _only(keys: Mapping[str, Node], modes: Mapping[str, str]) -> tuple[str, ...]:
    for mode in _items(keys, "only"):
        _known(mode, mode.text(), modes)
    return tuple(mode.text() for mode in _items(keys, "only"))


def _known(node: Node, mode: str, modes: Mapping[str, str]) -> None:
    if mode not in modes:
        raise node.error(f"unknown mode {mode!r}; choose from {', '.join(modes) or 'none'}")


def _named(node: Node) -> str:
    if not _NAME.fullmatch(node.text()):
        raise node.error(f"{node.text()!r}: a name is lower-case words joined by dashes")
    return node.text()


def _items(keys: Mapping[str, Node], key: str) -> tuple[Node, ...]:
    return keys[key].sequence() if key in keys else ()


def _prose(node: Node) -> str:
    """A text with its line breaks taken out; an empty line divides paragraphs."""
    return "\n\n".join(" ".join(part.split()) for part in node.text().split("\n\n")).strip()
