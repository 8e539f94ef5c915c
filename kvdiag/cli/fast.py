"""The short form, `kvdiag analyze [-q] [-o json|text] [--fail-on LEVEL] [PATH]...`, without typer.

typer and what it brings take 0.1 to 0.2 s of CPU to start, three times as long as the analysis of a small log. The form
that scripts and people at 3 a.m. use goes past it; anything else, help and errors included, is typer's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

OUTPUTS = ("json", "text")


class Short(NamedTuple):
    """What the short form says; an empty `fail_on` is the default."""

    paths: tuple[str, ...]
    output: str = "text"
    fail_on: str = ""
    quiet: bool = False


def short_form(arguments: Sequence[str]) -> Short | None:
    """What the arguments say when they are of the short form, else None."""
    if not arguments or arguments[0] != "analyze":
        return None
    paths: list[str] = []
    said = {"output": "text", "fail_on": ""}
    quiet = False
    rest = iter(arguments[1:])
    for word in rest:
        if word in {"-o", "--output"}:
            said["output"] = next(rest, "")
        elif word == "--fail-on":
            said["fail_on"] = next(rest, "")
            if not said["fail_on"]:
                return None
        elif word in {"-q", "--quiet"}:
            quiet = True
        elif word.startswith("-") and word != "-":
            return None
        else:
            paths.append(word)
    return Short(tuple(paths), **said, quiet=quiet) if said["output"] in OUTPUTS else None


def run_short(form: Short) -> int:
    """Analyse and give the exit code."""
    from kvdiag.cli.analysis import NEVER, OutputOptions, run_analysis
    from kvdiag.model.options import Options

    output_options = OutputOptions(output=form.output, fail_on=form.fail_on or NEVER, quiet=form.quiet)
    return run_analysis(Options(paths=form.paths), output_options)
