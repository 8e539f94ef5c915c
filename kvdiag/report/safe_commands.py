"""Commands as they may be shown: whole, or not at all.

A command in which something was redacted is another command: a quote may be gone with the secret. So it is left out.
"""

from __future__ import annotations

from kvdiag.model.rule import Fix
from kvdiag.safe.clean import clean

WITHHELD = "command left out: a name in it looks like a secret"


def safe_fix(fix: Fix, *, redact: bool) -> Fix:
    """The step with its command, or with the reason why there is none."""
    return fix if clean(fix.run, redact=redact) == fix.run else fix._replace(run="", withheld=WITHHELD)
