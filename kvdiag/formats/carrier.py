"""What a carrier told about the line it carried.

    Jul 15 03:49:34 minikube kubelet[1432]: I0715 03:49:33.850919    1432 kubelet.go:2168] "SyncLoop ADD"

Here that is a time without year, the node, the program and its PID.
"""

from __future__ import annotations

from typing import NamedTuple


class Peeled(NamedTuple):
    """What is left of a line, and what its carriers told.

    `stamp` is the time of the outermost carrier that writes a year, else of the outermost that writes one at all, in
    the year-less frame. `ident` is the program's name without path. `carrier` names the outermost carrier. `partial`
    says that the next line of `stream` continues this one.
    """

    body: bytes
    stamp: int | None = None
    node: str = ""
    ident: str = ""
    pid: int | None = None
    carrier: str = "plain"
    partial: bool = False
    stream: str = ""


def program(name: str) -> str:
    """`/usr/bin/kubelet` and `kubelet.service` → `kubelet`."""
    return name.rpartition("/")[2].removesuffix(".service")
