"""The folder of the built-in patterns."""

from __future__ import annotations

from pathlib import Path


def builtin_patterns() -> Path:
    """Return the folder of the built-in patterns: inside the package in the wheel, next to it in a checkout."""
    inside = Path(__file__).parent.parent / "patterns"
    return inside if inside.is_dir() else Path(__file__).parent.parent.parent / "patterns"
