"""The anatomy of an error: from one record to the operation that failed, its innermost cause and the cause's object."""

from __future__ import annotations

from kvdiag.anatomy.decode import error_text, stated_level
from kvdiag.anatomy.error import Candidate, most_telling, read_error

__all__ = ["Candidate", "error_text", "most_telling", "read_error", "stated_level"]
