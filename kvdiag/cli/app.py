"""The commands, put together for typer."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer

from kvdiag import __version__
from kvdiag.cli import (
    analyze,
    check,
    compare,
    completion,
    errors,
    events,
    explain,
    mcp,
    parse,
    pods,
    redact,
    rules,
    timeline,
    volumes,
)
from kvdiag.cli.help import Command, Group

app = typer.Typer(
    name="kvdiag",
    cls=Group,
    help="Find the root cause of kubelet, containerd and CSI failures in node logs.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("analyze", cls=Command)(analyze.command)
app.command("check", cls=Command)(check.command)
app.command("timeline", cls=Command)(timeline.command)
app.command("compare", cls=Command)(compare.command)
app.command("pods", cls=Command)(pods.command)
app.command("volumes", cls=Command)(volumes.command)
app.command("errors", cls=Command)(errors.command)
app.command("parse", cls=Command)(parse.command)
app.command("events", cls=Command)(events.command)
app.command("redact", cls=Command)(redact.command)
app.command("explain", cls=Command)(explain.command)
app.command("mcp", cls=Command)(mcp.command)
app.command("completion", cls=Command)(completion.command)
app.add_typer(rules.app, name="rules")


@app.command("version", cls=Command)
def _version() -> None:
    """Print the version."""
    typer.echo(f"kvdiag {__version__}")


@app.command("help", cls=Command, hidden=True)
def _help(words: Annotated[list[str] | None, typer.Argument(metavar="COMMAND")] = None) -> None:
    """Show the help of kvdiag or of a command."""
    command()([*(words or []), "--help"], prog_name="kvdiag")


@app.callback(invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    if version:
        typer.echo(f"kvdiag {__version__}")
        raise typer.Exit


@cache
def command() -> Any:  # noqa: ANN401  # a type of click's, which typer brings
    """Give the command line that typer makes of these: it takes 20 ms, once."""
    return typer.main.get_command(app)
