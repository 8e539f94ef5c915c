"""Regular expressions that are compiled when a line first asks for them.

Compiling the two hundred of all formats takes 40 ms, a fifth of an analysis of a small log, and no log needs more than
some thirty. What every line goes through is compiled by `re.compile`: from here a call takes 30 ns longer.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast


def lazy_regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Give what `re.compile` gives, compiled when it is first used: a fault in it is raised then.

    A match's `re` is the compiled pattern, and not what is given here.
    """
    return cast("re.Pattern[AnyStr]", _Later(pattern, flags))


class _Later(Generic[AnyStr]):
    """A pattern that becomes itself one attribute at a time."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever a pattern has; asked only for what is missing
        value = getattr(re.compile(self._pattern, self._flags), name)
        setattr(self, name, value)
        return value
