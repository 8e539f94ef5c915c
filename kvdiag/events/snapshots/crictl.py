"""Which sandboxes and containers the runtime still had: `crictl pods` and `crictl ps -a`, as tables or JSON.

POD ID              CREATED             STATE               NAME                NAMESPACE           ATTEMPT
cf8d3a59b71e0       3 hours ago         NotReady            web-0               shop                0
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kvdiag.events.names import refs_of
from kvdiag.events.snapshots.fact import LineIndex, SnapshotFact, inner, objects, word

_HEADER = re.compile(
    r"(?:POD|SANDBOX) ID +CREATED +STATE +NAME +NAMESPACE(?: |$)|CONTAINER(?: ID)? +IMAGE +CREATED +STATE +NAME(?: |$)"
)
_LEAD = re.compile(rf"(?:[^\n]{{0,400}}\n){{0,4}}(?:{_HEADER.pattern})", re.MULTILINE)  # it warns of endpoints first
_OPENING = re.compile(r'\s*\{\s*"(items|containers)"\s*:\s*\[\s*\{\s*"id"\s*:\s*"[0-9a-f]{12,64}"')
# Rows that grep has left of such a table, whose columns a page may have drawn together.
_ID, _CREATED = r"[0-9a-f]{13}", r"[^\n]{1,30}? ago"
_ALONE = re.compile(
    rf"(?P<sandbox>{_ID}) +{_CREATED} +(?P<state>Ready|NotReady) +(?P<name>\S+) +(?P<namespace>\S+) +\d+(?: |$)"
    rf"|(?P<container>{_ID}) +\S+ +{_CREATED} +(?P<ran>Created|Running|Exited|Unknown) +(?P<called>\S+) +\d+ +"
    rf"(?P<of>{_ID})(?: |$)"
)
_COLUMN = re.compile(r"\S+(?: \S+)*")
_STATES = {
    "SANDBOX_READY": "Ready",
    "SANDBOX_NOTREADY": "NotReady",
    "CONTAINER_CREATED": "Created",
    "CONTAINER_RUNNING": "Running",
    "CONTAINER_EXITED": "Exited",
    "CONTAINER_UNKNOWN": "Unknown",
}
_LABEL = "io.kubernetes.pod."


def opens(_name: str, head: str) -> bool:
    """Whether a text begins as such a table, or such JSON."""
    return _LEAD.match(head) is not None or _OPENING.match(head) is not None


def read(text: str) -> Iterator[SnapshotFact]:
    """Give each sandbox and container with its state; an id may be cut to its first 13 digits."""
    opening = _OPENING.match(text)
    yield from _from_json(text, opening[1]) if opening else _rows(text)


def is_heading(line: str) -> bool:
    """Whether a line is the head of such a table."""
    return _HEADER.match(line) is not None


def row(number: int, heading: str, line: str) -> Iterator[SnapshotFact]:
    """Give the sandbox or container of a row below its heading."""
    columns = list(_COLUMN.finditer(heading))
    ends = [column.start() for column in columns[1:]] + [len(line)]
    cells = {c[0]: line[c.start() : end].strip() for c, end in zip(columns, ends, strict=False)}
    if cells.get("STATE"):
        yield _found(number, line.strip(), cells)


def lone_row(number: int, line: str) -> Iterator[SnapshotFact]:
    """Give the sandbox or container of a row that stands without its heading."""
    found = _ALONE.match(line)
    if found and found["sandbox"]:
        cells = {"POD ID": "sandbox", "STATE": "state", "NAME": "name", "NAMESPACE": "namespace"}
    else:
        cells = {"CONTAINER": "container", "POD ID": "of", "STATE": "ran", "NAME": "called"}
    if found:
        yield _found(number, line.strip(), {key: found[group] for key, group in cells.items()})


def _rows(text: str) -> Iterator[SnapshotFact]:
    heading = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if is_heading(line):
            heading = line
        elif heading:
            yield from row(number, heading, line)


def _from_json(text: str, key: str) -> Iterator[SnapshotFact]:
    lines = LineIndex(text)
    for item in objects(text, key):
        identity, state, metadata = word(item, "id"), word(item, "state"), inner(item, "metadata")
        cells = {"STATE": state, "NAME": word(metadata, "name")}
        if key == "items":
            cells |= {"POD ID": identity, "NAMESPACE": word(metadata, "namespace"), "UID": word(metadata, "uid")}
        else:
            labels = inner(item, "labels")
            cells |= {"CONTAINER": identity, "POD ID": word(item, "podSandboxId"), "POD": word(labels, f"{_LABEL}name")}
            cells |= {"NAMESPACE": word(labels, f"{_LABEL}namespace"), "UID": word(labels, f"{_LABEL}uid")}
        if identity and state:
            yield _found(lines.line_of(identity), f'"id": "{identity}", "state": "{state}"', cells)


def _found(line: int, text: str, cells: Mapping[str, str]) -> SnapshotFact:
    container = cells.get("CONTAINER") or cells.get("CONTAINER ID", "")
    name = cells.get("POD", "") if container else cells["NAME"]
    pod = f"{cells.get('NAMESPACE', '')}/{name}"
    names = {
        "container_id": container,
        "sandbox_id": cells.get("POD ID") or cells.get("SANDBOX ID", ""),
        "pod_uid": cells.get("UID", ""),
        "pod": pod if "" not in pod.split("/") and pod != "unknown/unknown" else "",
    }
    refs = tuple(ref for kind, value in names.items() if value for ref in refs_of(kind, value.encode()))
    attrs = {"state": _STATES.get(cells["STATE"], cells["STATE"])}
    if container:
        attrs["container_name"] = cells.get("NAME", "")
    return SnapshotFact(line, "container.found" if container else "sandbox.found", text, refs, attrs)
