"""What a node and its pods rely on, such as a runtime that answers, and what of it relies on what."""

from __future__ import annotations

from typing import NamedTuple

from kvdiag.model.values import SubjectKind


class Capability(NamedTuple):
    """One thing that can fail: which entity has it, which others it needs at once, and what shows why it failed."""

    name: str
    label: str
    on: SubjectKind
    needs: tuple[str, ...] = ()
    collect: tuple[str, ...] = ()
    place: str = ""
