"""Logs that are long because the same happens again and again: hours later, to other things."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from functools import cache

KLOG = re.compile(rb"(?m)^([IWEF])(\d{4} \d\d):")
RETRY = re.compile(rb"until \d{4}-(\d\d-\d\d \d\d)(:\d\d:\d\d\.\d+ \+0000 UTC)")
IDENTITY = re.compile(rb"\b[0-9a-f]{8}(?=-[0-9a-f]{4}-[0-9a-f]{4}-|[0-9a-f]{56}\b)")
FIGURES = re.compile(rb"\d+")
YEAR = 2026


def again(text: bytes, number: int, hours: int = 1) -> bytes:
    """Give a klog text of `YEAR` so many times `hours` later, or earlier; UIDs and ids of containers are others."""
    later = timedelta(hours=number * hours)

    def header(found: re.Match[bytes]) -> bytes:
        return found[1] + moved(found[2], "%m%d %H") + b":"

    def retry(found: re.Match[bytes]) -> bytes:
        return b"until %d-" % YEAR + moved(found[1], "%m-%d %H") + found[2]

    @cache
    def moved(said: bytes, shape: str) -> bytes:
        at = datetime.strptime(f"{YEAR} {said.decode()}", f"%Y {shape}").replace(tzinfo=UTC)
        return (at + later).strftime(shape).encode()

    def other(found: re.Match[bytes]) -> bytes:
        return b"%08x" % ((int(found[0], 16) + number * 0x10001) % (1 << 32))

    return IDENTITY.sub(other, RETRY.sub(retry, KLOG.sub(header, text)))


def repeated(text: bytes, times: range, hours: int = 1) -> bytes:
    """Give the text once for each number of `times`."""
    return b"".join(again(text, number, hours) for number in times)


def thinned(text: bytes, first: int, every: int = 1 << 30) -> bytes:
    """Give a text without most repeats: of lines that differ in figures alone the first few, the last, and ever rarer ones.

    With `every`, also one of so many.
    """
    alike: defaultdict[bytes, list[int]] = defaultdict(list)
    lines = text.splitlines(keepends=True)
    for place, line in enumerate(lines):
        alike[FIGURES.sub(b"0", line)].append(place)
    kept = set()
    for places in alike.values():
        kept.update(at for nth, at in enumerate(places, 1) if nth <= first or nth.bit_count() == 1 or nth % every == 0)
        kept.add(places[-1])
    return b"".join(lines[place] for place in sorted(kept))
