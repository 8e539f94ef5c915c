"""Signatures: read from YAML, matched against timelines, told as findings."""
