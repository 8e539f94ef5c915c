"""Text to records: carriers are peeled off a line, then the body is read.

    Jul 15 03:49:34 node-1 kubelet[1432]: I0715 03:49:33.850919    1432 kubelet.go:2168] "SyncLoop ADD" source="api"

`peel` takes the journal's or runtime's prefix off, one module per body format reads what is left, and `records`
joins what belongs together. A new format is one module and one name in `records.BODY_READERS`.
"""
