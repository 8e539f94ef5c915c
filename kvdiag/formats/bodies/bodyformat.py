"""The definition of a body format: its name, how a record begins, and its reader.

    I1120 20:39:21.779765    6175 pod_workers.go:1251] "Pod worker has been requested for removal but is still not …"

`registry` has the tuple of all formats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kvdiag.model.record import Body

DIGITS, LOWER, UPPER = b"0123456789", b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Format(NamedTuple):
    """A body format.

    `starts` decides quickly whether a line without carriers begins a record; `read` returns the record, or None for
    another format. For speed, optional: `first` has the bytes that a record may begin with, empty for any, and `sure`
    is a regex of beginnings that are unambiguous even if carriers may precede.
    """

    name: str
    starts: Callable[[bytes], object]
    read: Callable[[bytes], Body | None]
    first: bytes = b""
    sure: bytes = b""
