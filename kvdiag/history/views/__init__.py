"""Histories as people look at them: one subject's timeline, the inventory, a comparison, where the time went."""
