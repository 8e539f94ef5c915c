"""The node and container an input was collected from, as far as its path shows."""

from __future__ import annotations

from typing import NamedTuple


class Provenance(NamedTuple):
    """What a path says of its file: inputs of one `group` are of one node.

    `node` is what the layout calls that node, `container` whose log it is, of which `pod` in which `namespace`; empty
    where the layout does not say.
    """

    group: str = ""
    node: str = ""
    container: str = ""
    pod: str = ""
    namespace: str = ""


NO_PROVENANCE = Provenance()
