"""The innermost cause of each group of error lines that no finding explains."""

from __future__ import annotations

from itertools import islice, takewhile

from kvdiag.analysis.error_lines.groups import is_other
from kvdiag.analysis.error_lines.lines import body_of
from kvdiag.formats.authors import CONTAINED
from kvdiag.formats.bodies.plain import level
from kvdiag.formats.carriers.peel import peel
from kvdiag.model.error_anatomy import STRONG, ErrorAnatomy
from kvdiag.model.error_groups import ErrorGroup, Errors
from kvdiag.rules.causes import with_command
from kvdiag.rules.distribution import Dialect

MOST_READ = 100  # groups; a report shows five, and reading one takes 0.3 ms


def with_causes(errors: Errors, dialect: Dialect) -> Errors:
    """Return the error lines with the anatomy of each of the first groups; `dialect` is that of the node.

    Of the ongoing groups, and of the others, those that name a cause by themselves come first.
    """
    read = [group._replace(anatomy=anatomy_of(group, dialect)) for group in islice(errors.groups, MOST_READ)]
    read.sort(key=lambda group: (is_other(group.component), not group.is_ongoing, not _is_cause(group.anatomy)))
    return errors._replace(groups=(*read, *errors.groups[MOST_READ:]))


def _is_cause(anatomy: ErrorAnatomy | None) -> bool:
    return anatomy is not None and anatomy.strength >= STRONG and not anatomy.note


def anatomy_of(group: ErrorGroup, dialect: Dialect) -> ErrorAnatomy:
    """Return the anatomy of the first line of a group, with the check as a command of the node's distribution."""
    from kvdiag.anatomy.decode import error_text
    from kvdiag.anatomy.error import in_container, read_error  # 5 ms that a log without errors need not wait for

    sample = group.sample.encode("utf-8", "replace")
    body = body_of(sample)
    below = "\n".join(takewhile(_is_continuation, group.sample.split("\n")[1:]))
    text = error_text(body)
    whole = text if not below or below in text else f"{text}\n{below}"
    anatomy = read_error(whole, program=group.component, level=group.level)
    is_known = is_other(group.component)
    is_klog = body.pid == 1
    if is_known or (not group.component and (is_klog or peel(sample).carrier in CONTAINED)):
        anatomy = in_container(anatomy, is_known=is_known, is_klog=is_klog)
    return with_command(anatomy, dialect)


def _is_continuation(line: str) -> bool:
    """Return whether a line below an error may belong to it: it is no error of its own."""
    return level("", line.encode("utf-8", "replace")) is None
