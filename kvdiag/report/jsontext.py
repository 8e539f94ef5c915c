"""Values as JSON that may be shown: no secret in any of its texts, nothing that moves a cursor or turns words about."""

from __future__ import annotations

import json
from typing import Any

from kvdiag.report.clean import json_safe
from kvdiag.report.secrets import redacted, redacted_value


def json_text(said: object, *, redact: bool, indent: int | None = None) -> str:
    """One document with a newline at its end: on one line, or indented."""
    shown = _blotted(said, "") if redact else said
    return json_safe(json.dumps(shown, indent=indent, ensure_ascii=False)) + "\n"


def _blotted(value: Any, key: str) -> Any:  # noqa: ANN401  # JSON's own types
    """A text is judged together with its key: `password=…` is a secret, `…` alone is not."""
    if isinstance(value, str):
        return redacted_value(key, value)
    if isinstance(value, dict):
        return {redacted(name): _blotted(part, name) for name, part in value.items()}
    return [_blotted(part, key) for part in value] if isinstance(value, list | tuple) else value
