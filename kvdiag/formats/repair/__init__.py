"""What was cut, as far as it can be read."""
