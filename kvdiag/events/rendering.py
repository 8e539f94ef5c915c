"""An event → the lines that a component prints of it: a sample of the vocabulary with other names, values and time.

    render(spelling, {"error": "target is busy"}, Cast.called(""), moment)
    E0312 08:00:00.000000    1432 nestedpendingoperations.go:348] Operation for "{volumeName:…

So tests of rules are told by kinds of events and read in every wording that the vocabulary knows. What a line cannot
say is an error: a wording without an error has none to be given.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kvdiag.base.clock import to_datetime
from kvdiag.base.errors import PatternError
from kvdiag.base.regex import lazy_regex
from kvdiag.events.embedded_errors import quotes_around
from kvdiag.events.fixture_pod import FixturePod
from kvdiag.events.names import PLACEHOLDERS, refs_of
from kvdiag.events.template import Matcher
from kvdiag.events.vocabulary import Vocabulary
from kvdiag.model.event import Ref
from kvdiag.model.vocabulary import CRASH, Entry, Wording

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
