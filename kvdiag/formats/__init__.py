"""Text to records: carriers are peeled off a line, then the body is read.

    Jul 15 03:49:34 node-1 kubelet[1432]: I0715 03:49:33.850919    1432 kubelet.go:2168] "SyncLoop ADD" source="api"

`peel` takes the journal's or runtime's prefix off, and one module per body format reads what is left. A new format is
one module and one name in `bodies.registry.FORMATS`.
"""

PUBLIC = (
    "authors",
    "bodies.daemons",
    "bodies.eventtable",
    "bodies.gopanic",
    "bodies.keyvalues",
    "bodies.klog",
    "bodies.plain",
    "bodies.registry",
    "carriers.carrier",
    "carriers.dmesg",
    "carriers.peel",
    "pasted.detectors",
    "rpc.calls",
    "rpc.fragments",
    "rpc.lines",
    "timestamps",
)
"""The modules that other packages may import."""
