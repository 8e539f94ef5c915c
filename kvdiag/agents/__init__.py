"""Answers for AI agents: read-only, short, with log text marked as such."""

PUBLIC = (
    "server",
    "tools",
)
"""The modules that other packages may import."""
