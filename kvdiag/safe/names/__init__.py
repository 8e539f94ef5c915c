"""The names that tell whose log it is, for `--anonymize`."""
