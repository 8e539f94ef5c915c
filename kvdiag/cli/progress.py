"""A progress bar on standard error, shown if reading takes long and a person waits."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator

PATIENCE = 1.0  # seconds before a bar is worth showing


@contextlib.contextmanager
def progress(*, quiet: bool) -> Iterator[Callable[[str, int], None]]:
    """Provide a function to call with source and bytes read; it does nothing if standard error is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _source, _bytes: None
        return
    bar = _Bar()
    try:
        yield bar.add
    finally:
        bar.stop()


class _Bar:
    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._progress: object | None = None
        self._done = 0

    def add(self, source: str, size: int) -> None:
        """Count a block of a source."""
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

        self._done += size
        if self._progress is None:
            if time.monotonic() - self._begun < PATIENCE:
                return
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                DownloadColumn(),
                TransferSpeedColumn(),
            )
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._progress.start()
            self._task = self._progress.add_task("reading", total=None)
        if isinstance(self._progress, Progress):
            self._progress.update(self._task, completed=self._done, description=_safe(source))

    def stop(self) -> None:
        """Remove the bar."""
        stop = getattr(self._progress, "stop", None)
        if stop:
            stop()


def _safe(source: str) -> str:
    from kvdiag.safe.clean import clean

    return clean(source)[-40:]
