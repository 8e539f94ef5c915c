"""The script of a test: events by their kinds, with times and values.

    08:00     volume.unpublish.failed error="target is busy" x6 ladder
    +1m       csi.nodeunpublish.called|csi.nodeunpublish.failed @other
    09:00     logs

A line is a time (or the time since the end of the line before), a kind, and values for the wordings' placeholders.
With `a|b`, either must give the same finding. `x6 every 20s` repeats the event, `x6 ladder` at kubelet's backoff.
`@other` is about another pod. `kubelet` or another component instead of a kind means a line of no importance: its log
exists. `logs` is such a line for every component of the story: all of them keep logging.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from kvdiag.base.clock import HOUR, MINUTE, SECOND, parse_duration
from kvdiag.base.regex import lazy_regex
from kvdiag.base.yamlread import Node
from kvdiag.model.rule import StoryLine

LADDER = 0
Story = tuple[StoryLine, ...]

_TIME = lazy_regex(r"(\d\d):(\d\d)(?::(\d\d(?:\.\d{1,6})?))?")
_WORD = lazy_regex(r'\s*((?:[^\s"]|"(?:[^"\\]|\\.)*")+)')
_KINDS = lazy_regex(r"[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*(?:\|[a-z][a-z0-9-]*(?:\.[a-z0-9-]+)*)*")
_VALUE = lazy_regex(r'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^|"]+))(?:\||$)')
_SUBJECT = lazy_regex(r"@([a-z0-9-]+)")
_COUNT = lazy_regex(r"x([1-9]\d{0,3})")


def read_story(node: Node) -> Story:
    """Return the story of a test. Raise PatternError at the place of the text."""
    lines: list[StoryLine] = []
    for line in node.text().splitlines():
        if line.strip():
            lines.append(_line(line, lines[-1].ends if lines else None, node))
    return tuple(lines)


def _line(text: str, before: int | None, node: Node) -> StoryLine:
    words = _WORD.findall(text)
    if len(words) < 2 or "".join(words) != "".join(re.findall(r'"(?:[^"\\]|\\.)*"|\S+?', text)):
        raise node.error(f"{text.strip()!r}: a time and a kind are expected, such as '08:00 pod.added'")
    if not _KINDS.fullmatch(words[1]):
        raise node.error(f"{words[1]!r} is neither a kind of event nor a component")
    return _with_options(words[2:], StoryLine(_time(words[0], before, node), tuple(words[1].split("|"))), node)


def _with_options(words: Sequence[str], line: StoryLine, node: Node) -> StoryLine:
    values: dict[str, tuple[str, ...]] = {}
    rest = iter(words)
    for word in rest:
        key, equals, value = word.partition("=")
        if subject := _SUBJECT.fullmatch(word):
            line = line._replace(of=subject[1])
        elif count := _COUNT.fullmatch(word):
            line = line._replace(count=int(count[1]), every=_every(rest, node))
        elif equals and key.isidentifier():
            values[key] = _alternatives(value, node)
        else:
            raise node.error(f"{word!r} is neither key=value, @name nor x3 every 20s")
    return line._replace(values=values)


def _every(words: Iterator[str], node: Node) -> int:
    how = next(words, "")
    if how == "ladder":
        return LADDER
    span = _span(next(words, ""), node) if how == "every" else 0
    if not span:
        raise node.error("after x6, write 'ladder' or 'every 20s'")
    return span


def _alternatives(text: str, node: Node) -> tuple[str, ...]:
    found = list(_VALUE.finditer(text))
    if not found or "".join(one[0] for one in found) != text:
        raise node.error(f'{text!r} is not a value; write word, "some words" or "one"|"another"')
    return tuple(re.sub(r"\\(.)", r"\1", one["quoted"]) if one["bare"] is None else one["bare"] for one in found)


def _time(text: str, before: int | None, node: Node) -> int:
    if text.startswith("+") and before is not None:
        return before + _span(text[1:], node)
    found = _TIME.fullmatch(text)
    if not found:
        raise node.error(f"{text!r} is not a time; write 08:00, 08:00:05.5 or, after another line, +20s")
    return int(found[1]) * HOUR + int(found[2]) * MINUTE + round(float(found[3] or 0) * SECOND)


def _span(text: str, node: Node) -> int:
    length = parse_duration(text)
    if length is None:
        raise node.error(f"{text!r} is not a duration; write 500ms, 20s, 5m or 1h30m")
    return length


def vary(story: Story, keys: Mapping[str, Node]) -> Story:
    """Return the story with the changes of a near miss, in the order of CHANGES."""
    for key, change in CHANGES.items():
        if key in keys:
            for item in keys[key].sequence() if isinstance(keys[key].value, tuple) else (keys[key],):
                story = change(story, item)
    return tuple(sorted(story, key=lambda line: line.time))


def _lines_of_kind(story: Story, kind: str, node: Node) -> list[StoryLine]:
    """Return the lines of a kind; `2.KIND` means only the second of them."""
    number, dot, rest = kind.partition(".")
    ordinal = int(number) if dot and number.isdecimal() else 0
    found = [line for line in story if (rest if ordinal else kind) in line.kinds]
    if len(found) < max(1, ordinal):
        raise node.error(f"the story of 'near' has no {kind!r}")
    return [found[ordinal - 1]] if ordinal else found


def _drop(story: Story, node: Node) -> Story:
    dropped = _lines_of_kind(story, node.text(), node)
    return tuple(line for line in story if line not in dropped)


def _instead(story: Story, node: Node) -> Story:
    for old, new in node.texts().items():
        matching = _lines_of_kind(story, old, node)
        kinds = tuple(new.split("|"))
        story = tuple(line._replace(kinds=kinds) if line in matching else line for line in story)
    return story


def _keep(story: Story, node: Node) -> Story:
    """Keep at most N events of a kind: `KIND xN`."""
    words = node.text().split()
    if len(words) != 2 or not (count := _COUNT.fullmatch(words[1])):
        raise node.error("write which kind, and how many of it: 'pod.added x2'")
    left = int(count[1])
    lines: list[StoryLine] = []
    matching = _lines_of_kind(story, words[0], node)
    for line in story:
        if line in matching:
            part = min(left, line.count)
            left -= part
            lines += [line._replace(count=part)] if part else []
        else:
            lines.append(line)
    return tuple(lines)


def _every_of(story: Story, node: Node) -> Story:
    """Change the interval of a kind's events: `KIND 30s`. Later lines keep their distance to it."""
    for item in node.sequence() if isinstance(node.value, tuple) else (node,):
        kind, _, span = item.text().partition(" ")
        for line in _lines_of_kind(story, kind, item):
            changed = line._replace(every=_span(span, item))
            later = changed.ends - line.ends
            story = tuple(_changed(other, line, changed, later) for other in story)
    return story


