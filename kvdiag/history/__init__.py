"""From records to one history: logs are read, joined by identity, and followed through their lifecycles."""
