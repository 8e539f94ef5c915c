"""Logs of any size that do not repeat: each copy of a sample is later, and about other pods, volumes and containers.

    bench/fresh.py sample-logs/healthy-csi-volume/kubelet.log.gz 100 OUT

A log repeated byte for byte is answered from what kvdiag remembers of lines; no node writes such a log. Here times move
on with each copy, UUIDs and ids of containers are hashed anew, and names of pods get another end. What was one thing
stays one thing within a copy.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

YEAR = 2026
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
PATTERNS = {
    "klog": rb"(?<![0-9A-Za-z])[IWEF]\d{4} \d\d:\d\d:\d\d(?=\.\d{6} )",
    "iso": rb"20\d\d-\d\d-\d\d[T ]\d\d:\d\d:\d\d",
    "short": rb"(?:" + "|".join(MONTHS).encode() + rb") [ \d]\d \d\d:\d\d:\d\d",
    "micros": rb'(?<=_TIMESTAMP":")1\d{15}',
    "uuid": rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "hex": rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])",
}
POD = re.compile(rb'pods?\\*"?[=:]\[?\\*"[-a-z0-9]+/([-a-z0-9]{3,60})\\*"|PodSandboxMetadata\{Name:([-a-z0-9]{3,60}),')


class Piece(NamedTuple):
    """A piece of the text that is another in each copy: what kind of thing it is, and how it is spelled."""

    kind: str
    text: bytes


def fresh(text: bytes, size: int) -> Iterator[bytes]:
    """Give copies of a log, each about other things, until there are `size` bytes."""
    chunks, order, distinct = taken_apart(text if text.endswith(b"\n") else text + b"\n")
    moments = [read(piece) for piece in distinct if piece.kind in TIMES]
    lasts = max(moments) - min(moments) + timedelta(minutes=1) if moments else timedelta(hours=1)
    written, number = 0, 0
    while written < size:
        made = {piece: another(piece, lasts * number, number) for piece in distinct}
        copy = b"".join(
            part for pair in zip(chunks, [*(made[one] for one in order), b""], strict=True) for part in pair
        )
        yield copy
        written, number = written + len(copy), number + 1


def taken_apart(text: bytes) -> tuple[list[bytes], list[Piece], set[Piece]]:
    """Give what stays the same, and between it the pieces that change, in order and each once."""
    names = {name for found in POD.finditer(text) for name in found.groups() if name}
    pod = b"|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    kinds = PATTERNS | ({"name": rb"(?<![-a-z0-9.])(?:" + pod + rb")(?![-a-z0-9])"} if names else {})
    pattern = re.compile(b"|".join(b"(?P<%b>%b)" % (kind.encode(), regex) for kind, regex in kinds.items()))
    chunks, order, at = [], [], 0
    for found in pattern.finditer(text):
        chunks.append(text[at : found.start()])
        order.append(Piece(found.lastgroup or "", found[0]))
        at = found.end()
    return [*chunks, text[at:]], order, set(order)


def another(piece: Piece, later: timedelta, number: int) -> bytes:
    """Give what stands in a copy in the place of a piece."""
    if piece.kind in TIMES:
        return TIMES[piece.kind](piece.text, read(piece) + later)
    hashed = hashlib.sha256(b"%d %b" % (number, piece.text)).hexdigest()
    if piece.kind == "hex":
        return hashed.encode()
    if piece.kind == "uuid":
        return "-".join((hashed[:8], hashed[8:12], hashed[12:16], hashed[16:20], hashed[20:32])).encode()
    return piece.text[:-2] + hashed[:6].encode()


def read(piece: Piece) -> datetime:
    """Give the moment of a piece that is a time; in any zone, since only the distance counts."""
    said = piece.text.decode()
    if piece.kind == "micros":
        return datetime(1970, 1, 1) + timedelta(microseconds=int(said))  # noqa: DTZ001
    if piece.kind == "short":
        said = f"{YEAR}-{MONTHS.index(said[:3]) + 1:02}-{said[4:6].strip():0>2}T{said[7:]}"
    elif piece.kind == "klog":
        said = f"{YEAR}-{said[1:3]}-{said[3:5]}T{said[6:]}"
    return datetime.fromisoformat(said)


TIMES: dict[str, Callable[[bytes, datetime], bytes]] = {
    "klog": lambda text, moment: text[:1] + moment.strftime("%m%d %H:%M:%S").encode(),
    "iso": lambda text, moment: moment.strftime(f"%Y-%m-%d{chr(text[10])}%H:%M:%S").encode(),
    "short": lambda _text, moment: f"{MONTHS[moment.month - 1]} {moment.day:2} {moment:%H:%M:%S}".encode(),
    "micros": lambda _text, moment: b"%d" % ((moment - datetime(1970, 1, 1)) // timedelta(microseconds=1)),  # noqa: DTZ001
}


def text_of(log: Path) -> bytes:
    """Read a log, unpacked."""
    packed = log.read_bytes()
    return gzip.decompress(packed) if packed.startswith(b"\x1f\x8b") else packed


def main() -> None:
    """Write a log of so many MB."""
    log, size, out = sys.argv[1:]
    with Path(out).open("wb") as file:
        file.writelines(fresh(text_of(Path(log)), int(float(size) * 1e6)))


if __name__ == "__main__":
    main()
