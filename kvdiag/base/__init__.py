"""What every package may use: errors, clock, cache, YAML, versions; it knows nothing of logs."""

PUBLIC = (
    "cache",
    "clock",
    "codec",
    "decode",
    "errors",
    "identity_cache",
    "pattern_folder",
    "processes",
    "regex",
    "safe_values",
    "suggestions",
    "versions",
    "yamlread",
)
"""The modules that other packages may import."""
