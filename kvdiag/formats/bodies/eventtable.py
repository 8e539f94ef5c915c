"""Cluster events as kubectl prints them: `get events`, also wide and with namespaces, and the end of `describe`.

    3m12s (x5 over 10m)   Warning   FailedMount   pod/web-0   MountVolume.SetUp failed for volume "data" : rpc error: …
      Warning  FailedMount  3m (x5 over 10m)  kubelet  MountVolume.SetUp failed for volume "data" : rpc error: …

A row contains an age before the table was printed, and no time. Sources: the printers
of kubectl, since 1.13 (`get events`) and 1.7 (`describe`); up to 1.13 a column names the kind in place of the object.
Older tables have two ages, first and last or the other way round, and a count, and a source in braces:

    9m  3m  12  web-0  Pod  spec.containers{app}  Warning  Failed  {kubelet worker-1}  Failed to pull image "app:1": …
      9m  3m  12  {kubelet worker-1}  spec.containers{app}  Warning  Failed  Failed to pull image "app:1": …

With --watch these have times: `2026-11-21 14:32:41 -0700 PDT  2026-11-21 14:30:02 -0700 PDT  9  web-0.153bda…  Pod …`.
Up to kubectl 1.1 these had no type; a row of today's `describe` is now and then copied without it.

With `-o custom-columns` the user chooses the columns; then they are recognized by their cells:

    2026-11-21T21:32:41Z  2026-11-21T21:30:02Z  Warning  FailedMount  pod/shop/web-0  9  kubelet  worker-1  MountVolume…
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kvdiag.base.clock import DAY, HOUR, MINUTE, SECOND, stamp_of_age
from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.bodyformat import DIGITS, LOWER, UPPER, Format
from kvdiag.formats.bodies.goquote import quote
from kvdiag.formats.timestamps import rfc3339
from kvdiag.model.record import Body
from kvdiag.model.values import Level

NAME, AS_OBJECT = "kubectl-event", "event-object"
FORMATS = frozenset({NAME, AS_OBJECT})
"""The formats of events: rows, and the objects of `eventobject`."""

_GO_TIME = rb"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4} (?:[A-Z]{2,5}|[+-]\d{2,4})"
_BARE_AGE = rb"(?:<unknown>|<invalid>|(?:\d{1,5}[smhdy]){1,3})"
_TIME = rb"\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d)"
_AGE = rb"(?P<age>" + _BARE_AGE + rb"(?: \(x(?P<count>\d{1,9}) over (?P<over>[\dsmhdy]{1,12})\))?)"
_WORD = rb"(?P<reason>[A-Z]\w{1,80})"
_REASON = rb"(?P<type>Normal|Warning)[ \t]+" + _WORD
_NODE = rb"(?:, (?!(?:[A-Z][A-Za-z]+\.[A-Z]|[A-Z][a-z]+ ))\S{1,253}|,(?= ))?"  # its name may have been removed
_DRIVER = rb"(?: [a-z][\w.\-/]{1,200}(?= {2}|\t|[ \t]*(?:$|\n)))?"  # `external-resizer ebs.csi.aws.com`
_SOURCE = rb"(?P<source>[a-z][\w.\-]{1,100}(?:/[\w.\-]{1,200})?" + _DRIVER + _NODE + rb")"
_KIND = rb"(?P<kind>Pod|Node|PersistentVolumeClaim|PersistentVolume|ReplicaSet|Deployment|StatefulSet|DaemonSet|Job)"
_ANY_KIND = rb"(?P<kind>[A-Z][A-Za-z]{1,60})"
_REPORTERS = rb"(?P<source>(?:kubelet|[a-z-]{1,40}-(?:controller|scheduler))" + _NODE + rb")"
_MIGHT_BE = lazy_regex(
    rb"[^\n]{0,300}?(?:Normal|Warning)[ \t]+[A-Z]\w"
    rb"|[ \t]*+(?:\d{1,5}[smhdy][^\n]{1,300}?\d[ \t]+\{[a-z]|[A-Z]\w+[ \t]+\d{1,5}[smhdy])"
)
_DESCRIBED = lazy_regex(
    rb"[ \t]*+" + _REASON + rb"[ \t]+" + _AGE + rb"[ \t]+" + _SOURCE
    + rb"(?:(?:[ \t]+|[ \t]*\n[ \t]+)(?P<rest>\S.*)|[ \t]*(?:\n|$))"
)  # fmt: skip  # the message may have been cut off, or be in the next line
_UNTYPED = lazy_regex(rb"[ \t]*+" + _WORD + rb"[ \t]+" + _AGE + rb"[ \t]+" + _REPORTERS + rb"[ \t]+(?P<rest>\S.*)")
_LISTED = lazy_regex(
    rb"[ \t]*+(?:(?P<namespace>[a-z0-9][-a-z0-9]{0,62})[ \t]+)?" + _AGE + rb"[ \t]+" + _REASON
    + rb"[ \t]+(?P<object>[a-z][a-z0-9.]{1,80}/\S{1,253})[ \t]+(?P<rest>\S.*)"
)  # fmt: skip
_BY_KIND = lazy_regex(
    rb"[ \t]*+" + _AGE + rb"[ \t]+" + _REASON + rb"[ \t]+" + _KIND + rb"[ \t]+(?:" + _SOURCE + rb" {2,})?(?P<rest>\S.*)"
)
_HEADER = lazy_regex(
    rb"^Name: {2,}(?P<name>[-a-z0-9.]{1,253})\r?\n(?:Roles: |Namespace: {2,}(?P<namespace>[-a-z0-9]{1,63})\r?\n"
    rb"(?:(?:(?!Name:)[^\n]{0,500}\n){0,6}?Node: {2,}(?P<node>[-a-z0-9.]{1,253}))?)"
    rb"|^[ \t]*(?:Type +Reason +Age +From |FirstSeen[ \t]+LastSeen[ \t]+Count[ \t]+From)",
    re.MULTILINE,
)
_HEADING = lazy_regex(
    rb"Events:\s*$|(?:NAMESPACE +)?(?:LAST SEEN +TYPE +REASON +|(?:LAST|FIRST)SEEN +(?:LAST|FIRST)SEEN +COUNT)"
    rb"|[ \t]*(?:Type +Reason +Age +From +|-{4,9}[ \t]+-{4,9}[ \t]+-{4,9}[ \t]+|FirstSeen[ \t]+LastSeen[ \t]+Count)"
)
_SEEN = rb"(?:" + _BARE_AGE + rb"|" + _GO_TIME + rb")"
_AGES = rb"[ \t]*+(?P<first_seen>" + _SEEN + rb")[ \t]+(?P<age>" + _SEEN + rb")[ \t]+(?P<count>\d{1,9})[ \t]+"
_PART_OF = rb"(?:(?P<part>spec\.\S{1,200})[ \t]+)?"
_BRACED = rb"(?:\{(?P<braced>[a-z][^{}\n]{0,300})\}|" + _SOURCE + rb")"
_TWO_AGES = lazy_regex(_AGES + _BRACED + rb"[ \t]+" + _PART_OF + _REASON + rb"[ \t]+(?P<rest>\S.*)")
_TWO_AGES_UNTYPED = lazy_regex(
    _AGES + rb"\{(?P<braced>[a-z][^{}\n]{0,300})\}[ \t]+" + _PART_OF + _WORD + rb"[ \t]+(?P<rest>\S.*)"
)
_TWO_AGES_LISTED = lazy_regex(
    _AGES + rb"(?P<object>\S{1,253})[ \t]+" + _ANY_KIND + rb"[ \t]+" + _PART_OF + _REASON + rb"[ \t]+"
    + _BRACED + rb"(?:(?<=\})[ \t]|[ \t]{2,}|\t)[ \t]*+(?P<rest>\S.*)"
)  # fmt: skip
_SHAPES = (_DESCRIBED, _LISTED, _BY_KIND, _TWO_AGES, _TWO_AGES_LISTED, _UNTYPED, _TWO_AGES_UNTYPED)
# `kubelet,  worker-1   Warning`: pasted with more blanks than kubectl prints
_WIDE_SOURCE = lazy_regex(rb",[ \t]{2,8}(?=[a-z0-9][-a-z0-9.]{0,252}[ \t]+" + _PART_OF + rb"(?:Normal|Warning)[ \t])")
_GRAVE = ("Failed", "BackOff", "Unhealthy", "Evicted", "Preempt", "System", "OutOf", "NodeNotReady", "Network")
_COLUMNS = lazy_regex(rb" {2,}")
_CELLS = lazy_regex(rb"\t+| {2,}")
_WHEN = lazy_regex(rb"(?:" + _TIME + rb"|" + _BARE_AGE + rb")(?: \(x(\d{1,9}) over ([\dsmhdy]{1,12})\))?$")
_NOTHING = frozenset((b"", b"<none>", b"-", b"<nil>"))
_IS_REASON = lazy_regex(rb"[A-Z]\w{1,80}$")
_OBJECT = lazy_regex(rb"[a-z][a-z0-9.]{1,80}(?:/[-\w.:]{1,253}){1,2}$")
_NAMED = lazy_regex(rb"[a-z0-9][-a-z0-9.:]{0,252}$")
_REPORTER = lazy_regex(rb"[a-z][\w.\-]{1,100}(?:,? [a-z0-9][\w.\-/]{1,253})?$")
_EVENT_ID = lazy_regex(r"\.[0-9a-f]{14,16}$")
_NUMBER = lazy_regex(rb"\d{1,9}")
_ASSIGNED = lazy_regex(r"Successfully assigned ([-a-z0-9.]{1,63}/[-a-z0-9.]{1,253}) to ([-a-z0-9.]{1,253})")
_UP_TO_OFFSET = len("2006-01-02 15:04:05 -0700")
_PART = lazy_regex(r"(\d+)([smhdy])")
_UNITS = {"s": SECOND, "m": MINUTE, "h": HOUR, "d": DAY, "y": 365 * DAY}
_KERNEL_REASONS = frozenset(
    ("OOMKilling", "TaskHung", "UnregisterNetDevice", "KernelOops", "Ext4Error", "Ext4Warning", "IOError")
)
_ON_NODES = frozenset(("kubelet", "kube-proxy"))  # whose events name the node as their host
_KINDS = {"pod": "Pod", "node": "Node", "persistentvolumeclaim": "PersistentVolumeClaim"}


class Described(NamedTuple):
    """The object of the events after this line (from 0) of a text: its name, kind and node."""

    line: int = 0
    name: str = "?"
    kind: str = "Pod"
    node: str = ""


UNKNOWN = Described()


def descriptions(text: bytes) -> Iterator[Described]:
    """Yield the pods and nodes in a text of `kubectl describe`, by the first lines of each.

    Name:             web-0
    Namespace:        shop

    A table without such lines is about another object than the one above it.
    """
    is_named = False
    for found in _HEADER.finditer(text):
        if not found["name"]:
            if not is_named:
                yield UNKNOWN._replace(line=text.count(b"\n", 0, found.start()))
            is_named = False
            continue
        is_named = True
        name, namespace, node = (found[key].decode() if found[key] else "" for key in ("name", "namespace", "node"))
        line = text.count(b"\n", 0, found.start())
        yield Described(line, f"{namespace}/{name}", "Pod", node) if namespace else Described(line, name, "Node", name)


def is_heading(line: bytes) -> bool:
    """Return whether a line is the header of such a table."""
    return _HEADING.match(line) is not None


def _is_row(body: bytes) -> bool:
    """Return whether a line is a row of one of the tables."""
    return _MIGHT_BE.match(body) is not None and (
        any(shape.match(body) for shape in _SHAPES) or _chosen(body) is not None
    )


def read(body: bytes) -> Body | None:
    """Return one row of any of the tables; None for any other line. Its stamp is an age (see `kvdiag.base.clock`)."""
    if not _MIGHT_BE.match(body):
        return None
    body = _WIDE_SOURCE.sub(b", ", body)
    found = next((match for shape in _SHAPES if (match := shape.match(body))), None)
    if found is None:
        chosen = _chosen(body)
        return _body(*chosen) if chosen else None
    fields = {name: value.decode("utf-8", "replace") for name, value in found.groupdict().items() if value}
    message = fields.pop("rest", "")
    columns = [column.decode("utf-8", "replace") for column in _COLUMNS.split((found["rest"] or b"").rstrip())]
    # wide: [subobject] source message first-seen count name
    if "object" in fields and len(columns) >= 5 and _NUMBER.fullmatch(columns[-2].encode()):
        *before, message, fields["first_seen"], fields["count"], fields["name"] = columns
        fields["source"] = before[-1]
    if "first_seen" in found.groupdict():
        _order(fields)
    if "source" in fields:
        fields["source"] = fields["source"].rstrip(",")
    if "type" not in fields:
        fields["type"] = "Warning" if fields["reason"].startswith(_GRAVE) else "Normal"
    return _body(fields, message)


def level_of(kind: str, reason: str) -> Level:
    """Return the level of an event; NodeNotReady is a warning, although kubelet records it as Normal."""
    return Level.WARNING if kind == "Warning" or reason == "NodeNotReady" else Level.INFO


def _body(fields: dict[str, str], message: str) -> Body:
    level = level_of(fields["type"], fields["reason"])
    return Body(NAME, _stamp(fields.get("age", "")), level, message=message.rstrip(), fields=fields)


def _chosen(body: bytes) -> tuple[dict[str, str], str] | None:
    """Return the fields and the message of a row with custom columns; the message is the last column."""
    cells = [cell.strip() for cell in (body.split(b"\t") if b"\t" in body else _CELLS.split(body))]
    kind = next((at for at, cell in enumerate(cells) if cell in (b"Normal", b"Warning")), None)
    if kind is None:
        return None
    words = next((at for at in range(kind + 1, len(cells)) if b" " in cells[at] and b", " not in cells[at]), 0)
    begins = len(cells) - 1 if b"\t" in body or not words else words  # a message may have two blanks in it
    message = b"  ".join(cells[begins:])
    others = [cell for cell in (*cells[kind + 1 : begins], *reversed(cells[:kind])) if cell not in _NOTHING]
    reason = next((cell for cell in others if _IS_REASON.match(cell)), None)
    times = [cell for cell in others if _WHEN.match(cell)]
    about = next((cell for cell in others if _OBJECT.match(cell)), None)
    if reason is None or not message or not (about or times or len(others) > 2):
        return None
    left = [cell for cell in others if cell not in (*times, reason, about)]
    fields = {"type": cells[kind].decode(), "reason": reason.decode("utf-8", "replace")}
    fields |= _about(about, left) | _when(times) | _source_and_count(left)
    return fields, message.decode("utf-8", "replace")


def _about(about: bytes | None, left: list[bytes]) -> dict[str, str]:
    """Return the object of such a row: `pod/web-0`, `pod/shop/web-0`, or a name, which is removed from `left`."""
    if about is None:
        kind = next((cell for cell in left if _IS_REASON.match(cell)), b"")
        name = next((cell for cell in left if _NAMED.match(cell) and not cell.isdigit()), b"")
        left[:] = [cell for cell in left if cell not in (kind, name)]
        named = _EVENT_ID.sub("", name.decode())
        return {"object": f"{kind.decode().lower() or 'pod'}/{named}"} if name else {}
    kind, *names = about.split(b"/")
    namespace = {"namespace": names[0].decode()} if len(names) > 1 and names[0] not in _NOTHING else {}
    return {"object": f"{kind.decode()}/{names[-1].decode()}"} | namespace


def _when(times: list[bytes]) -> dict[str, str]:
    """Return when the event was last seen, and first seen if the row has both."""
    if not times:
        return {}
    ages = sorted((time.decode() for time in times), key=lambda time: _stamp(time) or 0, reverse=True)
    repeated = _WHEN.match(ages[0].encode())
    counted = {"count": repeated[1].decode(), "over": repeated[2].decode()} if repeated and repeated[1] else {}
    return {"age": ages[0]} | ({"first_seen": ages[-1]} if len(ages) > 1 else {}) | counted


def _source_and_count(left: list[bytes]) -> dict[str, str]:
    """Return the component that recorded the event, its node, and the count."""
    count = next((cell.decode() for cell in left if _NUMBER.fullmatch(cell)), "")
    reporters = [
        cell.decode("utf-8", "replace") for cell in left if _REPORTER.match(cell) and not cell.startswith(b"spec.")
    ]
    source = {"source": ", ".join(reporters[:2])} if reporters else {}
    return source | ({"count": count} if count else {})


def _order(fields: dict[str, str]) -> None:
    """Use the later of two ages as the row's, in either column; convert source and object to the newer format."""
    ages = sorted((fields["age"], fields["first_seen"]), key=lambda age: _stamp(age) or 0, reverse=True)
    fields["age"], fields["first_seen"] = ages
    if "braced" in fields:
        fields["source"] = fields.pop("braced").strip().replace(" ", ", ", 1)
    if "object" in fields:
        fields |= {"name": fields["object"]} if _EVENT_ID.search(fields["object"]) else {}
        fields["object"] = f"{fields['kind'].lower()}/{_EVENT_ID.sub('', fields['object'])}"


