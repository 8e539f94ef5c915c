"""A view of k9s is read without its frame, and what it broke is whole again; other lines are left alone."""

from __future__ import annotations

import pytest

from kvdiag.formats.pasted.framed import detect
from tests.rewriting import rewritten

ROWS = [
    "  Normal   Scheduled    17s              default-scheduler  Successfully assigned shop/web-0 to worker-1",
    '  Warning  FailedMount  1s (x4 over 5s)  kubelet  MountVolume.MountDevice failed for volume "data" : exit status 32',
    "Mounting command: mount",
    "Mounting arguments: -t ext4 -o defaults /dev/longhorn/pvc-1 /var/lib/kubelet/plugins/kubernetes.io/csi/x/globalmount",
    "Output: mount: /x: /dev/longhorn/pvc-1 already mounted or mount point busy.",
]


def read(lines: list[str]) -> tuple[list[str], list[int]]:
    """Give the lines as they are read, and the numbers of those that were rewritten."""
    text, numbers = rewritten("\n".join([*lines, ""]).encode(), detect)
    return text.decode().splitlines(), numbers


def framed(lines: list[str], width: int) -> list[str]:
    """Draw a frame around lines, which breaks them."""
    parts = [line[at : at + width] for line in lines for at in range(0, len(line), width)]
    return [f"│ {part:{width}} │" for part in parts]


@pytest.mark.parametrize("width", [80, 97, 118, 130, 300])
def test_framed(width):
    """Lines are whole again, each at the number of its first line."""
    lines, numbers = read(framed(ROWS, width))
    assert lines == ROWS
    assert numbers == [1 + sum(-(-len(above) // width) for above in ROWS[:at]) for at in range(len(ROWS))]


def test_first_line_without_its_left_side():
    """Of the first line the frame's left side is often not copied."""
    lines = framed(ROWS, 118)
    assert read([lines[0].removeprefix("│ "), *lines[1:]])[0] == ROWS


@pytest.mark.parametrize(
    "lines",
    [ROWS, ["│ two", "│ words"], ["a │ b"] * 9, ["┊ node1 ┊ pvc-1 ┊", "│ x │", "plain words"], [], [""]],
)
def test_what_has_no_frame(lines):
    """Rows without a frame, and lines of a tree or a table, are left alone."""
    assert read(lines) == (lines, [])
