"""Read patterns/events/*.yaml into entries; errors have file:line:column.

component: kubelet
events:
  - kind: pod.worker.kept
    label: still not fully terminated
    about: the worker was asked to end and has not
    anchor: still not fully terminated
    message: 'Pod worker has been requested for removal but is still not fully terminated"'
    fields: {pod_uid: podUID}
    samples: ['I1124 05:49:00.241725  190330 pod_workers.go:1251] "Pod worker has been …" podUID=95d6b80b-…']
calls:
  - {kind: csi.stage.called, label: NodeStageVolume called, about: kubelet calls the driver, verbosity: 5}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from kvdiag.base.decode import Record, each
from kvdiag.base.errors import PatternError
from kvdiag.base.yamlread import Node, Word, read_yaml
from kvdiag.model.values import EMPTY
from kvdiag.model.vocabulary import Entry, Wording


class _Spelling(NamedTuple):
    """The keys of a wording: in `wordings` of an entry, or beside its other keys if it has only one."""

    anchor: str
    message: Word | None = None
    fields: Mapping[str, str] = EMPTY
    since: Mapping[str, str] = EMPTY
    verbosity: int | None = None
    place: str = ""


class _Event(NamedTuple):
    """The keys of an entry besides those of its wordings. Without `component` it has that of its file."""

    kind: str
    label: str
    about: str
    component: str | None = None
    verbosity: int | None = None
    scope: Literal["subject", "node"] = "subject"
    poll: bool = False
    reader: str = ""
    samples: tuple[str, ...] = ()
    wordings: tuple[_Spelling, ...] = ()
    place: str = ""


class _File(NamedTuple):
    """The keys of a file: its entries, and the gRPC calls, which have no wording."""

    component: str = ""
    events: tuple[Node, ...] = ()
    calls: tuple[_Event, ...] = ()


_SPELLING_KEYS = ("anchor", "message", "fields", "since")
_SPELLING = Record(_Spelling)
_EVENT = Record(_Event, others=_SPELLING_KEYS, required=("samples",), component=Node.scalar)
_CALL = Record(_Event, given=("reader", "samples", "wordings"), component=Node.scalar)
_FILE = Record(_File, component=Node.scalar, calls=each(_CALL))


def read_event_file(path: Path) -> tuple[Entry, ...]:
    """Return the entries of a file, with samples. Raise PatternError if it cannot be read or used."""
    try:
        return read_event_text(path.read_bytes().decode(), str(path))
    except OSError as problem:
        raise PatternError(f"{path}:1:1", f"cannot be read: {problem.strerror}") from None
    except UnicodeDecodeError as problem:
        raise PatternError(f"{path}:1:1", f"this is not UTF-8 (byte {problem.start})") from None


def read_event_text(text: str, name: str) -> tuple[Entry, ...]:
    """Return the entries in `text`; `name` is the file's name for messages. Raise PatternError at the first error."""
    file = _FILE(read_yaml(text, name))
    return (*_events(file), *(_entry(call, file.component) for call in file.calls))


def _events(file: _File) -> Iterator[Entry]:
    for node in file.events:
        event = _EVENT(node)
        spellings = event.wordings or (_SPELLING(node.only(_SPELLING_KEYS)),)
        wordings = tuple(_wording(spelling, event.verbosity or 0) for spelling in spellings)
        highest = max(wording.verbosity for wording in wordings)
        entry = _entry(event, file.component)
        yield entry._replace(wordings=wordings, verbosity=highest if event.verbosity is None else event.verbosity)


def _entry(event: _Event, component: str) -> Entry:
    return Entry(
        kind=event.kind,
        component=component if event.component is None else event.component,
        wordings=(),
        verbosity=event.verbosity or 0,
        scope=event.scope,
        poll=event.poll,
        reader=event.reader,
        label=event.label,
        about=event.about,
        samples=event.samples,
        place=event.place,
    )


def _wording(spelling: _Spelling, usual: int) -> Wording:
    """Return a wording; `usual` is the verbosity of its entry, for one that names none."""
    return Wording(
        anchor=spelling.anchor,
        message=str(spelling.message or spelling.anchor),
        fields=spelling.fields,
        since=spelling.since,
        verbosity=usual if spelling.verbosity is None else spelling.verbosity,
        place=spelling.message.place if spelling.message else spelling.place,
    )
