"""The same values as JSON gives, as YAML: for eyes and for tools that read no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO

import yaml

from kvdiag.report.jsontext import without_secrets

_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def write_yaml(value: object, stream: TextIO, *, redact: bool) -> None:
    """Write one document; all but ASCII is escaped, so that nothing in it moves a cursor or turns words about."""
    document = _materialized(value)
    shown = without_secrets(document) if redact else document
    yaml.dump(shown, stream, Dumper=_DUMPER, sort_keys=False, allow_unicode=False, width=120)


def _materialized(value: Any) -> Any:  # noqa: ANN401  # JSON's own types
    """A value whose lists are all there; those of JSON may come one by one."""
    if isinstance(value, dict):
        return {name: _materialized(part) for name, part in value.items()}
    return [_materialized(part) for part in value] if isinstance(value, list | tuple | Iterator) else value
