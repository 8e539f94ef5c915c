"""Groups of options become options of a command, in the order in which it names them."""

from __future__ import annotations

from inspect import signature
from typing import Annotated, NamedTuple

import typer

from kvdiag.cli.arguments import grouped


class Group(NamedTuple):
    """Two options."""

    size: Annotated[int, typer.Option(help="Size.")] = 1
    verbose: Annotated[bool, typer.Option(help="More.")] = False


def test_options_of_a_group():
    """The group's options stand where the command names it, but for those it leaves out."""
    seen = []

    @grouped("verbose")
    def command(*, first: str = "", group: Group, verbose: int = 0) -> None:
        """Show."""
        seen.append((first, group, verbose))

    command(first="a", size=2, verbose=3)
    assert list(signature(command).parameters) == ["first", "size", "verbose"]
    assert seen == [("a", Group(2), 3)]
    assert command.__doc__ == "Show."
