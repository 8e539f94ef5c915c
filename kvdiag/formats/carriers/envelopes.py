r"""Carriers that are JSON objects: journalctl -o json (also -pretty, -seq, -sse) and docker's json-file.

    {"log":"I0715 03:49:34.052729       1 server.go:101] x\n","stream":"stderr","time":"2024-07-15T03:49:34.052729123Z"}

journald writes MESSAGE as a list of bytes when it holds control characters, as null when it is longer than 4096
bytes and `--all` was not given, and a field that occurs twice as a list. The order of keys differs from line to line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.goquote import unescape
from kvdiag.formats.carriers import collectors, openings
from kvdiag.formats.carriers.carrier import KERNEL, LOGGER, Peeled, bytes_field, parse_number, program, text_field
from kvdiag.formats.repair.cutjson import read_cut

_JOURNAL = lazy_regex(rb'"(?:__REALTIME_TIMESTAMP|MESSAGE|__CURSOR)" ?:')
_DOCKER = lazy_regex(rb'\{"log":"')
_LINE = lazy_regex(openings.LINE)
_MEMBER = lazy_regex(rb'"?, ?(?="[A-Za-z_@][\w.\-/@]{0,80}" ?:)')
_KEY = lazy_regex(rb'^[^"\\]{0,80}" ?: ?"')  # the rest of the key
_CUT = lazy_regex(rb'[^"]{0,200}?[\w.\-]{1,80}\.go:\d{1,6}\] |[^"]{0,80}?(?:level|msg)=')
_MESSAGE_KEYS = frozenset(("MESSAGE", "message", "msg", "log", "line", "textPayload", "jsonPayload"))
_JOURNAL_KEYS = frozenset(("__REALTIME_TIMESTAMP", "_PID", "_HOSTNAME", "SYSLOG_IDENTIFIER"))
# Fields that docker and podman write into the journal for a container.
_CONTAINERS = frozenset(("CONTAINER_ID", "CONTAINER_ID_FULL", "CONTAINER_NAME", "CONTAINER_TAG"))
# The cgroup of a pod's process, by journald. Any process may send lines to /dev/log under the name of kubelet.
_OF_POD = lazy_regex(r"kubepods|/(?:cri-containerd|crio|docker|libpod)-[0-9a-f]{12,64}\.scope")


def read(body: bytes) -> Peeled | None:
    """Read the object of a journal, of docker or of a log collector; None for any other, which is itself a log line.

    One that is truncated is read as far as possible, if it contains a log line.
    """
    is_docker = _DOCKER.match(body)
    if not (is_docker or _JOURNAL.search(body) or collectors.KEYS.search(body)):
        return None
    entry = _loaded(body)
    if entry is not None:
        return collectors.docker(entry) if is_docker else _carrier(entry)
    cut = _carrier(read_cut(body))
    return cut if cut and _LINE.match(cut.body) else None


def _carrier(entry: Mapping[str, object]) -> Peeled | None:
    return journal_entry(entry) or collectors.read(entry)


def read_headless(body: bytes) -> Peeled | None:
    r"""Read the rest of an object whose beginning is missing: `eived\n","stream":"stderr","time":"2024-07-15T…"}`.

    The complete members are read as an object; the text before them is the message if it is docker's, which comes
    first, or if it is part of a log line.
    """
    found = _MEMBER.search(body) if body.endswith(b"}") else None
    entry = _loaded(b"{" + body[found.end() :]) if found else None
    if found is None or entry is None:
        return None
    lost, before = _KEY.sub(b"", body[: found.start()], 1), found.group().startswith(b'"')
    if _MESSAGE_KEYS.isdisjoint(entry):
        text = unescape(lost) if before else ""
        if entry.keys() >= {"stream", "time"}:
            peeled = collectors.docker({**entry, "log": text})
        else:
            peeled = (
                journal_entry({**entry, "MESSAGE": text}) if _JOURNAL_KEYS & entry.keys() and _CUT.match(lost) else None
            )
    elif lost.count(b"{") > lost.count(b"}"):
        return None  # text that contains an object
    else:
        peeled = _carrier(entry) or Peeled(b"{" + body[found.end() :])
    return peeled._replace(cut=True) if peeled else None


def is_envelope(body: bytes) -> bool:
    """Return whether a JSON line is a carrier and not a log line, by its keys."""
    return bool(_DOCKER.match(body) or _JOURNAL.search(body))


def read_prefixed(body: bytes) -> Peeled | None:
    """Read an object behind `data: ` (json-sse) or a record separator (json-seq)."""
    begins = body.find(b"{")
    return read(body[begins:]) if body.startswith((b"data: {", b"\x1e{")) else None


def _loaded(body: bytes) -> Mapping[str, object] | None:
    try:
        loaded = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return loaded if isinstance(loaded, dict) else None


def journal_entry(entry: Mapping[str, object] | None) -> Peeled | None:
    """Read the fields of one journal entry, each a text, a list of bytes or a list of repeated values."""
    if entry is None or ("MESSAGE" not in entry and "__REALTIME_TIMESTAMP" not in entry):
        return None
    stamp = text_field(entry.get("__REALTIME_TIMESTAMP"))
    pid = text_field(entry.get("_PID") or entry.get("SYSLOG_PID"))
    return Peeled(
        bytes_field(entry.get("MESSAGE")),
        stamp=parse_number(stamp),
        node=text_field(entry.get("_HOSTNAME")),
        ident=_ident(entry),
        pid=parse_number(pid),
        carrier="container-journal" if _is_output(entry) else "journal-json",
    )


def _is_output(entry: Mapping[str, object]) -> bool:
    """Return whether a container printed the entry, or a process in one sent it."""
    return not _CONTAINERS.isdisjoint(entry) or _OF_POD.search(text_field(entry.get("_SYSTEMD_CGROUP"))) is not None


def _ident(entry: Mapping[str, object]) -> str:
    """Return the program of an entry. The kernel's come from the kernel, whatever name a process gives itself."""
    ident = program(text_field(entry.get("SYSLOG_IDENTIFIER") or entry.get("_COMM")))
    is_process = ident == KERNEL and text_field(entry.get("_TRANSPORT")) not in {"", "kernel"}
    return LOGGER if is_process else ident
