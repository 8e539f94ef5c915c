"""Regular expressions that are compiled at their first use.

Compiling the two hundred of all formats takes 40 ms, a fifth of an analysis of a small log, and no log needs more than
some thirty. Patterns for every line use `re.compile`: a lazy one takes 30 ns more a call.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, Generic, cast


def lazy_regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern like `re.compile`, compiled at its first use; an error in it is raised then.

    The `re` of a match is the compiled pattern, not this object.
    """
    return cast("re.Pattern[AnyStr]", _Later(pattern, flags))


class _Later(Generic[AnyStr]):
    """A pattern that is compiled when one of its attributes is first read."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401  # whatever a pattern has; asked only for what is missing
        value = getattr(re.compile(self._pattern, self._flags), name)
        setattr(self, name, value)
        return value
