"""Names in log lines: the placeholders, their values, and the refs in a value.

    pod="default/web-0"  podUID=95d6b80b-…  containerID={"Type":"containerd","ID":"3f2a…"}
    for volume "kubernetes.io/csi/hostpath.csi.k8s.io^9a1c…"  target_path=/var/lib/kubelet/pods/<uid>/volumes/…

A name with an unexpected format yields no ref: a wrong identity is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.model.event import Ref

MAX_NAME = 1024
"""Longer values are no names; volume handles, the longest, end at 128 bytes by CSI and a few hundred in the field."""

MOST_REMEMBERED = 65_536
"""How many parsed values are cached; about 20 MB if each had the maximum length."""

UNNAMED = "?"
"""The name of the pod in an excerpt that does not name it; at most one in each."""

MAX_ERROR = 4096
"""How much of an error is kept."""

MAX_TEXT = 8192
"""How much of any other value is kept."""


def unnamed_pod(source: str) -> str:
    """Return what stands for the pod that a log does not name: two logs mostly are of two pods."""
    return f"{UNNAMED}{source}"


class Placeholder(NamedTuple):
    """The definition of a `{placeholder}`.

    `pattern` is the regex of its value, or None when the value ends where the next literal begins; `kind` the kind of
    ref it gives, or None for an attribute; `shape` how it is written as a field: a `word` without spaces, an `id`
    that may be wrapped in a struct, a `list` in brackets, or `free` text.
    """

    pattern: bytes | None = None
    kind: str | None = None
    shape: str = "free"


# A path may hold the backslashes of Windows, but one that escapes a quote ends it.
_PATH = rb'(?>(?:[^"\\\n ,\])]++|\\++(?!"))*)'
# &PodSandboxMetadata{Name:n,Uid:u,Namespace:ns,Attempt:0,} up to containerd 2.1, name:"n" uid:"u" … from 2.2 on
_POD_METADATA = (
    rb"(?:(?:&|\\+u0026)?PodSandboxMetadata\{[^}\n]*+\}"
    rb'|name:\\*"[^"\\\n]*+\\*"(?>(?: {1,2}(?:uid|namespace|attempt):(?:\\*"[^"\\\n]*+\\*"|\d++))*))'
)

_SUBJECTS: Final[dict[str, Placeholder]] = {
    "pod_uid": Placeholder(None, "pod_uid", "word"),
    "pod": Placeholder(None, "pod", "word"),
    "pods": Placeholder(None, "pods", "list"),
    "pod_metadata": Placeholder(_POD_METADATA, "pod_metadata", "free"),
    "pod_name": Placeholder(None, "pod_name", "word"),
    "namespace": Placeholder(None, "namespace", "word"),
    "sandbox_id": Placeholder(None, "sandbox_id", "id"),
    "container_id": Placeholder(None, "container_id", "id"),
    "unique_name": Placeholder(None, "unique_name", "word"),
    "volume_handle": Placeholder(None, "volume_handle", "word"),
    "spec_name": Placeholder(None, "spec_name", "word"),
    "pv_name": Placeholder(None, "spec_name", "word"),
    "outer_name": Placeholder(None, "outer_name", "word"),
    "target_path": Placeholder(_PATH, "target_path", "free"),
    "staging_path": Placeholder(_PATH, "staging_path", "free"),
    "attachment": Placeholder(None, "attachment", "word"),
    "driver": Placeholder(None, "driver", "word"),
    "node": Placeholder(None, "node", "word"),
    "cgroup": Placeholder(rb"[^,\s]++", "cgroup", "free"),
}
_WORDS: Final = (
    "attempt backoff count device duration endpoint event_type from_node exit_code exit_status grace_period image "
    "new_state old_state request restarts result revision runtime server signal source state timeout unit update_type "
    "verbosity version"
)
_TEXTS: Final = "actual available command data dump error expected message reason recorded resource threshold"
PLACEHOLDERS: Final[Mapping[str, Placeholder]] = {
    **_SUBJECTS,
    **{name: Placeholder(shape="word") for name in _WORDS.split()},
    **{name: Placeholder() for name in _TEXTS.split()},
    "container_name": Placeholder(rb"[0-9A-Za-z][-.0-9A-Za-z_]*+", None, "word"),
    "path": Placeholder(_PATH, None, "free"),
    "host": Placeholder(rb'[^/"\\\s]++', None, "word"),  # of a URL, with its port
    "method": Placeholder(rb"[A-Za-z/]{1,80}+", None, "word"),
    # 2024-07-15 03:51:36.0534518 +0000 UTC m=+881.487053596, up to the bracket that follows
    "retry_at": Placeholder(rb"[^\n (]++(?>(?: [^\n (]++)*)"),
}
"""All placeholders. Another name in a template is an error: it is usually a spelling mistake."""

_UUID = rb"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-f]{32}"
_UID = lazy_regex(_UUID)
_ID = lazy_regex(rb"[0-9a-f]{12,64}(?![0-9A-Za-z])")
_LABEL = lazy_regex(rb"[0-9A-Za-z](?:[-._0-9A-Za-z]{0,251}[0-9A-Za-z])?")
_POD = lazy_regex(rb"([0-9A-Za-z][-.0-9A-Za-z]{0,252})/([0-9A-Za-z][-.0-9A-Za-z]{0,252})")
_LEGACY_POD = lazy_regex(rb"([0-9A-Za-z][-.0-9A-Za-z]{0,252})_([0-9A-Za-z][-.0-9A-Za-z]{0,252})\((" + _UUID + rb")\)")
_POD_OBJECT = lazy_regex(
    rb'"name\\*+":\\*+"([-.0-9A-Za-z]{1,253})\\*+",\\*+"namespace\\*+":\\*+"([-.0-9A-Za-z]{1,253})\\*+"'
)
_ATTACHMENT = lazy_regex(rb"csi-[0-9a-f]{64}")
_CSI_NAME = lazy_regex(rb"kubernetes\.io/csi/([-.0-9A-Za-z_]{1,253})\^(.{1,900})", re.DOTALL)
_LOCAL_NAME = lazy_regex(rb"kubernetes\.io/[-.0-9A-Za-z_~]{1,100}/(" + _UUID + rb")-([-.0-9A-Za-z_]{1,253})")
_PUBLISHED = lazy_regex(
    rb"pods/(" + _UUID + rb")/(?:volumes|volumeDevices)/kubernetes\.io~[-.0-9A-Za-z_~]{1,100}/([-.0-9A-Za-z_]{1,253})"
)
_MOUNT = lazy_regex(
    rb"(/[^\s\[\]\"\\:,']{0,256}/pods/("
    + _UUID
    + rb")/volumes/[-.0-9A-Za-z_]{1,253}~[-.0-9A-Za-z_]{1,253}/([-.0-9A-Za-z_]{1,253})(?:/mount)?)"
)
_BLOCK_PUBLISHED = lazy_regex(
    rb"kubernetes\.io/csi/volumeDevices/(?:publish/)?([-.0-9A-Za-z_]{1,253})(?:/dev)?/(" + _UUID + rb")(?![-0-9A-Za-z])"
)
_STAGED = lazy_regex(rb"kubernetes\.io/csi/([-.0-9A-Za-z_]{1,253})/[0-9a-f]{64}(?:/|$)")
_STAGING = lazy_regex(
    rb"/[^\s\[\]\"\\:,']{0,256}/plugins/kubernetes\.io/csi/"
    rb"(?:pv/[-.0-9A-Za-z_]{1,253}|[-.0-9A-Za-z_]{1,253}/[0-9a-f]{64})/globalmount"
)
_STAGED_BY_PV = lazy_regex(rb"kubernetes\.io/csi/pv/([-.0-9A-Za-z_]{1,253})/globalmount")
_BLOCK_STAGED = lazy_regex(rb"kubernetes\.io/csi/volumeDevices/(?:staging/)?([-.0-9A-Za-z_]{1,253})")
# /kubepods/burstable/pod<uid>/<id>, /kubepods.slice/kubepods-pod<uid with _>.slice/cri-containerd-<id>.scope
_CGROUP = lazy_regex(
    rb"pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?"
    rb"(?:[/:](?:[a-z\-]{1,40}[-:])?([0-9a-f]{64})(?![0-9A-Za-z]))?"
)
# What kubelet calls a sandbox or a container, its attempt at the end; none of the names may hold a `_`.
_RUNTIME_NAME = lazy_regex(
    rb"(?<![-.0-9A-Za-z])([-.0-9a-z]{1,253})_([-0-9a-z]{1,63})_(" + _UUID + rb")_\d{1,9}(?![-.0-9A-Za-z_])"
)
_OF_RUNTIME_NAME = lazy_regex(rb"_[0-9a-fA-F]{8}")  # found in a twentieth of the time that the name before it takes
_METADATA_FIELD = lazy_regex(rb'(name|uid|namespace):\\*"?([-.0-9A-Za-z]{1,253})', re.IGNORECASE)
_BACKSLASHES = lazy_regex(rb"\\+")
# of the line that runc prints for its error, which CRI-O returns whole
_INNER_HEAD = lazy_regex(rb"time=\\{0,7}\"[^\"\\\n]{10,40}\\{0,7}\" level=[a-z]{4,7} msg=\\{0,7}(?=\")")
_QUOTE = lazy_regex(rb'(?<!\\)"')
_TRAILING_FIELD = lazy_regex(
    rb' [A-Za-z_][-\w./]*+=(?>"[^"\\\n]*+(?>(?:\\.[^"\\\n]*+)*)"|[&{\[][^\n]*+|(?!")[^ "\n]*+)'
)
_UNESCAPED = {rb"\n": b"\n", rb"\t": b"\t", rb"\r": b"\r", rb"\"": b'"', rb"\\": b"\\"}
_ESCAPE = lazy_regex(rb'\\[ntr"\\]')


def refs_of(kind: str, value: bytes) -> tuple[Ref, ...]:
    """Return the refs in a placeholder's raw value, validated and normalized.

    `kind` is a placeholder with a subject; `value` is as in the line, including quotes or a struct around it.
    """
    reader = _READERS.get(kind)
    if reader is None or not value or len(value) > (64 * MAX_NAME if kind in _LISTS else MAX_NAME):
        return ()
    return reader(value.strip(b'"\\ ')) if kind in _LISTS else _read(kind, value.strip(b'"\\ '))


@lru_cache(maxsize=MOST_REMEMBERED)
def _read(kind: str, value: bytes) -> tuple[Ref, ...]:
    """Cache the refs of a value, since names repeat: 0.1 µs instead of 1 to 4."""
    return _READERS[kind](value)


def text_of(name: str, value: bytes) -> str:
    """Return the value of an attribute as text: an error cleaned up, any other without the quotes around it."""
    raw = tidy_error(value) if name == "error" else value[:MAX_TEXT].strip(b'"\\ \r').replace(rb"\"", b'"')
    return raw.decode("utf-8", "replace")


def tidy_error(value: bytes) -> bytes:
    r"""Return the text of an error: without the log call's closing quote and fields, and one level of escapes.

    driver \"d\" not found" pod="default/web-0"  →  driver "d" not found
    """
    text = value[:MAX_ERROR].strip(b" \r\n")
    text = _INNER_HEAD.sub(b"", text) if b" level=" in text else text
    while text.startswith((b'"', rb"\"")) and text.endswith(b'"') and len(text) > 1:
        text = text.removeprefix(b"\\")[1:-1].removesuffix(b"\\")
    if text.count(b'"') - text.count(rb"\"") & 1 or rb"\"" in text:
        text = text[: _message_end(text)]
    text = _ESCAPE.sub(lambda found: _UNESCAPED[found[0]], text).strip()
    return text if b":\\" in text else text.removesuffix(rb"\n")  # of a quoted text; C:\name is a path of Windows


def _message_end(text: bytes) -> int:
    """Return the position of the quote that closes the message, if only `key=value` follow; else the end of the text.

    From each quote the fields are read to their end; fields read from an earlier quote are not read again.
    """
    end = len(text.rstrip())
    seen: set[int] = set()
    for quote in _QUOTE.finditer(text, text.rfind(b"\n", 0, end) + 1, end):
        at = quote.end()
        while at not in seen:
            if at == end:
                return quote.start()
            seen.add(at)
            field = _TRAILING_FIELD.match(text, at, end)
            at = field.end() if field else at
    return len(text)


def mounts_in(error: bytes) -> tuple[Ref, ...]:
    """Return the target path in an error, with its pod and volume; empty if it has several volumes."""
    if b"/volumes/" not in error:
        return ()
    paths = {(found[2], found[3]): _mounted_at(found[1]) for found in _MOUNT.finditer(error[: 16 * MAX_NAME])}
    return refs_of("target_path", next(iter(paths.values()))) if len(paths) == 1 else ()


def _mounted_at(path: bytes) -> bytes:
    """Return the mount point below the folder of a CSI volume, which also contains vol_data.json."""
    return path if b"/kubernetes.io~csi/" not in path or path.endswith(b"/mount") else path + b"/mount"


def staged_in(error: bytes) -> tuple[Ref, ...]:
    """Return the staging path in an error, and its driver; empty if it has several."""
    paths = {found[0] for found in _STAGING.finditer(error[: 16 * MAX_NAME])}
    return refs_of("staging_path", paths.pop()) if len(paths) == 1 else ()


def pods_in(error: bytes) -> tuple[Ref, ...]:
    """Return the pod of a sandbox or container in an error, `web-0_shop_<uid>_0`; empty if it has several."""
    names = _RUNTIME_NAME.finditer(error[: 16 * MAX_NAME]) if _OF_RUNTIME_NAME.search(error) else ()
    found = {(name[2], name[1], name[3]) for name in names}
    if len(found) != 1:
        return ()
    namespace, pod, uid = found.pop()
    return (_ref("pod", namespace + b"/" + pod), _ref("pod_uid", uid))


def is_uid(text: str) -> bool:
    """Return whether a text has the format of a pod's UID: 36 characters, or the 32 of a static pod."""
    return _UID.fullmatch(text.encode()) is not None


