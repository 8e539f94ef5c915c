"""Where an input stood when it was collected, as far as the layout of its path tells."""

from __future__ import annotations

from typing import NamedTuple


class Provenance(NamedTuple):
    """What a path says of its file: inputs of one `group` are of one node.

    `node` is what the layout calls that node, `container` whose log it is; empty where the layout does not say.
    """

    group: str = ""
    node: str = ""
    container: str = ""


NO_PROVENANCE = Provenance()
