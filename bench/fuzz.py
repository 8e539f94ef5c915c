"""Coverage-guided fuzzing of what reads bytes that nobody vouches for; needs atheris: pip install atheris.

    python bench/fuzz.py formats|inputs|archives|gostruct [options of libFuzzer, such as -max_total_time=600]

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
    from kvdiag.errors import InputError
    from kvdiag.formats import grpclines, grpcpieces, wrapped
    from kvdiag.formats.bodies import canonical, classify, read_body
    from kvdiag.formats.eventtable import descriptions
    from kvdiag.formats.gostruct import read_struct, sandbox_metadata
    from kvdiag.formats.keyvalues import scan
    from kvdiag.formats.peel import peel
    from kvdiag.formats.records import read_records
    from kvdiag.formats.writtenout import fold as written_out
    from kvdiag.inputs import sniff
    from kvdiag.inputs.archives import tar_members, zip_members
    from kvdiag.inputs.compressed import Budget
    from kvdiag.inputs.folded import FOLDS, unfolded
    from kvdiag.inputs.gzipped import DamagedError
    from kvdiag.inputs.legible import Mender, Transcoded
    from kvdiag.inputs.readers import Reader, read_up_to
    from kvdiag.scan.blocks import blocks
    from kvdiag.scan.parts import whole


def formats(data: bytes) -> None:
    """Peel, classify and read each line, and all lines as records."""
    lines = data.split(b"\n")
    list(descriptions(data))
    for line in lines:
        classify(line)
        body = read_body(peel(line).body)
        if body is not None:
            canonical(body)
            grpclines.read_piece(body.message, body.fields)
    records = list(read_records(enumerate(lines, start=1)))
    if sum(record.lines for record in records) > len(lines):
        raise AssertionError("more lines than there are")


def inputs(data: bytes) -> None:
    """Look at an input, unpack it if its first bytes say so, and read it as blocks of few bytes and of many."""
    sniff.looks_like_log("x", sniff.opened(io.BytesIO(data), Budget()).look.text)
    if read_blocks(data, 7) != read_blocks(data, 1 << 18):
        raise AssertionError("it depends on the size of the reads")


def read_blocks(data: bytes, size: int) -> tuple[bytes, list[int]]:
    """Give what an input is read as, and the numbers of its lines."""
    numbers: array[int] = array("I")
    mender, text = Mender(), b""
    try:
        under = Transcoded(unpacked(data))
        given = list(blocks(unfolded(under, numbers, (written_out, *FOLDS, wrapped.fold)), size))
        for block in given:
            if mender.mend(block.data).data.count(b"\n") != block.data.count(b"\n"):
                raise AssertionError("a repair changed the number of lines")
            text += block.data
        if b"".join(block.data for block in whole(given)).count(b"\n") != text.count(b"\n"):
            raise AssertionError("lines were lost when parts were joined")
    except DamagedError:
        pass
    if any(before > after for before, after in pairwise(numbers)):
        raise AssertionError("the numbers of lines go back")
    return text, list(numbers)


def archives(data: bytes) -> None:
    """Read the members of a tar and of a zip, packed or not."""
    for members in (tar_members(unpacked(data)), zip_members(io.BytesIO(data))):
        try:
            for member in members:
                read_up_to(member.reader, 1 << 16)
        except (DamagedError, InputError, OSError):  # as the reader of a source does
            pass


def unpacked(data: bytes) -> Reader:
    """Give what the bytes are when they are unpacked."""
    return sniff.opened(io.BytesIO(data), Budget()).reader


def gostruct(data: bytes) -> None:
    """Read a dump of Go and the pairs of klog."""
    text = data.decode("utf-8", "replace")
    read_struct(text)
    sandbox_metadata(text)
    scan(data)
    grpcpieces.request_of(text)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "formats": formats,
    "inputs": inputs,
    "archives": archives,
    "gostruct": gostruct,
}


def main() -> None:
    """Fuzz the target that is named first."""
    target = TARGETS.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if target is None:
        sys.exit(f"name what to fuzz: {', '.join(TARGETS)}")
    atheris.Setup([sys.argv[0], *sys.argv[2:]], target)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
