"""Configured options: kvdiag.toml, [tool.kvdiag] in pyproject.toml, KVDIAG_… in the environment.

    fail-on = "medium"
    baseline = "ci/kvdiag-baseline.json"
    patterns = ["ci/rules"]

The command line overrides the environment, the environment overrides a file. The file is searched for in the current
folder and its parents up to the root of the repository; paths in it are relative to its folder.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from kvdiag.base.errors import UsageError
from kvdiag.base.suggestions import suggestion
from kvdiag.inputs.files import read_small

KVDIAG_TOML, PYPROJECT = "kvdiag.toml", "pyproject.toml"
MARK = b"[tool.kvdiag"
PREFIX = "KVDIAG_"
COMMANDS = ("analyze", "check")
LARGEST = 1 << 20  # bytes


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    raise TypeError("a text")


def _texts(value: object) -> list[str]:
    values = [value] if isinstance(value, str) else value
    if isinstance(values, list) and all(isinstance(one, str) for one in values):
        return values
    raise TypeError("a list of texts")


def _flag(value: object) -> bool:
    if isinstance(value, bool) or value in {"true", "false"}:
        return value is True or value == "true"
    raise TypeError("true or false")


def _integer(value: object) -> int:
    if (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, str) and value.isdecimal()):
        return int(value)
    raise TypeError("a whole number")


KEYS: Mapping[str, Callable[[object], Any]] = {
    "fail-on": _text,
    "output": _text,
    "severity": _text,
    "namespace": _text,
    "node": _text,
    "rule": _texts,
    "patterns": _texts,
    "component": _texts,
    "year": _integer,
    "tz": _text,
    "show-possible": _flag,
    "baseline": _text,
    "suppressions": _text,
    "limit-seconds": _integer,
    "jobs": _integer,
}
"""Options that may be configured, and parsers of their values, which raise TypeError with the expected type."""

PATHS = frozenset({"patterns", "baseline", "suppressions"})


def is_configured(environment: Mapping[str, str], folder: Path) -> bool:
    """Return whether anything is configured; this is quick, as the fast start needs it."""
    return any(name[len(PREFIX) :] in _names() for name in environment if name.startswith(PREFIX)) or (
        _file(folder) is not None
    )


def default_map(environment: Mapping[str, str], folder: Path) -> dict[str, dict[str, Any]]:
    """Return the configured options by command and parameter for typer. Raise UsageError with file and key."""
    values = dict(_from_file(folder))
    for key, name in ((key, f"{PREFIX}{_name(key)}") for key in KEYS):
        if environment.get(name):
            value = environment[name]
            values[key] = _value(key, value.split(os.pathsep) if KEYS[key] is _texts else value, name)
    chosen = {key.replace("-", "_"): value for key, value in values.items()}
    return dict.fromkeys(COMMANDS, chosen) if chosen else {}


def _names() -> set[str]:
    return {_name(key) for key in KEYS}


def _name(key: str) -> str:
    return key.upper().replace("-", "_")


def _file(folder: Path) -> Path | None:
    """Return the nearest configuration file up to the root of the repository."""
    for place in (folder, *folder.parents):
        kvdiag_toml, pyproject = place / KVDIAG_TOML, place / PYPROJECT
        if kvdiag_toml.is_file():
            return kvdiag_toml
        if pyproject.is_file() and pyproject.stat().st_size <= LARGEST and MARK in read_small(pyproject, LARGEST):
            return pyproject
        if (place / ".git").exists():
            return None
    return None


def _from_file(folder: Path) -> Iterator[tuple[str, Any]]:
    path = _file(folder)
    if path is None:
        return
    import tomllib  # imported here: takes 5 ms, and most machines have no such file

    try:
        document = tomllib.loads(read_small(path, LARGEST).decode())
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"{path}: {error}") from None
    table = document if path.name == KVDIAG_TOML else document.get("tool", {}).get("kvdiag", {})
    for key, value in table.items():
        if key not in KEYS:
            raise UsageError(f"{path}: unknown key '{key}'{suggestion(key, KEYS)}")
        read = _value(key, value, f"{path}: {key}")
        yield key, _from(path.parent, read) if key in PATHS else read


def _value(key: str, value: object, place: str) -> Any:  # noqa: ANN401  # as typer takes it
    try:
        return KEYS[key](value)
    except TypeError as error:
        raise UsageError(f"{place}: {error} is expected, not {value!r}") from None


def _from(folder: Path, value: str | list[str]) -> str | list[str]:
    return str(folder / value) if isinstance(value, str) else [str(folder / one) for one in value]
