"""What a body format is: its name, how a record of it begins, and its reader.

    I1120 20:39:21.779765    6175 pod_workers.go:1251] "Pod worker has been requested for removal but is still not …"

`known` has the tuple of all; what is asked of any line is made of that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kvdiag.model.record import Body

DIGITS, LOWER, UPPER = b"0123456789", b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Format(NamedTuple):
    """A body format.

    `starts` tells cheaply of a line without carriers whether it begins a record; `read` gives the record, None for
    what is not of the format. For speed, both may be left out: `first` holds the bytes that a record may begin with,
    empty for any, and `sure` is a regex for beginnings that are such a record's also where carriers may stand.
    """

    name: str
    starts: Callable[[bytes], object]
    read: Callable[[bytes], Body | None]
    first: bytes = b""
    sure: bytes = b""
