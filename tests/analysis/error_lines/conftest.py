"""The error lines of logs in memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.error_groups import Errors
from kvdiag.model.options import Options

Of = Callable[..., Errors]


@pytest.fixture
def errors_of() -> Of:
    """Give the function that analyses logs, given by name."""

    def of(options: Options | None = None, **logs: str) -> Errors:
        texts = [TextInput(f"{name}.log", text.encode(), modified=1_710_300_000.0) for name, text in logs.items()]
        return analyze(options or Options(year=2024, zone=0), texts=texts).errors

    return of
