"""One file beside the logs → its facts, how it was read, and the log that follows in it, if one does.

Someone who collects by hand writes one file: `(mount; crictl pods; journalctl -u kubelet) > node.txt`.
"""

from __future__ import annotations

from dataclasses import dataclass
from json import JSONDecodeError

from kvdiag.base.errors import InputError, UnexpectedError, describe_fault
from kvdiag.events.snapshots.fact import Snapshot, SnapshotFact
from kvdiag.events.snapshots.readers import LARGEST, read_evidence
from kvdiag.inputs.folders import SkippedError
from kvdiag.inputs.readers import ReplayReader, read_up_to
from kvdiag.inputs.sniff import begins_as_log
from kvdiag.inputs.source import Source
from kvdiag.model.report import Reading


@dataclass(frozen=True, slots=True)
class SnapshotRead:
    """What a file says, how it was read, and the log behind that; None when it ends there."""

    snapshot: Snapshot
    reading: Reading
    log: Source | None


def read_file(source: Source) -> SnapshotRead:
    """Read a file that begins as evidence; what is wrong with it goes to the source's `problem`."""
    reader = source.open()
    data = read_up_to(reader, LARGEST + 1)
    text, is_whole = data[:LARGEST].decode("utf-8", "replace"), len(data) <= LARGEST
    if not is_whole:
        why = f"it has more than {LARGEST >> 20} MiB, of which the beginning was read; the rest is read as a log"
        source.problem(SkippedError(source.name, why))
    facts, snapshot_text = _facts(source, text)
    has_log = not is_whole or len(snapshot_text) < len(text)
    if not has_log:
        reader.close()
    return SnapshotRead(
        Snapshot(source.name, facts, source.place),
        Reading(
            source=source.name,
            format=source.evidence,
            component="",
            lines=len(snapshot_text.splitlines()),
            records=len(facts),
            recognised=len(facts),
            unread=0,
            node=source.place.node,
        ),
        source._replace(evidence="", given=ReplayReader(_blanked(data, snapshot_text.count("\n")), reader))
        if has_log
        else None,
    )


def _facts(source: Source, text: str) -> tuple[list[SnapshotFact], str]:
    """The facts up to where the file is broken, and the text they are from: up to where a log begins."""
    facts: list[SnapshotFact] = []
    snapshot_text = text if text.lstrip().startswith("{") else _before_log(text)
    try:
        facts.extend(read_evidence(source.evidence, snapshot_text))
    except (ValueError, RecursionError) as error:
        if isinstance(error, JSONDecodeError) and error.msg == "Extra data":
            snapshot_text = text[: error.pos]
            facts.extend(read_evidence(source.evidence, snapshot_text))
        else:
            snapshot_text = _before_log(text)
            source.problem(_damaged(source, str(error)))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 (a fault of kvdiag costs this file, not the run)
        source.problem(UnexpectedError(source.name, describe_fault(error)))
    return facts, snapshot_text


def _before_log(text: str) -> str:
    """The text up to the first line of a log; lines within a document of JSON are set in, or quoted."""
    at = 0
    for line in text.split("\n"):
        if line[:1] not in {"", " ", "\t", '"'} and begins_as_log(line.encode("utf-8", "replace")):
            return text[:at]
        at += len(line) + 1
    return text


def _blanked(data: bytes, lines: int) -> bytes:
    """Blank lines in place of those that were read, so that the others keep their numbers."""
    at = 0
    for _ in range(lines):
        at = data.index(b"\n", at) + 1
    return b"\n" * lines + data[at:]


def _damaged(source: Source, why: str) -> InputError:
    return SkippedError(source.name, f"looks like {source.evidence} but cannot be parsed ({why}); collect it again")
