"""A log record, and where it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from kvdiag.model.values import EMPTY, Level


class Provenance(NamedTuple):
    """The origin of a file according to its path: inputs of one `group` are of one node.

    `node` is the node's name in the layout; `container`, `pod` and `namespace` are those of a container's log. Empty
    if the layout does not contain them.
    """

    group: str = ""
    node: str = ""
    container: str = ""
    pod: str = ""
    namespace: str = ""


NO_PROVENANCE = Provenance()


class Origin(NamedTuple):
    """The origin of a line: the input's name as the user gave it, and the line number from 1."""

    source: str
    line: int

    def __str__(self) -> str:
        return f"{self.source}:{self.line}"


class Body(NamedTuple):
    """The content of one log call, before its clock and origin are known.

    `stamp` is microseconds: since 1970 in UTC when the format writes year and zone, else on the clock of the
    year-less frame (see `kvdiag.base.clock`); None where the format writes no time.
    `message` is unquoted and unescaped. `fields` holds values unquoted; structured values keep their text.
    """

    format: str
    stamp: int | None = None
    level: Level = Level.INFO
    caller: str = ""
    message: str = ""
    fields: Mapping[str, str] = EMPTY
    pid: int | None = None
    truncated: bool = False


class LogRecord(NamedTuple):
    """One log call with its time and place; what `kvdiag parse` prints."""

    origin: Origin
    time: datetime | None
    component: str
    level: Level
    caller: str
    message: str
    fields: Mapping[str, str]
    node: str
    truncated: bool
