"""Blocks of bytes → candidate lines: one pass that looks for all literals at once."""
