"""The `kvdiag` command, and what its exits mean.

0 nothing at or above --fail-on · 1 findings at or above it · 2 wrong usage or a broken rule · 3 an input could not be
read, or nothing was understood · 130 interrupted. A closed pipe ends quietly.
"""

from __future__ import annotations

import os
import sys

import typer

from kvdiag import __version__
from kvdiag.cli import analyze, events, parse, rules
from kvdiag.errors import KvdiagError

INTERRUPTED = 130

app = typer.Typer(
    name="kvdiag",
    help="Find the root cause of kubelet, containerd and CSI failures in node logs.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("analyze")(analyze.command)
app.command("parse")(parse.command)
app.command("events")(events.command)
app.add_typer(rules.app, name="rules")


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    if version:
        typer.echo(f"kvdiag {__version__}")
        raise typer.Exit


def run() -> None:
    """Run the command line; every expected failure is one clear message, never a traceback."""
    try:
        app()
    except KvdiagError as error:
        _say(f"kvdiag: {error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        # whoever read our output has gone; nothing may be written any more, not even by the interpreter's own flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _say(message: str) -> None:
    from kvdiag.report.clean import clean

    sys.stderr.write(clean(message, newlines=True) + "\n")
