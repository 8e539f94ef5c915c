"""`python -m kvdiag.fleet.packer BUNDLE FOLDER`: the rows that an analysis left become Parquet, the outcome JSON.

What `kvdiag.fleet.child` becomes when it has judged a bundle: the same process, with the same limits and parent.
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
    """Store the results; the exit code tells whether that was done."""
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
