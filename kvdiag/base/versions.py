"""Versions as components print them, and ranges such as `<1.29.13 || >=1.30 <1.30.9`.

    v1.29.3   1.7.2-0ubuntu1   1.6.20~ds1   v1.28.9+k3s1   v1.30.8-eks-2d5f260

Only the upstream part is compared; the tail is kept, since a vendor may have backported fixes.
A range is a union of half-open intervals, so that ranges can be intersected and compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from kvdiag.base.errors import PatternError
from kvdiag.base.regex import lazy_regex

_VERSION = lazy_regex(r"v?(\d+)\.(\d+)(?:\.(\d+))?(.*)", re.DOTALL)
_COMPARATOR = lazy_regex(r"(<=|>=|<|>|==?)?\s*v?(\d+)(?:\.(\d+))?(?:\.(\d+))?$")
_PRERELEASE = lazy_regex(r"-(?:alpha|beta|rc)\b.*", re.DOTALL)
_FIRST, _LAST = (0, 0, 0), (1 << 30, 0, 0)

Triple = tuple[int, int, int]


class Version(NamedTuple):
    """The upstream part of a version, and the tail that a vendor or a pre-release added."""

    upstream: Triple
    tail: str

    @property
    def vendor(self) -> bool:
        """Return whether a vendor built it (`+37a9a08`, `-gke.100`, `~ds1`); it may contain fixes of newer versions."""
        return bool(self.tail) and not _PRERELEASE.fullmatch(self.tail)

    @property
    def plain(self) -> str:
        """Return the upstream part as text: `1.25.8`."""
        return ".".join(map(str, self.upstream))


class Interval(NamedTuple):
    """Versions from `low` up to, not including, `high`."""

    low: Triple
    high: Triple


Range = tuple[Interval, ...]


def read_version(text: str) -> Version | None:
    """Parse a printed version; return None if it has no number."""
    found = _VERSION.match(text.strip())
    if not found:
        return None
    major, minor, patch, tail = found.groups()
    return Version((int(major), int(minor), int(patch or 0)), tail)


def read_range(text: str, place: str = "") -> Range:
    """Parse comparators joined by spaces or commas (and) and `||` (or). Raises PatternError on anything else."""
    intervals: list[Interval] = []
    for alternative in text.split("||"):
        joined: Range = (Interval(_FIRST, _LAST),)
        words = re.sub(r"(<=|>=|<|>|=)\s+", r"\1", alternative).replace(",", " ").split()
        if not words:
            raise PatternError(place, f"empty version range in {text!r}; write for example '>=1.22 <1.27'")
        for word in words:
            joined = intersection(joined, (_comparator(word, text, place),))
        if not joined:
            raise PatternError(place, f"no version lies in {alternative.strip()!r}")
        intervals.extend(joined)
    return _merged(intervals)


def _comparator(word: str, text: str, place: str) -> Interval:
    found = _COMPARATOR.match(word)
    if not found:
        raise PatternError(
            place, f"cannot read {word!r} in the version range {text!r}", text, max(0, text.find(word)), len(word)
        )
    operator, major, minor, patch = found.groups()
    low = (int(major), int(minor or 0), int(patch or 0))
    match operator:
        case "<":
            return Interval(_FIRST, low)
        case "<=":
            return Interval(_FIRST, _after(found))
        case ">":
            return Interval(_after(found), _LAST)
        case ">=":
            return Interval(low, _LAST)
        case _:
            return Interval(low, _after(found))


def _after(found: re.Match[str]) -> Triple:
    """Return the version after all that match: 1.27.3 after `1.27.2`, 1.28.0 after `1.27`, 2.0.0 after `1`."""
    _, major, minor, patch = found.groups()
    if minor is None:
        return (int(major) + 1, 0, 0)
    return (int(major), int(minor) + 1, 0) if patch is None else (int(major), int(minor), int(patch) + 1)


def _merged(intervals: Iterable[Interval]) -> Range:
    """Merge intervals that touch, so that equal ranges compare equal."""
    merged: list[Interval] = []
    for interval in sorted(intervals):
        if merged and interval.low <= merged[-1].high:
            merged[-1] = Interval(merged[-1].low, max(merged[-1].high, interval.high))
        else:
            merged.append(interval)
    return tuple(merged)


def intersection(left: Range, right: Range) -> Range:
    """Return the versions that are in both ranges."""
    both = (Interval(max(a.low, b.low), min(a.high, b.high)) for a in left for b in right)
    return _merged(i for i in both if i.low < i.high)


def contains(span: Range, version: Version) -> bool:
    """Return whether the upstream part of a version is in the range."""
    return any(i.low <= version.upstream < i.high for i in span)


def is_subset(inner: Range, outer: Range) -> bool:
    """Return whether every version of `inner` is in `outer`."""
    return bool(inner) and intersection(inner, outer) == inner


def format_range(span: Range) -> str:
    """Return a range for people: `1.22–1.26`, `≥ 1.27`, `< 1.35`."""
    return " or ".join(_format_interval(i) for i in span)


def write_range(span: Range) -> str:
    """Return a range in the syntax of `read_range`; empty for an empty range."""
    return " || ".join(" ".join(_comparators(interval)) for interval in span)


def _comparators(interval: Interval) -> list[str]:
    low = [f">={'.'.join(map(str, interval.low))}"] if interval.low != _FIRST or interval.high == _LAST else []
    return low + ([f"<{'.'.join(map(str, interval.high))}"] if interval.high != _LAST else [])


def _format_interval(interval: Interval) -> str:
    low = ".".join(map(str, interval.low[:2] if not interval.low[2] else interval.low))
    high = ".".join(map(str, interval.high[:2] if not interval.high[2] else interval.high))
    if interval == Interval(_FIRST, _LAST):
        return "any version"
    if interval.high == _LAST:
        return f"≥ {low}"
    if interval.low == _FIRST:
        return f"< {high}"
    if interval.high == (*interval.low[:2], interval.low[2] + 1):
        return ".".join(map(str, interval.low))
    if interval.low[2] == interval.high[2] == 0 and interval.low[0] == interval.high[0]:
        last = f"{interval.high[0]}.{interval.high[1] - 1}"
        return low if last == low else f"{low}–{last}"
    return f"{low} – < {high}"
