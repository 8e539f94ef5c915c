"""Render events as log lines of a wording: for the stories of rules."""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kvdiag.base.clock import to_datetime
from kvdiag.base.errors import PatternError
from kvdiag.base.regex import lazy_regex
from kvdiag.events.embedded_errors import quotes_around
from kvdiag.events.made_names import attachment_name, staging_path
from kvdiag.events.names import PLACEHOLDERS, refs_of
from kvdiag.events.template import Matcher
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.formats.rpc.fragments import METHODS, kind_prefix
from kvdiag.model.event import Ref
from kvdiag.model.vocabulary import CRASH, Entry, Wording

ROOT = "/var/lib/kubelet"
_FIRST = {
    "pod": "shop/web-0",
    "pod_uid": "5b0c7a1e-2f4d-4c8e-9a63-0d1e2f3a4b5c",
    "spec_name": "pvc-4e1b9a70-5f3c-4b0e-8a52-7c9d1e2f3a4b",
    "volume_handle": "9d2c6f10-77aa-11ee-8c11-0242ac110002",
    "driver": "disk.example.com",
    "outer_name": "data",
    "sandbox_id": "b71e04" * 10 + "b71e",
    "container_id": "3f2a9c" * 10 + "3f2a",
    "node": "worker-1",
}
_SHARED = ("driver", "outer_name", "node")  # the same for all pods of a story
_SHORTEST = 4  # characters of a name that is replaced in the rest of a line
_SPACE = uuid.UUID(int=0)


class FixturePod:
    """A pod of a story with its volume, sandbox and containers; `names` are their names by kind of ref."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Compute the names that are made of others, unless they are given."""
        self.names = {**_derived(names), **names}

    @classmethod
    def named(cls, name: str, given: Mapping[str, str] = {}) -> FixturePod:
        """Return the pod of that name; `given` overrides names."""
        defaults = _FIRST if not name else {**_generated_names(name), **{kind: _FIRST[kind] for kind in _SHARED}}
        return cls({**defaults, **given})

    def rename_in(self, text: str, refs: Iterable[Ref]) -> str:
        """Return the text with the names in `refs` replaced by those of this pod."""
        swaps = dict(_swaps(refs, self.names))
        if not swaps:
            return text
        longest = sorted(swaps, key=len, reverse=True)
        found = lazy_regex("|".join(rf"(?<![\w-]){name}(?![\w-])" for name in map(_escaped, longest)))
        return found.sub(lambda name: swaps[name[0]], text)


def _escaped(name: str) -> str:
    import re

    return re.escape(name)


