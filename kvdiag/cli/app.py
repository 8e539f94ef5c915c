"""The commands. Each is imported and built on use: one takes 40 ms, all of them 300."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from kvdiag import __version__
from kvdiag.cli.help import PLAIN, Command, Group

COMMANDS: Mapping[str, str] = {
    "analyze": "Find the root cause in node logs.",
    "check": "Check logs in CI: one line per finding, exit 1 from high on.",
    "timeline": "Show what happened to one pod, volume, sandbox or node.",
    "compare": "Show where two pods, volumes or logs diverge.",
    "pods": "List pods: last state, since when, retries, findings.",
    "volumes": "List volumes: driver, last state, retries, findings.",
    "errors": "Group warnings and errors; show which are unexplained.",
    "parse": "Print every log record as JSON lines.",
    "events": "Print recognized events as JSON lines.",
    "collect": "Collect the logs of this node as one archive.",
    "redact": "Remove secrets from logs so that they can be shared.",
    "explain": "Explain a topic, rule, capability, event, RPC, reason or line.",
    "mcp": "Serve agents over the Model Context Protocol.",
    "fleet": "Analyze the bundles of many nodes, and query them.",
    "completion": "Print the completion script of a shell.",
    "rules": "List, show and test the rules, or write your own.",
    "version": "Print the version.",
}
"""The list of `kvdiag --help`: the first sentence of each command's help. `kvdiag.cli.NAME` defines the command."""
GROUPS = frozenset({"fleet", "rules"})
HIDDEN = frozenset({"help"})

app = typer.Typer(
    name="kvdiag",
    help="Find the root cause of kubelet, containerd and CSI failures in node logs.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    **PLAIN,
)


class _Commands(Mapping[str, Any]):
    """The commands by name, built on access."""

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401  # a type of click's, which typer brings
        if name not in COMMANDS and name not in HIDDEN:
            raise KeyError(name)
        return _build_command(name)

    def __iter__(self) -> Iterator[str]:
        yield from (*COMMANDS, *HIDDEN)

    def __len__(self) -> int:
        return len(COMMANDS) + len(HIDDEN)


class Root(Group):
    """All commands, listed without importing them. A file or folder instead of a command is analyzed."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401  # as of typer
        """Treat `kvdiag kubelet.log` as `kvdiag analyze kubelet.log`."""
        is_path = args[0] not in COMMANDS and args[0] not in HIDDEN and Path(args[0]).exists()
        return super().resolve_command(ctx, ["analyze", *args] if is_path else args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002  # as of typer
        """Print each command with its help text."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@cache
def _build_command(name: str) -> Any:  # noqa: ANN401  # as above
    if name in GROUPS:
        return typer.main.get_group(import_module(f"kvdiag.cli.{name}").app)
    local_commands = {"version": _version, "help": _help}
    one = typer.Typer(**PLAIN)
    definition = local_commands[name] if name in local_commands else import_module(f"kvdiag.cli.{name}").command
    one.command(name, cls=Command, hidden=name in HIDDEN)(definition)
    return typer.main.get_command(one)


def _version() -> None:
    """Print the version."""
    typer.echo(f"kvdiag {__version__}")


def _help(words: Annotated[list[str] | None, typer.Argument(metavar="COMMAND")] = None) -> None:
    """Show the help of kvdiag or of a command."""
    command()([*(words or []), "--help"], prog_name="kvdiag")


@app.callback(cls=Root, invoke_without_command=True)
def _root(
    version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True),
) -> None:
    if version:
        typer.echo(f"kvdiag {__version__}")
        raise typer.Exit


@cache
def command() -> Any:  # noqa: ANN401  # as above
    """Return typer's command line."""
    group = typer.main.get_command(app)
    group.commands = _Commands()  # type: ignore[attr-defined]  # of a group, as it has a callback
    return group
