"""The `kvdiag` command, and its exit codes.

0 nothing at or above --fail-on · 1 findings at or above it · 2 wrong usage, a broken rule, or output that could not be
written · 3 an input could not be read, or nothing was recognized · 130 interrupted, 143 terminated, 129 hung up. A
closed pipe ends the command quietly. Nothing else is imported before the signal handlers are set.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable

BROKEN, UNREADABLE = 2, 3
ENDS = ("SIGINT", "SIGTERM", "SIGHUP")


def run() -> None:
    """Run the command line."""
    guarded(_dispatch)


def guarded(command: Callable[[], None]) -> None:
    """Run a command; expected failures print one clear message and no traceback."""
    _heed_signals()
    gc.disable()  # the values have no reference cycles; searching for them takes a tenth of the time
    if sys.stderr is None:  # closed by the parent process
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 (stays open to the end)
    if sys.stdout is None:
        _print_error("kvdiag: standard output is closed; redirect it to a file, or use --output-file")
        sys.exit(BROKEN)
    from kvdiag.base.errors import KvdiagError

    try:
        try:
            command()
        finally:
            sys.stdout.flush()
    except KvdiagError as error:
        _print_error(f"kvdiag: {error}")
        sys.exit(error.exit_code)
    except OSError as error:
        _turn_off_output()
        _print_error(f"kvdiag: {error.filename or 'the output could not be written'}: {error.strerror or error}")
        sys.exit(BROKEN)
    except MemoryError:
        _print_error("kvdiag: out of memory; give fewer logs, or narrow the time with --since and --until")
        sys.exit(UNREADABLE)
    except Exception as error:  # noqa: BLE001 (the last resort: a clear message, and no exit that means "findings")
        from kvdiag.base.errors import describe_fault

        _turn_off_output()
        _print_error(f"kvdiag: {describe_fault(error)}")
        sys.exit(UNREADABLE)


def _dispatch() -> None:
    from pathlib import Path

    from kvdiag.cli.config import default_map, is_configured
    from kvdiag.cli.fast import COMPLETES, run_short, short_form

    is_set = is_configured(os.environ, Path.cwd())
    form = None if is_set or COMPLETES in os.environ else short_form(sys.argv[1:])
    if form is not None:
        sys.exit(run_short(form))
    from kvdiag.cli.app import command

    if COMPLETES in os.environ:
        from kvdiag.cli.completion import prepare

        prepare()
    command()(complete_var=COMPLETES, default_map=default_map(os.environ, Path.cwd()) if is_set else None)


def _heed_signals() -> None:
    """Set up signals: SIGPIPE ends the process quietly, others end it with an exit that cleans up.

    An ignored signal stays ignored, for example with nohup.
    """
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for name in ENDS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def _end(number: int, _frame: object) -> None:
    signal.signal(number, signal.SIG_DFL)  # a second signal ends the process at once
    raise SystemExit(128 + number)


def _turn_off_output() -> None:
    """Redirect standard output to /dev/null: the buffered rest cannot be written, and exit must not try."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _print_error(message: str) -> None:
    import contextlib

    from kvdiag.safe.clean import clean

    with contextlib.suppress(OSError):
        sys.stderr.write(clean(message, newlines=True) + "\n")
        sys.stderr.flush()
