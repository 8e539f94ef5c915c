"""Write the values of the JSON output as YAML."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO

import yaml

from kvdiag.report.jsontext import without_secrets

_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def write_yaml(value: object, stream: TextIO, *, redact: bool) -> None:
    """Write one YAML document. Non-ASCII characters are escaped, so that control characters do nothing."""
    document = _materialized(value)
    shown = without_secrets(document) if redact else document
    yaml.dump(shown, stream, Dumper=_DUMPER, sort_keys=False, allow_unicode=False, width=120)


def _materialized(value: Any) -> Any:  # noqa: ANN401  # JSON's own types
    """Return the value with all iterators turned into lists."""
    if isinstance(value, dict):
        return {name: _materialized(part) for name, part in value.items()}
    return [_materialized(part) for part in value] if isinstance(value, list | tuple | Iterator) else value
