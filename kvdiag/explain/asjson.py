"""Pages as JSON values."""

from __future__ import annotations

from typing import Any

from kvdiag.explain.page import CapabilityPage, LinePage, RulePage, StepPage, StepWording, TopicPage, WordPage
from kvdiag.explain.topic import Topic


def topics_json(topics: list[Topic]) -> dict[str, Any]:
    """What there is to ask for."""
    return {"topics": [{"topic": t.name, "title": t.title, "modes": dict(t.modes)} for t in topics]}


def topic_json(page: TopicPage) -> dict[str, Any]:
    """A topic in one mode; `mode` is null where it has none."""
    topic = page.topic
    return {
        "topic": topic.name,
        "title": topic.title,
        "mode": page.mode or None,
        "modes": dict(topic.modes),
        "says": topic.summary,
        "steps": [_step(step) for step in page.steps],
        "answers": [{"question": a.question, "answer": a.answer, "run": list(a.run)} for a in page.answers],
        "doubts": list(topic.doubts),
        "checked": topic.checked or None,
        "see": list(topic.see),
        "links": list(topic.links),
    }


def rule_json(page: RulePage) -> dict[str, Any]:
    """A rule's page and the steps it looks at."""
    steps = [{"topic": topic, "step": step} for topic, step in page.steps]
    return {"rule": page.name, "id": page.id, "text": page.text, "steps": steps}


def word_json(page: WordPage) -> dict[str, Any]:
    """A kind of event, an RPC or a reason with its lines and rules."""
    return {
        "name": page.name,
        "says": page.summary,
        "lines": [_wording(line) for line in page.lines],
        "rules": list(page.rules),
    }


def capability_json(page: CapabilityPage) -> dict[str, Any]:
    """A capability with its neighbours in the graph and the rules that speak of it."""
    one = page.capability
    return {
        "capability": one.name,
        "label": one.label,
        "on": str(one.on),
        "needs": list(one.needs),
        "needed_by": list(page.needed_by),
        "broken_by": list(page.broken_by),
        "felt_by": list(page.felt_by),
        "collect": list(one.collect),
    }


def line_json(page: LinePage) -> dict[str, Any]:
    """A line with its record, events, reason to be harmless (or null) and rules."""
    line, benign = page.line, page.benign
    return {
        "line": line.number,
        "carrier": line.carrier,
        "format": line.format,
        "component": line.component,
        "node": line.node,
        "time": line.time or None,
        "level": str(line.body.level),
        "caller": line.body.caller,
        "message": line.body.message,
        "fields": dict(line.body.fields),
        "events": [
            {
                "kind": event.kind,
                "label": label,
                "refs": [{"kind": ref.kind, "value": ref.value} for ref in event.refs],
                "attrs": dict(event.attrs),
            }
            for event, label in zip(line.events, page.labels, strict=True)
        ],
        "benign": benign and {"name": benign.name, "why": benign.why, "unless": benign.unless},
        "anatomy": page.anatomy and page.anatomy.plain(),
        "rules": list(page.rules),
        "fits": [{"rule": fit.rule, "title": fit.title, "words": fit.words} for fit in page.fits],
    }


def _step(page: StepPage) -> dict[str, Any]:
    step = page.step
    return {
        "name": step.name,
        "by": step.by,
        "does": step.does,
        "note": page.note,
        "calls": list(step.calls),
        "rpc": step.rpc,
        "lines": [_wording(line) for line in page.lines],
        "before": step.before,
        "rules": list(page.rules),
    }


def _wording(line: StepWording) -> dict[str, Any]:
    return {
        "kind": line.kind,
        "component": line.component,
        "verbosity": line.verbosity,
        "words": line.words,
        "about": line.about,
    }
