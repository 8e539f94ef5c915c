"""Logs of nodes through the API server: kubelet's node log query, asked by kubectl."""
