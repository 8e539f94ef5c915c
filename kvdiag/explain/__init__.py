"""The expected sequence: the steps of a volume's or a pod's life as data, and what one line of a log means."""

PUBLIC = (
    "asjson",
    "benign",
    "kubectl_reasons",
    "line",
    "message",
    "page",
    "text",
    "topic",
)
"""The modules that other packages may import."""
