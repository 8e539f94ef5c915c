"""`kvdiag mcp`: analyses and timelines as tools for AI agents, over standard input and output."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kvdiag.agents.tools import McpTools
from kvdiag.base.errors import UsageError


def command(
    root: Annotated[Path, typer.Option(help="The folder with the logs; nothing outside of it is read.")],
) -> None:
    """Serve agents over the Model Context Protocol.

    Tools over standard input and output: analyze, timeline, errors and explain.
    """
    tools = McpTools(root)
    try:
        from kvdiag.agents.server import make_server
    except ImportError as error:
        raise UsageError(f"kvdiag mcp needs the extra 'mcp': pip install 'kvdiag[mcp]' ({error})") from None
    make_server(tools).run("stdio")
