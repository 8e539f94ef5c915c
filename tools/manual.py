"""Generate the manual from the command line: a man page, and a Markdown page with the help of each command.

python -m tools.manual roff > docs/kvdiag.1
python -m tools.manual markdown > docs/commands.md
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from kvdiag.base.regex import lazy_regex
from kvdiag.cli.examples import EXAMPLES
from kvdiag.cli.help import records_of

COLUMNS = 100
EXITS = (
    ("0", "no finding at or above --fail-on"),
    ("1", "a finding at or above --fail-on"),
    ("2", "wrong usage, or a broken rule"),
    ("3", "an input could not be read, or nothing was recognized; the rest was analyzed"),
    ("130", "interrupted"),
)
VARIABLES = (
    ("KVDIAG_PAGER, PAGER", "the pager for what is longer than the screen; empty or cat for none; else less"),
    ("NO_COLOR, FORCE_COLOR", "no colours, or colours also where the output is no terminal"),
    ("COLUMNS", "the width of what is printed to a file or a pipe"),
    ("KVDIAG_FAIL_ON, KVDIAG_BASELINE, ...", "any option that kvdiag.toml may set, in capitals"),
    ("XDG_CACHE_HOME", "where the compiled scanner is kept"),
)
FILES = (
    ("kvdiag.toml, pyproject.toml ([tool.kvdiag])", "options for analyze and check, from here up to the repository"),
)
_EDGE = lazy_regex(r"(?m)^([.'])")
Entry = tuple[str, Any, Any]  # the words of a command, itself and its context


def commands() -> Iterator[Entry]:
    """Yield each visible command in listed order; commands of a group follow each other."""
    import typer

    from kvdiag.cli.app import command
    from kvdiag.cli.kubectl import app

    yield from _commands_of("kvdiag", command())
    yield from _commands_of("kubectl kvdiag", typer.main.get_command(app))


def _commands_of(called: str, group: Any, parent: Any = None) -> Iterator[Entry]:  # noqa: ANN401  # types of click's, which typer brings
    context = group.make_context(
        called.rpartition(" ")[2] if parent else called,
        [],
        parent=parent,
        resilient_parsing=True,
        terminal_width=COLUMNS,
        max_content_width=COLUMNS,
    )
    for name, one in getattr(group, "commands", {}).items():
        if not one.hidden:
            yield from _commands_of(f"{called} {name}", one, context)
    if not hasattr(group, "commands"):
        yield called, group, context


def roff() -> str:
    """Return kvdiag(1)."""
    lines = [
        '.TH KVDIAG 1 "" "kvdiag" "User Commands"',
        ".SH NAME",
        r"kvdiag \- find the root cause of kubelet, containerd and CSI failures in node logs",
        ".SH SYNOPSIS",
        r".B kvdiag \fICOMMAND\fR [\fIOPTION\fR]... [\fIPATH\fR]...",
        ".SH COMMANDS",
    ]
    for called, one, context in commands():
        lines += _section(called, one, context)
    for title, rows in (("EXIT STATUS", EXITS), ("ENVIRONMENT", VARIABLES), ("FILES", FILES)):
        lines += [f".SH {title}", *(line for row in rows for line in _item(*row))]
    return "\n".join(lines) + "\n"


def _section(called: str, one: Any, context: Any) -> Iterator[str]:  # noqa: ANN401  # as above
    usage = " ".join(one.collect_usage_pieces(context))
    yield f".SS {_plain(called)}"
    yield rf"\fB{_plain(called)}\fR {_plain(usage)}"
    yield from (".PP", _plain(one.help))
    for record in chain.from_iterable(records_of(one, context).values()):
        yield from _item(*record)
    for description, run in EXAMPLES.get(called.partition("kvdiag ")[2], ()):
        yield from (".PP", _plain(f"{description}:"), ".PP", ".RS 4", ".nf", _plain(run), ".fi", ".RE")


def _item(name: str, description: str) -> Iterator[str]:
    yield from (".TP", rf"\fB{_plain(name)}\fR", _plain(description))


def _plain(text: str) -> str:
    """Escape text for roff: no requests, no escapes, and dashes that can be copied."""
    text = " ".join(text.split()).replace("\\", r"\e").replace("-", r"\-").replace("…", "...")
    return _EDGE.sub(r"\&\1", text)


def markdown() -> str:
    """Return the help of each command as Markdown."""
    lines = ["# Commands", "", "What `kvdiag COMMAND --help` prints; also `man kvdiag`, where the wheel was installed."]
    for called, one, context in commands():
        help_text = "\n".join(line.rstrip() for line in one.get_help(context).splitlines())
        lines += ["", f"## {called}", "", "```", help_text, "```"]
    return "\n".join(lines) + "\n"


FORMS: dict[str, Callable[[], str]] = {"roff": roff, "markdown": markdown}

if __name__ == "__main__":
    sys.stdout.write(FORMS[sys.argv[1]]())