@lru_cache(maxsize=MOST_REMEMBERED)
def _ref(kind: str, value: bytes) -> Ref:
    return Ref(kind, value.decode("utf-8", "replace"))


def _pod_uid(value: bytes) -> tuple[Ref, ...]:
    return (_ref("pod_uid", value),) if _UID.fullmatch(value) else ()


def _pod(value: bytes) -> tuple[Ref, ...]:
    if _POD.fullmatch(value):
        return (_ref("pod", value),)
    legacy = _LEGACY_POD.fullmatch(value)
    if legacy:
        return _legacy_pod(legacy)
    object_ = _POD_OBJECT.search(value)
    if object_:
        return (_ref("pod", object_[2] + b"/" + object_[1]),)
    if value == UNNAMED.encode():
        return (_ref("pod_name", value),)
    return _label("pod_name")(value)


def _legacy_pod(found: re.Match[bytes]) -> tuple[Ref, ...]:
    """Read `name_namespace(uid)`, as kubelet prints up to 1.20 and still inside some errors."""
    return (_ref("pod", found[2] + b"/" + found[1]), _ref("pod_uid", found[3]))


def _pods(value: bytes) -> tuple[Ref, ...]:
    """`[a/b c/d]`, `["a/b","c/d"]`, `[{"name":"b","namespace":"a"}]`, or `b_a(uid), d_c(uid)`."""
    legacy = [ref for found in _LEGACY_POD.finditer(value) for ref in _legacy_pod(found)]
    objects = [_ref("pod", found[2] + b"/" + found[1]) for found in _POD_OBJECT.finditer(value)]
    return tuple(dict.fromkeys(legacy or objects or [_ref("pod", found[0]) for found in _POD.finditer(value)]))