def node_of(body: Body) -> str:
    """Return the node whose kubelet, proxy or monitor recorded an event, or that it is about; empty if unknown."""
    component, _, host = source_of(body)
    kind, _, name = body.fields.get("object", "").rpartition("/")
    if host and (component in _ON_NODES or component.endswith("-monitor")):
        return host
    return name if kind == "node" else ""


def source_of(body: Body) -> tuple[str, str, str]:
    """Return the source of an event: the component, a separator, and the host."""
    return body.fields.get("source", "").partition(", ")


def is_kernels(body: Body) -> bool:
    """Return whether an event contains a line of the kernel log, from node-problem-detector's kernel monitor."""
    component = source_of(body)[0]
    return component == "kernel-monitor" if component else body.fields.get("reason") in _KERNEL_REASONS


def assigned(body: Body) -> Described | None:
    """Return the pod, `ns/name`, and the node in the scheduler's event, which `kubectl describe` is about."""
    found = _ASSIGNED.match(body.message)
    return Described(name=found[1], node=found[2]) if found else None


def repeats(body: Body) -> tuple[int, int] | None:
    """Return how often an event was seen, and for how long (microseconds); None if once."""
    fields = body.fields
    first = (
        rfc3339(fields["first"].encode())
        if "first" in fields
        else _stamp(fields.get("over") or fields.get("first_seen", ""))
    )
    count = int(fields["count"]) if _NUMBER.fullmatch(fields.get("count", "").encode()) else 1
    return (count, max(0, body.stamp - first)) if count > 1 and first is not None and body.stamp is not None else None


