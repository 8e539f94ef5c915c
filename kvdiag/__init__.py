"""Log forensics for kubelet and containerd: timelines per pod and volume, root cause first."""

__version__ = "0.1.0"
