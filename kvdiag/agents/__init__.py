"""Answers for AI agents: read-only, short, with log text marked as such."""
