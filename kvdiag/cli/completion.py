"""`kvdiag completion SHELL`: the script that makes a shell complete commands and options."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import completion

from kvdiag.base.errors import check_choice
from kvdiag.cli.fast import COMPLETES

SHELLS = ("bash", "zsh", "fish")


def command(shell: Annotated[str, typer.Argument(metavar="SHELL", help=f"{', '.join(SHELLS)}.")]) -> None:
    """Print the completion script of a shell."""
    check_choice("completion", shell, SHELLS, what="shell")
    script = completion.get_completion_script(  # type: ignore[attr-defined]  # typer has no public name for it
        prog_name="kvdiag", complete_var=COMPLETES, shell=shell
    )
    typer.echo(script)


def prepare() -> None:
    """Register the completion classes, when a shell asks for completion."""
    completion.completion_init()  # type: ignore[attr-defined]  # as above
