"""Choose the scanner for literals: the fastest that is safe here, or the one in KVDIAG_SCANNER."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kvdiag.base.errors import UsageError
from kvdiag.inputs.scan import hyper
from kvdiag.inputs.scan.skeleton import SkeletonScanner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvdiag.inputs.scan.protocol import Scanner

VARIABLE = "KVDIAG_SCANNER"


def make_scanner(literals: Sequence[bytes]) -> Scanner:
    """Return a scanner for these literals; ids in its hits are positions in `literals`.

    Raises UsageError when KVDIAG_SCANNER names no scanner, or one that cannot run here.
    """
    choice = os.environ.get(VARIABLE, "")
    if choice == "hyperscan":
        _require_hyperscan()
    elif choice not in ("", "stdlib"):
        raise UsageError(f"{VARIABLE}={choice}: unknown scanner; use stdlib or hyperscan, or unset it")
    if choice == "hyperscan" or (choice == "" and _prefers_hyperscan()):
        return hyper.HyperScanner(literals)
    return SkeletonScanner(literals)


def _prefers_hyperscan() -> bool:
    return hyper.is_installed() and hyper.is_proven() and hyper.is_safe()


def _require_hyperscan() -> None:
    if not hyper.is_installed():
        raise UsageError(f"{VARIABLE}=hyperscan: it is not installed; run: pip install 'kvdiag[fast]'")
    if not hyper.is_safe():
        raise UsageError(f"{VARIABLE}=hyperscan: this processor lacks SSE4.2; unset {VARIABLE} to scan without it")
