"""The expected sequence: the steps of a volume's or a pod's life as data, and what one line of a log means."""
