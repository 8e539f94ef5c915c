"""The short form, `kvdiag analyze [-q] [-o json|text] [--fail-on LEVEL] [PATH]...`, without typer.

typer and its dependencies take 0.1 to 0.2 s of CPU to import, three times as long as the analysis of a small log. The
form that scripts and people at 3 a.m. use avoids it; typer handles everything else, also help and errors. The names of
the options are defined only here: `kvdiag.cli.analyze` passes them to typer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

COMPLETES = "_KVDIAG_COMPLETE"  # the variable by which a shell requests completion
OUTPUTS = ("json", "text")
OUTPUT, FAIL_ON, QUIET = ("-o", "--output"), ("--fail-on",), ("-q", "--quiet")
_VALUED = {name: field for field, names in (("output", OUTPUT), ("fail_on", FAIL_ON)) for name in names}


class ShortForm(NamedTuple):
    """The arguments of the short form; missing ones are absent from `values`, so that typer's defaults apply."""

    paths: tuple[str, ...]
    values: dict[str, str]
    quiet: bool


def short_form(arguments: Sequence[str]) -> ShortForm | None:
    """Return the arguments if they have the short form, else None."""
    if not arguments or arguments[0] != "analyze":
        return None
    paths: list[str] = []
    values: dict[str, str] = {}
    quiet = False
    rest = iter(arguments[1:])
    for word in rest:
        if word in _VALUED:
            values[_VALUED[word]] = next(rest, "")
        elif word in QUIET:
            quiet = True
        elif word.startswith("-") and word != "-":
            return None
        else:
            paths.append(word)
    is_short = all(values.values()) and values.get("output", "text") in OUTPUTS
    return ShortForm(tuple(paths), values, quiet) if is_short else None


def run_short(form: ShortForm) -> int:
    """Analyze and return the exit code."""
    from kvdiag.cli.analysis import OutputOptions, run_analysis
    from kvdiag.model.options import Options

    usual = OutputOptions()
    output, fail_on = form.values.get("output", usual.output), form.values.get("fail_on", usual.fail_on)
    return run_analysis(
        Options(paths=form.paths, jobs=0), usual._replace(output=output, fail_on=fail_on, quiet=form.quiet)
    )
