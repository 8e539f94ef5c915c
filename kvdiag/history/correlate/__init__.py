"""Raw events of many logs → one history: clocks, identities, timelines, coverage, versions."""
