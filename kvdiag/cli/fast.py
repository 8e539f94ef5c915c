"""The short form, `kvdiag analyze [-q] [-o json|text] [PATH]...`, without typer.

typer and what it brings take 0.1 to 0.2 s of CPU to start, three times as long as the analysis of a small log. The form
that scripts and people at 3 a.m. use goes past it; anything else, help and errors included, is typer's.
"""

from __future__ import annotations

from collections.abc import Sequence

OUTPUTS = ("json", "text")


def short_form(arguments: Sequence[str]) -> tuple[tuple[str, ...], str, bool] | None:
    """(paths, output, quiet) when the arguments are of the short form, else None."""
    if not arguments or arguments[0] != "analyze":
        return None
    paths: list[str] = []
    output, quiet = "text", False
    rest = iter(arguments[1:])
    for word in rest:
        if word in {"-o", "--output"}:
            output = next(rest, "")
            if output not in OUTPUTS:
                return None
        elif word in {"-q", "--quiet"}:
            quiet = True
        elif word.startswith("-") and word != "-":
            return None
        else:
            paths.append(word)
    return tuple(paths), output, quiet


def run_short(form: tuple[tuple[str, ...], str, bool]) -> int:
    """Analyse and give the exit code."""
    from kvdiag.cli.analysis import Showing, run_analysis
    from kvdiag.pipeline.options import Options

    paths, output, quiet = form
    return run_analysis(Options(paths=paths), Showing(output=output, quiet=quiet))
