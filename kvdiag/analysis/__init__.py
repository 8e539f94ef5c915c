"""The work of each command, one module per command: from options to values for the reports."""

PUBLIC = (
    "analyze",
    "anonymize",
    "baselines",
    "case",
    "compare",
    "explain",
    "finding_filters",
    "follow",
    "inventory",
    "library",
    "lint",
    "parse",
    "redact",
    "rule_mutants",
    "rule_tests",
    "timeline",
)
"""The modules that other packages may import."""