def as_logged(body: Body, described: Described) -> bytes:
    """Return the event in klog's format, so that one matcher fits all tables: `"Event listed" object="shop/web-0" …`.

    `described` is the object of rows of `kubectl describe`.
    """
    fields = body.fields
    kind, _, name = fields.get("object", "").partition("/")
    namespace = fields.get("namespace", "")
    named = f"{namespace}/{name}" if namespace and name else name or described.name
    pairs = {
        "object": named,
        "kind": fields.get("kind") or _KINDS.get(kind, kind) or described.kind,
        "type": fields["type"],
        "reason": fields["reason"],
        "message": body.message,
    }
    return b'"Event listed" ' + b" ".join(key.encode() + b"=" + quote(value) for key, value in pairs.items())


def _stamp(age: str) -> int | None:
    """Return the stamp of an age, such as `3m12s (x5 over 10m)`, or of a time."""
    if age[10:11] == "T":
        return rfc3339(age.encode())
    if age[4:5] == "-":
        return rfc3339(age[:_UP_TO_OFFSET].encode())
    parts = _PART.findall(age.partition(" ")[0])
    return stamp_of_age(sum(int(number) * _UNITS[unit] for number, unit in parts)) if parts else None


FORMAT = Format(NAME, _is_row, read, first=DIGITS + LOWER + UPPER + b"< \t")
