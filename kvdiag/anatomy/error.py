"""Read one error, and choose the strongest one of several."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from kvdiag.anatomy.clause import clause_around, innermost_clause
from kvdiag.anatomy.compose import (
    OTHER_SIDE,
    THE_PROGRAM,
    Subject,
    callee_of,
    check_of,
    fill,
    form_of,
    owner_of,
    peer_of,
    sentence_values,
)
from kvdiag.anatomy.data import tables
from kvdiag.anatomy.decode import flatten, without_position
from kvdiag.anatomy.entries import MAKE, QUERY, REMOVE, Operation, Primitive, Tables
from kvdiag.anatomy.objects import HOSTS, NOTHING, PATHS, WHOLE_FIRST, FoundObject, find_object
from kvdiag.anatomy.read import ErrorReading, Hit, read
from kvdiag.anatomy.steps import CHECK
from kvdiag.base.regex import lazy_regex
from kvdiag.model.error_anatomy import STRONG, WEAK, ErrorAnatomy
from kvdiag.model.values import Level

GONE = "the object is already gone, as expected of a removal"
INFORMATION = "printed at level info"
OF_PROGRAM = "{program}"  # owner of a primitive that is about who prints it, and not about the driver it calls
GRPC = "GRPC error"  # how CSI drivers log what they return, some at level info
ANSWERS = frozenset(
    ("CALICO_BGP", "CALICO_FELIX", "CALICO_FELIX_DEAD", "PROBE_TIMEOUT")
)  # causes in what a program answers to a probe; others are of what it serves
PROBED = "exec"  # the operation of probes
PROBE = "probe failed: "  # then paths are those of the container, and a command on the node shows nothing
REMOVED = (
    "/rootfs/",
    "/merged/",
    "/containerd/tmpmounts/",
)  # of a container that did not start, of a layer: they are gone
CALL = 12  # characters of `connect: ` and `exit status 1: `, which say nothing more
OPTIONAL = "the runtime is optional"
RACE = "the file was removed after the folder had been listed"
AUDITED, AUDIT = "EACCES", "{host} ausearch -m avc -ts boot"  # of any container
OF_USER = (
    "access to {} is denied in the container: its user, where the image expects root or another one (runAsUser, "
    "OpenShift's SCC), owner and mode of a volume, or SELinux"
)
OF_EITHER = {
    "EACCES": "access to {} is denied: in a container mostly to its user (runAsUser, or the one of OpenShift's SCC), "
    "by owner and mode of a volume, or by SELinux",
    "EROFS": "{} is on a read-only file system: in a container mostly since readOnlyRootFilesystem is set, or the "
    "volume is mounted read-only",
}  # for a path that may be of a container or of the node
OF_HOST = ("/host/", "/hostfs/")  # where agents in containers see the node: no paths of the node itself
OF_NODE = ("/dev/", "/sys/", "/proc/")  # what the pod of a driver shares with the node, beside kubelet's folder
NODE_FOLDERS = (
    *("/boot/", "/dev/", "/etc/", "/lib/", "/mnt/", "/opt/", "/proc/", "/run/", "/sys/", "/usr/", "/var/"),
    *("/host/", "/hostfs/", "/rootfs/"),
)  # of the node, or of both; other folders, such as /data or /app, are mostly of a container
DEVICES = tuple(f"/dev/{name}/" for name in ("disk", "mapper", "block", "longhorn", "drbd", "zvol", "rbd", "pxd"))
_ANSWERED = lazy_regex(r"(?i)probe failed(?:: |\"? probetype=(?:.*output=\"?)?)")
_BY_KUBELET = lazy_regex(  # what kubelet itself met when it called the program, or had a command run
    r"(?:Get|Head) \"?https?://|dial tcp|HTTP probe failed|timeout: |context deadline|rpc error: "
    r"|OCI runtime exec failed"
)
_ENDED = lazy_regex(r"\bContainer (?:[-a-z0-9]{1,63} )?terminated: ")  # what follows is of the container
_LOOPBACK = lazy_regex(r"\[?(?:127\.|::1\b|localhost\b)")
_IN_IMAGE = frozenset(("container_start", "exec"))
_OF_DRIVER = frozenset(("attach", "detach", "stage", "publish", "unmount", "provision", "delete", "resize", "snapshot"))
_QUIET = frozenset((Level.INFO, Level.DEBUG))
_ORDER = (MAKE, QUERY, "", REMOVE)  # of two errors of one strength, the one that makes something is chosen


def read_error(
    text: str,
    *,
    context: str = "",
    program: str = "",
    level: Level = Level.ERROR,
    operations: Collection[str] = (),
    redact: bool = True,
) -> ErrorAnatomy:
    """Return the anatomy of an error; `context` is the record around it, if `text` is a part of one.

    `operations` are ids of operations that are known to have failed although no words of `text` say it.
    Without `redact`, nothing of the anatomy may be printed.
    """
    known = tables()
    flat = flatten(text, redact=redact)
    whole = flatten(context, redact=redact) if context else flat
    found = read(flat, whole, known, operations)
    quoted = innermost_clause(flat[: found.clean])
    anatomy = ErrorAnatomy(
        program=program,
        operations=tuple(one.id for one in found.operations),
        operation=_failed(found.operations),
        direction=found.operations[0].direction if found.operations else "",
        codes=found.codes,
        component=found.component,
        quoted=quoted,
        sentence=quoted,
    )
    hit = found.hit
    is_named = hit is not None and (hit.primitive.id in ANSWERS or not _is_answer(flat, whole))
    return _with_cause(anatomy, found, hit, level, known) if hit and is_named else anatomy


def _is_answer(text: str, record: str) -> bool:
    """Return whether a program answered so to a probe: then it is about what the program serves, not about the node."""
    asked = _ANSWERED.search(record)
    answered = _ANSWERED.search(text)
    return asked is not None and _BY_KUBELET.match(text, answered.end() if answered else 0) is None


def read_part(text: str, record: str, program: str) -> ErrorAnatomy:
    """Return the anatomy of an error that is a part of a record.

    The record may say in front of it what its object is, or words without which the error is no cause.
    """
    record = without_position(record)
    part, whole = read_error(text, context=record, program=program), read_error(record, program=program)
    is_same = whole.primitive == part.primitive and part.object in {"", whole.object}
    says_more = part.object and part.object == whole.object and whole.strength > part.strength
    says_more = says_more or (is_same and not part.object and whole.object and whole.object in text)
    if says_more or (is_same and whole.object_kind in WHOLE_FIRST):
        return whole
    if part.primitive or not part.quoted or not whole.quoted.endswith(part.quoted):
        return part
    clause = read_error(whole.quoted, context=record, program=program)
    return clause if clause.strength == STRONG else part


def _with_cause(anatomy: ErrorAnatomy, found: ErrorReading, hit: Hit, level: Level, known: Tables) -> ErrorAnatomy:
    primitive = hit.primitive
    kinds = [kind for kind in primitive.objects if kind != "entry" or _IN_IMAGE.intersection(anatomy.operations)]
    named = find_object(kinds, found.text, hit.begin, hit.end) if kinds else NOTHING
    owner = owner_of(named.name, anatomy.operations, known)
    plugin = owner_of(found.component, anatomy.operations, known)
    callee = callee_of(found.operations, found.text, found.component)
    is_of_another = found.is_cni or anatomy.codes or _ENDED.search(found.text)  # what gRPC returns, another printed
    program = "" if is_of_another else anatomy.program
    subject = Subject(program, found.component, callee, found.is_cni)
    clause = clause_around(found.text, hit.begin, hit.end)
    words = found.text[hit.begin : hit.end]
    values = sentence_values(named, subject, owner, clause, words, known.packages)
    note = _note(anatomy, found, hit, level)
    strength = WEAK if note else primitive.strength
    is_inside = (named.kind in PATHS and _is_path_inside(named.name, found.text)) or (
        (_is_of_driver(anatomy) or PROBED in anatomy.operations) and _is_of_pod(named)
    )
    is_shown = strength > WEAK and not is_inside
    quoted = _words(primitive, found, hit, named.kind, anatomy.quoted)
    check, step = check_of(primitive, named, owner, plugin) if is_shown else ("", "")
    sentence = fill(form_of(primitive.says, named.kind), values) if strength > WEAK else ""
    if named.kind in PATHS and _is_of_driver(anatomy):
        sentence = sentence.replace(" on this node", " where the CSI driver runs")
    return anatomy._replace(
        primitive=primitive.id,
        strength=strength,
        object=values["object"],
        object_kind=named.kind,
        peer=peer_of(named, _url_near(found.text, hit), anatomy.operations, known),
        owner=_owner(values["owner"], fill(primitive.owner, values), plugin.owner if plugin else ""),
        clause=clause,
        note=note,
        sentence=_whole_sentence(sentence, anatomy, found, primitive, quoted) or anatomy.quoted or clause,
        step=step,
        check=check,
    )


def _is_path_inside(path: str, text: str) -> bool:
    """Return whether a path is one of a container, or is gone by now: a command on the node does not find it."""
    is_target = any(words in text for words in (f":{path} (via ", f'rootfs at "{path}"', f'at "{path}" caused'))
    return PROBE in text or path.startswith(OF_HOST) or is_target or any(folder in path for folder in REMOVED)


def _is_of_pod(named: FoundObject) -> bool:
    """Return whether what a driver names is of its own pod: a program, its loopback, a path that it does not share."""
    if named.kind == "path":
        return "/kubelet/" not in named.name and not named.name.startswith(OF_NODE)
    if named.kind == "device":  # /dev of the pod may be its own; these folders are of the kernel, udev or the node
        return "/" in named.name.removeprefix("/dev/") and not named.name.startswith(DEVICES)
    return named.kind == "program" or (named.kind in HOSTS and _LOOPBACK.match(named.name) is not None)


def in_container(anatomy: ErrorAnatomy, *, is_known: bool, is_klog: bool = False) -> ErrorAnatomy:
    """Return the error of a program in a container, without a check of what is not of the node.

    That is each path of one that is known not to be of the node; another may be an agent, which shares some of them.
    A program with klog is of Kubernetes: what SELinux denies it is in the audit log of the node.
    """
    is_inside = _is_of_pod(FoundObject(anatomy.object_kind, anatomy.object))
    if not is_inside and not (is_known and anatomy.object_kind in PATHS):
        return anatomy
    if anatomy.primitive == "EACCES" and anatomy.object_kind == "path" and is_inside and not is_known:
        anatomy = anatomy._replace(sentence=OF_USER.format(anatomy.object))
    is_audited = is_klog and not is_known and anatomy.primitive == AUDITED and bool(anatomy.check)
    check, step = (AUDIT, CHECK) if is_audited else ("", "")
    return anatomy._replace(check=check, step=step)


def of_unknown_program(anatomy: ErrorAnatomy) -> ErrorAnatomy:
    """Return the error of a program that may be in a container, without a check of a path that nodes do not have."""
    is_elsewhere = anatomy.object_kind in PATHS and anatomy.object.startswith("/")
    if not is_elsewhere or anatomy.object.startswith(NODE_FOLDERS):
        return anatomy
    sentence = OF_EITHER.get(anatomy.primitive, "").format(anatomy.object)
    return anatomy._replace(check="", step="", sentence=sentence or anatomy.sentence)


def _is_of_driver(anatomy: ErrorAnatomy) -> bool:
    """Return whether a CSI driver returned the error: its programs and loopback are of its pod, not of the node."""
    return bool(anatomy.codes) and not _OF_DRIVER.isdisjoint(anatomy.operations)


def _url_near(text: str, hit: Hit) -> str:
    return find_object(["url"], text, hit.begin, hit.end).name if "://" in text else ""


def _owner(*names: str) -> str:
    """Return the first owner that is known: of the object, of the primitive in general, of the plug-in."""
    return next((name for name in names if name and name not in {OTHER_SIDE, THE_PROGRAM}), "")


def _words(primitive: Primitive, found: ErrorReading, hit: Hit, kind: str, quoted: str) -> str:
    """Return the words of the program that follow the sentence; without an object they alone say what failed."""
    if primitive.quotes:
        line, _, below = found.text[hit.end :].partition("\n")
        return innermost_clause(found.text[: hit.end] + line) if below else quoted
    if kind or not (primitive.objects or primitive.number or primitive.strength < STRONG):
        return ""
    if primitive.number and len(quoted) <= hit.end - hit.begin:
        quoted = f"{innermost_clause(found.text[: hit.begin]).rstrip(':')}: {quoted}".removeprefix(": ")
    return quoted if len(quoted) > hit.end - hit.begin + CALL else ""


def _whole_sentence(
    sentence: str, anatomy: ErrorAnatomy, found: ErrorReading, primitive: Primitive, quoted: str
) -> str:
    """Return the sentence with the component in front and the words of the program behind, where they add something."""
    if not sentence:
        return ""
    if quoted and quoted.lower() not in sentence.lower():
        sentence = f"{sentence}: “{quoted}”"
    if found.component and found.is_cni:
        named = f"CNI plug-in {found.component}"
        return sentence if named in sentence else f"{named}: {sentence}"
    if not found.component or found.component in sentence or primitive.owner == OF_PROGRAM:
        return sentence
    is_of_driver = bool(anatomy.codes) or GRPC in found.text  # kubelet prints errors of its own in the same operation
    return f"CSI driver {found.component}: {sentence}" if is_of_driver else sentence


def _note(anatomy: ErrorAnatomy, found: ErrorReading, hit: Hit, level: Level) -> str:
    """Return why the error may be no failure; empty if no reason is known."""
    primitive = hit.primitive
    if found.is_optional:
        return OPTIONAL
    if primitive.gone and primitive.strength < STRONG and anatomy.direction in {REMOVE, QUERY}:
        return GONE if primitive.id != "ENOENT" or "static_pod" not in anatomy.operations else RACE
    is_grpc = bool(anatomy.codes) or GRPC in found.text
    return INFORMATION if level in _QUIET and primitive.strength < STRONG and not is_grpc else ""


def _failed(operations: tuple[Operation, ...]) -> str:
    """Return the label of the operation that failed: the innermost one of the outermost's direction."""
    if not operations:
        return ""
    same = [one for one in operations if one.direction == operations[0].direction]
    return (same or list(operations))[-1].label


class Candidate(NamedTuple):
    """An error of a subject, when it was printed first, and how often."""

    time: int
    anatomy: ErrorAnatomy
    times: int = 1


def strongest_error(candidates: Iterable[Candidate]) -> ErrorAnatomy | None:
    """Return the strongest error of one pod, volume or unit; of equal ones by direction, then the most frequent cause.

    Of causes that are as frequent it is the earliest.
    """
    errors = list(candidates)
    counts: Counter[str] = Counter()
    for error in errors:
        counts[error.anatomy.primitive] += error.times
    best = min(
        errors,
        key=lambda one: (
            -one.anatomy.strength,
            _ORDER.index(one.anatomy.direction),
            -counts[one.anatomy.primitive],
            one.time,
        ),
        default=None,
    )
    return best.anatomy if best else None
