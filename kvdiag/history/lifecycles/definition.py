"""A life cycle as its file in `patterns/lifecycles/` defines it: states, and parts with steps that variants combine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kvdiag.history.lifecycles.machine import NONE, OrderConstraint, State, Step
from kvdiag.model.values import EMPTY


class PartState(NamedTuple):
    """What a part changes of a state: another wait, unless it is None, and more flags."""

    waits: str | None = None
    flags: frozenset[str] = NONE


class Detail(NamedTuple):
    """Steps for `kind:detail` of each kind whose step has one of the flags `of`."""

    of: frozenset[str]
    to: str
    keeps: frozenset[str]


class Part(NamedTuple):
    """Steps, states and orders that a variant has or has not.

    `outage` and `hides` are as in `Machine`; None leaves those of an earlier part.
    """

    outage: str | None = None
    hides: frozenset[str] | None = None
    states: Mapping[str, PartState] = EMPTY
    steps: Mapping[str, Step] = EMPTY
    orders: tuple[OrderConstraint, ...] = ()
    details: Mapping[str, Detail] = EMPTY


class Variant(NamedTuple):
    """The parts of a variant, and those that it has in addition in a situation."""

    parts: tuple[str, ...]
    no_controller: tuple[str, ...] = ()
    driver_alone: tuple[str, ...] = ()

    def parts_in(self, situations: tuple[str, ...]) -> tuple[str, ...]:
        """Return the names of its parts in the situations; a later part replaces steps of an earlier one."""
        more = {"no-controller": self.no_controller, "driver-alone": self.driver_alone}
        return (*self.parts, *(part for situation in situations for part in more[situation]))


class Span(NamedTuple):
    """A part of a life. `pairs` are (begin, end) kinds: the first pair is taken that was seen, else that began.

    In `a|b` a part begins with a, and again with b where that follows. `per` keeps apart the pods that share a volume
    or the containers of a pod; `once` takes the first such part of a life only; where `unless` was seen, only the
    first pair is tried. Where the part `fails`, only what ends the first pair ends it.
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    per: str = ""
    once: bool = False
    unless: str = ""
    fails: str = ""


class Definition(NamedTuple):
    """One file. `errors` has by detail the texts in an error that mean it.

    `waits_by_error` has by a word of an error what is waited for.
    """

    subject: str
    states: Mapping[str, State]
    parts: Mapping[str, Part]
    variants: Mapping[str, Variant]
    spans: tuple[Span, ...] = ()
    errors: Mapping[str, tuple[str, ...]] = EMPTY
    waits_by_error: Mapping[str, str] = EMPTY
