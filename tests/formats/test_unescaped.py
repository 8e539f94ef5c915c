"""Quotes within values that lost their backslashes get them again; other lines are left alone."""

from __future__ import annotations

import pytest

from kvdiag.formats.bodies.registry import read_body
from kvdiag.formats.pasted.unescaped import detect, escaped
from tests.rewriting import rewritten

KLOG = 'E0715 03:49:33.850919    1432 pod_workers.go:190] "Error syncing pod, skipping" '
BROKEN = [
    (KLOG + 'err="failed to "Start" for "app" with Error: "busy"" pod="shop/web-0"', 'failed to "Start" for "app" with Error: "busy"'),
    (KLOG + 'err="plugin type="bridge" name="podnet" failed (add): no such file" pod="shop/web-0"', 'plugin type="bridge" name="podnet" failed (add): no such file'),
    ('time="2024-07-15T03:49:33Z" level=error msg="RunPodSandbox failed" err="exec: "shim": not found in $PATH"', 'exec: "shim": not found in $PATH'),
]  # fmt: skip
WHOLE = [
    KLOG + r'err="failed to \"Start\" for \"app\" with Error: \"busy\"" pod="shop/web-0"',
    KLOG + 'err="exit status 32" pod="shop/web-0"',
    'time="2024-07-15T03:49:33Z" level=info msg="StopPodSandbox for \\"cf8d\\" returns successfully"',
    'a word="x", another="y" and a third',
    KLOG + 'err="a "value" without an end',
]


@pytest.mark.parametrize(("line", "error"), BROKEN)
def test_a_value_is_read_to_its_end(line, error):
    """With the quotes in it, and with the keys after it."""
    body = read_body(escaped(line.encode()))
    assert body is not None
    assert body.fields["err"] == error
    assert body.fields.get("pod") == ("shop/web-0" if "pod=" in line else None)


@pytest.mark.parametrize("line", WHOLE)
def test_other_lines_are_left_alone(line):
    """Values that are whole, other text, and a value that does not end."""
    assert escaped(line.encode()) == line.encode()


def test_a_log():
    """Where some lines have such quotes; one of many is not enough to rewrite a log."""
    text = "\n".join([BROKEN[0][0], *WHOLE[:3]]).encode()
    made, numbers = rewritten(text, detect)
    assert made.decode().splitlines() == [escaped(BROKEN[0][0].encode()).decode(), *WHOLE[:3]]
    assert numbers == [1, 2, 3, 4]
    assert detect("\n".join([BROKEN[0][0], *WHOLE[:2] * 5]).encode()) is None
    assert detect("\n".join(WHOLE).encode()) is None
