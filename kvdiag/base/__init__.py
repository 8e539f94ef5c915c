"""What every package may use: errors, clock, cache, YAML, versions; it knows nothing of logs."""
