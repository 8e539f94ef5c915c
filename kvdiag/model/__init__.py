"""The values that cross packages. Standard library only."""

PUBLIC = (
    "capability",
    "error_anatomy",
    "error_groups",
    "event",
    "lanes",
    "lifecycle",
    "options",
    "record",
    "report",
    "rule",
    "timeline",
    "values",
    "views",
    "vocabulary",
)
"""The modules that other packages may import."""
