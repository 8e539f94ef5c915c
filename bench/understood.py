"""How much of the given logs is understood: lines, records, and what was not read, for each file."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

GOAL = 0.995


def main() -> None:
    """Print a row for each file, those below the goal marked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="logs, or folders of them")
    parser.add_argument("--unread", type=int, default=0, metavar="N", help="show the first N lines that were not read")
    options = parser.parse_args()
    print(f"{'share':>7} {'lines':>9} {'unread':>7}  file")
    for path in sorted(files(options.paths)):
        for reading in readings(path):
            share = 1 - reading["unread"] / max(1, reading["lines"])
            mark = " " if share >= GOAL else "!"
            print(f"{share:>6.1%}{mark} {reading['lines']:>9} {reading['unread']:>7}  {path}  {reading['format']}")
            if reading["unread"] and options.unread:
                show(path, options.unread)


def files(paths: list[Path]) -> Iterator[Path]:
    """Give the files of folders, at any depth."""
    for path in paths:
        yield from (path for path in path.rglob("*") if path.is_file()) if path.is_dir() else [path]


def readings(path: Path) -> list[dict]:
    """Give what the report says of how a file was read."""
    command = [sys.executable, "-m", "kvdiag", "analyze", "-o", "json", str(path)]
    done = subprocess.run(command, capture_output=True, check=False)
    return json.loads(done.stdout)["inputs"] if done.stdout else []


def show(path: Path, most: int) -> None:
    """Print the first lines of a file that no format knows."""
    from kvdiag.formats.bodies.registry import classify
    from kvdiag.inputs.paths import sources

    shown = 0
    for source in sources([str(path)], print):
        with source.open() as reader:
            buffer = bytearray(1 << 20)
            got = reader.readinto(memoryview(buffer))
        for line in bytes(buffer[:got]).split(b"\n"):
            if shown < most and classify(line) == "unread":
                print(f"        {line[:150]!r}")
                shown += 1


if __name__ == "__main__":
    main()
