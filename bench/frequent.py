"""Which lines the logs of sample-logs/ are full of: writes patterns/frequent.yaml, for lint of anchors.

python bench/frequent.py
"""

from __future__ import annotations

import gzip
import re
from collections import Counter
from pathlib import Path

from kvdiag.base.pattern_folder import builtin_patterns

SAMPLES = Path(__file__).parents[1] / "sample-logs"
OFTEN = 0.002  # of the lines of an average log
LONGEST = 100
VARIES = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{12,}|\d+(?:\.\d+)*")
VALUE = re.compile(r"=(?:\"[^\"]*\"|\[[^\]]*\]|\S+)")
HEAD = re.compile(r"^.*?(?=\b[\w-]+\.go:0\] )|^.*?(?=level=)")
HEADER = """\
# Lines that logs are full of, without numbers and ids, and how many of a thousand lines are such: the average over
# sample-logs/, written by bench/frequent.py. By these `kvdiag rules lint` tells an anchor that hits too many lines.
"""


def lines_of(folder: Path) -> list[str]:
    """Give all lines of a sample's logs."""
    found: list[str] = []
    for path in sorted(folder.rglob("*.log*")):
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        found += data.decode("utf-8", "replace").splitlines()
    return found


def skeleton(line: str) -> str:
    """Give what stays of a line from one time to the next."""
    return VALUE.sub("=", HEAD.sub("", VARIES.sub("0", line), count=1))[:LONGEST].strip()


def main() -> None:
    """Write the file."""
    logs = [lines for folder in sorted(SAMPLES.iterdir()) if folder.is_dir() and (lines := lines_of(folder))]
    shares: Counter[str] = Counter()
    for lines in logs:
        for text, count in Counter(map(skeleton, lines)).items():
            shares[text] += count / len(lines) / len(logs)  # type: ignore[assignment]
    rows = [
        f"- {{of: {1000 * share:.1f}, line: {quoted(text)}}}" for text, share in shares.most_common() if share >= OFTEN
    ]
    (builtin_patterns() / "frequent.yaml").write_text(HEADER + "\n".join(rows) + "\n", "utf-8")


def quoted(text: str) -> str:
    """Write a text as YAML has it between single quotes."""
    plain = "".join(letter for letter in text if letter.isprintable()).replace("'", "''")
    return f"'{plain}'"


if __name__ == "__main__":
    main()
