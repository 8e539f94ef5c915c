"""Options that several commands share, and parsers for their values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, NamedTuple, get_type_hints

import typer

from kvdiag.analysis.finding_filters import severity_of
from kvdiag.base.clock import moment, time_of_day, zone_offset
from kvdiag.base.errors import UsageError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.model.options import Options
from kvdiag.model.values import Severity

LEVELS = tuple(severity.label for severity in Severity)


def choices(values: Sequence[str]) -> str:
    """Return what the help shows for an option that takes one of these: `[info|low]`."""
    return f"[{'|'.join(values)}]"


Paths = Annotated[
    list[str] | None, typer.Argument(metavar="PATH", help="Files, folders, archives, or - for stdin (default).")
]
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
Also = Annotated[
    list[str] | None,
    typer.Option("--also", metavar="FORMAT=FILE", help="Write the report in this format into a file, too. Repeatable."),
]
OutputFile = Annotated[Path | None, typer.Option("--output-file", metavar="FILE", help="Write the report here.")]
NoPager = Annotated[bool, typer.Option("--no-pager", help="Print at once (also $KVDIAG_PAGER, $PAGER).")]
NoRedact = Annotated[bool, typer.Option("--no-redact", help="Show passwords, tokens and keys found in the logs.")]


class LogOptions(NamedTuple):
    """Which lines are read, with which rules, and how their time is read."""

    since: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Only events after this time: RFC 3339, '2 hours ago', -3h, or 20:31 on the last day of the logs.",
        ),
    ] = ""
    until: Annotated[str, typer.Option(metavar="TIME", help="Only events before this time.")] = ""
    patterns: PatternFolders = None
    year: Annotated[
        int | None,
        typer.Option(
            metavar="YEAR", help="Year of the first line, for logs whose timestamps have no year.", min=1990, max=2200
        ),
    ] = None
    tz: Annotated[
        str, typer.Option(metavar="ZONE", help="Time zone, for logs whose timestamps have none: +08:00, Asia/Shanghai.")
    ] = ""
    jobs: Annotated[
        int,
        typer.Option(
            "-j", "--jobs", metavar="N", min=0, help="Read logs with N processes; 0: one for each core, up to 8."
        ),
    ] = 0

    def of(self, paths: Sequence[str] | None) -> Options:
        """Return the options for these paths. Raise UsageError for an invalid value."""
        east = parse_zone(self.tz)
        since_clock, until_clock = (time_of_day(text, east or 0) for text in (self.since, self.until))
        return Options(
            paths=tuple(paths or ()),
            since=parse_time("--since", self.since, east) if since_clock is None else None,
            until=parse_time("--until", self.until, east) if until_clock is None else None,
            since_clock=since_clock,
            until_clock=until_clock,
            patterns=folders(self.patterns),
            year=self.year,
            zone=east,
            jobs=self.jobs,
        )


class FindingOptions(NamedTuple):
    """Which findings are reported."""

    namespace: Annotated[
        str, typer.Option("-n", "--namespace", metavar="NAME", help="Only findings of this namespace.")
    ] = ""
    pod: Annotated[str, typer.Option(metavar="NAME", help="Only findings of this pod: name, ns/name or UID.")] = ""
    volume: Annotated[str, typer.Option(metavar="NAME", help="Only findings of this volume: PV name or handle.")] = ""
    node: Annotated[str, typer.Option(metavar="NAME", help="Only findings of this node.")] = ""
    severity: Annotated[str, typer.Option(metavar=choices(LEVELS), help="Only findings of this severity or above.")] = (
        Severity.INFO.label
    )
    rule: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="Only this rule, by id or name. Repeatable.")
    ] = None
    component: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VERSION", help="Component version not found in the logs: kubelet=1.29.3."),
    ] = None
    show_possible: Annotated[
        bool, typer.Option("--show-possible/--hide-possible", help="Show or hide findings the logs cannot confirm.")
    ] = True
    baseline: Annotated[Path | None, typer.Option(metavar="FILE", help="Leave out findings of this baseline.")] = None
    write_baseline: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a baseline of the findings; exit 0.")
    ] = None
    suppressions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Leave out what this file lists with reason and expiry.")
    ] = None
    limit_seconds: Limit = None

    def added(self, options: Options) -> Options:
        """Return the options with these filters. Raise UsageError for an invalid value."""
        return options._replace(
            namespace=self.namespace,
            pod=self.pod,
            volume=self.volume,
            node=self.node,
            rules=tuple(self.rule or ()),
            severity=severity_of(self.severity, "--severity"),
            components=parse_components(self.component),
            show_possible=self.show_possible,
            limit=self.limit_seconds,
        )


class PrintOptions(NamedTuple):
    """How the output is printed."""

    verbose: Annotated[
        int, typer.Option("-v", "--verbose", count=True, help="Print whole evidence lines, look-alikes and references.")
    ] = 0
    no_color: Annotated[bool, typer.Option("--no-color", help="No colour (also NO_COLOR).")] = False
    no_pager: NoPager = False
    no_redact: NoRedact = False

    @property
    def switches(self) -> dict[str, bool]:
        """Return what `open_output` takes of them."""
        return {"no_color": self.no_color, "no_pager": self.no_pager, "no_redact": self.no_redact}


def grouped(*without: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command an option for each field of its parameters that are groups of options.

    Fields named `without` keep their defaults.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters: list[Parameter] = []
        groups: dict[str, Any] = {}
        for parameter in signature(command, eval_str=True).parameters.values():
            if hasattr(parameter.annotation, "_field_defaults"):
                options = [one for one in _options_in(parameter.annotation) if one.name not in without]
                groups[parameter.name] = (parameter.annotation, [one.name for one in options])
                parameters += options
            else:
                parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))

        def run(**values: object) -> None:
            for name, (group, keys) in groups.items():
                values[name] = group(**{key: values.pop(key) for key in keys})
            command(**values)

        run.__doc__ = command.__doc__
        run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # typer reads the parameters from it
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def _options_in(group: Any) -> Iterator[Parameter]:  # noqa: ANN401 (the type of a NamedTuple)
    hints = get_type_hints(group, include_extras=True)
    for name, default in group._field_defaults.items():
        yield Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hints[name])


def folders(patterns: Sequence[Path] | None) -> tuple[Path, ...]:
    """Return the folders of `--patterns` without duplicates. Raise UsageError for one that does not exist.

    Folders within the built-in patterns are loaded anyway: in a checkout, `--patterns patterns` adds nothing.
    """
    builtin, found = builtin_patterns().resolve(), dict[Path, Path]()
    for folder in patterns or ():
        if not folder.is_dir():
            raise UsageError(f"--patterns {folder}: no such folder")
        resolved = folder.resolve()
        if not resolved.is_relative_to(builtin):
            found.setdefault(resolved, folder)
    return tuple(found.values())


def parse_also(words: Sequence[str] | None) -> tuple[tuple[str, Path], ...]:
    """Parse `sarif=kvdiag.sarif` into ("sarif", Path("kvdiag.sarif")). Raise UsageError for another form."""
    pairs = [word.partition("=") for word in words or ()]
    for output, _, path in pairs:
        if not output or not path:
            raise UsageError(f"--also {output}: write FORMAT=FILE, such as sarif=kvdiag.sarif")
    return tuple((output, Path(path)) for output, _, path in pairs)


def parse_components(words: Sequence[str] | None) -> dict[str, str]:
    """Parse `kubelet=1.29.3` into {"kubelet": "1.29.3"}. Raise UsageError for another form."""
    versions: dict[str, str] = {}
    for word in words or ():
        name, equals, version = word.partition("=")
        if not equals or not name or not version[:2].lstrip("v")[:1].isdigit():
            raise UsageError(f"--component {word}: write name=version, such as kubelet=1.29.3")
        versions[name] = version
    return versions


def parse_zone(text: str) -> int | None:
    """Return `--tz` in microseconds east of UTC; None if it is not given."""
    return _read("--tz", text, lambda: zone_offset(text, datetime.now(UTC)))


def parse_time(option: str, text: str, east: int | None) -> int | None:
    """Return `--since` or `--until` in microseconds UTC; None if it is not given."""
    return _read(option, text, lambda: moment(text, datetime.now(UTC), east or 0))


def _read(option: str, text: str, read: Callable[[], int]) -> int | None:
    if not text:
        return None
    try:
        return read()
    except ValueError as error:
        raise UsageError(f"{option}: {error}") from None
