"""The short form, `kvdiag analyze [-q] [-o json|text] [--fail-on LEVEL] [PATH]...`, without typer.

typer and what it brings take 0.1 to 0.2 s of CPU to start, three times as long as the analysis of a small log. The form
that scripts and people at 3 a.m. use goes past it; anything else, help and errors included, is typer's. The names of
its options stand here alone: `kvdiag.cli.analyze` gives them to typer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

COMPLETES = "_KVDIAG_COMPLETE"  # by which a shell asks for words
OUTPUTS = ("json", "text")
OUTPUT, FAIL_ON, QUIET = ("-o", "--output"), ("--fail-on",), ("-q", "--quiet")
_VALUED = {name: field for field, names in (("output", OUTPUT), ("fail_on", FAIL_ON)) for name in names}


class ShortForm(NamedTuple):
    """What the short form says; what it does not say is absent from `said`, so that defaults are those of typer's."""

    paths: tuple[str, ...]
    values: dict[str, str]
    quiet: bool


def short_form(arguments: Sequence[str]) -> ShortForm | None:
    """What the arguments say when they are of the short form, else None."""
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
    """Analyse and give the exit code."""
    from kvdiag.cli.analysis import OutputOptions, run_analysis
    from kvdiag.model.options import Options

    usual = OutputOptions()
    output, fail_on = form.values.get("output", usual.output), form.values.get("fail_on", usual.fail_on)
    return run_analysis(Options(paths=form.paths), usual._replace(output=output, fail_on=fail_on, quiet=form.quiet))
