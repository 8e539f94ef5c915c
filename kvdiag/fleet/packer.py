"""Run `python -m kvdiag.fleet.packer BUNDLE FOLDER`: store the rows of an analysis as Parquet, print the outcome.

`kvdiag.fleet.child` becomes this program after the analysis: same process, same limits, same parent.
"""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

from kvdiag.fleet.guard import OUT_OF_MEMORY
from kvdiag.fleet.places import place
from kvdiag.fleet.results import put_results
from kvdiag.fleet.spool import unspool


def main() -> int:
    """Store the results; the exit code says whether that was done."""
    gc.disable()
    try:
        spooled = unspool(Path(sys.argv[2]))
        put_results(place(spooled.dest), spooled.outcome, spooled.tables)
    except MemoryError:
        return OUT_OF_MEMORY
    sys.stdout.write(json.dumps(spooled.outcome._asdict()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
