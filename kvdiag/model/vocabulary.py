"""Entries of the vocabulary: which log messages, of which versions, are which event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kvdiag.model.values import EMPTY

CRASH = "runtime.panicked"  # of any Go program


class Wording(NamedTuple):
    """One spelling of an event.

    `anchor` is the literal the scanner looks for; `message` a template: text with `{placeholder}` for what varies,
    `...` for anything, `[[…]]` for what some versions leave out. `fields` maps placeholder → key of `key=value`.
    `since` has the versions that print it ({"kubelet": ">=1.27"}); a version is inferred from it. `verbosity` is the
    lowest klog -v at which one of them prints it.
    """

    anchor: str
    message: str
    fields: Mapping[str, str] = EMPTY
    since: Mapping[str, str] = EMPTY
    verbosity: int = 0
    place: str = ""


class Entry(NamedTuple):
    """An event kind with its wordings.

    `component` prints it, `also` are components with other wordings of it (CRI-O besides containerd); `verbosity` is
    the klog -v below which an absence proves nothing.
    `scope` is `subject` (the event belongs to the subjects it names) or `node` (also to every subject of the node).
    `poll` marks lines that repeat while nothing changes: repeats are merged into one event with a count.
    `reader` names the Python reader of lines that no template can parse (gRPC); empty for templates.
    `label` is the event's name in timelines and reports, `about` its description; lines of a rule have neither.
    """

    kind: str
    component: str
    wordings: tuple[Wording, ...]
    verbosity: int = 0
    scope: str = "subject"
    poll: bool = False
    reader: str = ""
    label: str = ""
    about: str = ""
    samples: tuple[str, ...] = ()
    place: str = ""
    also: tuple[str, ...] = ()

    @property
    def components(self) -> tuple[str, ...]:
        """Return every component that prints it, the main one first."""
        return (self.component, *self.also)

    @property
    def min_verbosity(self) -> int:
        """Return the klog `-v` that any of its wordings proves: the lowest of all."""
        return min((wording.verbosity for wording in self.wordings), default=self.verbosity)

    @property
    def is_embedded(self) -> bool:
        """Return whether it is part of an error that any program of a node may print; lines of a rule never are."""
        return not (self.component or self.is_call or self.kind == CRASH or self.kind.startswith("line."))

    @property
    def is_call(self) -> bool:
        """Return whether its events are RPCs assembled from gRPC lines; it has no wordings then."""
        return not self.wordings
