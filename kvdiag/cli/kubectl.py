"""`kubectl kvdiag node NAME…`: fetch the logs of nodes through the API server and analyze them locally."""

from __future__ import annotations

import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from kvdiag.base.clock import moment
from kvdiag.base.errors import KvdiagError, UsageError
from kvdiag.cli.analysis import FAIL_ON, NEVER, OutputOptions, run_analysis
from kvdiag.cli.arguments import PrintOptions, grouped
from kvdiag.cli.help import PLAIN, Command, Group
from kvdiag.cli.node_logs import Kubectl, collect
from kvdiag.cli.outlet import print_note
from kvdiag.model.options import Options
from kvdiag.report import REPORTS
from kvdiag.safe.clean import clean

SERVICES = ("kubelet", "containerd", "crio", "kern")
AT_ONCE = 8
NAME = re.compile(r"[A-Za-z0-9](?:[-_.@A-Za-z0-9]{0,251}[A-Za-z0-9])?")
app = typer.Typer(
    name="kubectl kvdiag",
    cls=Group,
    help="Analyze the logs of nodes through the API server.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    **PLAIN,
)


@app.callback()
def _root() -> None:
    """Accept a command, as kubectl does; there is only one."""


@app.command("node", cls=Command)
@grouped()
def node(
    *,
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="Nodes.")],
    since: Annotated[str, typer.Option(help="Logs after this time: RFC 3339, -3h.")] = "-1h",
    service: Annotated[
        list[str] | None, typer.Option(help=f"Only this service. Repeatable. [default: {', '.join(SERVICES)}]")
    ] = None,
    context: Annotated[str, typer.Option(help="Context of the kubeconfig.")] = "",
    kubeconfig: Annotated[str, typer.Option(help="Path of the kubeconfig.")] = "",
    save: Annotated[Path | None, typer.Option(metavar="DIR", help="Keep the logs in this folder.")] = None,
    output: Annotated[str, typer.Option("-o", "--output", help=f"{', '.join(REPORTS)}.")] = "text",
    fail_on: Annotated[str, typer.Option(help=f"Exit 1 at this severity: {', '.join(FAIL_ON)}.")] = NEVER,
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print findings only.")] = False,
    printing: PrintOptions,
) -> None:
    """Fetch the logs of nodes with kubelet's log query, and find the root cause in them."""
    try:
        begins = datetime.fromtimestamp(moment(since, datetime.now(UTC), 0) / 1_000_000, UTC)
    except ValueError as error:
        raise UsageError(f"--since: {error}") from None
    for word in (*names, *(service or ())):
        if not NAME.fullmatch(word):
            raise UsageError(f"{clean(word)!r}: not a name of a node or service")
    chosen = {"--context": context, "--kubeconfig": kubeconfig}
    kubectl = Kubectl(tuple(f"{name}={value}" for name, value in chosen.items() if value))
    with ExitStack() as stack:
        folder = save or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kvdiag-")))
        read = _collect(kubectl, list(dict.fromkeys(names)), tuple(service or SERVICES), begins, folder)
        options = Options(paths=tuple(str(folder / name) for name in read), year=begins.year, jobs=0)
        links = save is not None  # otherwise the files of the links are deleted
        outputs = OutputOptions(output=output, fail_on=fail_on, quiet=quiet, links=links, **printing._asdict())
        code = run_analysis(options, outputs)
    raise typer.Exit(code or (3 if len(read) < len(set(names)) else 0))


def _collect(
    kubectl: Kubectl, names: list[str], services: tuple[str, ...], begins: datetime, folder: Path
) -> list[str]:
    """Fetch the logs of several nodes in parallel; return the nodes with logs. Raise the last error if all fail."""
    read: list[str] = []
    failed: list[KvdiagError] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        tasks = {name: pool.submit(partial(collect, kubectl, name, services, begins, folder / name)) for name in names}
        for name, task in tasks.items():
            try:
                missing = task.result()
            except KvdiagError as error:
                failed.append(error)
            else:
                read.append(name)
                if missing:
                    print_note(f"node {name}: no log of {', '.join(missing)}")
    for problem in failed if read else failed[:-1]:
        print_note(str(problem).partition("\n")[0])
    if failed and not read:
        raise failed[-1]
    return read


def run() -> None:
    """Run as a kubectl plugin; expected failures print one clear message."""
    from kvdiag.cli.main import guarded

    guarded(partial(app, prog_name="kubectl kvdiag"))  # whatever the file is called that kubectl runs
