"""Findings that a team knows of: the baseline of yesterday's run, and suppressions with a reason and an end."""
