"""Read patterns/capabilities.yaml; errors have file:line:column."""

from __future__ import annotations

from collections.abc import Mapping

from kvdiag.base.errors import PatternError
from kvdiag.base.suggestions import suggestion
from kvdiag.base.yamlread import Node, read_yaml
from kvdiag.model.capability import Capability
from kvdiag.model.values import SubjectKind
from kvdiag.rules.distribution import unknown_placeholders


def read_capabilities(text: str, file: str) -> list[Capability]:
    """Return the capabilities of a file. Raise PatternError at the first error."""
    found: dict[str, Capability] = {}
    needs: list[Node] = []
    for node in read_yaml(text, file).sequence():
        keys = node.mapping(("capability", "label", "on", "needs", "collect"), ("capability", "label", "on"))
        name, on = keys["capability"].text(), keys["on"].text()
        if name in found:
            raise node.error(f"{name} is given twice")
        if on not in list(SubjectKind):
            raise keys["on"].error(f"unknown {on!r}{suggestion(on, [str(kind) for kind in SubjectKind])}")
        need_nodes = keys["needs"].sequence() if "needs" in keys else ()
        commands = [one.text() for one in keys["collect"].sequence()] if "collect" in keys else []
        for command in commands:
            for unknown in unknown_placeholders(command):
                raise keys["collect"].error(f"no distribution defines {unknown}")
        needs.extend(need_nodes)
        found[name] = Capability(
            name,
            keys["label"].text(),
            SubjectKind(on),
            tuple(n.text() for n in need_nodes),
            tuple(commands),
            node.place,
        )
    for need in needs:
        if need.text() not in found:
            raise need.error(f"unknown capability {need.text()!r}{suggestion(need.text(), found)}")
    for one in found.values():
        if _is_in_ring(one.name, found):
            raise PatternError(one.place, f"{one.name} needs itself, directly or indirectly")
    return list(found.values())


def _is_in_ring(name: str, found: Mapping[str, Capability]) -> bool:
    queue, seen = list(found[name].needs), set[str]()
    while queue:
        need = queue.pop()
        if need == name:
            return True
        if need not in seen:
            seen.add(need)
            queue.extend(found[need].needs)
    return False
