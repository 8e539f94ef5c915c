"""Sightings of many sources → one history: clocks, identities, timelines, coverage, versions."""