def _pod_metadata(value: bytes) -> tuple[Ref, ...]:
    """`PodSandboxMetadata{Name:n,Uid:u,Namespace:ns,Attempt:0,}` or `name:"n" uid:"u" namespace:"ns"`."""
    fields = {found[1].lower(): found[2] for found in _METADATA_FIELD.finditer(value)}
    pod = fields.get(b"namespace", b"") + b"/" + fields.get(b"name", b"")
    return (*_pod_uid(fields.get(b"uid", b"")), *((_ref("pod", pod),) if _POD.fullmatch(pod) else ()))


def _cgroup(value: bytes) -> tuple[Ref, ...]:
    """Return the pod, and the container if there is one, of a cgroup; empty if it is not a pod's."""
    found = _CGROUP.search(value)
    if found is None:
        return ()
    pod = _ref("pod_uid", found[1].replace(b"_", b"-"))
    return (pod, _ref("container_id", found[2])) if found[2] else (pod,)


def _container(kind: str) -> Callable[[bytes], tuple[Ref, ...]]:
    """Return a reader: of `ID`, `containerd://ID`, `{Type:containerd ID:ID}` or `{"Type":"containerd","ID":"ID"}`."""

    def read(value: bytes) -> tuple[Ref, ...]:
        at = max(value.rfind(b"ID:"), value.rfind(b'ID"'), value.rfind(b'ID\\"'))
        tail = value[at + 2 :].lstrip(b'\\":') if at >= 0 else value.rpartition(b"://")[2]
        found = _ID.match(tail)
        return (_ref(kind, found[0]),) if found else ()

    return read


