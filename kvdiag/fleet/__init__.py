"""Analyze many nodes: one process per bundle, results as Parquet, findings that only several nodes show."""
