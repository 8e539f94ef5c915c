"""Exceptions whose messages contain the place and the next step."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator


class KvdiagError(Exception):
    """An error that is printed as it is, without a traceback."""

    exit_code = 2


class UsageError(KvdiagError):
    """An invalid option or argument."""


def check_choice(option: str, word: str, known: Collection[str], *, what: str = "output") -> None:
    """Raise UsageError if the value of an option is not among the known ones; `what` says what they are."""
    if word not in known:
        raise UsageError(f"{option} {word}: unknown {what}; choose from {', '.join(known)}")


class InputError(KvdiagError):
    """An input that the user named and that cannot be read. The other inputs are still analyzed."""

    exit_code = 3

    def __init__(self, source: str, problem: str) -> None:
        """Store `source`, as the user named it, and `problem`, which contains the next step."""
        self.source, self.problem = source, problem
        super().__init__(f"{source}: {problem}")

    def __reduce__(self) -> tuple[Callable[..., InputError], tuple[type[InputError], str, str]]:
        """Return how a copy is made in another process; the classes take different arguments."""
        return _restored, (type(self), self.source, self.problem)


def _restored(kind: type[InputError], source: str, problem: str) -> InputError:
    error = kind.__new__(kind)
    InputError.__init__(error, source, problem)
    return error


class UnexpectedError(InputError):
    """A bug in kvdiag that occurred while it read an input: that line or input is lost, the others are analyzed."""

    def __init__(self, source: str, fault: str, line: int | None = None) -> None:
        """Take `fault` from `describe_fault`; `line` is the first skipped line, None if the rest is skipped."""
        where = "the rest of the input" if line is None else f"line {line}"
        super().__init__(source, f"{where} is skipped: {fault}")


def describe_fault(error: BaseException) -> str:
    """Return the message for an unexpected exception: its type, its place in kvdiag, and what to do."""
    place, at = "", error.__traceback__
    while at is not None:
        folder, package, file = at.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/kvdiag/")
        place = f" in kvdiag/{file}:{at.tb_lineno}" if package and folder else place
        at = at.tb_next
    return f"unexpected {type(error).__name__}{place}; this is a bug in kvdiag, please report it"


@contextmanager
def skip_faults(source: str, problem: Callable[[InputError], None], line: int | None = None) -> Iterator[None]:
    """Pass a bug in kvdiag to `problem`, so that it ends this block (a line or an input) and not the run."""
    try:
        yield
    except (KvdiagError, OSError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 (see above)
        problem(UnexpectedError(source, describe_fault(error), line))


class InputNote(InputError):  # noqa: N818 (it tells of no fault)
    """Something to know about an input that was read as a whole; it changes no exit code."""

    exit_code = 0


class WindowError(InputError):
    """No input contains a line of the requested time."""


class PatternError(KvdiagError):
    """A rule or vocabulary file that cannot be used, with the place of the fault.

    `place` is `file:line:column`; `excerpt` the text the fault is in and `column` where in it (0-based), when known.
    """

    def __init__(self, place: str, problem: str, excerpt: str = "", column: int = 0, width: int = 1) -> None:
        """Place, problem and, for languages inside the file, the excerpt with its caret."""
        self.place, self.problem, self.excerpt = place, problem, excerpt
        caret = f"\n    {excerpt}\n    {' ' * column}{'^' * max(1, width)}" if excerpt else ""
        super().__init__(f"{place}: {problem}{caret}")
