"""Answers for programs that reason in words: read-only, short, and what a log says marked as such."""
