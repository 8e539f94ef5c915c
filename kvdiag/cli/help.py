"""Help texts: arguments are named as in other programs, and user input in errors is escaped."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from kvdiag.base.regex import lazy_regex
from kvdiag.cli.examples import EXAMPLES

PLAIN: Any = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}
"""How typer shows help and errors: as text, without boxes."""
_LIST = lazy_regex(r"<list\[(\w+)\]>")
LONGEST = 500  # characters of an error, which may repeat user input
# The class of errors that typer prints without a traceback; it has no public name.
_USAGE_ERROR: Any = typer.BadParameter.__mro__[2]


class Command(TyperCommand):
    """A command whose help says `[PATH]...` where typer says `[PATH]` or `PATH <list[str]>`."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401  # typer brings its own click, or not
        """Return the text after the command's name in its usage line."""
        arguments = [_name(param) for param in self.get_params(ctx) if param.param_type_name == "argument"]
        return ["[OPTIONS]", *arguments]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  # as above
        """Print arguments, then options."""
        for title, records in records_of(self, ctx).items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401  # as above
        """Print examples on one line each whatever their length, so that they can be copied."""
        examples = EXAMPLES.get(_words(ctx), ())
        if examples:
            with formatter.section("Examples"):
                lines = [
                    f"{' ' * formatter.current_indent}{line}\n"
                    for description, run in examples
                    for line in (f"# {description}", run)
                ]
                formatter.write("".join(lines))


SECTIONS: Mapping[str, str] = {
    **dict.fromkeys(("follow", "limit_seconds", "jobs", "patterns", "year", "tz", "component"), "Input"),
    **dict.fromkeys(("since", "until", "namespace", "pod", "volume", "node", "severity", "rule"), "Filters"),
    "show_possible": "Filters",
    **dict.fromkeys(("fail_on", "baseline", "write_baseline", "suppressions"), "CI"),
    **dict.fromkeys(
        ("output", "output_file", "also", "quiet", "verbose", "no_color", "no_pager", "no_redact"), "Output"
    ),
}
"""By parameter the section of an option, in commands with very many."""
MANY = 15  # options that are shown in sections


def records_of(command: Any, ctx: Any) -> dict[str, list[tuple[str, str]]]:  # noqa: ANN401  # as above
    """Return arguments and options with their help texts by section, in the order of the sections."""
    rows: dict[str, list[tuple[str, str]]] = {
        title: [] for title in ("Arguments", *dict.fromkeys(SECTIONS.values()), "Options")
    }
    params = command.get_params(ctx)
    sections = SECTIONS if len(params) > MANY else {}
    for param in params:
        record = param.get_help_record(ctx)
        if record is not None and param.param_type_name == "argument":
            rows["Arguments"].append((_name(param), record[1]))
        elif record is not None:
            rows[sections.get(param.name, "Options")].append((_LIST.sub(r"<\1>", record[0]), record[1]))
    return rows


def _words(ctx: Any) -> str:  # noqa: ANN401  # as above
    """Return the name of a command below the program: `rules list`."""
    names: list[str] = []
    while ctx.parent is not None:
        names.insert(0, ctx.info_name)
        ctx = ctx.parent
    return " ".join(names)


class Group(TyperGroup):
    """All commands. Error messages of typer that repeat user input are escaped."""

    def make_context(self, *args: Any, **more: Any) -> Any:  # noqa: ANN401  # as of typer
        """Parse the options of the group."""
        with _cleaned():
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401  # as of typer
        """Parse the options of the command, and run it."""
        with _cleaned():
            return super().invoke(ctx)


@contextlib.contextmanager
def _cleaned() -> Iterator[None]:
    try:
        yield
    except _USAGE_ERROR as error:
        from kvdiag.safe.clean import clean  # imported here: help pages do not need it

        error.message = clean(error.message[:LONGEST], redact=False, newlines=True)
        raise


def _name(param: Any) -> str:  # noqa: ANN401  # as of typer
    name = f"[{param.metavar or param.name.upper()}]" if not param.required else param.metavar or param.name.upper()
    return f"{name}..." if param.nargs != 1 else name
