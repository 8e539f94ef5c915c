"""Secrets and names in the words of a log: found, and replaced."""

PUBLIC = (
    "clean",
    "forms.pem",
    "names.learn",
    "names.mask",
    "secrets",
)
"""The modules that other packages may import."""
