"""How many lines of level warning or worse a finding or a benign entry explains, per folder and in sum.

.venv/bin/python bench/explained.py FOLDER…        each folder in a FOLDER is analysed by itself
"""

from __future__ import annotations

import sys
from pathlib import Path

from kvdiag.analysis.analyze import analyze
from kvdiag.model.error_groups import Errors
from kvdiag.model.options import Options

MOST_SHOWN = 3


def main(folders: list[Path]) -> None:
    """Print a row for each case, then the sums."""
    total = Errors()
    for case in sorted(case for folder in folders for case in folder.iterdir() if case.is_dir()):
        said = analyze(Options(paths=(str(case),))).errors
        print(_row(case.name, said))
        if "-v" in sys.argv:
            for group in said.groups[:MOST_SHOWN]:
                print(f"    {group.count:6} {group.component} {group.where} {group.message[:120]}")
        total = Errors(total.lines + said.lines, total.explained + said.explained, total.benign + said.benign)
    print(_row("in all", total))


def _row(name: str, said: Errors) -> str:
    share = 100 * (said.explained + said.benign) / said.lines if said.lines else 100
    return f"{share:5.1f} %  {said.lines:7} lines {said.explained:7} explained {said.benign:7} benign  {name}"


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:] if word != "-v"])
