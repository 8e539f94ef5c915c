"""Secrets and names in the words of a log: found, and replaced."""
