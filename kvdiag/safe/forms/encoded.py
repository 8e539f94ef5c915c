r"""Find secrets in bytes that are printed as numbers or in hexadecimal, after decoding them.

    MESSAGE: [112, 97, 115, …]    proctitle=6170702D2D…    00000000  6b 38 73 00 …  |k8s.|

client-go prints a body that is not JSON as a hexdump at `-v=8`: objects of the API server, including Secrets.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.safe.forms.value_spans import Span

Judge = Callable[[str], bool]

# As the journal writes binary messages; Go prints the same list with blanks.
_LISTED = lazy_regex(r"\[ ?\d{1,3}(?: ?, ?\d{1,3}){7,65536} ?\]")
_LISTED_BY_GO = lazy_regex(r"(?<=\[)\d{1,3}(?: \d{1,3}){7,65536}(?=\]|$)")
# As auditd writes a command, with NUL between its arguments, and an argument with blanks.
_ARGUMENT = lazy_regex(r"\b(?:proctitle|a\d{1,3}(?:\[\d{1,3}\])?|cmd|data)=((?:[0-9A-F]{2}){8,4096})[0-9A-F]?")
_ROW = r"(?<![0-9a-f])[0-9a-f]{3,7}0 {2}(?:[0-9a-f]{2} {1,2}){1,16}[0-9a-f]{0,2} {0,60}(?:\|[^\n]{0,16}(?:\|(?=\\|\"|\s|$))?)?"
_DUMP = lazy_regex(rf"{_ROW}(?:(?:\s|\\{{1,8}}[nt]|#01[12]){{1,8}}{_ROW})*")
_PAIRS = lazy_regex(r"(?<=[0-9a-f]0  )(?:[0-9a-f]{2} {1,2}){1,16}")
_BODY = lazy_regex(r"(?i)\bbody\b[^0-9\n]{0,16}\s*$")
_OBJECT = "k8s\0"


def spans(text: str, holds_secret: Judge) -> Iterator[Span]:
    """Yield the spans of bytes that contain a secret; `holds_secret` decides for the decoded text."""
    if "[" in text:
        for found in _LISTED_BY_GO.finditer(text):
            numbers = [int(number) for number in found[0].split()]
            if max(numbers) < 256 and holds_secret(bytes(numbers).decode("utf-8", "replace")):
                yield found.span()
    if "argc=" in text or "title=" in text or "cmd=" in text or "data=" in text:
        for found in _ARGUMENT.finditer(text):
            if holds_secret(bytes.fromhex(found[1]).replace(b"\0", b" ").decode("utf-8", "replace")):
                yield found.start(1), found.end()
    if "0  " in text:
        for found in _DUMP.finditer(text):
            if _is_secret_dump(found[0], text[max(0, found.start() - 64) : found.start()], holds_secret):
                yield found.span()


def _is_secret_dump(dump: str, before: str, holds_secret: Judge) -> bool:
    """Return whether a hexdump is of an object of the API server, or of a text with a secret."""
    decoded = bytes.fromhex("".join(_PAIRS.findall(dump))).decode("utf-8", "replace")
    return (
        decoded.startswith(_OBJECT)
        or _BODY.search(before) is not None
        or not dump.startswith("0" * 8)
        or holds_secret(decoded)
    )


def rewritten(text: str, redact: Callable[[str], str]) -> str:
    """Replace lists of bytes that contain a secret by the redacted text."""
    return _LISTED.sub(lambda listed: _listed(listed[0], redact), text)


def _listed(listed: str, redact: Callable[[str], str]) -> str:
    numbers = [int(number) for number in listed.strip("[] ").split(",")]
    if max(numbers) > 255:
        return listed
    text = bytes(numbers).decode("utf-8", "replace")
    shown = redact(text)
    return listed if shown == text else json.dumps(shown, ensure_ascii=False)
