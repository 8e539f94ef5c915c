"""Lines that a container runtime has cut into parts, put together in the first of their places.

A runtime writes 16 KB of a line at a time: containerd and CRI-O mark a part that goes on by `P`, docker by the line end
that its text does not have. A line of a driver that lists its volumes is longer. Empty lines keep the places of the
other parts, so that all lines keep their numbers.
"""

from __future__ import annotations

import re

_UNFINISHED = (b" stderr P ", b" stdout P ")
_STREAM, _ENDED = b'","stream":"', b'\\n","stream":"'
_CRI = re.compile(
    rb"^(?P<head>\S{20,40} (?P<stream>stdout|stderr) )P (?P<text>[^\n]*+)"
    rb"(?P<more>(?:\n\S{20,40} (?P=stream) P [^\n]*+)*+)(?:\n\S{20,40} (?P=stream) F (?P<last>[^\n]*+))?+",
    re.MULTILINE,
)
_CRI_PART = re.compile(rb"\n\S+ \S+ P ")
_TEXT = rb'\{"log":"(?:[^"\\\n]++|\\.)*+'
_DOCKER = re.compile(
    rb"^(?P<text>" + _TEXT + rb')(?<!\\n)(?P<tail>","stream":"(?P<stream>stdout|stderr)"[^\n]*+)'
    rb"(?P<more>(?:\n" + _TEXT + rb'(?<!\\n)","stream":"(?P=stream)"[^\n]*+)*+)'
    rb"(?:\n(?P<last>" + _TEXT + rb')","stream":"(?P=stream)"[^\n]*+)?+',
    re.MULTILINE,
)
_DOCKER_PART = re.compile(rb'\n\{"log":"')


def whole(data: bytes) -> bytes:
    """Give a block whose cut lines are whole, as far as their parts follow one another in it."""
    if any(mark in data for mark in _UNFINISHED):
        data = _CRI.sub(_cri, data)
    if data.count(_STREAM) != data.count(_ENDED):
        data = _DOCKER.sub(_docker, data)
    return data


def _cri(found: re.Match[bytes]) -> bytes:
    head, text, more, last = found["head"], found["text"], found["more"], found["last"]
    empty = b"\n" * found.group().count(b"\n")
    return b"".join((head, b"P " if last is None else b"F ", text, _CRI_PART.sub(b"", more), last or b"", empty))


def _docker(found: re.Match[bytes]) -> bytes:
    more = b"".join(part.partition(_STREAM)[0] for part in _DOCKER_PART.split(found["more"]))
    last = (found["last"] or b"").removeprefix(b'{"log":"')
    return b"".join((found["text"], more, last, found["tail"], b"\n" * found.group().count(b"\n")))
