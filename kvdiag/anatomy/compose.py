"""Compose the sentence, the check and the owner from a primitive, its object, the operation and the component."""

from __future__ import annotations

import fnmatch
import posixpath
import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kvdiag.anatomy.entries import ANY, COMMAND_SLOTS, Operation, Owner, Primitive, Tables
from kvdiag.anatomy.objects import HOSTS, PATHS, FoundObject
from kvdiag.anatomy.steps import step_of
from kvdiag.base.regex import lazy_regex
from kvdiag.base.safe_values import is_safe

Values = Mapping[str, str]
_SLOT = lazy_regex(r"\{([a-z_]+)\}")
_OPTIONAL = lazy_regex(r"\[\[(.*?)\]\]")
_ADDRESS = lazy_regex(r"(?:https?://)?(\[[\w:.%]{2,60}\]|[\w.-]{1,200})(?::(\d{1,5}))?(?:/|$)")
_DEVICE = lazy_regex(
    r"(?:/dev/)?((?:sd|vd|xvd|hd)[a-z]{1,3}|nvme\d{1,4}n\d{1,4}|mmcblk\d{1,3}"
    r"|(?:dm-|rbd|nbd|drbd|loop|md|zd|sr)\d{1,4})(?:p?\d{1,3})?"
)  # a name that the kernel prints; it does not print those of links, such as /dev/disk/by-id and /dev/mapper
_TRIAL = lazy_regex(r"/(?:[\w-]+-check\d{3,}|check-[a-z-]+\d{3,}|userxattr-check)(?:/.*)?\Z")  # removed after a try
_REASON = lazy_regex(r"(?:: |, )([^(),:]{3,80}) \(")  # of Pod Security, in front of the fields
_PORTS = {"http://": "80", "https://": "443"}
OTHER_SIDE, THE_PROGRAM = "the other side", "the program"


class Subject(NamedTuple):
    """What a sentence is about besides its object: who logs, which plug-in or driver, who should have answered."""

    program: str
    component: str
    callee: str
    is_cni: bool


def owner_of(name: str, operations: Collection[str], known: Tables) -> Owner | None:
    """Return the known owner of an object or plug-in."""
    for owner in known.owners if name else ():
        applies = not owner.where or set(owner.where).intersection(operations)
        if applies and any(fnmatch.fnmatchcase(name, pattern) for pattern in owner.match):
            return owner
    return None


def peer_of(found: FoundObject, url: str, operations: Sequence[str], known: Tables) -> str:
    """Return the other side of a call: by its object, else by the URL beside it, else by the innermost operation."""
    for peer in known.peers:
        if found.kind in peer.objects or any(fnmatch.fnmatchcase(found.name, one) for one in peer.match):
            return peer.id
    for peer in known.peers if url else ():
        if any(fnmatch.fnmatchcase(url, one) for one in peer.match):
            return peer.id
    of_operation = {operation: peer.id for peer in known.peers for operation in peer.operations}
    return next((of_operation[one] for one in reversed(operations) if one in of_operation), "")


def callee_of(operations: tuple[Operation, ...], text: str, component: str) -> str:
    """Return who should have answered: the component, or the callee of the innermost operation that has one.

    A CSI driver is named only if the record shows CSI: kubelet waits for the API server in the same words.
    """
    if component:
        return component
    name = next((one.callee for one in reversed(operations) if one.callee), OTHER_SIDE)
    return OTHER_SIDE if "CSI" in name and "csi" not in text.lower() and "rpc error" not in text else name


def sentence_values(
    found: FoundObject, subject: Subject, owner: Owner | None, clause: str, text: str, packages: Mapping[str, str]
) -> dict[str, str]:
    """Return the values for the slots of a sentence."""
    values = {
        "object": _in_words(found),
        "owner": _owner_name(found, subject, owner),
        "missing": owner.missing if owner else "",
        "server": "",
        "package": packages.get(found.name, ""),
        "text": text,
        "clause": clause,
        "program": subject.program or THE_PROGRAM,
        "callee": subject.callee,
        "component": subject.component or subject.callee,
        **_address(found),
    }
    if found.kind == "lookup" and found.more:
        values["server"] = found.more[0].rstrip(":")
    return values


def _in_words(found: FoundObject) -> str:
    """Return the object as a sentence has it; of most kinds its name."""
    words = found.name
    match found.kind, found.more:
        case "user", (verb, resource, _, namespace, _):
            words = f"{found.name} to {verb} {resource}{f' in the namespace {namespace}' if namespace else ''}"
        case "sysctl", (wanted, value, *_):
            words = f"{found.name} is {value} instead of {wanted}"
        case "avc", (program, name, device, source, target, kind):
            thing = f"the {kind} {name}" if name else f"a {kind}"
            thing = f"the root of the file system on {device}" if name == "/" and device else thing
            words = f"the process {program} of type {source} the action “{found.name}” on {thing} of type {target}"
        case "denial", (access, kind, target):
            words = f"{found.name} the access “{access}” to the {kind} {target}"
        case "apparmor", (profile, name, program, target):
            parts = {"profile": profile, "process": program, "name": name, "target or peer": target}
            words = f"“{found.name}”: " + ", ".join(f"{key} {value}" for key, value in parts.items() if value)
        case "podsecurity", _:
            words = f"{found.name.partition(': ')[0]}: {', '.join(_REASON.findall(found.name))}"
        case "loader", (library,) if library:
            words = f"{found.name} (library {library})"
        case "process", (name, *_):
            words = f"{name} (PID {found.name})"
    return words


