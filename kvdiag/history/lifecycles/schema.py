"""A life cycle's file → its values; every fault told with file:line:column and what was meant instead."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from kvdiag.base.errors import PatternError
from kvdiag.base.suggestions import suggestion
from kvdiag.base.yamlread import Key, Node, Plain, read_yaml
from kvdiag.model.values import SubjectKind

FILE = ("subject", "states", "parts", "variants", "spans", "errors", "waits-by-error")
STATE = ("waits", "is", "reboot")
PART = ("outage", "hides", "states", "steps", "orders", "details")
STEP = ("to", "keeps", "holds", "proves", "forgets", "may", "marks", "waits", "ends-wait", "label", "is")
SPAN = ("name", "pairs", "per", "once", "unless", "fails")
SITUATIONS = ("no-controller", "driver-alone")
PER = ("container", "image", "pod")

STATE_FLAGS = frozenset(
    {
        *("first", "settled", "resting", "passing", "past", "trouble", "unseen"),  # of all life cycles
        *("coming", "running", "backing-off", "retrying", "looping", "stopping", "finished", "gone", "over"),  # of pods
    }
)
STEP_FLAGS = frozenset(
    {
        *("explains", "lasts", "starts", "reboots", "told-late"),  # of nodes and drivers
        *(
            "comes",
            "deletes",
            "removes",
            "fails-sync",
            "start-fails",
            "backs-off",
            "creates",
            "made-sandbox",
        ),  # of pods
        *("makes-sandbox", "starts-container", "ends-container", "ends-sandbox", "pull-begins", "pull-ends"),
        *("patches-status", "changes-probe"),
    }
)


def read_lifecycles(folder: Path, kinds: Collection[str]) -> tuple[dict[str, Plain], list[PatternError]]:
    """The values of each file by its subject, and all that is wrong with them; `kinds` are those of events."""
    files: dict[str, Plain] = {}
    faults: list[PatternError] = []
    for path in sorted(folder.glob("*.yaml")):
        try:
            node = read_yaml(path.read_text(encoding="utf-8"), str(path))
            found = list(_File(node, kinds).faults())
            subject = node.table().get("subject")
            if subject and not found and subject.text() in files:
                found = [subject.error(f"another file tells the life of a {subject.text()}")]
            faults += found
            if subject and not found:
                files[subject.text()] = node.plain()
        except PatternError as fault:
            faults.append(fault)
        except (OSError, UnicodeDecodeError) as fault:
            faults.append(PatternError(f"{path}:1:1", f"cannot be read: {fault}"))
    missing = [str(kind) for kind in SubjectKind if kind not in files] if not faults else []
    faults += [PatternError(f"{folder}:1:1", f"no file tells the life of a {kind}") for kind in missing]
    return files, faults


class _File(NamedTuple):
    """One file and the kinds of events that it may name."""

    node: Node
    kinds: Collection[str]

    def faults(self) -> Iterator[PatternError]:
        """All faults; where its frame is broken only that."""
        top = self.node.mapping(FILE, ("subject", "states", "parts", "variants"))
        yield from _known(top["subject"], [str(kind) for kind in SubjectKind], "subject")
        states, parts = top["states"].table(), top["parts"].table()
        part_keys = [part.mapping(PART) for part in parts.values()]
        flags = {flag.text() for state in states.values() for flag in _items(state.mapping(STATE), "is")}
        marks = {step["marks"].text() for part in part_keys for step in _steps(part) if "marks" in step}
        words = {*states, *flags}
        for part in part_keys:
            yield from _caught(self._part(part, states, words, marks))
        yield from _caught(_states(states, part_keys))
        yield from _caught(_variants(top["variants"], parts, str(top["subject"].value)))
        for span in _items(top, "spans"):
            yield from _caught(self._span(span))
        details = {kind.partition(":")[2] for part in part_keys for kind in _table(part, "steps")}
        for detail, texts in _table(top, "errors").items():
            if detail not in details:
                yield _at(detail, texts, f"no step has the detail '{detail}'{suggestion(detail, details)}")
            yield from _caught(_texts(texts))
        yield from _caught(_waits(top))

    def _part(
        self, part: Mapping[str, Node], states: Mapping[str, Node], words: Collection[str], marks: Collection[str]
    ) -> Iterator[PatternError]:
        for kind, step in _table(part, "steps").items():
            yield from self._kind(kind, step)
            yield from _caught(_step(step, states, words))
        for name, detail in _table(part, "details").items():
            keys = detail.mapping(("of", "to", "keeps"), ("of", "to", "keeps"))
            yield from _each(keys["of"].sequence(), STEP_FLAGS, f"flag of a step for the detail '{name}'")
            yield from _known(keys["to"], states, "state")
            yield from _each(keys["keeps"].sequence(), words, "state")
        for order in _items(part, "orders"):
            keys = order.mapping(("to", "after", "through"), ("to", "after", "through"))
            yield from _known(keys["to"], states, "state")
            yield from _known(keys["after"], {*states, *marks}, "state or mark")
            yield from _known(keys["through"], states, "state")
        for state, values in _table(part, "states").items():
            if state not in states:
                yield _at(state, values, f"unknown state '{state}'{suggestion(state, states)}")
            values.mapping(("waits", "is"))
        hides = part.get("hides")
        for hidden in hides.sequence() if hides and hides.value != "all" else ():
            yield from self._kind(hidden.text(), hidden)

    def _span(self, span: Node) -> Iterator[PatternError]:
        keys = span.mapping(SPAN, ("name", "pairs"))
        keys["name"].text()
        for pair in keys["pairs"].sequence():
            if len(pair.sequence()) != 2:
                yield pair.error("a pair is two kinds: what begins and what ends")
            for kind in pair.sequence():
                for one in kind.text().split("|"):
                    yield from self._kind(one, kind)
        for key in keys.keys() & {"unless", "fails"}:
            yield from self._kind(keys[key].text(), keys[key])
        if "per" in keys:
            yield from _known(keys["per"], PER, "holder")
        if "once" in keys:
            keys["once"].flag()

    def _kind(self, kind: str, node: Node) -> Iterator[PatternError]:
        base_kind = kind.partition(":")[0]
        if base_kind not in self.kinds:
            yield _at(kind, node, f"unknown kind of event '{base_kind}'{suggestion(base_kind, self.kinds)}")


def _step(node: Node, states: Mapping[str, Node], words: Collection[str]) -> Iterator[PatternError]:
    keys = node.mapping(STEP)
    if "to" in keys:
        yield from _known(keys["to"], states, "state")
    yield from _each(_items(keys, "keeps"), words, "state or flag of states")
    yield from _each(_items(keys, "may"), states, "state")
    if "forgets" in keys and keys["forgets"].value != "all":
        yield from _each(keys["forgets"].sequence(), states, "state")
    for state, text in _table(keys, "waits").items():
        if state not in states:
            yield _at(state, text, f"unknown state '{state}'{suggestion(state, states)}")
        text.text()
    yield from _each(_items(keys, "is"), STEP_FLAGS, "flag of a step")
    for key in keys.keys() & {"marks", "ends-wait", "label"}:
        keys[key].text()
    if "holds" in keys and keys["holds"].integer() not in {1, -1}:
        yield keys["holds"].error("holds is 1 or -1")
    if "proves" in keys:
        keys["proves"].flag()


def _states(states: Mapping[str, Node], parts: Iterable[Mapping[str, Node]]) -> Iterator[PatternError]:
    """A first one, a wait for each that is not settled, a step that leads to it, and a reader for each flag."""
    parts = list(parts)
    steps = [step for part in parts for step in (*_steps(part), *(d.table() for d in _table(part, "details").values()))]
    reached = {step["to"].text() for step in steps if "to" in step}
    reached |= {state["reboot"].text() for state in map(Node.table, states.values()) if "reboot" in state}
    kept_states = {word.text() for step in steps for word in _items(step, "keeps")}
    firsts = 0
    for name, node in states.items():
        keys = node.table()
        flags = [flag.text() for flag in _items(keys, "is")]
        firsts += "first" in flags
        if name not in reached and not {"first", "unseen"} & set(flags):
            yield _at(name, node, f"no step leads to the state '{name}'")
        if "settled" not in flags and not ("waits" in keys and keys["waits"].value):
            yield _at(name, node, f"the state '{name}' is not settled and does not say what it waits for")
        yield from _each(_items(keys, "is"), STATE_FLAGS | kept_states, "flag of a state")
        if "reboot" in keys:
            yield from _known(keys["reboot"], states, "state")
    if firsts != 1:
        at = next(iter(states.values()), None)
        yield PatternError(at.place if at else "1:1", f"one state is the first, not {firsts}")


def _variants(node: Node, parts: Mapping[str, Node], subject: str) -> Iterator[PatternError]:
    used: set[str] = set()
    for name, variant in node.table().items():
        if not name.startswith(f"{subject}/"):
            yield _at(name, variant, f"the name of a variant begins with '{subject}/'")
        keys = variant.mapping(("parts", *SITUATIONS), ("parts",))
        for listed in keys.values():
            yield from _each(listed.sequence(), parts, "part")
            used |= {part.text() for part in listed.sequence()}
    yield from (
        _at(name, part, f"no variant has the part '{name}'") for name, part in parts.items() if name not in used
    )


def _caught(found: Iterator[PatternError]) -> Iterator[PatternError]:
    """What a check finds, and what it stumbles over."""
    try:
        yield from found
    except PatternError as fault:
        yield fault


def _known(node: Node, known: Collection[str], what: str) -> Iterator[PatternError]:
    if node.text() not in known:
        yield node.error(f"unknown {what} '{node.text()}'{suggestion(node.text(), known)}")


def _each(nodes: Iterable[Node], known: Collection[str], what: str) -> Iterator[PatternError]:
    for node in nodes:
        yield from _known(node, known, what)


def _texts(listed: Node) -> Iterator[PatternError]:
    for node in listed.sequence():
        if not isinstance(node.value, str):
            yield node.error("a text of an error is expected here")


def _waits(top: Mapping[str, Node]) -> Iterator[PatternError]:
    for node in _table(top, "waits-by-error").values():
        node.text()
    yield from ()


def _at(key: str, node: Node, problem: str) -> PatternError:
    """An error at a key of a mapping."""
    return PatternError(key.place if isinstance(key, Key) else node.place, problem)


def _items(keys: Mapping[str, Node], key: str) -> tuple[Node, ...]:
    return keys[key].sequence() if key in keys else ()


def _table(keys: Mapping[str, Node], key: str) -> Mapping[str, Node]:
    return keys[key].table() if key in keys else {}


def _steps(part: Mapping[str, Node]) -> list[Mapping[str, Node]]:
    return [step.table() for step in _table(part, "steps").values()]
