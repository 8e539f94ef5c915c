"""The forms that secrets have."""
