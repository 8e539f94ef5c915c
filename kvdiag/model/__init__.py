"""The values that cross packages. Standard library only."""

PUBLIC = (
    "capability",
    "comparison",
    "doubt",
    "error_anatomy",
    "error_groups",
    "event",
    "inventory",
    "lanes",
    "lifecycle",
    "options",
    "record",
    "report",
    "rule",
    "timeline",
    "values",
    "vocabulary",
)
"""The modules that other packages may import."""
