"""Pages as text, eighty columns wide."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from kvdiag.explain.page import CapabilityPage, LinePage, RulePage, StepPage, StepWording, TopicPage, WordPage
from kvdiag.explain.topic import Answer, Topic
from kvdiag.model.error_anatomy import ErrorAnatomy

WIDTH = 80
LABEL = 11


def topics_text(topics: Iterable[Topic]) -> str:
    """What there is to ask for."""
    rows = [(topic.name, topic.title + (f" ({', '.join(topic.modes)})" if topic.modes else "")) for topic in topics]
    widest = max((len(name) for name, _ in rows), default=0) + 2
    lines = [line for name, title in rows for line in _wrapped(title, f"  {name:{widest}}", widest + 2)]
    return (
        "\n".join(
            [
                "Topics",
                *lines,
                "",
                "Also accepts a rule (id or name), a capability, an event kind, an RPC, a reason or a log line.",
            ]
        )
        + "\n"
    )


def topic_text(page: TopicPage) -> str:
    """A topic: its steps in order, the questions people ask, where to read on."""
    return "\n".join(_topic(page)) + "\n"


def rule_text(page: RulePage) -> str:
    """A rule in full, and the steps its events belong to."""
    steps = [f"  {topic}: {step}" for topic, step in page.steps]
    return "\n".join([page.text, *(["", "Steps it watches (kvdiag explain TOPIC)", *steps] if steps else [])]) + "\n"


def word_text(page: WordPage) -> str:
    """A kind of event, an RPC or a reason."""
    lines = [page.name, *_wrapped(page.summary, "  ", 2)]
    for line in page.lines:
        component = line.component or "any program of a node"
        level = f" from -v={line.verbosity} on" if line.verbosity else ""
        lines += ["", f"{line.kind} ({component}{level})", *_wrapped(line.about, "  ", 2)]
        lines += _wrapped(line.words, "    ", 4) if line.words else []
    if page.rules:
        lines += ["", "Rules", *_wrapped(", ".join(page.rules), "  ", 2)]
    return "\n".join(lines) + "\n"


def capability_text(page: CapabilityPage) -> str:
    """A capability: how a failure comes to it, and where it goes on."""
    one = page.capability
    lines = [f"{one.name} (on a {one.on})", *_wrapped(one.label, "  ", 2)]
    for title, names in (
        ("Needs", one.needs),
        ("Needed by", page.needed_by),
        ("Broken by", page.broken_by),
        ("Its failure shows in", page.felt_by),
    ):
        lines += ["", title, *_wrapped(", ".join(names), "  ", 2)] if names else []
    if one.collect:
        lines += ["", "What shows why it failed", *(f"  $ {command}" for command in one.collect)]
    return "\n".join(lines) + "\n"


def line_text(page: LinePage) -> str:
    """A line: its record, what it says, and what to think of it."""
    return "\n".join(_line(page)) + "\n"


def _topic(page: TopicPage) -> Iterator[str]:
    topic = page.topic
    yield f"{topic.name}{f' ({page.mode})' if page.mode else ''}"
    yield from _wrapped(topic.title + ".", "", 0)
    if page.mode:
        yield ""
        yield from _wrapped(topic.modes[page.mode], f"{page.mode}: ", 0)
    yield from _paragraphs(topic.summary)
    for number, step in enumerate(page.steps, 1):
        yield ""
        yield from _step(number, step)
    for answer in page.answers:
        yield from _answer(answer)
    for doubt in topic.doubts:
        yield ""
        yield from _wrapped(doubt, "Doubt: ", 2)
    if topic.checked:
        yield ""
        yield from _wrapped(topic.checked, "Checked: ", 2)
    others = [mode for mode in topic.modes if mode != page.mode]
    if others or topic.see:
        yield ""
    if others:
        yield from _wrapped(", ".join(f"--mode {mode}" for mode in others), "Other modes: ", 2)
    if topic.see:
        yield from _wrapped(", ".join(topic.see), "See also: ", 2)
    if topic.links:
        yield from ("", "Links", *(f"  {link}" for link in topic.links))


def _step(number: int, page: StepPage) -> Iterator[str]:
    step = page.step
    yield f"{number}. {step.name}, by {step.by}"
    for paragraph in step.does.split("\n\n"):
        yield from _wrapped(paragraph, "   ", 3)
    if page.note:
        yield from _labelled("Here", page.note)
    if step.calls:
        yield from _labelled("Functions", " → ".join(step.calls))
    if step.rpc:
        yield from _labelled("RPC", step.rpc)
    for line in page.lines:
        yield from _step_wording(line)
    if step.before:
        yield from _labelled("Must hold", step.before)
    if page.rules:
        yield from _labelled("Rules", ", ".join(page.rules))


def _step_wording(line: StepWording) -> Iterator[str]:
    who = line.component or "kvdiag"
    level = f"-v={line.verbosity} or higher" if line.verbosity else "at any -v"
    words = line.words or f"(gRPC call) {line.about}"
    yield from _labelled("Log", f"{who}, {level} ({line.kind})")
    yield from _wrapped(words, " " * (LABEL + 5), LABEL + 5)


def _answer(answer: Answer) -> Iterator[str]:
    yield ""
    yield from _wrapped(answer.question, "Question: ", 2)
    for paragraph in answer.answer.split("\n\n"):
        yield from _wrapped(paragraph, "  ", 2)
    yield from (f"  $ {command}" for command in answer.run)


def _line(page: LinePage) -> Iterator[str]:
    line, body = page.line, page.line.body
    carried = "no wrapper" if line.carrier == "plain" else f"wrapped by {line.carrier}"
    known = "unknown" if line.format == "plain" else line.format
    yield from _labelled("Format", f"{known}, {carried}", 0)
    by = ", ".join(word for word in (line.component, f"on {line.node}" if line.node else "") if word)
    rows = (("Component", by), ("Time", line.time), ("Level", str(body.level) if line.format != "plain" else ""))
    for label, content in (*rows, ("Caller", body.caller), ("Message", body.message)):
        if content:
            yield from _labelled(label, content, 0)
    for key, value in body.fields.items():
        yield from _labelled("", f"{key}={value}", 0)
    yield from _line_summary(page)


def _line_summary(page: LinePage) -> Iterator[str]:
    line = page.line
    if not line.events:
        yield from _labelled("Event", "not recognized", 0)
    for event, label in zip(line.events, page.labels, strict=True):
        yield from _labelled("Event", f"{label} ({event.kind})" if label else event.kind, 0)
        names = [f"{ref.kind}={ref.value}" for ref in event.refs]
        yield from (row for name in names for row in _labelled("", name, 0))
        values = [f"{name}: {value}" for name, value in event.attrs.items()]
        yield from (row for value in values for row in _labelled("", value, 0))
    if page.benign:
        yield from _labelled("Benign", page.benign.reason, 0)
    else:
        yield from _labelled("Benign", "no (not on the list of known benign lines)", 0)
    yield from _cause(page.anatomy)
    if page.rules:
        yield from _labelled("Rules", ", ".join(page.rules), 0)
    for number, fit in enumerate(page.fits):
        yield from _labelled("" if number else "Fits", f"{fit.rule}: {fit.title}", 0)
        yield from _labelled("", f"  by {fit.words}", 0)


def _cause(anatomy: ErrorAnatomy | None) -> Iterator[str]:
    """The cause of the error that a line reports, or its innermost clause if no cause is known."""
    if anatomy is None:
        return
    yield from _labelled("Cause" if anatomy.names_cause else "Error", anatomy.sentence, 0)
    for label, content in (
        ("Cause id" if anatomy.names_cause else "Error id", anatomy.primitive),
        ("Operation", anatomy.operation),
        ("Peer", anatomy.peer),
        ("Owner", anatomy.owner if anatomy.names_cause else ""),
        ("Check", anatomy.check),
        ("Note", anatomy.note),
    ):
        if content:
            yield from _labelled(label, content, 0)


def _labelled(label: str, text: str, indent: int = 3) -> Iterator[str]:
    begin = " " * indent + f"{label:{LABEL}}"
    for index, part in enumerate(text.split("\n")):
        yield from _wrapped(part, begin if not index else " " * len(begin), len(begin))


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        yield ""
        yield from _wrapped(paragraph, "", 0)


def _wrapped(text: str, begin: str, indent: int) -> Iterator[str]:
    yield from textwrap.wrap(
        text,
        WIDTH,
        initial_indent=begin,
        subsequent_indent=" " * indent,
        break_on_hyphens=False,
    ) or [begin.rstrip()]
