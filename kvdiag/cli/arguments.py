"""Options that several commands share, and how their words become values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from kvdiag.clock import moment, zone_offset
from kvdiag.errors import UsageError
from kvdiag.model.options import Options
from kvdiag.model.values import Severity

Paths = Annotated[
    list[str] | None, typer.Argument(metavar="PATH", help="Files, folders, archives, or - for stdin (default).")
]
YearOption = Annotated[
    int | None, typer.Option(help="Year of the first line, for logs whose timestamps have no year.", min=1990, max=2200)
]
ZoneOption = Annotated[
    str,
    typer.Option("--tz", metavar="ZONE", help="Time zone, for logs whose timestamps have none: +08:00, Asia/Shanghai."),
]
Since = Annotated[str, typer.Option(help="Only events after this time: RFC 3339, '2 hours ago', -3h.")]
Until = Annotated[str, typer.Option(help="Only events before this time.")]
PatternFolders = Annotated[
    list[Path] | None, typer.Option(metavar="DIR", help="Load more rules from this folder. Repeatable.")
]
Follow = Annotated[
    bool, typer.Option("--follow", help="Keep reading; print each finding when it is confirmed and when it is over.")
]
Limit = Annotated[
    float | None,
    typer.Option(
        "--limit-seconds", metavar="N", min=0.1, help="Stop reading after N seconds, report what was not read, exit 3."
    ),
]
NoRedact = Annotated[bool, typer.Option("--no-redact", help="Show passwords, tokens and keys found in the logs.")]


def options_of(
    paths: Sequence[str] | None,
    patterns: Sequence[Path] | None = None,
    year: int | None = None,
    tz: str = "",
    since: str = "",
    until: str = "",
) -> Options:
    """What the shared options say. Raises UsageError for a word that means nothing."""
    east = zone(tz)
    return Options(
        paths=tuple(paths or ()),
        since=point("--since", since, east),
        until=point("--until", until, east),
        patterns=folders(patterns),
        year=year,
        zone=east,
    )


def folders(patterns: Sequence[Path] | None) -> tuple[Path, ...]:
    """The folders of `--patterns`. Raises UsageError for one that is none."""
    for folder in patterns or ():
        if not folder.is_dir():
            raise UsageError(f"--patterns {folder}: no such folder")
    return tuple(patterns or ())


def components(words: Sequence[str] | None) -> dict[str, str]:
    """`kubelet=1.29.3` → {"kubelet": "1.29.3"}. Raises UsageError for another shape."""
    said: dict[str, str] = {}
    for word in words or ():
        name, equals, version = word.partition("=")
        if not equals or not name or not version[:2].lstrip("v")[:1].isdigit():
            raise UsageError(f"--component {word}: write name=version, such as kubelet=1.29.3")
        said[name] = version
    return said


def severity_of(word: str) -> Severity:
    """`--severity`. Raises UsageError for a word that is none."""
    known = [severity.label for severity in Severity]
    if word not in known:
        raise UsageError(f"--severity {word}: unknown severity; choose from {', '.join(known)}")
    return Severity.of(word)


def zone(text: str) -> int | None:
    """`--tz` in microseconds east of UTC; None when it was not given."""
    return _read("--tz", text, lambda: zone_offset(text, datetime.now(UTC)))


def point(option: str, text: str, east: int | None) -> int | None:
    """`--since` and `--until` in microseconds UTC; None when not given."""
    return _read(option, text, lambda: moment(text, datetime.now(UTC), east or 0))


def _read(option: str, text: str, read: Callable[[], int]) -> int | None:
    if not text:
        return None
    try:
        return read()
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
