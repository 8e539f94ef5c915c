"""Paths of logs as CI tools expect them: relative to the checkout that the tools run in."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote


def in_checkout(source: str) -> str:
    """Return the path relative to the current folder if the log lies below it; else the path that the user gave."""
    path = Path(source)
    if not path.is_absolute():
        return source
    folder = Path.cwd()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else source


def uri(source: str) -> str:
    """Return a relative URI reference for a log below the current folder, else `file:///…`."""
    path = in_checkout(source)
    return f"file://{quote(path)}" if path.startswith("/") else quote(path)
