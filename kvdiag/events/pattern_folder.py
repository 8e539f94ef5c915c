"""Where the patterns that come with kvdiag lie."""

from __future__ import annotations

from pathlib import Path


def builtin_patterns() -> Path:
    """The folder of patterns: in the wheel inside the package, in a checkout beside it."""
    inside = Path(__file__).parent.parent / "patterns"
    return inside if inside.is_dir() else Path(__file__).parent.parent.parent / "patterns"
