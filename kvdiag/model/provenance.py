"""The node and container an input was collected from, as far as its path shows."""

from __future__ import annotations

from typing import NamedTuple


class Provenance(NamedTuple):
    """The origin of a file according to its path: inputs of one `group` are of one node.

    `node` is the node's name in the layout; `container`, `pod` and `namespace` are those of a container's log. Empty
    if the layout does not contain them.
    """

    group: str = ""
    node: str = ""
    container: str = ""
    pod: str = ""
    namespace: str = ""


NO_PROVENANCE = Provenance()
