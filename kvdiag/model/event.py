"""Events that were recognized in log lines, with the names in the line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple

from kvdiag.model.record import Origin

CONTROLLERS = frozenset(
    {
        *("kube-controller-manager", "csi-controller", "external-attacher", "external-provisioner"),
        *("external-resizer", "external-snapshotter"),
    }
)
"""Components that may run on any node and log about other nodes."""

CONTROLLER_CALLS = "csi.controller"
"""Prefix of the kinds of RPCs to a CSI driver's controller plug-in."""


NAMELESS = "(node of "
"""Prefix of the placeholder for a node that no log names: `(node of driver.log)`. Never used in commands."""


THIS_NODE = "this node"
"""The name of the node in reports about logs that name no node."""


NO_NAME = "unnamed"
"""The name of a pod or volume that no line names."""


def is_unnamed(node: str) -> bool:
    """Return whether this is a placeholder for a node that no log names."""
    return node == THIS_NODE or node.startswith(NAMELESS)


def may_be_same_node(one: str, other: str) -> bool:
    """Return whether two nodes may be the same: their names are equal, or one of them is not known."""
    return not one or not other or one == other


class Ref(NamedTuple):
    """One name in a log line, as the line spells it.

    `kind` is one of `kvdiag.events.names.PLACEHOLDERS` with a subject: pod_uid, pod (ns/name), sandbox_id,
    container_id, unique_name, volume_handle, spec_name, outer_name, target_path, staging_path, attachment,
    driver, node. A name is not an identity: `kvdiag.history.correlate.identity` joins them.
    """

    kind: str
    value: str


class Event(NamedTuple):
    """A recognised line. A tuple and not a dataclass: made once per relevant line, 0.3 µs instead of 2.

    `time` is microseconds since 1970 in UTC (see `kvdiag.base.clock.to_datetime`); `refs` are the names in the line,
    `attrs` its other values; its line, or the beginning of it, is in `texts` at `text_at`. `count` > 1 and `ends` >
    `time` if repeats of a poll were merged.
    """

    time: int
    kind: str
    component: str
    refs: tuple[Ref, ...]
    attrs: Mapping[str, str]
    origin: Origin
    node: str
    texts: Sequence[bytes]
    ends: int
    count: int = 1  # type: ignore[assignment]  # hides tuple.count, which nobody needs here
    text_at: int = 0

    @property
    def is_from_controller(self) -> bool:
        """Return whether a controller printed it: `node` is then the node in the line."""
        return self.component in CONTROLLERS or self.kind.startswith(CONTROLLER_CALLS)

    @property
    def logged(self) -> bytes:
        """Return the line, or its beginning, as it was logged."""
        return self.texts[self.text_at]

    @property
    def text(self) -> str:
        """Return the line, or its beginning, as text."""
        return self.logged.decode("utf-8", "replace")

    def ref(self, kind: str) -> str:
        """Return the first name of that kind in the line; empty if there is none."""
        for of_kind, value in self.refs:
            if of_kind == kind:
                return value
        return ""

    def value(self, name: str) -> str:
        """Return the attribute of that name, else the ref of that kind, else empty; or the component, or the log."""
        if name == "log":
            return self.origin.source
        return self.component if name == "component" else self.attrs.get(name) or self.ref(name)


event_order: Callable[[Event], tuple[int, Origin]] = itemgetter(
    Event._fields.index("time"), Event._fields.index("origin")
)
"""Sort key of events: by time, then log, then line; 0.06 µs."""
