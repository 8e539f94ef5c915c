"""Lines that are held back as a possible part of a key stay with the lines above them."""

from __future__ import annotations

from kvdiag import analyze

ERROR = "GRPC error: rpc error: code = Internal desc = Could not detach volume v-1 from node a: HTTPStatusCode: 400,\n"
ANSWER = 'RawError: { "error": { "code": "InvalidParameter", "message": "caching type ReadOnly is not supported" }}\n'


def test_an_error_keeps_its_last_line():
    """`InvalidParameter"` could be the end of a line of a truncated key, and here it is the end of the text."""
    (finding,) = analyze(text=ERROR + ANSWER).findings
    assert "ReadOnly is not supported" in finding.says
