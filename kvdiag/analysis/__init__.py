"""The work of each command, one module per command: from options to values for the reports."""
