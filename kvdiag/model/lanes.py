"""What a picture of an incident shows: a lane for each subject, with its states as bars and its events as marks."""

from __future__ import annotations

from typing import NamedTuple

from kvdiag.model.event import Event

RUNTIME = "runtime"
"""The kind of a lane that is of no subject: what the container runtime of a node said."""


class Bar(NamedTuple):
    """A state of a subject, from when until when (microseconds UTC)."""

    begins: int
    ends: int
    state: str


class Mark(NamedTuple):
    """An event and what people call it; `legal` is False where it does not follow from the state before."""

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
    """The lanes of a picture; `unlisted` counts those for which there was no room, `cut` marks left out of others.

    `begins` and `ends` are microseconds UTC.
    """

    lanes: tuple[Lane, ...]
    begins: int
    ends: int
    unlisted: int = 0
    cut: int = 0
