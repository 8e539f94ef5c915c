"""Rules: read from YAML, matched against timelines, reported as findings."""

PUBLIC = (
    "capabilities",
    "causes",
    "distribution",
    "findings",
    "grammar",
    "incidents",
    "library",
    "lint",
    "lint_samples",
    "lint_truth",
    "log_synthesis",
    "missing_logs",
    "mutants",
    "rank",
    "required_kinds",
    "rule_page",
    "rule_store",
    "schema",
    "selection",
    "template",
)
"""The modules that other packages may import."""
