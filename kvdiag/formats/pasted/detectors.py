"""What recognizes text that was copied in a form of its own, and rewrites its lines.

    │   Warning  FailedMount  1s (x4 over 5s)  kubelet  MountVolume.MountDevice failed for volume "data" : rpc er │

Each detector is given the first bytes of an input, and returns what rewrites its lines if they have its form.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kvdiag.formats.pasted import escaped, framed, unescaped, wrapped
from kvdiag.inputs.lines import LineRewriter

Detector: TypeAlias = Callable[[bytes], LineRewriter | None]

WHOLE: tuple[Detector, ...] = (escaped.detect,)
"""For a log in one line; tried before those of structured inputs."""
LINES: tuple[Detector, ...] = (framed.detect, wrapped.detect, unescaped.detect)
"""For text whose lines were changed; tried after those of structured inputs, the first that fits is taken."""
