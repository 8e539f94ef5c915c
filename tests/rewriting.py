"""What an input is rewritten to before it is read by lines."""

from __future__ import annotations

import io
from array import array

from kvdiag.inputs.folded import DETECTORS, Detector, rewriting_reader


def rewritten(data: bytes, *folds: Detector, size: int = 70_000) -> tuple[bytes, list[int]]:
    """Give the text that it becomes, read `size` bytes at a time, and the line of the input for each rewritten line."""
    numbers: array[int] = array("I")
    reader = rewriting_reader(io.BytesIO(data), numbers, folds or DETECTORS)
    buffer, text = bytearray(size), b""
    while got := reader.readinto(memoryview(buffer)):
        text += buffer[:got]
    reader.close()
    return text, list(numbers)
