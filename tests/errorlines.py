"""Lines of level warning or worse for tests."""

from __future__ import annotations


def klog(text: str, at: str = "08:15:00", level: str = "E", day: str = "0312") -> str:
    """Give a line of kubelet."""
    return f"{level}{day} {at}.100000    2201 {text}\n"


def network(at: str, level: str = "E") -> str:
    """Give a line that no rule and no entry knows by itself."""
    return klog('widget.go:17] "The widget turns no more" err="spin: the widget is stuck"', at, level)


KUBELET = klog('server.go:487] "Kubelet version" kubeletVersion="v1.29.2"', level="I")
