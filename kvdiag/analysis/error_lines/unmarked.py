"""Errors that no level marks: without a log around them, or in a short excerpt that is of level info alone.

    OCI runtime exec failed: exec failed: unable to start container process: exec: "bash": executable file not found …
    mount.nfs: access denied by server while mounting 192.0.2.5:/export
    I1022 12:28:45.780598       1 lvm.go:418] unable to list existing volumegroups:exit status 5

Only their words can say that they report a failure. Of level debug they count where a log begins with such lines alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from kvdiag.analysis.error_lines.suspects import SHORT_LOG, reports_failure
from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies import eventtable
from kvdiag.formats.bodies.registry import CHATTER, UNREAD, classify, read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.inputs.scan.blocks import Block
from kvdiag.model.error_anatomy import PLAIN, STRONG
from kvdiag.model.values import Level

Place: TypeAlias = tuple[int, int]  # begin and end of a line in its block

_LONGEST_LINE = 8 << 10
_FAILED = lazy_regex(
    r"(?!Unable to find image ')"  # docker says so before it pulls
    r"(?:(?:[^\n]{0,200}(?::|\S ) {1,8})?(?:[Ff]ailed|[Uu]nable|[Cc]annot|[Cc]an't|[Cc]ould(?: not|n't)) (?:to )?\w+ \S"
    r"|(?:[^\n]{0,200}: {1,8})?[Ff]ail to \w+ \S|[A-Z][\w. ]{2,60} failed for volume \S|0/\d+ nodes are available: "
    r"|[^\n]{0,200}?avc: {1,2}denied {1,2}\{"
    r"|[Ee]rror \w+ing \S|[Ee]rror response from daemon: \S|OCI runtime \w+ failed: "
    r"|[\w@.\\-]{1,80}\.service: (?:Main process exited, code=(?!exited, status=0/)|Failed with result"
    r"|start operation timed)"
    r"|(?:open|l?stat|mkdir|read|write|l?chown|chmod|rename|remove|unlinkat|readlink|fork/exec|dial \w+)"
    r" [\"/\d][^:\n]*: \w|[^\n]{0,200}?rpc error: code = (?!OK\b)\w"
    r"|(?:Get|Post|Put|Patch|Head|Delete) \"?https?://\S{1,300}: \w|exec: \"[^\"\n]{1,300}\": \w"
    r"|[^\n]{0,400}?\bfailed(?: with \w[^:\n]{0,80})?: [A-Za-z\"'/\[({]|(?!0 )[^\n]{0,400}?[a-z\"'] failed with \w)"
)
# What is missing or used up. A plural alone is the answer to a question: "No events found in shop namespace".
_LACKS = lazy_regex(
    r"[Nn]o (?!match(?:es|ing)? |(?:\w+ )?matching \w+s |\w+s found )\w[\w ]{1,60} found (?:for|in|on|at|with) \S"
    r"|[^\n]{5,300}?\b(?:reached (?:the |its )?(?:limit|maximum)"
    r"|(?:limit|quota|maximum)\b(?![^\n]{0,40} not )[^\n]{0,40} (?:reached|exceeded))\b"
    r"|[^\n]{0,300}?\b(?:didn't|did not|does not|doesn't) (?:find|have|match|support) \S"
)
# It is none under a condition, nor where the line says what is done instead.
_NO_LACK = lazy_regex(
    r"(?:[Ii]f|[Ww]hen|[Ww]henever|[Uu]nless|[Uu]ntil|[Ww]hether|[Mm]ake sure|[Ee]nsure) |[^\n]{0,400}?(?:"
    r" (?:if|when|whenever|unless|until|whether) "
    r"|(?:[,;.]| -) (?:(?:so|now|thus|it|we|and|is|are|not|then|instead|going to|will be|have to) ){0,4}(?:will\b"
    r"|(?!retrying|exiting|aborting|giving|failing|stopping|waiting|missing|including|refusing|rejecting)[a-z]{2,20}ing\b"
    r"|(?:default|continue|fall back|ignore|proceed|use|skip|create|issue)(?:d|s|ped)?\b))"
)


_WARNED = ("overlayfs: ", "overlay: ")  # whose errors the kernel's own words show; in these it mounts, or errors follow

# What a person writes about a log.
_PERSON = lazy_regex(
    r"(?:(?:I|We|My|Our|You|However|Also|But|So|Now|Before|After|While),? [a-z]|(?:Hi|Hello|Hey)\b)"
    r"|[^\n]{0,400}?(?:^|[ ,.(])(?:I|I'm|I've|I'd|my|we|our) [a-z]"
)

# A line that says what is done next, without a word of a failure, has no cause whatever it names.
_ACTION = lazy_regex(r"(?:\[[^\]\n]{1,40}\] {1,4}){0,4}[A-Z][a-z]{1,20}ing [\w\"'/-]")
_FAILURE = lazy_regex(
    r"(?i)fail|err(?:or|:|=)|\b(?:cannot|can't|could ?n[o']t|unable|not|no|without|bad|wrong|lost|busy|stale|too)\b"
    r"|time(?:d )?-?out|denied|refused|invalid|missing|killed|exceeded|exhausted|is full|rejected|forbidden|exited "
    r"|panic|conflict|expired|unknown|unreachable|unsupported|mismatch|insufficient|interrupted|reset|limit"
)


def reported(line: bytes) -> Level | None:
    """Return the level of a failure that a line of level info reports; None if it reports none."""
    if not reports_failure(line):
        return None
    return Level.ERROR if b"rpc error" in line and b"Warning" not in line else Level.WARNING


class ShortText:
    """The failures in a short text: call `errors` for each block, and `others` if the text has no error by then.

    Of a log that is one of several, only the levels count.
    """

    def __init__(self, *, is_only: bool) -> None:
        self._is_only, self._is_log = is_only, False
        self._room = 0  # bytes that are left
        self._levels: set[Level | None] = set()
        self._lines: Sequence[_Line] = ()

    def errors(self, block: Block) -> Iterator[tuple[Place, Level]]:
        """Yield place and level of the failures in lines without a level: in a log only of some of them.

        There it is of a program that a journal names, or no record is before it in its paragraph: else it may be a part
        of that record.
        """
        self._room = (self._room if block.first_line else SHORT_LOG) - len(block.data)
        self._is_log = self._is_log or (self._room >= 0 and _is_log(block))
        self._lines = list(_lines(block)) if self._room >= 0 and (self._is_only or not self._is_log) else ()
        self._levels |= {line.level for line in self._lines if line.message}
        wanted = (line for line in self._lines if line.is_of_program or line.is_apart or not self._is_log)
        return ((line.place, _level(line.message)) for line in wanted if _is_failure(line.message))

    def others(self) -> Iterator[Place]:
        """Yield the failures of the last block that no level marks; of level debug only where all lines are."""
        is_debug = self._levels - {None} == {Level.DEBUG}
        wanted = (line for line in self._lines if is_debug or line.level is not Level.DEBUG)
        return (line.place for line in wanted if self._is_only and _is_failure(line.message))


def _level(message: str) -> Level:
    return Level.WARNING if message.startswith(_WARNED) else Level.ERROR


def _is_log(block: Block) -> bool:
    """Return whether a block has a line of a known format."""
    return any(classify(line.strip()) not in {UNREAD, CHATTER} for line in block.data.split(b"\n"))


class _Line(NamedTuple):
    """A line; no message for an event, which has a type of its own.

    `is_of_program`: of a program that prints no levels, as etcd, or a klog line whose head was cut off.
    `is_apart`: without a format and a time, and without a record before it in its paragraph.
    """

    place: Place
    level: Level | None
    message: str
    is_of_program: bool
    is_apart: bool = False


def _lines(block: Block) -> Iterator[_Line]:
    begin, is_apart = 0, not block.first_line
    for line in block.data.split(b"\n"):
        peeled = peel(line[:_LONGEST_LINE].strip())
        body, place = read_body(peeled.body), (begin, begin + len(line))
        if body is None:
            is_apart = peeled.stamp is None and (is_apart or not peeled.body)
            yield _Line(place, None, peeled.body.decode("utf-8", "replace"), bool(peeled.ident), is_apart)
        else:
            is_apart = False
            message = "" if body.format in eventtable.FORMATS else body.message
            yield _Line(place, body.level, message, is_of_program=body.truncated and body.level is Level.INFO)
        begin += len(line) + 1


def _is_failure(text: str) -> bool:
    """Return whether a message begins as errors do, or names a cause by itself."""
    if not text or _PERSON.match(text):
        return False
    if _ACTION.match(text) and not _FAILURE.search(text):
        _, colon, outcome = text.partition(": ")
        return bool(colon) and _names_cause(outcome, PLAIN)
    if _FAILED.match(text) or (_LACKS.match(text) and not _NO_LACK.match(text)):
        return True
    return _names_cause(text, PLAIN if ": " in text else STRONG)


def _names_cause(text: str, least: int) -> bool:
    from kvdiag.anatomy.error import read_error  # a slow import that a log of a known format need not wait for

    anatomy = read_error(text, redact=False)
    return anatomy.strength >= least and not anatomy.note
