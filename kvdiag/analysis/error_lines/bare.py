"""Errors without a log around them: a text that was taken out of a line, or what a command printed.

    OCI runtime exec failed: exec failed: unable to start container process: exec: "bash": executable file not found …
    mount.nfs: access denied by server while mounting 192.0.2.5:/export

They have no time, no program and no level, so that only their words can say that they report a failure.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.registry import CHATTER, UNREAD, classify
from kvdiag.inputs.scan.blocks import Block
from kvdiag.model.error_anatomy import PLAIN, STRONG

LONGEST_TEXT = 32 << 10  # bytes of a log without any record; in a longer one the lines are not errors alone
_LONGEST_LINE = 8 << 10
_FAILED = lazy_regex(
    r"(?!Unable to find image ')"  # docker says so before it pulls
    r"(?:(?:[Ff]ailed|[Uu]nable|[Cc]annot|[Cc]an't|[Cc]ould(?: not|n't)) (?:to )?\w+ \S|[Ee]rror \w+ing \S"
    r"|[Ee]rror response from daemon: \S|OCI runtime \w+ failed: "
    r"|(?:open|l?stat|mkdir|read|write|l?chown|chmod|rename|remove|unlinkat|readlink|fork/exec|dial \w+)"
    r" [\"/\d][^:\n]*: \w"
    r"|(?:Get|Post|Put|Patch|Head|Delete) \"?https?://\S{1,300}: \w|exec: \"[^\"\n]{1,300}\": \w"
    r"|[^\n]{0,400}?\bfailed(?: with \w[^:\n]{0,80})?: [A-Za-z\"'/\[({])"
)


def failures(block: Block) -> Iterator[tuple[int, int]]:
    """Yield begin and end of each line that reports a failure, if no line of the log is one of a known format."""
    data = block.data
    if block.first_line or len(data) > LONGEST_TEXT:
        return
    lines = data.split(b"\n")
    if any(classify(line.strip()) not in {UNREAD, CHATTER} for line in lines):
        return
    begin = 0
    for line in lines:
        if reports_failure(line):
            yield begin, begin + len(line)
        begin += len(line) + 1


def reports_failure(line: bytes) -> bool:
    """Return whether a line begins as errors do, or names a cause by itself."""
    text = line[:_LONGEST_LINE].decode("utf-8", "replace").strip()
    return bool(text) and (_FAILED.match(text) is not None or _names_cause(text))


def _names_cause(text: str) -> bool:
    from kvdiag.anatomy.error import read_error  # a slow import that a log of a known format need not wait for

    anatomy = read_error(text, redact=False)
    return anatomy.strength >= (PLAIN if ": " in text else STRONG) and not anatomy.note
