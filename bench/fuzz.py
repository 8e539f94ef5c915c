"""Coverage-guided fuzzing of what reads bytes that nobody vouches for; needs atheris: pip install atheris.

    python bench/fuzz.py formats|inputs|gostruct [options of libFuzzer, such as -max_total_time=600]

An input that raises is written to the current folder as crash-…; cut down it belongs into tests/test_traps.py.
"""

from __future__ import annotations

import io
import sys
from array import array
from collections.abc import Callable
from itertools import pairwise

import atheris

with atheris.instrument_imports(include=["kvdiag"]):
    from kvdiag.formats import grpcpieces, wrapped
    from kvdiag.formats.bodies import canonical, classify, read_body
    from kvdiag.formats.gostruct import read_struct, sandbox_metadata
    from kvdiag.formats.keyvalues import scan
    from kvdiag.formats.peel import peel
    from kvdiag.formats.records import read_records
    from kvdiag.inputs import sniff
    from kvdiag.inputs.folded import FOLDS, unfolded
    from kvdiag.inputs.gzipped import DamagedError, GzipReader
    from kvdiag.inputs.legible import Mender, Transcoded
    from kvdiag.inputs.readers import Reader
    from kvdiag.scan.blocks import blocks


def formats(data: bytes) -> None:
    """Peel, classify and read each line, and all lines as records."""
    lines = data.split(b"\n")
    for line in lines:
        classify(line)
        body = read_body(peel(line).body)
        if body is not None:
            canonical(body)
            grpcpieces.read_piece(body.message, body.fields)
    records = list(read_records(enumerate(lines, start=1)))
    if sum(record.lines for record in records) > len(lines):
        raise AssertionError("more lines than there are")


def inputs(data: bytes) -> None:
    """Look at an input, unpack it if its first byte says so, and read it as blocks of few bytes and of many."""
    packed, data = data[:1] > b"\x7f", data[1:]
    sniff.looks_like_log("x", sniff.look(data).text)
    if read_blocks(data, 7, packed=packed) != read_blocks(data, 1 << 18, packed=packed):
        raise AssertionError("it depends on the size of the reads")


def read_blocks(data: bytes, size: int, *, packed: bool) -> tuple[bytes, list[int]]:
    """Give what an input is read as, and the numbers of its lines."""
    reader: Reader = io.BytesIO(data)
    numbers: array[int] = array("I")
    mender, text = Mender(), b""
    try:
        under = Transcoded(GzipReader(reader) if packed else reader)
        for block in blocks(unfolded(under, numbers, (*FOLDS, wrapped.fold)), size):
            if mender.mend(block.data).data.count(b"\n") != block.data.count(b"\n"):
                raise AssertionError("a repair changed the number of lines")
            text += block.data
    except DamagedError:
        pass
    if any(before > after for before, after in pairwise(numbers)):
        raise AssertionError("the numbers of lines go back")
    return text, list(numbers)


def gostruct(data: bytes) -> None:
    """Read a dump of Go and the pairs of klog."""
    text = data.decode("utf-8", "replace")
    read_struct(text)
    sandbox_metadata(text)
    scan(data)
    grpcpieces.request_of(text)


TARGETS: dict[str, Callable[[bytes], None]] = {"formats": formats, "inputs": inputs, "gostruct": gostruct}


def main() -> None:
    """Fuzz the target that is named first."""
    target = TARGETS.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if target is None:
        sys.exit(f"name what to fuzz: {', '.join(TARGETS)}")
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
