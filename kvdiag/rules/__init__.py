"""Rules: read from YAML, matched against timelines, reported as findings."""