def _label(kind: str) -> Callable[[bytes], tuple[Ref, ...]]:
    def read(value: bytes) -> tuple[Ref, ...]:
        return (_ref(kind, value),) if _LABEL.fullmatch(value) else ()

    return read


def _pv_name(value: bytes) -> tuple[Ref, ...]:
    """Return a PV with a provisioner's name; another name may be a volume's in a pod spec."""
    return _label("spec_name")(value) if value.startswith(b"pvc-") else ()


def _unique_name(value: bytes) -> tuple[Ref, ...]:
    """Read `kubernetes.io/csi/D^H` with driver and handle, `kubernetes.io/<plugin>/<uid>-<name>` with the pod."""
    attachable = _CSI_NAME.fullmatch(value)
    if attachable:
        return (_ref("unique_name", value), _ref("volume_handle", attachable[2]), _ref("driver", attachable[1]))
    local = _LOCAL_NAME.fullmatch(value)
    if local:
        return (_ref("unique_name", value), _ref("pod_uid", local[1]), _ref("outer_name", local[2]))
    return (_ref("unique_name", value),) if b"/" in value and not value.startswith(b"/") else _label("spec_name")(value)


def _volume_handle(value: bytes) -> tuple[Ref, ...]:
    return (_ref("volume_handle", value),)


