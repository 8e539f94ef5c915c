"""Enumerations: severities, levels, verdicts, states, roles, kinds of subject and gRPC codes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Never

EMPTY: Mapping[str, Never] = {}
"""The empty mapping; typed as Mapping, so that nobody writes into it."""


class Severity(IntEnum):
    """The severity of a finding; ordered, so that `--fail-on` can compare."""

    INFO = 0
    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4

    @property
    def label(self) -> str:
        """Return the lower-case word used in rules and reports."""
        return self.name.lower()

    @classmethod
    def from_label(cls, word: str) -> Severity:
        """Return `Severity.HIGH` for `"high"`. Raises KeyError for another word."""
        return cls[word.upper()]


class Level(StrEnum):
    """The level a log line gives itself."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"
    FATAL = "fatal"


class Verdict(StrEnum):
    """The certainty of a finding: confirmed, or possible if the logs cannot show all that it needs."""

    CONFIRMED = "confirmed"
    POSSIBLE = "possible"


class State(StrEnum):
    """The state of a fault at the end of the logs.

    `over`: an event shows that it ended; `deleted`: its pod was removed before it ended; `ongoing`: the last retry is
    so close to the end of the logs that the next was not due; `unknown`: no line shows what came next.
    """

    ONGOING = "ongoing"
    OVER = "over"
    DELETED = "deleted"
    UNKNOWN = "unknown"


class Role(StrEnum):
    """Whether a finding explains others or is explained by another."""

    CAUSE = "cause"
    SYMPTOM = "symptom"


class SubjectKind(StrEnum):
    """The subjects of timelines and findings."""

    POD = "pod"
    VOLUME = "volume"
    SANDBOX = "sandbox"
    CONTAINER = "container"
    DRIVER = "driver"
    NODE = "node"


GRPC_CODES = (
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
)
"""The status codes of gRPC by their numbers, which early grpc-go prints, as in Kubernetes up to 1.7."""


def code_name(code: str) -> str:
    """Return the name of a gRPC code that is printed as a number; a name, or another number, as it is."""
    return GRPC_CODES[int(code)] if code.isdecimal() and len(code) < 3 and int(code) < len(GRPC_CODES) else code
