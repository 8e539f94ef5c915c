"""Timelines → the states of pods, volumes, sandboxes, containers, drivers and nodes, and the step that is missing."""
