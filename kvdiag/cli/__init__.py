"""The command line: arguments → one call → an exit code. One module per command, without logic."""

PUBLIC = ("main",)
"""The modules that other packages may import."""
