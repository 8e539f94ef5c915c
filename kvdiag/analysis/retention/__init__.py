"""What each command keeps of old events when the event budget is exceeded."""
