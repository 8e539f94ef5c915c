"""Paths, folders, compressed files and standard input → sources of bytes."""

PUBLIC = (
    "files",
    "folded",
    "folders",
    "journal",
    "layout",
    "lines",
    "live",
    "paths",
    "readers",
    "repair",
    "scan.blocks",
    "scan.choose",
    "scan.damage",
    "scan.partial_lines",
    "scan.protocol",
    "scan.sections",
    "sniff",
    "source",
)
"""The modules that other packages may import."""
