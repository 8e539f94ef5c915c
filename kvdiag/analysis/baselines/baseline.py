"""The baseline: findings of an earlier run that later runs do not report again.

{"schema": "kvdiag.baseline/1", "findings": [{"fingerprint": "9c…", "rule": "crashloop-app", "subject": "pod a/b"}]}
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from kvdiag.base.errors import UsageError
from kvdiag.inputs.files import atomic_write, read_small
from kvdiag.model.report import Finding
from kvdiag.report.fingerprint import fingerprint

SCHEMA = "kvdiag.baseline/1"
LARGEST = 64 << 20  # bytes


def read_baseline(path: Path) -> frozenset[str]:
    """Return the fingerprints of a baseline. Raise UsageError if the file is not a baseline."""
    try:
        data = json.loads(read_small(path, LARGEST))
        if data["schema"] != SCHEMA:
            raise UsageError(
                f"--baseline {path}: not a baseline of this version; create it again with --write-baseline"
            )
        return frozenset(str(one["fingerprint"]) for one in data["findings"])
    except OSError as error:
        raise UsageError(f"--baseline {path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UsageError(f"--baseline {path}: not a baseline; create one with --write-baseline") from None


def write_baseline(path: Path, findings: Sequence[Finding]) -> None:
    """Write the baseline of these findings. Raise UsageError if the file cannot be written."""
    data = {"schema": SCHEMA, "findings": list(_rows(findings))}
    try:
        with atomic_write(path) as file:
            file.write((json.dumps(data, indent=1) + "\n").encode())
    except OSError as error:
        raise UsageError(f"--write-baseline {path}: {(error.strerror or str(error)).lower()}") from None


def _rows(findings: Iterable[Finding]) -> Iterable[dict[str, Any]]:
    rows = {
        fingerprint(one): {"rule": one.rule.name, "subject": f"{one.subject.kind} {one.subject.name}"}
        for one in findings
    }
    yield from ({"fingerprint": key, **rows[key]} for key in sorted(rows))
