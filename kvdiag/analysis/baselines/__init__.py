"""Known findings: the baseline of an earlier run, and suppressions with a reason and an expiry date."""