def _attachment(value: bytes) -> tuple[Ref, ...]:
    return (_ref("attachment", value),) if _ATTACHMENT.fullmatch(value) else ()


def _path(value: bytes) -> bytes:
    """Return a path with slashes, for any system and depth of escaping."""
    return _BACKSLASHES.sub(b"/", value)


def _target_path(value: bytes) -> tuple[Ref, ...]:
    path = _path(value).removesuffix(b":")  # mount: PATH: wrong fs type
    if path[:1] != b"/" and path[1:3] != b":/":
        return ()
    found = _PUBLISHED.search(path)
    if found:
        return (_ref("target_path", path), _ref("pod_uid", found[1]), _ref("spec_name", found[2]))
    block = _BLOCK_PUBLISHED.search(path)
    if block:
        return (_ref("target_path", path), _ref("pod_uid", block[2]), _ref("spec_name", block[1]))
    return (_ref("target_path", path),)


def _staging_path(value: bytes) -> tuple[Ref, ...]:
    path = _path(value)
    if path[:1] != b"/" and path[1:3] != b":/":
        return ()
    for layout, kind in ((_STAGED, "driver"), (_STAGED_BY_PV, "spec_name"), (_BLOCK_STAGED, "spec_name")):
        found = layout.search(path)
        if found:
            return (_ref("staging_path", path), _ref(kind, found[1]))
    return (_ref("staging_path", path),)


_LISTS: Final = frozenset({"pods"})
_READERS: Final[Mapping[str, Callable[[bytes], tuple[Ref, ...]]]] = {
    "pod_uid": _pod_uid,
    "pod": _pod,
    "pods": _pods,
    "pod_metadata": _pod_metadata,
    "cgroup": _cgroup,
    "pod_name": _label("pod_name"),
    "namespace": _label("namespace"),
    "sandbox_id": _container("sandbox_id"),
    "container_id": _container("container_id"),
    "unique_name": _unique_name,
    "volume_handle": _volume_handle,
    "spec_name": _label("spec_name"),
    "pv_name": _pv_name,
    "outer_name": _label("outer_name"),
    "target_path": _target_path,
    "staging_path": _staging_path,
    "attachment": _attachment,
    "driver": _label("driver"),
    "node": _label("node"),
}

NAMED: Final = frozenset(_READERS)
"""The placeholders whose values contain refs."""
