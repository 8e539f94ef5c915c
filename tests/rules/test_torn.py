"""What a power loss has taken from a log may have been what a rule misses in it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.history.ingest.blocks import read_blocks
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.inputs.lines import LineMap
from kvdiag.inputs.scan.damage import damaged
from kvdiag.model.options import Options
from kvdiag.model.values import Verdict
from tests.patterns import library

RULE = "volume-staged-on-two-nodes"
UNSTAGED = b"UnmountDevice succeeded"


def written() -> dict[str, list[bytes]]:
    """Give the lines of two nodes: a volume is unstaged on the first before the second stages it."""
    (rule,) = (rule for rule in library().rules if rule.name == RULE)
    sick, healthy = (test.log.encode().splitlines(keepends=True) for test in rule.tests[:2])
    lines = [*healthy, sick[-1]]  # the log of the first goes on
    return {node: [line for line in lines if node.encode() in line] for node in ("node-a", "node-b")}


def plain(lines: list[bytes]) -> bytes:
    return b"".join(lines)


def in_a_section(lines: list[bytes]) -> bytes:
    """Give the lines as `tail` prints several files."""
    return b"==> /var/log/kubelet.log <==\n" + b"".join(lines)


def verdict(lines: dict[str, list[bytes]], form: Callable[[list[bytes]], bytes], lost: Callable[[bytes], bytes]):
    """Give how sure it is that the volume was staged on two nodes, with something else in place of one line."""
    logs = {node: form([lost(line) if UNSTAGED in line else line for line in of]) for node, of in lines.items()}
    report = analyze(Options(year=2024), texts=[TextInput(name, text) for name, text in logs.items()])
    return next((one.verdict for one in report.findings if one.rule.name == RULE), None)


@pytest.mark.parametrize("form", [plain, in_a_section])
def test_a_run_of_nul_bytes_is_a_gap(form):
    """What stood there may have been the line that is missing; a line that was never written was not."""
    lines = written()
    assert verdict(lines, form, lambda line: line) is None
    assert verdict(lines, form, lambda _line: b"") is Verdict.CONFIRMED
    assert verdict(lines, form, lambda line: b"\0" * len(line)) is Verdict.POSSIBLE
    assert verdict(lines, form, lambda line: b"\0" * len(line) + b"\n") is Verdict.POSSIBLE


def test_torn_lines_of_a_container():
    """Lines that are put together of their parts keep their numbers, and so do those that were torn."""
    stamp = b"2024-03-12T08:00:0%d.000000000Z stderr "
    lines = [
        stamp % 1 + b"F one",
        stamp % 2 + b"P two ",
        b"\0" * 9 + stamp % 3 + b"F of two",
        b"\0" * 9 + b"three",
        b"",
    ]
    told = read_blocks(TextInput("log", b"\n".join(lines)), [].append, LineMap())
    assert [line for block in told for line in damaged(block)] == [3, 4]


def test_text_of_two_bytes_a_character_is_no_damage():
    """Half the bytes of UTF-16 are NUL, and nothing is missing."""
    assert verdict(written(), lambda lines: b"".join(lines).decode().encode("utf-16"), lambda _line: b"") is (
        Verdict.CONFIRMED
    )