def _owner_name(found: FoundObject, subject: Subject, owner: Owner | None) -> str:
    if owner:
        return owner.owner
    return (
        f"the agent of {subject.component}" if subject.is_cni and subject.component and found.kind == "socket" else ""
    )


def fill(template: str, values: Values) -> str:
    """Return a sentence with its slots filled; a part in `[[…]]` without its values is left out."""
    return _SLOT.sub(lambda slot: values.get(slot[1], ""), _with_optional(template, values)).strip()


def _with_optional(template: str, values: Values) -> str:
    return _OPTIONAL.sub(
        lambda part: part[1] if all(values.get(slot) for slot in _SLOT.findall(part[1])) else "", template
    )


def form_of(forms: Mapping[str, str], kind: str) -> str:
    """Return the form for a kind of object, else the general one."""
    return forms.get(kind) or forms.get(ANY, "")


def check_of(primitive: Primitive, found: FoundObject, owner: Owner | None, plugin: Owner | None) -> tuple[str, str]:
    """Return the first check, a command whose values are safe and quoted, and what it checks; empty if there is none.

    What shows whether the owner of the object works comes first, then the object itself, then the agent of the plug-in.
    """
    values = _command_values(found)
    if owner and owner.check and found.kind not in {"listen", "module"}:  # who is to listen, or lacks the module, fails
        return owner.check, f"Check {owner.owner}."
    forms = (primitive.check.get(found.kind, ""), "" if found.kind in _ELSEWHERE else primitive.check.get(ANY, ""))
    shapes = _SHAPES | ({"object": "path", "parent": "path"} if found.kind in PATHS else {})
    for form in forms:
        if command := _command(form, values, shapes):
            is_about = found.kind in _NAMED and not _OF_OBJECT.isdisjoint(_SLOT.findall(form))
            return command, f"Check {found.name}." if is_about else step_of(form)
    return (plugin.check, f"Check {plugin.owner}.") if plugin and plugin.check else ("", "")


def _command(template: str, values: Values, shapes: Values) -> str:
    """Return a command with quoted values; empty if one has an unexpected form or is unknown.

    A part in `[[…]]` without its values is left out.
    """
    template = _with_optional(template, values)
    slots = [slot for slot in _SLOT.findall(template) if slot in values or slot in _OF_OBJECT]
    if any(not values.get(slot) or not is_safe(shapes.get(slot, slot), values[slot]) for slot in slots):
        return ""
    return _SLOT.sub(lambda slot: shlex.quote(values[slot[1]]) if slot[1] in slots else slot[0], template)


_OF_OBJECT = COMMAND_SLOTS - {"node"}  # the node is filled in with the finding
_SHAPES = {"address": "server"}
_ELSEWHERE = frozenset(("entry", "folder"))  # what the node does not have: a command there shows nothing
_NAMED = PATHS | HOSTS | {"lookup", "image", "interface"}


def _command_values(found: FoundObject) -> dict[str, str]:
    """Return the values for the slots of a command; the object of a kind of paths must be a path."""
    device = _DEVICE.fullmatch(found.name)
    values = {**_address(found), "name": device[1] if device else ""}
    if found.kind in PATHS:
        name = f"/dev/{found.name}" if found.kind == "device" and "/" not in found.name else found.name
        name = _TRIAL.sub("", name) or name
        if is_safe("path", name):
            values |= {"object": name, "parent": posixpath.dirname(name)}
    else:
        values["object"] = found.name
    if found.kind == "user":
        values |= _request(found)
    return values


def _request(found: FoundObject) -> dict[str, str]:
    """Return what a user may not do. To kubectl a word behind a slash is a name, no namespace that of its context."""
    verb, whole, group, namespace, cluster = found.more
    resource, _, subresource = whole.partition("/")
    return {
        "user": found.name,
        "verb": verb,
        "resource": f"{resource}.{group}" if group else resource,
        "subresource": subresource,
        "namespace": namespace,
        "cluster": "true" if cluster else "",
    }


def _address(found: FoundObject) -> dict[str, str]:
    """Return address and port of a host or URL."""
    parsed = _ADDRESS.match(found.name) if found.kind in HOSTS else None
    if parsed is None:
        return {"address": "", "port": ""}
    port = next((port for scheme, port in _PORTS.items() if found.name.startswith(scheme)), "443")
    return {"address": parsed[1].strip("[]"), "port": parsed[2] or port}
