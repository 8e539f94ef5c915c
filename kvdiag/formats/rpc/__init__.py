"""CSI calls, as the lines of drivers and sidecars tell them."""
