"""Every noun that crosses a floor. Standard library only."""
