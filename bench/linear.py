"""Hostile text must take linear time: each reader is given traps of a size and of twice that, and the ratio is shown.

    python bench/linear.py [--size KB] [--slow MS]

A ratio near 2 is linear, near 4 quadratic. What tests hold of this stands in tests/test_traps.py.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.traps import READERS, traps

QUADRATIC = 3.0


def main() -> None:
    """Print what takes long, and what grows faster than its input."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=64, metavar="KB", help="how large the smaller trap is (64)")
    parser.add_argument("--slow", type=float, default=50, metavar="MS", help="what is worth a line (50)")
    options = parser.parse_args()
    small, large = traps(options.size << 10), traps(options.size << 11)
    for name, read in READERS.items():
        for number, trap in enumerate(small):
            before = clocked(read, trap)
            after = clocked(read, large[number])
            if after * 1000 >= options.slow:
                mark = "QUADRATIC" if after / max(before, 1e-9) > QUADRATIC else ""
                print(f"{name:<12} {trap[:30]!r:<36} {before * 1000:8.1f} {after * 1000:8.1f} ms  {mark}", flush=True)


def clocked(read: object, trap: bytes) -> float:
    """Give the seconds that one reading takes."""
    begun = time.process_time()
    read(trap)  # type: ignore[operator]
    return time.process_time() - begun


if __name__ == "__main__":
    main()
