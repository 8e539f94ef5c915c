"""Files that stand beside the logs and say what was true when they were collected → facts."""
