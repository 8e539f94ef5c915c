"""From a line to a named event: the vocabulary, its templates, and the names things go by."""

PUBLIC = (
    "line_texts",
    "lint",
    "made_names",
    "names",
    "packed_events",
    "raw_events",
    "recognise",
    "rendering",
    "rpc_calls",
    "snapshots.fact",
    "snapshots.outputs",
    "snapshots.readers",
    "template",
    "timestamp_reader",
    "vocabulary",
)
"""The modules that other packages may import."""
