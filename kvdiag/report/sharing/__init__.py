"""Logs made fit to be shown to others: without secrets, and without the names of what they speak of."""
