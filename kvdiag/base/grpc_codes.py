"""The names of gRPC status codes. grpc-go before 1.2, as in Kubernetes up to 1.7, prints their numbers."""

from __future__ import annotations

NAMES = (
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
"""In the order of their numbers."""


def code_name(code: str) -> str:
    """Return the name of a code that is printed as a number; a name as it is."""
    return NAMES[int(code)] if code.isdecimal() and len(code) < 3 and int(code) < len(NAMES) else code
