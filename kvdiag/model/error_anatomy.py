"""The anatomy of an error: the operation that failed, its innermost cause, and the object of that cause."""

from __future__ import annotations

from typing import NamedTuple

Plain = dict[str, str | int | list[str]]

WEAK, PLAIN, STRONG = 1, 2, 3
"""Strength of a primitive: only who waited or that something failed; an errno or status; a cause by itself."""
EFFECT = "the error just above says why"  # note of an exit status


class ErrorAnatomy(NamedTuple):
    """One error record, read from the outermost caller to the innermost cause.

    `operations` and gRPC `codes` are in the order of the text, outer to inner; `operation` is the label of the one that
    failed, `direction` whether the outermost makes, removes or asks for something. `component` is the CNI plug-in or
    CSI driver that printed the inner words. `primitive` is the class of the innermost cause, empty if none is known,
    with its `strength`, its `object`, the `owner` of that object and the `peer`: the
    other side of the call. `quoted` is the innermost clause as printed.
    `note` says why the error may be no failure: the object is already gone, the level is info. `sentence` names the
    cause, or quotes the clause if the primitive is weak or unknown. `check` is a command with the placeholders of
    `kvdiag.rules.distribution` and the slot `{node}`; `step` says what it checks.
    """

    program: str = ""
    operations: tuple[str, ...] = ()
    operation: str = ""
    direction: str = ""
    codes: tuple[str, ...] = ()
    component: str = ""
    primitive: str = ""
    strength: int = 0
    object: str = ""
    object_kind: str = ""
    owner: str = ""
    peer: str = ""
    clause: str = ""
    quoted: str = ""
    note: str = ""
    sentence: str = ""
    step: str = ""
    check: str = ""

    @property
    def names_cause(self) -> bool:
        """Return whether the sentence names a cause, and does not only quote the error."""
        return self.strength > WEAK

    def plain(self) -> Plain:
        """Return what programs read of it, in JSON's own types."""
        return {
            "primitive": self.primitive,
            "strength": self.strength,
            "object": self.object,
            "object_kind": self.object_kind,
            "owner": self.owner,
            "peer": self.peer,
            "operation": self.operation,
            "direction": self.direction,
            "component": self.component,
            "codes": list(self.codes),
            "sentence": self.sentence,
            "quoted": self.quoted,
            "note": self.note,
            "check": self.check,
        }
