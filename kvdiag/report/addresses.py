"""Where a log is, as tools name files that look for them in the checkout they run in."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote


def in_checkout(source: str) -> str:
    """The path from the folder one stands in, for a log that lies below it; else as the user called it."""
    path = Path(source)
    if not path.is_absolute():
        return source
    folder = Path.cwd()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else source


def uri(source: str) -> str:
    """A relative reference for a log below the folder one stands in, else `file:///…`."""
    path = in_checkout(source)
    return f"file://{quote(path)}" if path.startswith("/") else quote(path)
