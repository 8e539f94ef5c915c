"""Healthy logs with random damage: no fault may be told as certain because of bytes or lines that are gone.

    python bench/damage.py [--seeds 1000] [--kind flips|losses|…|all] [--jobs 2] [--alone] [FOLDER…]
    python bench/damage.py --each-line [--jobs 2] [FOLDER…]
    python bench/damage.py --kept [--seeds 100] [--jobs 2] [FOLDER…]

Each folder holds the logs of one case (default: each `healthy…` of sample-logs/, with --kept all others). For every
seed each of its logs is damaged in one of the ways of KINDS. Printed are the findings of severity medium or above that
were confirmed, those of the undamaged logs left out. The exit code is 1 when there is one. `--each-line` leaves out
every single line in turn instead. `--kept` does the opposite with sick logs: it loses one line, or changes one byte in
ten thousand, and tells how often what stood first among the findings is still found.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from itertools import islice
from pathlib import Path

from kvdiag.analysis.case import Case, Patterns, load_patterns
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options
from kvdiag.model.report import Finding
from kvdiag.model.values import Severity, Verdict

SAMPLES = Path(__file__).parents[1] / "sample-logs"
ONE_BYTE_IN, ONE_LINE_IN, FEW_BYTES_IN = 1000, 100, 10_000
MOST_NULS = 4096
NO_LOGS = {".md", ".json", ".yaml", ".txt"}
PACKED = {".gz"}
EACH_LINE, KEPT = "each line", "kept "

Logs = Mapping[str, bytes]
Pieces = Iterable[bytes]  # of one log: rotated files, oldest first
Damage = Callable[[bytes, random.Random], Pieces]


def flips(text: bytes, chance: random.Random, one_in: int = ONE_BYTE_IN) -> Pieces:
    """Change one byte in a thousand."""
    changed = bytearray(text)
    for _ in range(max(1, len(text) // one_in)):
        changed[chance.randrange(len(text))] = chance.randrange(256)
    yield bytes(changed)


def few_flips(text: bytes, chance: random.Random) -> Pieces:
    """Change one byte in ten thousand."""
    return flips(text, chance, FEW_BYTES_IN)


def losses(text: bytes, chance: random.Random) -> Pieces:
    """Lose one line in a hundred."""
    yield b"".join(line for line in text.splitlines(keepends=True) if chance.randrange(ONE_LINE_IN))


def one_loss(text: bytes, chance: random.Random) -> Pieces:
    """Lose a single line."""
    lines = text.splitlines(keepends=True)
    del lines[chance.randrange(len(lines))]
    yield b"".join(lines)


def cuts(text: bytes, chance: random.Random) -> Pieces:
    """Leave out up to a tenth of a log, from any byte on."""
    begins = chance.randrange(len(text))
    yield text[:begins] + text[begins + chance.randrange(len(text) // 10 + 1) :]


def truncations(text: bytes, chance: random.Random) -> Pieces:
    """End a log at any byte."""
    yield text[: chance.randrange(len(text)) + 1]


def rotations(text: bytes, chance: random.Random) -> Pieces:
    """Lose the middle one of three files that a log was rotated into."""
    lines = text.splitlines(keepends=True)
    ends, begins = sorted(chance.randrange(len(lines) + 1) for _ in range(2))
    yield from (piece for piece in (b"".join(lines[:ends]), b"".join(lines[begins:])) if piece)


def doubles(text: bytes, chance: random.Random) -> Pieces:
    """Write one line in a hundred twice."""
    yield b"".join(line * (1 + (chance.randrange(ONE_LINE_IN) == 0)) for line in text.splitlines(keepends=True))


def swaps(text: bytes, chance: random.Random) -> Pieces:
    """Swap one line in a hundred with the next."""
    lines = text.splitlines(keepends=True)
    for at in range(len(lines) - 1):
        if chance.randrange(ONE_LINE_IN) == 0:
            lines[at], lines[at + 1] = lines[at + 1], lines[at]
    yield b"".join(lines)


def melts(text: bytes, chance: random.Random) -> Pieces:
    """Lose the newline of one line in a hundred."""
    yield b"".join(
        line if chance.randrange(ONE_LINE_IN) else line.rstrip(b"\r\n") for line in text.splitlines(keepends=True)
    )


def nuls(text: bytes, chance: random.Random) -> Pieces:
    """Write NUL over a stretch, as a file system does that had no time to write its data."""
    begins = chance.randrange(len(text))
    ends = min(len(text), begins + chance.randrange(MOST_NULS) + 1)
    yield text[:begins] + b"\0" * (ends - begins) + text[ends:]


KINDS: Mapping[str, Damage] = {
    kind.__name__: kind for kind in (flips, losses, cuts, truncations, rotations, doubles, swaps, melts, nuls, one_loss)
}
LIGHT: Mapping[str, Damage] = {kind.__name__: kind for kind in (one_loss, few_flips)}


@cache
def knowledge() -> Patterns:
    """Give all rules, read once."""
    return load_patterns(Options())


@cache
def logs(folder: Path) -> Logs:
    """Give the logs of a case by name, unpacked."""
    top = folder.parent if folder.is_file() else folder
    return {
        str(path.relative_to(top)).removesuffix(".gz"): (
            gzip.decompress(path.read_bytes()) if path.suffix in PACKED else path.read_bytes()
        )
        for path in log_files(folder)
    }


def log_files(folder: Path) -> list[Path]:
    """Give the logs of a folder; a log is its own."""
    files = [folder] if folder.is_file() else [path for path in sorted(folder.rglob("*")) if path.suffix not in NO_LOGS]
    return [path for path in files if path.is_file()]


def findings(case: Logs) -> list[Finding]:
    """Give what is told of medium severity or above, the first first."""
    options = Options(year=2026)
    texts = [TextInput(name, data) for name, data in case.items()]
    run = Case(options, knowledge())
    return [one for one in run.findings(run.read(given=texts).history) if one.severity >= Severity.MEDIUM]


def confirmed(case: Logs) -> set[str]:
    """Give what is told as certain and is of severity medium or above: rule and subject."""
    return {_said(one) for one in findings(case) if one.verdict is Verdict.CONFIRMED}


def _said(finding: Finding) -> str:
    return f"{finding.rule.name} {finding.subject.kind.value}"


def damaged(case: Logs, kind: str, seed: int) -> Logs:
    """Give a case with damage in all its logs, the same for the same seed."""
    chance = random.Random(f"{kind} {seed}")
    damage = {**KINDS, **LIGHT}[kind]
    return {
        name if number == 0 else f"{name}.{number}": piece
        for name, data in case.items()
        for number, piece in enumerate(reversed([*damage(data, chance)]) if data else [data])
    }


def false_alarms(folder: Path, kind: str, seeds: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Give the seeds whose damage makes a fault, and which."""
    case = logs(folder)
    sound = confirmed(case)
    for seed in seeds:
        yield from ((seed, what) for what in sorted(confirmed(damaged(case, kind, seed)) - sound))


