"""One entry of the vocabulary: which words, in which version, mean which event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kvdiag.model.values import EMPTY

CRASH = "runtime.panicked"  # any Go program's


class Wording(NamedTuple):
    """One spelling of an event.

    `anchor` is the literal the scanner looks for; `message` a template: text with `{placeholder}` for what varies,
    `...` for anything, `[[…]]` for what some versions leave out. `fields` maps placeholder → key of `key=value`.
    `since` says which versions print it ({"kubelet": ">=1.27"}) and is used to infer a version from the wording;
    `verbosity` is the lowest klog -v at which one of them does.
    """

    anchor: str
    message: str
    fields: Mapping[str, str] = EMPTY
    since: Mapping[str, str] = EMPTY
    verbosity: int = 0
    place: str = ""


class Entry(NamedTuple):
    """An event kind with its wordings.

    `component` says who prints it, `also` who prints it in words of its own (CRI-O beside containerd); `verbosity`
    from which klog -v on: below it, absence means nothing.
    `scope` is `subject` (it belongs to what its names say) or `node` (every subject of the node may look at it).
    `poll` marks lines that repeat while nothing changes: repeats are folded into one event with a count.
    `reader` names a reader in Python for lines whose payload is a language of its own (gRPC); empty for templates.
    `label` is what timelines and reports call the event, `about` says more of it; lines of a rule have neither.
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
        """Every component that prints it, the main one first."""
        return (self.component, *self.also)

    @property
    def min_verbosity(self) -> int:
        """The klog `-v` that any of its wordings proves: the lowest of all."""
        return min((wording.verbosity for wording in self.wordings), default=self.verbosity)

    @property
    def is_embedded(self) -> bool:
        """Whether its words stand inside an error that any program of a node may print; lines of a rule never do."""
        return not (self.component or self.is_call or self.kind == CRASH or self.kind.startswith("line."))

    @property
    def is_call(self) -> bool:
        """Whether its events are RPCs assembled from gRPC lines: it has no wordings of its own."""
        return not self.wordings
