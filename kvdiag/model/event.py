"""A named thing that happened, and the names on its line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import NamedTuple

from kvdiag.model.record import Origin

CONTROLLERS = frozenset(
    {"kube-controller-manager", "csi-controller", "external-attacher", "external-provisioner", "external-resizer"}
)
"""Components that may run on any node and log about other nodes than their own."""

CONTROLLER_CALLS = "csi.controller"
"""Prefix of the kinds of RPCs to a CSI driver's controller plug-in."""


NAMELESS = "(node of "
"""Prefix of a placeholder for a node that no log names: `(node of driver.log)`. No command is filled with it."""


THIS_NODE = "this node"
"""What reports call the node of logs that name none."""


def is_unnamed(node: str) -> bool:
    """Whether this is not the name of a node but what stands for one that no log names."""
    return node == THIS_NODE or node.startswith(NAMELESS)


class Ref(NamedTuple):
    """One name of one thing, as a log line spells it.

    `kind` is one of `kvdiag.events.names.PLACEHOLDERS` with a subject: pod_uid, pod (ns/name), sandbox_id,
    container_id, unique_name, volume_handle, spec_name, outer_name, target_path, staging_path, attachment,
    driver, node. A name is not an identity: `kvdiag.history.correlate.identity` joins them.
    """

    kind: str
    value: str


class Event(NamedTuple):
    """A recognised line. A tuple and not a dataclass: made once per relevant line, 0.3 µs instead of 2.

    `time` is microseconds since 1970 in UTC (`kvdiag.base.clock.to_datetime` for people); `refs` are the names on the
    line, `attrs` everything else it said; `logged` is the line, or its beginning. `count` > 1 and `ends` > `time` when
    repeats of a poll were folded.
    """

    time: int
    kind: str
    component: str
    refs: tuple[Ref, ...]
    attrs: Mapping[str, str]
    origin: Origin
    node: str
    logged: bytes
    ends: int
    count: int = 1  # type: ignore[assignment]  # hides tuple.count, which nobody needs here

    @property
    def is_from_controller(self) -> bool:
        """Whether a controller wrote it: `node` is then the node it speaks of, its clock another machine's."""
        return self.component in CONTROLLERS or self.kind.startswith(CONTROLLER_CALLS)

    @property
    def text(self) -> str:
        """The line as it was logged."""
        return self.logged.decode("utf-8", "replace")

    def ref(self, kind: str) -> str:
        """The first name of that kind on the line; empty when there is none."""
        for of_kind, value in self.refs:
            if of_kind == kind:
                return value
        return ""

    def value(self, name: str) -> str:
        """The attribute of that name, else the ref of that kind, else empty; `component` is who printed the line."""
        return self.component if name == "component" else self.attrs.get(name) or self.ref(name)


event_order: Callable[[Event], tuple[int, Origin]] = itemgetter(
    Event._fields.index("time"), Event._fields.index("origin")
)
"""Where an event stands in a history: ties in time go by the log, then by the line; 0.06 µs."""