def _swaps(refs: Iterable[Ref], names: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    for kind, old in refs:
        new = names.get(kind, "")
        if not new or new == old:
            continue
        yield old, new
        if kind == "pod":
            (space, name), (other_space, other_name) = old.split("/"), new.split("/")
            pairs = ((space, other_space), (name, other_name), (f"{name}_{space}", f"{other_name}_{other_space}"))
            yield from ((was, now) for was, now in pairs if len(was) >= _SHORTEST and was != now)


def _generated_names(name: str) -> Mapping[str, str]:
    uid = str(uuid.uuid5(_SPACE, name))
    digest = hashlib.sha256(name.encode()).hexdigest()
    return {
        "pod": f"shop/{name}",
        "pod_uid": uid,
        "spec_name": f"pvc-{uuid.uuid5(_SPACE, uid)}",
        "volume_handle": f"vol-{digest[:8]}",
        "sandbox_id": digest,
        "container_id": digest[::-1],
    }


def _derived(names: Mapping[str, str]) -> Mapping[str, str]:
    driver, handle, uid, volume = (names[kind] for kind in ("driver", "volume_handle", "pod_uid", "spec_name"))
    namespace, _, pod_name = names["pod"].rpartition("/")
    return {
        "namespace": namespace,
        "pod_name": pod_name,
        "unique_name": f"kubernetes.io/csi/{driver}^{handle}",
        "target_path": f"{ROOT}/pods/{uid}/volumes/kubernetes.io~csi/{volume}/mount",
        "staging_path": staging_path(ROOT, driver, handle),
        "attachment": attachment_name(handle, driver, names["node"]),
    }


_FIELDS = {
    "NodeStageVolume": ("volume_id", "staging_target_path"),
    "NodeUnstageVolume": ("volume_id", "staging_target_path"),
    "NodePublishVolume": ("volume_id", "staging_target_path", "target_path"),
    "NodeUnpublishVolume": ("volume_id", "target_path"),
    "NodeGetVolumeStats": ("volume_id", "volume_path"),
    "NodeExpandVolume": ("volume_id", "volume_path"),
    "ControllerPublishVolume": ("volume_id", "node_id"),
    "ControllerUnpublishVolume": ("volume_id", "node_id"),
    "DeleteVolume": ("volume_id",),
    "ControllerExpandVolume": ("volume_id",),
    "CreateVolume": ("name",),
    "CreateSnapshot": ("name",),
}
_NAMED = {
    "volume_id": "volume_handle",
    "target_path": "target_path",
    "volume_path": "target_path",
    "staging_target_path": "staging_path",
    "node_id": "node",
    "name": "spec_name",
}
NAMELESS = kind_prefix("")  # the kind prefix of a failed call without a method
_BY_THING = {NAMELESS: "", **{kind_prefix(method): method for method in METHODS.values()}}
FAILURE = "rpc error: code = Internal desc = failed"


def is_renderable(entry: Entry, names: Iterable[str] = ()) -> bool:
    """Return whether an event is a call or result of a known method, and can have values of these names."""
    prefix, _, outcome = entry.kind.rpartition(".")
    return entry.is_call and prefix in _BY_THING and set(names) <= ({"error"} if outcome == "failed" else set())


def render_call(
    entry: Entry, values: Mapping[str, str], pod: FixturePod, time: int, *, is_requested: bool
) -> list[str]:
    """Return the lines of an event, with those of the request unless `is_requested`."""
    prefix, _, outcome = entry.kind.rpartition(".")
    if not is_renderable(entry, values):
        problem = f"a call can only be given an error, and only one that failed, not {dict(values)}"
        raise PatternError(entry.place, problem)
    method = _BY_THING[prefix]
    begins = f"{to_datetime(time):%m%d %H:%M:%S.%f}       1 server.go"
    request = json.dumps(
        {field: pod.names[_NAMED[field]] for field in sorted(_FIELDS.get(method, ()))}, separators=(",", ":")
    )
    service = "Controller" if "csi.controller" in entry.kind or "Node" not in method else "Node"
    lines = [f"I{begins}:101] GRPC call: /csi.v1.{service}/{method}", f"I{begins}:105] GRPC request: {request}"]
    lines = [] if (is_requested and outcome != "called") or not method else lines
    if outcome == "succeeded":
        lines.append(f"I{begins}:114] GRPC response: {{}}")
    if outcome == "failed":
        lines.append(f"E{begins}:112] GRPC error: {values.get('error', FAILURE)}")
    return lines


LISTED = '"Event listed"'  # what a table of events is turned into; no log has such a line
OF_A_RULE = "line."
KERNEL, SYSTEMD = "kernel", "systemd"
_KLOG = lazy_regex(r"^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d{6}")
_SYSLOG = lazy_regex(r"^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: (\S+))?")
_BOOT = lazy_regex(r"^\[ *\d+\.\d+\]")
_STAMP = lazy_regex(r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(?:\.\d+)?(?: [+-]\d{4}|[+-]\d\d:\d\d|Z)?")
_TOKEN = lazy_regex(r"(?<!\{)\{([a-z_]+)\}|\.\.\.|\[\[|\]\]")
_HEAD = 120  # characters of a line in which its time stands


class Spelling(NamedTuple):
    """One wording of an event, a sample of it, and where the values of its placeholders stand in the sample.

    `component` prints it; `refs` are the names in the sample.
    """

    entry: Entry
    wording: Wording
    sample: str
    values: Mapping[str, tuple[int, int]]
    refs: tuple[Ref, ...]

    @property
    def component(self) -> str:
        """Who prints it; of words within an error kubelet."""
        return self.entry.component or "kubelet"


class Spellings:
    """Every way to say each kind of event."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Needs `read_vocabulary`, which keeps samples; a line of a rule, which has none, is its own."""
        self._vocabulary = vocabulary
        self._by_kind: dict[str, tuple[Spelling, ...]] = {}
        self._samples: dict[str, list[tuple[Entry, str]]] = defaultdict(list)
        for entry in vocabulary.entries:
            samples = entry.samples or [_filled(wording) for wording in entry.wordings]
            self._samples[entry.kind] += [(entry, sample) for sample in samples]

    def of_kind(self, kind: str) -> tuple[Spelling, ...]:
        """One for each wording of the kind that stands in a log, in the order of the files."""
        if kind not in self._by_kind:
            found: dict[int, Spelling] = {}
            for entry, sample in self._samples.get(kind, ()):
                if not sample.startswith(LISTED) and kind != CRASH:  # a crash has neither time nor name
                    for number, spelling in self._read(entry, sample):
                        found.setdefault(number, spelling)
            self._by_kind[kind] = tuple(found[number] for number in sorted(found))
        return self._by_kind[kind]

    def _read(self, entry: Entry, sample: str) -> Iterator[tuple[int, Spelling]]:
        known = self._vocabulary
        for number, values in known.readings(sample.encode()):
            if known.owner(number) is entry:
                matcher = known.matcher(number)
                placed = _placed(matcher, sample, values)
                named_values = [(name, value) for name, value in zip(matcher.names, values, strict=True) if value]
                refs = (ref for name, value in named_values for ref in refs_of(PLACEHOLDERS[name].kind or "", value))
                yield number, Spelling(entry, known.wordings[number], sample, placed, tuple(dict.fromkeys(refs)))


def _filled(wording: Wording) -> str:
    """A message with something in each of its places."""
    names = FixturePod.named("").names
    text = _TOKEN.sub(lambda found: names.get(found[1] or "", "") or ("x" if found[1] else ""), wording.message)
    fields = (f' {key}="{names.get(name, "x")}"' for name, key in wording.fields.items())
    return text.replace("{{", "{").replace("}}", "}") + "".join(fields)


def _placed(matcher: Matcher, sample: str, values: tuple[bytes | None, ...]) -> Mapping[str, tuple[int, int]]:
    """Where the values stand, counted in characters; of one that cannot be told, nowhere."""
    line = sample.encode()
    anchors = re.finditer(re.escape(matcher.wording.anchor.encode()), line)
    begins = [0] if matcher.searches else [anchor.start() + matcher.shift for anchor in anchors]
    match = matcher.full.search if matcher.searches else matcher.full.match
    found = next((one for at in begins if at >= 0 and (one := match(line, at)) and one.groups() == values), None)
    spans = [found.span(number + 1) if found else _only(line, value) for number, value in enumerate(values)]
    named_spans = zip(matcher.names, spans, strict=True)
    return {name: (begin, end) for name, (begin, end) in named_spans if begin >= 0} if sample.isascii() else {}


def _only(line: bytes, value: bytes | None) -> tuple[int, int]:
    if not value or line.count(value) != 1:
        return (-1, -1)
    begin = line.index(value)
    return (begin, begin + len(value))


def can_render(spelling: Spelling, names: Iterable[str]) -> bool:
    """Whether the wording has a place for a value of each of these names."""
    return all(name in spelling.values for name in names)


def render(spelling: Spelling, values: Mapping[str, str], pod: FixturePod, time: int) -> str:
    """The line that says so at that moment. Raises PatternError where it has no place for a value."""
    for name in values:
        if name not in spelling.values:
            problem = f"'{spelling.wording.message}' has no place for {name!r}, which the story gives"
            raise PatternError(spelling.wording.place, problem)
    pieces: list[str] = []
    reached = 0
    for name, (begin, end) in sorted(spelling.values.items(), key=lambda placed: placed[1]):
        if name in values and begin >= reached:
            depth = quotes_around(spelling.sample.encode(), begin)
            pieces += [pod.rename_in(spelling.sample[reached:begin], spelling.refs), _quoted(values[name], depth)]
            reached = end
    pieces.append(pod.rename_in(spelling.sample[reached:], spelling.refs))
    return _timed("".join(pieces), spelling, pod, time)


def _quoted(value: str, depth: int) -> str:
    r"""A value as it stands within so many backslashes of quotes; -1: within none."""
    return value if depth < 0 else value.replace('"', "\\" * (2 * depth + 1) + '"')


def _timed(line: str, spelling: Spelling, pod: FixturePod, time: int) -> str:
    moment = to_datetime(time)
    syslog = f"{moment:%b} {moment.day:2} {moment:%H:%M:%S} {pod.names['node']}"
    if _KLOG.match(line):
        return _KLOG.sub(lambda found: f"{found[1]}{moment:%m%d %H:%M:%S.%f}", line)
    if _SYSLOG.match(line):
        return _SYSLOG.sub(syslog, line, count=1)
    if spelling.component == KERNEL:
        return f"{syslog} kernel: {_BOOT.sub('', line).lstrip()}"
    if spelling.entry.kind.startswith(OF_A_RULE):
        return f"E{_klog(time)}    1432 log.go:32] {line}"
    if not spelling.entry.component:
        return error_line(line, pod, time)
    head = line[:_HEAD]
    if _STAMP.search(head):
        stamp = _STAMP.sub(lambda found: f"{moment:%Y-%m-%d}{found[1]}{moment:%H:%M:%S.%f}" + _zone(found[0]), head, 1)
        return stamp + line[_HEAD:]
    raise PatternError(spelling.entry.place, f"no time can be put on this sample of {spelling.entry.kind}: {line}")


def _zone(stamp: str) -> str:
    return "Z" if "T" in stamp else " +0000" if re.search(r" [+-]\d{4}$", stamp) else ""


def error_line(words: str, pod: FixturePod, time: int) -> str:
    """Words as the error of a line of kubelet that says nothing else but whose pod it is."""
    first, newline, below = words.partition("\n")
    fields = f'err="{_quoted(first, 0)}" pod="{pod.names["pod"]}" podUID="{pod.names["pod_uid"]}"'
    return f'E{_klog(time)}    1432 log.go:32] "Request failed" {fields}{newline}{below}'


def idle_line(component: str, time: int) -> str:
    """A line that means nothing but that the component was there."""
    moment = to_datetime(time)
    if component in {"containerd", "crio"}:
        return f'time="{moment:%Y-%m-%dT%H:%M:%S.%fZ}" level=info msg="nothing of note"'
    if component in {KERNEL, SYSTEMD}:
        return f"{moment:%b} {moment.day:2} {moment:%H:%M:%S} worker-1 {component}: nothing of note"
    return f'I{_klog(time)}    1432 log.go:32] "Nothing of note"'


def _klog(time: int) -> str:
    return f"{to_datetime(time):%m%d %H:%M:%S.%f}"
