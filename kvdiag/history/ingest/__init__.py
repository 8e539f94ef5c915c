"""One input → the logs it holds → their records and events."""
