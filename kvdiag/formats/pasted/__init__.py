"""Logs as people paste them: copied from a terminal, a table, a ticket."""
