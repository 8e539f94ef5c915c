"""Read patterns/capabilities.yaml; errors have file:line:column."""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

from kvdiag.base.decode import Record, each, known
from kvdiag.base.errors import PatternError
from kvdiag.base.yamlread import Node, read_yaml
from kvdiag.model.capability import Capability
from kvdiag.rules.distribution import unknown_placeholders


def _command(node: Node) -> str:
    for unknown in unknown_placeholders(node.text()):
        raise node.error(f"no distribution defines {unknown}")
    return node.text()


_CAPABILITY = Record(Capability, keys={"name": "capability"}, needs=each(Node.word), collect=each(_command))


def read_capabilities(text: str, file: str) -> tuple[Capability, ...]:
    """Return the capabilities of a file. Raise PatternError at the first error."""
    found: dict[str, Capability] = {}
    for one in map(_CAPABILITY, read_yaml(text, file).sequence()):
        if one.name in found:
            raise PatternError(one.place, f"{one.name} is given twice")
        found[one.name] = one
    for one in found.values():
        for fault in known(one.needs, found, "capability"):
            raise fault
    try:
        TopologicalSorter({one.name: one.needs for one in found.values()}).prepare()
    except CycleError as error:
        one = found[error.args[1][0]]
        raise PatternError(one.place, f"{one.name} needs itself, directly or indirectly") from None
    return tuple(found.values())
