"""Healthy logs with random damage: no fault may be told as certain because of bytes or lines that are gone.

    python bench/damage.py [--seeds 1000] [--kind flips|losses|cuts|all] [--jobs 2] [--alone] [FOLDER…]

Each folder holds the logs of one healthy case (default: each `healthy…` of sample-logs/). For every seed one byte in a
thousand is changed, one line in a hundred lost, or each log is cut at some place. Printed are the findings of severity
medium or above that were confirmed, those of the undamaged logs left out. The exit code is 1 when there is one.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

from kvdiag.model.values import Severity, Verdict
from kvdiag.pipeline.analyze import Knowledge, found, know, read_history
from kvdiag.pipeline.options import Options
from kvdiag.pipeline.read import Text

SAMPLES = Path(__file__).parents[1] / "sample-logs"
ONE_BYTE_IN, ONE_LINE_IN = 1000, 100
NO_LOGS = {".md", ".json", ".yaml", ".txt"}

Case = Mapping[str, bytes]


def flips(text: bytes, chance: random.Random) -> bytes:
    """Change one byte in a thousand."""
    changed = bytearray(text)
    for _ in range(max(1, len(text) // ONE_BYTE_IN)):
        changed[chance.randrange(len(text))] = chance.randrange(256)
    return bytes(changed)


def losses(text: bytes, chance: random.Random) -> bytes:
    """Lose one line in a hundred."""
    return b"".join(line for line in text.splitlines(keepends=True) if chance.randrange(ONE_LINE_IN))


def cuts(text: bytes, chance: random.Random) -> bytes:
    """Leave out up to a tenth of a log, from any byte on."""
    begins = chance.randrange(len(text))
    return text[:begins] + text[begins + chance.randrange(len(text) // 10 + 1) :]


KINDS: Mapping[str, Callable[[bytes, random.Random], bytes]] = {"flips": flips, "losses": losses, "cuts": cuts}


@cache
def knowledge() -> Knowledge:
    """Give all rules, read once."""
    return know(Options())


@cache
def logs(folder: Path) -> Case:
    """Give the logs of a case by name, unpacked."""
    return {
        path.name.removesuffix(".gz"): gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in log_files(folder)
    }


def log_files(folder: Path) -> list[Path]:
    """Give the logs of a folder; a log is its own."""
    files = [folder] if folder.is_file() else sorted(folder.iterdir())
    return [path for path in files if path.is_file() and path.suffix not in NO_LOGS]


def confirmed(case: Case) -> set[str]:
    """Give what is told as certain and is of severity medium or above: rule and subject."""
    options = Options(year=2026)
    texts = [Text(name, data) for name, data in case.items()]
    history = read_history(texts, knowledge(), options, []).history
    return {
        f"{one.rule.name} {one.subject.kind.value}"
        for one in found(history, knowledge(), options)
        if one.verdict is Verdict.CONFIRMED and one.severity >= Severity.MEDIUM
    }


def damaged(case: Case, kind: str, seed: int) -> Case:
    """Give a case with damage in all its logs, the same for the same seed."""
    chance = random.Random(f"{kind} {seed}")
    return {name: KINDS[kind](data, chance) if data else data for name, data in case.items()}


def false_alarms(folder: Path, kind: str, seeds: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Give the seeds whose damage makes a fault, and which."""
    case = logs(folder)
    sound = confirmed(case)
    for seed in seeds:
        yield from ((seed, what) for what in sorted(confirmed(damaged(case, kind, seed)) - sound))


def _task(task: tuple[Path, str, range]) -> tuple[Path, str, list[tuple[int, str]]]:
    folder, kind, seeds = task
    return folder, kind, list(false_alarms(folder, kind, seeds))


def main() -> None:
    """Damage every case as often as it was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--kind", choices=[*KINDS, "all"], default="all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--alone", action="store_true", help="give each log without the others of its case")
    options = parser.parse_args()
    folders: list[Path] = options.folders or sorted(SAMPLES.glob("healthy*"))
    if options.alone:
        folders = [path for folder in folders for path in log_files(folder)]
    kinds = list(KINDS) if options.kind == "all" else [options.kind]
    size = max(1, options.seeds // (4 * options.jobs))
    tasks = [
        (folder, kind, range(first, min(first + size, options.seeds)))
        for folder in folders
        for kind in kinds
        for first in range(0, options.seeds, size)
    ]
    alarms = 0
    told: Counter[tuple[str, str, str]] = Counter()
    seeds: dict[tuple[str, str, str], int] = {}
    with ProcessPoolExecutor(options.jobs) as pool:
        for folder, kind, found_here in pool.map(_task, tasks):
            for seed, what in found_here:
                told[f"{folder.parent.name}/{folder.name}", kind, what] += 1
                seeds.setdefault((f"{folder.parent.name}/{folder.name}", kind, what), seed)
                alarms += 1
    for key, count in sorted(told.items()):
        print(f"{count:>5} of {options.seeds}  {key[0]}: {key[1]}: {key[2]} (seed {seeds[key]})")
    print(f"{alarms} false alarms in {options.seeds * len(folders) * len(kinds)} damaged cases")
    sys.exit(1 if alarms else 0)


if __name__ == "__main__":
    main()
