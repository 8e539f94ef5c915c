"""What is kept of old events when more come than are held."""
