"""State machines as tables: which event leads to which state, and what must have come before."""