def _changed(other: StoryLine, line: StoryLine, changed: StoryLine, later: int) -> StoryLine:
    if other is line:
        return changed
    return other._replace(time=other.time + later) if other.time > line.ends else other


def _delay(story: Story, node: Node) -> Story:
    """Move the events of a kind to a later time: `KIND by 5m`."""
    words = node.text().split()
    if len(words) != 3 or words[1] != "by":
        raise node.error("write what is delayed and by how much: 'pod.removed by 5m'")
    matching, later = _lines_of_kind(story, words[0], node), _span(words[2], node)
    return tuple(line._replace(time=line.time + later) if line in matching else line for line in story)


def _given(story: Story, node: Node) -> Story:
    """Change values or the subject of a kind's events: `KIND key=value …`."""
    words = _WORD.findall(node.text())
    matching = _lines_of_kind(story, words[0], node)
    changes = [(line, _with_options(words[1:], line, node)) for line in matching]
    merged = {id(old): new._replace(values={**old.values, **new.values}) for old, new in changes}
    return tuple(merged.get(id(line), line) for line in story)


def _add(story: Story, node: Node) -> Story:
    last = max((line.ends for line in story), default=None)
    return (*story, *(_line(text, last, node) for text in node.text().splitlines() if text.strip()))


CHANGES: Mapping[str, Callable[[Story, Node], Story]] = {
    "drop": _drop,
    "instead": _instead,
    "keep": _keep,
    "every": _every_of,
    "delay": _delay,
    "given": _given,
    "add": _add,
}
