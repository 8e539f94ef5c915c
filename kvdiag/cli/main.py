"""The `kvdiag` command, and what its exits mean.

0 nothing at or above --fail-on · 1 findings at or above it · 2 wrong usage or a broken rule · 3 an input could not be
read, or nothing was understood · 130 interrupted. A closed pipe ends quietly.
"""

from __future__ import annotations

import gc
import signal
import sys

from kvdiag.cli.fast import run_short, short_form
from kvdiag.errors import KvdiagError

INTERRUPTED = 130
COLLECT_EVERY = 100_000  # objects; what is read holds no cycles, and looking for them takes 5 % of the time


def run() -> None:
    """Run the command line; every expected failure is one clear message, never a traceback."""
    if hasattr(signal, "SIGPIPE"):  # whoever reads our output may go: end as grep and cat do, without a word
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    gc.set_threshold(COLLECT_EVERY)
    try:
        _dispatch()
    except KvdiagError as error:
        _say(f"kvdiag: {error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _dispatch() -> None:
    form = short_form(sys.argv[1:])
    if form is not None:
        sys.exit(run_short(form))
    from kvdiag.cli.app import app

    app()


def _say(message: str) -> None:
    from kvdiag.report.clean import clean

    sys.stderr.write(clean(message, newlines=True) + "\n")
