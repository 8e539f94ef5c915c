"""Withhold a command if redaction would change it.

With a secret, a quote may be removed too, and the rest would be a different command.
"""

from __future__ import annotations

from kvdiag.model.rule import Fix
from kvdiag.safe.clean import clean

WITHHELD = "command left out: a name in it looks like a secret"


def safe_fix(fix: Fix, *, redact: bool) -> Fix:
    """Return the step with its command, or with the reason why the command is withheld."""
    return fix if clean(fix.run, redact=redact) == fix.run else fix._replace(run="", withheld=WITHHELD)
