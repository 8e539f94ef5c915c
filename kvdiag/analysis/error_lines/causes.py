"""The innermost cause of each group of error lines that no finding explains."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, takewhile

from kvdiag.analysis.error_lines.groups import is_other
from kvdiag.analysis.error_lines.lines import body_of
from kvdiag.base.regex import lazy_regex
from kvdiag.formats.authors import CONTAINED
from kvdiag.formats.bodies.plain import level
from kvdiag.formats.carriers.peel import peel
from kvdiag.model.error_anatomy import EFFECT, STRONG, WEAK, ErrorAnatomy
from kvdiag.model.error_groups import ErrorGroup, Errors
from kvdiag.rules.causes import with_command
from kvdiag.rules.distribution import Dialect

MOST_READ = 100  # groups; a report shows five, and reading one takes 0.3 ms
NEAR = 3  # lines; an error so close above an exit status is its reason
_STATUS = lazy_regex(r"\b(?:exit(?:ed)?(?: with)?(?: status| code)?[:=]? ?|rc=)(?:1|126|127)\b")


def with_causes(errors: Errors, dialect: Dialect) -> Errors:
    """Return the error lines with the anatomy of each of the first groups; `dialect` is that of the node.

    Of the ongoing groups, and of the others, those that name a cause by themselves come first.
    """
    read = [group._replace(anatomy=anatomy_of(group, dialect)) for group in islice(errors.groups, MOST_READ)]
    read = [_as_effect(group, read) for group in read]
    read.sort(key=lambda group: (is_other(group.component), not group.is_ongoing, not _is_cause(group.anatomy)))
    return errors._replace(groups=(*read, *errors.groups[MOST_READ:]))


def _as_effect(group: ErrorGroup, groups: Sequence[ErrorGroup]) -> ErrorGroup:
    """Return an exit status without its meaning, if its program printed another error just above."""
    anatomy = group.anatomy
    if anatomy is None or not _is_status(anatomy):
        return group
    at = group.origin
    is_effect = any(
        other.component == group.component
        and other.origin.source == at.source
        and 0 < at.line - other.origin.line <= NEAR
        and (other.anatomy is None or not _is_status(other.anatomy))
        for other in groups
    )
    if not is_effect:
        return group
    return group._replace(
        anatomy=anatomy._replace(strength=WEAK, note=EFFECT, sentence=anatomy.quoted, check="", step="")
    )


def _is_status(anatomy: ErrorAnatomy) -> bool:
    return anatomy.primitive == "EXIT_CODE" and _STATUS.search(anatomy.clause) is not None


def _is_cause(anatomy: ErrorAnatomy | None) -> bool:
    return anatomy is not None and anatomy.strength >= STRONG and not anatomy.note


def anatomy_of(group: ErrorGroup, dialect: Dialect) -> ErrorAnatomy:
    """Return the anatomy of the first line of a group, with the check as a command of the node's distribution."""
    # 5 ms that a log without errors need not wait for
    from kvdiag.anatomy.decode import error_text
    from kvdiag.anatomy.error import in_container, of_unknown_program, read_error

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
    elif not group.component:
        anatomy = of_unknown_program(anatomy)
    return with_command(anatomy, dialect)


def _is_continuation(line: str) -> bool:
    """Return whether a line below an error may belong to it: it is no error of its own."""
    return level("", line.encode("utf-8", "replace")) is None
