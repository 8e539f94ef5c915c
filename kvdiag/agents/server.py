"""Offer the answers as tools of the Model Context Protocol over stdin and stdout: https://modelcontextprotocol.io."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

from kvdiag import __version__
from kvdiag.agents.tools import DATA, McpTools
from kvdiag.base.errors import KvdiagError, describe_fault
from kvdiag.safe.clean import clean

ABOUT = (
    "Logs of kubelet, container runtimes and CSI drivers: root causes of failures, timelines of pods and volumes. "
    f"Read-only; paths are below one folder. {DATA}"
)
LONGEST_ERROR = 2_000  # characters
READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
Where = Annotated[str, Field(description="File, folder or archive below the root; . for all.")]
Since = Annotated[str, Field(description="Only after this time: RFC 3339, or -3h.")]
Until = Annotated[str, Field(description="Only before this time.")]
Least = Annotated[str, Field(description="Only this severity or above: info, low, medium, high, critical.")]
What = Annotated[str, Field(description="Pod as ns/name, PV name, volume handle, UID, sandbox or container id, node.")]
Full = Annotated[bool, Field(description="True for an answer of up to 8 KB instead of 2 KB.")]
Word = Annotated[str, Field(description="A topic, a rule's name or id, a kind of event, an RPC or a reason.")]


def make_server(tools: McpTools) -> MCPServer[None]:
    """Return a server with four tools."""
    server: MCPServer[None] = MCPServer("kvdiag", instructions=ABOUT, version=__version__, log_level="ERROR")

    @server.tool(annotations=READS, structured_output=False)
    def analyze(path: Where, since: Since = "", until: Until = "", severity: Least = "low", full: Full = False) -> str:  # noqa: FBT002  # how the protocol calls
        """Find the root cause in logs: findings with evidence, what to do, and what they explain."""
        with _ToolErrors():
            return tools.analyze(path, since, until, severity, full=full)

    @server.tool(annotations=READS, structured_output=False)
    def timeline(subject: What, path: Where = ".", since: Since = "", until: Until = "", full: Full = False) -> str:  # noqa: FBT002
        """Show what happened to one pod, volume, sandbox, container, driver or node, over all logs."""
        with _ToolErrors():
            return tools.timeline(subject, path, since, until, full=full)

    @server.tool(annotations=READS, structured_output=False)
    def errors(path: Where, since: Since = "", until: Until = "", full: Full = False) -> str:  # noqa: FBT002
        """Group warnings and errors, and show which of them no finding explains."""
        with _ToolErrors():
            return tools.errors(path, since, until, full=full)

    @server.tool(annotations=READS, structured_output=False)
    def explain(subject: Word, full: Full = False) -> str:  # noqa: FBT002
        """Explain the expected sequence, or what a rule looks for, why it happens and what to do."""
        with _ToolErrors():
            return tools.explain(subject, full=full)

    return server


class _ToolErrors:
    """Turn errors into tool errors."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, KvdiagError):
            raise ToolError(clean(str(error))[:LONGEST_ERROR]) from None
        if isinstance(error, Exception):
            raise ToolError(describe_fault(error)) from None
