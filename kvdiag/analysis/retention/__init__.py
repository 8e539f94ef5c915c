"""Which old events each command keeps when the event budget is exceeded."""
