"""Swim lanes of an incident: a lane for each subject, with its states as bars and its events as marks."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from kvdiag.model.event import Event

RUNTIME = "runtime"
"""The kind of the lane of a container runtime, which is not a subject."""


class Tone(StrEnum):
    """How a state looks: in use, changing, over or in trouble."""

    GOOD = "good"
    CHANGE = "change"
    OVER = "over"
    BAD = "bad"


class Bar(NamedTuple):
    """A state of a subject from `begins` to `ends` (microseconds UTC)."""

    begins: int
    ends: int
    state: str
    tone: Tone = Tone.GOOD


class Mark(NamedTuple):
    """An event with its label; `legal` is False if it cannot follow the state before it."""

    event: Event
    label: str
    legal: bool = True


class Lane(NamedTuple):
    """One subject on one node; `key` is that of the subject. A part of a life is a lane of its own, named `name`."""

    kind: str
    key: str
    name: str
    node: str
    bars: tuple[Bar, ...]
    marks: tuple[Mark, ...]


class Lanes(NamedTuple):
    """All lanes; `unlisted` counts lanes that are left out, `cut` counts marks that are left out of the others.

    `begins` and `ends` are microseconds UTC.
    """

    lanes: tuple[Lane, ...]
    begins: int
    ends: int
    unlisted: int = 0
    cut: int = 0
