"""CRI-O's words for what containerd tells too: `crio.sandbox.started` leads where `cri.sandbox.started` does.

An entry of the vocabulary has one component, and an absence is judged by the log of that component, so the two programs
have kinds of their own; the tables are written once, for containerd's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Told = TypeVar("Told")
COMPONENT = "crio"
_SANDBOX = "running started stopping stopped removing removed"
_CONTAINER = "creating created starting started stopping stopped removing removed"
KINDS: Mapping[str, str] = {
    f"cri.{thing}.{action}": f"crio.{thing}.{action}"
    for thing, actions in (("sandbox", _SANDBOX), ("container", _CONTAINER))
    for action in actions.split()
}
"""By containerd's kind."""


def also(table: Mapping[str, Told]) -> Mapping[str, Told]:
    """A table by kind of event with CRI-O's kinds beside containerd's."""
    return {**table, **{crio: table[cri] for cri, crio in KINDS.items() if cri in table}}
