"""Analyze many nodes: one process per bundle, results as Parquet, findings that only several nodes show."""

PUBLIC = (
    "bundles",
    "compact",
    "compare",
    "dask_engine",
    "fleetrun",
    "local_engine",
    "overview",
    "page",
    "places",
    "progress",
    "questions",
    "values",
)
"""The modules that other packages may import."""
