"""Fill the texts and commands of a rule with the values of a finding.

`{staging_path}` in a text becomes the path. In a command, the value must look like a path (see `safe_values`) and is
quoted for the shell; otherwise the command is withheld, and the step says why. A value that the logs do not show stays
as `'<staging_path>'`, which the shell cannot run by mistake.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial

from kvdiag.base.clock import SECOND, format_duration, parse_duration
from kvdiag.base.regex import lazy_regex
from kvdiag.base.safe_values import unsafe_slots
from kvdiag.events.names import UNNAMED, mounts_in
from kvdiag.model.event import THIS_NODE, Event, is_unnamed
from kvdiag.model.rule import Fix, Rule
from kvdiag.model.timeline import Entity
from kvdiag.rules.distribution import Dialect, LogWindow, is_placeholder

_UNWATCHED = lazy_regex(r"object \"([-a-z0-9]{1,63})\"/\"[^\"\n]{1,253}\" not registered")
_PROVISIONED = lazy_regex(r"\bpvc-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_CALLER = lazy_regex(r"\bUser \\?\"system:node:([a-z0-9][a-z0-9.-]{0,252})\\?\"")  # kubelet, as the API server names it
_NODE = lazy_regex(r"\bnodes?[ =]\\?[\"']([a-z0-9][a-z0-9.-]{0,252})\\?[\"']")  # that a line is about
_SLOT = lazy_regex(r"\{([a-z][a-z0-9_]*)\}")
_OPTIONAL = lazy_regex(r"\[\[(.*?)\]\]")
_LIMITS = lazy_regex(r" --field-selector spec\.nodeName=\{(node)\}| --since-time=\{(since_time)\}")
"""What narrows a command of kubectl down, and is removed if its value is unknown."""
ANY_DRIVER = "plugins_registry"  # the folder of kubelet that the node plug-in of every CSI driver mounts
_NODES = ("node", "from_node", "to_node")
_PODS = "kubectl get pods -A -o custom-columns=NS:.metadata.namespace,POD:.metadata.name,UID:.metadata.uid"
_VOLUMES = (
    "kubectl get pv -o custom-columns=PV:.metadata.name,DRIVER:.spec.csi.driver,"
    "HANDLE:.spec.csi.volumeHandle,NFS:.spec.nfs.path"
)
_MOUNTS = "{host} findmnt --list --output TARGET,SOURCE"
FINDERS: Mapping[str, str] = {
    **dict.fromkeys(("node", "from_node", "to_node"), "kubectl get nodes"),
    **dict.fromkeys(("pod_uid", "pod", "namespace", "pod_name"), _PODS),
    **dict.fromkeys(("volume_handle", "spec_name", "driver", "volume"), _VOLUMES),
    **dict.fromkeys(("target_path", "staging_path"), _MOUNTS),
    "container_id": "{crictl} ps --all",
    "sandbox_id": "{crictl} pods",
}
"""By the name of a value the command that lists such values, for a command whose value is not in the logs."""
SLOT_WORDS = {"spec_name": "volume name", "from_node": "old node", "to_node": "new node"}
GENERIC_NAMES = {
    "pod": "a pod",
    "volume": "a volume",
    "node": "the node",
    "from_node": "another node",
    "to_node": "one node",
}
"""What a text shows if no line names the object."""
_ARTICLES = ("a ", "the ")  # a sentence that begins so begins with what stands for a name
LONGEST_NAME = (
    100  # characters of a name in a heading; a longer one is left out, since half a secret cannot be recognized
)
LONGEST_CAUSE = 200  # the same, of the sentence of a cause, which names a path or a host
CAUSE_CLAUSE = "cause_clause"  # what a heading shows for `{cause}`: of an error that names no cause its last clause
_ID = lazy_regex(r"\b([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b([0-9a-f]{12})[0-9a-f]{20,}\b")
_EXPLAINED = lazy_regex(r"[:;] ")
_COMPONENT = lazy_regex(r"(?:CNI plug-in|CSI driver) \S+\Z")  # in front of what it says
BEGIN_OF_QUOTE = ": “"
LEAST_QUOTED = 100  # characters of a quotation in a heading; fewer seldom hold a whole statement
_NOT_SHORTENED = ("pod", "pod_name", "pods")  # names that are not shortened
NO_TIME = format_duration(0)
FIRST_BACKOFF, MOST_BACKOFFS = SECOND // 2, 8  # of kubelet's volume operations; the longest wait is 2m2s
SOME_TIME = "some time"  # that the logs do not show
MOST_TEXTS = 4096  # parsed texts in the cache, more than all rules have
REMARK = "# "  # in front of what a system without such a command says instead, as Windows
LONGEST_USE = 120  # characters of a command that is shown with the names of its values in their places
LONGEST_VALUE = 600  # characters of log text inside a sentence


def slot_values(entity: Entity, evidence: Sequence[Event], count: int, begins: int, ends: int | None) -> dict[str, str]:
    """Return the values for the slots of a rule's texts: names, values of the evidence, count and duration.

    Later evidence overrides earlier evidence, the subject's own names override both. `ladder` is the series of
    backoffs, `resources` and `errors` have each once, `often` is `once`, `at least once` or `8 times over 1m3s`.
    """
    values: dict[str, str] = {}
    ladder: list[str] = []
    for event in evidence:
        values.update(event.refs)
        values.update(event.attrs if all(event.attrs.values()) else _known(event.attrs))
        if backoff := event.attrs.get("backoff"):
            ladder.append(backoff)
    values.update(_names_of_pod({event.ref("pod") for event in evidence} - {""}))
    if not values.get("namespace") and (objects := {one for event in evidence for one in _objects_in(event)}):
        values |= {"namespace": objects.pop()} if len(objects) == 1 else {}
    if not values.get("spec_name") and len(volumes := {one for event in evidence for one in _volumes_in(event)}) == 1:
        values["spec_name"] = volumes.pop()
    if not values.get("target_path"):
        values.update(ref for event in evidence for ref in mounts_in(event.logged))
    values["text"] = next((values[name] for name in ("error", "reason", "message") if values.get(name)), "")
    values.update(entity.ids)
    if not entity.key.startswith(UNNAMED):
        values[str(entity.kind)] = entity.name
    callers = {one for event in evidence for one in _CALLER.findall(event.text)}
    others = {one for event in evidence for one in _NODE.findall(event.text)} - callers
    if is_unnamed(values.get("node", THIS_NODE)) and len(callers) == 1 and not others:
        values["node"] = callers.pop()
    span = SOME_TIME if ends is None else format_duration(ends - begins)
    values |= {"count": str(count), "span": span, "often": _often(count, span, _tries_before(ladder))}
    resources = dict.fromkeys(event.attrs.get("resource", "") for event in evidence)
    errors = dict.fromkeys(event.attrs.get("error", "") for event in evidence)
    lists = {"resources": ", ".join(filter(None, resources)), "errors": "; ".join(sorted(filter(None, errors)))}
    return values | lists | {"ladder": " ".join(dict.fromkeys(ladder))}


def _objects_in(event: Event) -> list[str]:
    """Return the namespaces of the objects that kubelet does not watch: `object "shop"/"app" not registered`."""
    return _UNWATCHED.findall(event.value("error"))


def _volumes_in(event: Event) -> list[str]:
    """Return the names of provisioned volumes in an error: `volume pvc-… is not ready for workloads`."""
    return _PROVISIONED.findall(event.value("error"))


def _tries_before(ladder: Sequence[str]) -> int:
    """Return how many tries are before the one with the longest backoff: kubelet waits 500 ms, then twice as long."""
    longest = max((parse_duration(one) or 0 for one in ladder), default=0)
    return sum(FIRST_BACKOFF << number < longest for number in range(MOST_BACKOFFS))


def _often(count: int, span: str, before: int) -> str:
    """Return how often; lines of several places in a program, at several times, may be of more than one try."""
    if count == 1 and before:
        return f"once, after at least {before} other {'try' if before == 1 else 'tries'}"
    if count == 1:
        return "once" if span == NO_TIME else "at least once"
    return f"{count} times" if span in {NO_TIME, SOME_TIME} else f"{count} times over {span}"


def _known(attrs: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in attrs.items() if value}


def _names_of_pod(pods: Collection[str]) -> dict[str, str]:
    """Return namespace and name of the pod if all lines with a pod name the same one."""
    namespace, _, name = next(iter(pods)).partition("/") if len(pods) == 1 else ("", "", "")
    return {"namespace": namespace, "pod_name": name} if namespace and name else {}


def sentence(text: str, values: Mapping[str, str]) -> str:
    """Return a text with its slots filled; an optional part `[[…]]` with an unknown slot is left out.

    Other unknown slots become a generic name such as `a pod` or `the node`, or `?`.
    """
    pieces = _shown_pieces(text, values)
    for at, slot in enumerate(pieces[1::2]):
        if slot in GENERIC_NAMES and not values.get(slot):
            pieces[2 * at] = pieces[2 * at].removesuffix(f"{slot} ")  # "pod {pod}" becomes "a pod"
    pieces[1::2] = [_short(values.get(slot) or GENERIC_NAMES.get(slot, "?")) for slot in pieces[1::2]]
    filled = "".join(pieces).strip()
    return filled[:1].upper() + filled[1:] if filled.startswith(_ARTICLES) and not pieces[0].strip() else filled


def headings(text: str, values: Mapping[str, str], subject: str = "") -> tuple[str, str]:
    """Return a title with its slots filled and ids shortened, and the same without the name of the subject.

    A title is empty if a value that it needs is unknown.
    """
    values = {**values, "cause": _short_cause(values[CAUSE_CLAUSE])} if CAUSE_CLAUSE in values else values
    known = ((slot, values.get(slot, "")) for _, part in _parts(text) for slot in part[1::2])
    names = {slot: _brief(slot, value) for slot, value in known if _is_short_name(slot, value)}
    others = {slot: name for slot, name in names.items() if values.get(slot) != subject}
    title = _heading(text, names)
    return title, title if len(others) == len(names) else _heading(text, others)


def _short_cause(sentence: str) -> str:
    """Return a sentence, or of a long one what is in front of an explanation: up to a colon or semicolon.

    Of a quotation at its end, as much stays as there is room for.
    """
    if len(sentence) <= LONGEST_CAUSE:
        return sentence
    before, quote, words = sentence.partition(BEGIN_OF_QUOTE)
    room = LONGEST_CAUSE - len(before) - len(BEGIN_OF_QUOTE) - len("… ")
    if words.endswith("”") and room >= LEAST_QUOTED:
        return f"{before}{quote}… {words[-room:].partition(' ')[2]}"
    ends = (found.start() for found in _EXPLAINED.finditer(sentence, 0, LONGEST_CAUSE))
    parts = (sentence[:end] for end in ends)
    whole = (one for one in parts if _is_closed(one) and not _COMPONENT.match(one))
    return max(whole, key=len, default=sentence)


def _is_closed(words: str) -> bool:
    """Return whether each quotation and parenthesis that begins in the words ends there."""
    return words.count("“") == words.count("”") and words.count("(") == words.count(")")


def _heading(text: str, names: Mapping[str, str]) -> str:
    pieces = _shown_pieces(text, names)
    pieces[1::2] = [names.get(slot, "") for slot in pieces[1::2]]
    return "".join(pieces).strip() if all(pieces[1::2]) else ""


def _shown_pieces(text: str, values: Mapping[str, str]) -> list[str]:
    """Return literals and slots of a text in turn, without its optional parts that have an unknown slot."""
    pieces = [""]
    for is_optional, part in _parts(text):
        if not is_optional or all(map(values.get, part[1::2])):
            pieces[-1] += part[0]
            pieces += part[1:]
    return pieces


@lru_cache(MOST_TEXTS)
def _parts(text: str) -> Sequence[tuple[bool, Sequence[str]]]:
    """Return the parts of a text, each with whether it is optional and with its literals and slots in turn."""
    return [(bool(number % 2), _SLOT.split(part)) for number, part in enumerate(_OPTIONAL.split(text))]


def _is_short_name(name: str, value: str) -> bool:
    return len(value) <= (LONGEST_CAUSE if name == "cause" else LONGEST_NAME) and not (
        name in _NODES and is_unnamed(value)
    )


def _brief(name: str, value: str) -> str:
    """Return a name on one line; a UUID is cut to its first 8 digits, another long id to its first 12."""
    line = " ".join(value.split())
    return line if name in _NOT_SHORTENED else _ID.sub(lambda found: f"{found[1] or found[2]}…", line)


def command(text: str, values: Mapping[str, str]) -> str:
    """Return a shell command with its slots filled and quoted; an unknown slot stays as `'<slot>'`.

    Empty if a value does not look like what its slot stands for.
    """
    if any(unsafe_slots(_slots_of(text), values)):
        return ""
    return _SLOT.sub(lambda slot: shlex.quote(values.get(slot[1]) or f"<{slot[1]}>"), text).strip()


def fixes(rule: Rule, values: Mapping[str, str], dialect: Dialect, window: LogWindow | None = None) -> Iterator[Fix]:
    """Yield the rule's steps for this finding, with the commands of the node's distribution.

    If the logs do not show a value that a command needs, the step has the command that finds the value instead; a
    command that changes something is withheld. `window` is the time of the finding, for the logs that a command reads.
    """
    expand = dialect.expand if window is None else partial(dialect.expand_at, window=window)
    known = {name: value for name, value in values.items() if not (name in _NODES and is_unnamed(value))}
    for fix in (*dialect.enter([fix.run for fix in rule.fix]), *rule.fix):
        text, run, after = (expand(part) for part in fix[:3])
        run, missing = limited(run, known), _missing_slots(limited(run, known), known)
        finder = dialect.expand(FINDERS.get(missing[0], "")) if missing and not after else ""
        withheld = "" if finder else _withheld_reason(run, known)
        more = _listed(run, missing) if finder else ""
        filled = "" if withheld else command(finder or run, known)
        if filled.startswith(REMARK):
            filled, withheld = "", filled.removeprefix(REMARK).partition(" | ")[0]
        yield Fix(
            text=sentence(text, values) + more,
            run=filled,
            after=sentence(after, values),
            withheld=withheld,
        )


def _listed(run: str, missing: Sequence[str]) -> str:
    """Return what a step says of the command that lists the values: which it lists, and what they are for."""
    whole = _SLOT.sub(lambda slot: slot[1].upper() if slot[1] in missing else slot[0], run)
    use = f", for “{whole.strip()}”" if len(whole) <= LONGEST_USE and not _SLOT.search(whole) else ""
    return f" The lines of this finding do not give one clear {_join_names(missing)}; this lists all{use}:"


def _missing_slots(run: str, values: Mapping[str, str]) -> list[str]:
    """Return the slots of a command without a value, each once."""
    return [slot for slot in dict.fromkeys(_slots_of(run)) if not values.get(slot)]


def limited(run: str, values: Mapping[str, str]) -> str:
    """Return a command of kubectl without the limits, a node or a time, whose value is unknown."""
    return _LIMITS.sub(lambda part: part[0] if values.get(part[1] or part[2]) else "", run)


def _withheld_reason(run: str, values: Mapping[str, str]) -> str:
    """Return why a command is withheld; empty if it is not."""
    if wrong := _join_names(unsafe_slots(_slots_of(run), values)):
        return f"no command: the {wrong} in the log has an unexpected form"
    missing = _join_names(_missing_slots(run, values))
    return f"no command: no {missing} was found in these logs" if missing else ""


def _join_names(slots: Iterable[str]) -> str:
    return " or ".join(SLOT_WORDS.get(slot) or slot.replace("_", " ") for slot in slots)


def _slots_of(text: str) -> Iterator[str]:
    yield from (slot[1] for slot in _SLOT.finditer(text))


def texts_of(rule: Rule) -> Iterator[tuple[str, str]]:
    """Yield every text of a rule that has slots, with the path of its key, for lint."""
    yield from (("heading", rule.heading), ("says", rule.says), ("cause", rule.cause))
    if rule.healed:
        yield "healed.says", rule.healed.says
    for number, fix in enumerate(rule.fix):
        yield from zip((f"fix.{number}.{key}" for key in ("text", "run", "after")), fix[:3], strict=True)
    yield from ((f"collect.{number}", text) for number, text in enumerate(rule.collect))


def slots_of(text: str) -> set[str]:
    """Return the slots of a text."""
    return {slot for slot in _SLOT.findall(text) if not is_placeholder(slot)}


def fixed_words(text: str) -> int:
    """Return how many words of a text are fixed, outside of slots."""
    return len([word for word in _SLOT.sub(" ", text).split() if any(map(str.isalnum, word))])


def quoted_slots(run: str) -> Iterator[str]:
    """Yield the slots of a command that are inside quotes: quoting their values would end those quotes."""
    for slot in _SLOT.finditer(run):
        if any(run.count(quote, 0, slot.start()) % 2 for quote in "'\""):
            yield slot[1]


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LONGEST_VALUE else text[:LONGEST_VALUE] + "…"
