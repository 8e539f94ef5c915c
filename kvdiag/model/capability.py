"""Capabilities that a node and its pods need, such as a container runtime that answers, and their dependencies."""

from __future__ import annotations

from typing import NamedTuple

from kvdiag.model.values import SubjectKind


class Capability(NamedTuple):
    """A capability that can fail: `on` which kind of subject, which others it needs directly, and what to collect."""

    name: str
    label: str
    on: SubjectKind
    needs: tuple[str, ...] = ()
    collect: tuple[str, ...] = ()
    place: str = ""
