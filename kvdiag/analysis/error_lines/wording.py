"""Fold the variable parts of a message, so that all lines of one log call about one cause become equal.

    MountVolume.SetUp failed for volume "…" : rpc error: code = Unknown desc = …: connection refused

Folded are quoted texts, words with a digit and paths, whatever they mean. The last clause of an error is the text after
its last colon, outside of quotes and parentheses: errors of Go programs end with their cause.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex
from kvdiag.model.record import Body

FOLDED = "…"
LONGEST = 2_000  # characters of a message that are folded; the rest is ignored
SHOWN = 160  # characters of a message that are printed
DEPTH = 3  # levels of errors quoted within errors
CAUSE = 3  # clauses at the end of an error that distinguish its cause
_QUOTED = lazy_regex(r'"[^"]*"' + r"|(?<!\w)'[^']*'|`[^`]*`")
_BRACED = lazy_regex(r"\{[^{}]*\}")
_IN_PARENTHESES = lazy_regex(r"\([^()]*\)")
_WORD = lazy_regex(r"[\w./@:%+~#*^-]+")
_NOT_FOLDED = lazy_regex(r"[A-Za-z]{2,12}\d|v\d|[A-Za-z]/[A-Za-z]")  # ext4, http2, v1, I/O
_REPEATED = lazy_regex(f"{FOLDED}(?:[ ,:]*{FOLDED})+")
_ENDS_QUOTED = lazy_regex(r'[:=] ?"([^"]+)"$|\(error "((?:[^"\\]|\\.)+)", ServerName "')  # the second is of etcd's TLS
_LETTERS = lazy_regex(r"[A-Za-z]{2}")
RPC_ERROR = "rpc error"
# Descriptions of a gRPC error that say only who waited or lost the connection.
WAITS = ("deadline exceeded", "canceled", "waiting for the condition", "EOF", "is closing", "connection refused")
_ERRORS = ("err", "error", "Err", "Error")


class FoldedMessage(NamedTuple):
    """The folded message of a line, and the last clause of its error, empty if it has none of its own."""

    message: str
    clause: str

    @property
    def text(self) -> str:
        """Message and clause, for display."""
        message = self.message if len(self.message) <= SHOWN else f"{self.message[: SHOWN - 2]} {FOLDED}"
        if not self.clause or self.clause in message:
            return message
        return f"{message} — {self.clause[:SHOWN]}" if message else self.clause[:SHOWN]


def fold_message(body: Body) -> FoldedMessage:
    """Return the folded message of a body; the error is that of its error field, else the message itself."""
    error = next((body.fields[name] for name in _ERRORS if name in body.fields), "")
    return FoldedMessage(fold(body.message), last_clause(error or body.message))


def fold(text: str) -> str:
    """Return the text on one line, with its variable parts folded."""
    line = " ".join(text[:LONGEST].split())
    line = _BRACED.sub(f"{{{FOLDED}}}", _QUOTED.sub(f'"{FOLDED}"', line))
    return _REPEATED.sub(FOLDED, _WORD.sub(_folded, line))[:LONGEST]


def last_clause(error: str) -> str:
    """Return the last clause of an error, folded; empty if there is none with letters."""
    line = error[:LONGEST].strip().partition("\n")[0].strip()
    for _ in range(DEPTH):
        quoted = _ENDS_QUOTED.search(line)
        inner = (quoted[1] or quoted[2]) if quoted else ""
        if not _LETTERS.search(inner) or " " not in inner:
            break
        line = inner.strip()
    clauses = _IN_PARENTHESES.sub(f"({FOLDED})", fold(line)).split(": ")
    return next((clause.strip() for clause in reversed(clauses) if _LETTERS.search(clause)), "")


def cause_of(body: Body) -> tuple[str, ...]:
    """Return the last clauses of a body's error, folded: `dial unix …`, `connect`, `connection refused`."""
    error = next((body.fields[name] for name in _ERRORS if name in body.fields), body.message)
    bare = error.replace("\\", "").replace('"', " ").rstrip("] ")
    clauses = tuple(clause.strip() for clause in fold(bare).split(": ")[-CAUSE:])
    at = next((at for at, clause in enumerate(clauses) if clause.endswith(RPC_ERROR)), 0)
    # What is in front of a gRPC error that is not wrapped further are the words of its caller.
    return clauses if clauses[-1].endswith(WAITS) else (RPC_ERROR, *clauses[at + 1 :]) if at else clauses


def _folded(found: re.Match[str]) -> str:
    word = found[0]
    core = word.rstrip(".:")
    if not (any(map(str.isdigit, core)) or "/" in core) or _NOT_FOLDED.fullmatch(core):
        return word
    return FOLDED + word[len(core) :]