def without_each(case: Logs) -> Iterator[tuple[str, int, Logs]]:
    """Give a case as often as it has lines, each time without one: its log, its number from 1."""
    for name, data in case.items():
        lines = data.splitlines(keepends=True)
        for at in range(len(lines)):
            yield name, at + 1, {**case, name: b"".join(lines[:at] + lines[at + 1 :])}


def lone_alarms(folder: Path, ordinals: range) -> Iterator[tuple[int, str]]:
    """Give the lines whose loss makes a fault, counted over all logs of a case, and which."""
    case = logs(folder)
    sound = confirmed(case)
    for ordinal, (name, line, less) in enumerate(islice(without_each(case), ordinals.stop)):
        if ordinal in ordinals:
            yield from ((line, f"{what} without {name}:{line}") for what in sorted(confirmed(less) - sound))


def losses_of_truth(folder: Path, kind: str, seeds: Iterable[int]) -> Iterator[tuple[int, str]]:
    """Give the seeds whose damage hides what stands first among the findings of a sick case."""
    case = logs(folder)
    first = _said(findings(case)[0])
    for seed in seeds:
        if first not in {_said(one) for one in findings(damaged(case, kind, seed))}:
            yield seed, first


Task = tuple[Path, str, range]


def _task(task: Task) -> tuple[Path, str, list[tuple[int, str]]]:
    folder, kind, seeds = task
    if kind == EACH_LINE:
        return folder, kind, list(lone_alarms(folder, seeds))
    if kind.startswith(KEPT):
        return folder, kind, list(losses_of_truth(folder, kind.removeprefix(KEPT), seeds))
    return folder, kind, list(false_alarms(folder, kind, seeds))


def tasks(folders: Iterable[Path], kinds: Iterable[str], options: argparse.Namespace) -> list[Task]:
    """Give what is to be done in pieces of some seeds, or of some lines."""
    size = {folder: sum(text.count(b"\n") for text in logs(folder).values()) + 1 for folder in folders}
    return [
        (folder, kind, range(first, min(first + piece, total)))
        for folder in size
        for kind in kinds
        for total in (size[folder] if kind == EACH_LINE else options.seeds,)
        for piece in (max(1, total // (4 * options.jobs)),)
        for first in range(0, total, piece)
    ]


def main() -> None:
    """Damage every case as often as it was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--kind", choices=[*KINDS, "all"], default="all")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--alone", action="store_true", help="give each log without the others of its case")
    parser.add_argument("--each-line", action="store_true", help="leave out every single line in turn")
    parser.add_argument("--kept", action="store_true", help="whether what is true is still found in damaged logs")
    options = parser.parse_args()
    folders: list[Path] = options.folders or [
        folder for folder in sorted(SAMPLES.iterdir()) if folder.name.startswith("healthy") is not options.kept
    ]
    if options.alone:
        folders = [path for folder in folders for path in log_files(folder)]
    kinds = list(KINDS) if options.kind == "all" else [options.kind]
    if options.each_line or options.kept:
        kinds = [EACH_LINE] if options.each_line else [f"{KEPT}{kind}" for kind in LIGHT]
    todo = tasks(folders, kinds, options)
    told = told_of(todo, options.jobs)
    for (folder, kind, what), seeds in sorted(told.items()):
        total = sum(len(piece) for of, damage, piece in todo if (of, damage) == (folder, kind))
        print(f"{len(seeds):>5} of {total}  {folder.parent.name}/{folder.name}: {kind}: {what} (seed {seeds[0]})")
    missed = sum(map(len, told.values()))
    print(
        f"{missed} {'not evaluate' if options.kept else 'false alarms'} in {sum(len(t[2]) for t in todo)} damaged cases"
    )
    sys.exit(1 if missed and not options.kept else 0)


def told_of(todo: Iterable[Task], jobs: int) -> Mapping[tuple[Path, str, str], list[int]]:
    """Give the seeds by folder, kind of damage and what was told, or not told, because of it."""
    told: dict[tuple[Path, str, str], list[int]] = defaultdict(list)
    with ProcessPoolExecutor(jobs) as pool:
        for folder, kind, here in pool.map(_task, todo):
            for seed, what in here:
                told[folder, kind, what].append(seed)
    return told


if __name__ == "__main__":
    main()
