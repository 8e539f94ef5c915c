r"""Find private keys in PEM, also truncated: on one line, over many lines, and with a carrier before each line.

    Mar 14 08:10:10 worker-1 agent[7]: -----BEGIN RSA PRIVATE KEY-----
    Mar 14 08:10:10 worker-1 agent[7]: MIIEowIBAAKCAQEA…

A single line of a key cannot be recognized, so the lines between BEGIN and END are redacted while a log is read, before
any other step. If BEGIN is missing, the lines of only base64 before END are redacted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvdiag.base.regex import lazy_regex
from kvdiag.inputs.scan.blocks import Block
from kvdiag.safe.forms.named import MARK, REDACTED
from kvdiag.safe.forms.value_spans import Span

MOST_LINES = 400  # of a key
SHORTEST_LINE = 60  # characters of base64 that are a line of a key without context
SHORTEST_PIECE = 16  # characters of a truncated first line of a key without BEGIN
_MARK = b"PRIVATE KEY"
_KIND = r"[A-Z0-9 ]{0,32}PRIVATE KEY(?: BLOCK)?"
_WHOLE = lazy_regex(rf"BEGIN {_KIND}(?:-{{1,5}})?(?P<value>(?s:.)*?)(?:-{{0,5}}END {_KIND}|$(?![\n]))")
_HEADLESS = lazy_regex(rf"(?<![\w+/=\\])(?P<value>(?>(?:[\w+/=]|\\{{1,8}}[nrt]|[\r\n\t ])+))-----END {_KIND}")
_LINE = lazy_regex(r"(?m)(?:^|(?<=[\s:\"]))(?P<body>[A-Za-z0-9+/]{60,80}={0,2})(?=(?:\\{1,8}[nr])*(?:\"[,}]|[\s\"]|$))")
# One base64 line in a thousand million begins so by chance, and every path of a layer of CRI-O does.
_FOLDERS = ("/var/", "/run/", "/usr/", "/etc/", "/opt/", "/proc/")
_BEGINS, _ENDS = lazy_regex(rb"BEGIN [A-Z0-9 ]{0,32}PRIVATE KEY"), lazy_regex(rb"END [A-Z0-9 ]{0,32}PRIVATE KEY")
# A line of a key: the carrier before it, the base64, and the rest of a JSON envelope.
_BODY = lazy_regex(
    rb'^(?P<before>.*?(?:[\s:\]>|"]|\\[nt])|)(?P<body>[A-Za-z0-9+/]{4,}={0,2})(?P<behind>(?:\\{1,8}[nr])*(?:"(?:[,}][^\n]*)?)?[\s\\]*)$',
    16,
)
# A word too long for a name, with digits and letters of both cases: a part of a wrapped token.
_PIECE = lazy_regex(
    rb'(?P<before>^[\s"]{0,80}|(?:: |\d [FP] |std(?:out|err) [FP] |"log":")[\s"]{0,80})'
    rb'(?=[^\s"]*\d)(?=[^\s"]*[a-z])(?=[^\s"]*[A-Z])[\w+=.~-]{40,}(?=(?: \w{1,16})?(?:\\n)?(?:"[,}][^\n]*)?\s*$)'
)
_LONG = lazy_regex(rb'(?:^|[\s"])[A-Za-z0-9+/]{40,}={0,2}(?:\\{1,8}[nr]|["\s]|$)')
_RECORD = lazy_regex(rb"[IWEF]\d{4} \d\d:\d\d:\d\d|level=[a-z]+ msg=")
_BLOT = REDACTED.encode()


def lines(text: str) -> Iterator[Span]:
    """Yield lines that contain, after the carrier, only base64 as long as a line of a key, which no id is."""
    for found in _LINE.finditer(text):
        body = found["body"]
        is_mixed = body != body.lower() and body != body.upper() and any(character.isdigit() for character in body)
        if is_mixed and not body.startswith(_FOLDERS):
            yield found.span("body")


def spans(text: str) -> Iterator[Span]:
    """Yield the spans of private keys in a text with BEGIN or END."""
    for pattern in (_WHOLE, _HEADLESS):
        for found in pattern.finditer(text):
            begins, ends = found.span("value")
            if text[begins:ends].replace(MARK, "").strip("\\nr \t\n-"):
                yield begins, ends


def without_keys(blocks: Iterable[Block], keys: KeyRedactor | None = None, *, alone: bool = False) -> Iterator[Block]:
    """Yield the blocks of a log with private keys over many lines redacted.

    With `alone` (single lines taken out of a log), any line of only base64 counts as a line of a key.
    """
    keys = keys or KeyRedactor(alone=alone)
    for block in blocks:
        if not alone and keys.is_idle and _MARK not in block.data and not keys.may_hold(block.data):
            yield block
            continue
        yield from keys.add(block)
    yield from keys.flush()


class KeyRedactor:
    """Redacts keys; holds back lines that may belong to a key without BEGIN."""

    def __init__(self, *, alone: bool = False) -> None:
        """Begin outside of a key."""
        self._alone = alone
        self._inside = 0  # lines since it began; 0 outside
        self._held: list[bytes] = []
        self._last: Block | None = None
        self._torn: tuple[int, ...] = ()
        self.ended_within = False  # whether a key was open at the end

    @property
    def is_idle(self) -> bool:
        """Return whether no key is open and no lines are held back."""
        return not self._inside and not self._held

    def may_hold(self, data: bytes) -> bool:
        """Return whether the last line may belong to a key that continues in the next block."""
        line = data[data.rfind(b"\n", max(0, len(data) - 4096), len(data) - 1) + 1 :]
        return len(line) < 4096 and _may_begin(line.rstrip(b"\r\n"))

    def add(self, block: Block) -> Iterator[Block]:
        """Add a block; yield it without the lines at its end that may belong to a key."""
        lines = block.data.split(b"\n")
        ending = [b""] if not lines[-1] else []
        lines = lines[:-1] if ending else lines
        before = len(self._held)
        self._torn += block.torn
        done: list[bytes] = []
        at = 0
        if not (self._alone or self._inside or _MARK in block.data):
            while at < len(lines) and self._held:  # the end of what the block before began
                done += self._next(lines[at])
                at += 1
            last = next((end for end in range(len(lines), at, -1) if not _is_body(lines[end - 1])), at)
            done += lines[at:last]
            at = last  # what this block may begin
        for line in lines[at:]:
            done += self._next(line)
        if done:
            held = len(self._held)
            data = b"\n".join([*done, *(ending if not held else [b""])])
            released = Block(data, block.first_line - before, len(done), block.truncated, self._torn)
            yield released._replace(torn=released.torn_within(released.first_line, released.lines))
            self._torn = released.torn_within(released.first_line + released.lines, len(self._held))
        self._last = Block(b"\n" if ending else b"", block.first_line + len(lines), 0, 0)

    def flush(self) -> Iterator[Block]:
        """Yield the lines that were held back, at the end of the log."""
        self.ended_within = not self.is_idle
        if self._held and self._last:
            held, self._held = self._evicted(), []
            yield Block(b"\n".join(held) + self._last.data, self._last.first_line - len(held), len(held), 0, self._torn)

    def _next(self, line: bytes) -> list[bytes]:
        """Return the lines that are finished after this one."""
        if self._inside:
            return self._step(line)
        if _MARK in line and _ENDS.search(line) and not _BEGINS.search(line):
            held, self._held = [_redacted(held) for held in self._held], []
            return [*held, line]
        if len(self._held) < MOST_LINES and (_is_body(line) if self._held else _may_begin(line)):
            self._held.append(line)
            return []
        held, self._held = self._evicted(), []
        return [*held, *self._step(line)]

    def _evicted(self) -> list[bytes]:
        """Return lines of base64 without END: redacted if they are as long as lines of a key, or alone and no name."""
        is_key = sum(_is_long(held) for held in self._held) > 1
        return [_redacted(held) if is_key or (self._alone and not _is_name(held)) else held for held in self._held]

    def _step(self, line: bytes) -> list[bytes]:
        if _MARK in line:
            begins = [found.start() for found in _BEGINS.finditer(line)]
            ends = [found.start() for found in _ENDS.finditer(line)]
            was_inside, self._inside = self._inside, int(bool(begins) and (not ends or begins[-1] > ends[-1]))
            return [_redacted(line) if was_inside and not ends and not begins else line]
        if not self._inside:
            return [_PIECE.sub(rb"\g<before>" + _BLOT, line) if self._alone and not _RECORD.search(line) else line]
        self._inside = 0 if self._inside > MOST_LINES else self._inside + 1
        if _RECORD.search(line) and not _is_body(line):
            return [line]
        return [_redacted(line) if _BODY.match(line[:4096]) or _LONG.search(line) else line]


def _is_body(line: bytes) -> bool:
    """Return whether a line contains, after its carrier, only base64 that is no word and no id."""
    found = _BODY.match(line) if len(line) < 4096 else None
    return found is not None and _is_mixed(found["body"])


def _may_begin(line: bytes) -> bool:
    """Return whether a line may be the first of a truncated key: it is long, or has digits."""
    found = _BODY.match(line) if len(line) < 4096 else None
    body = found["body"] if found else b""
    return _is_mixed(body) and (len(body) >= SHORTEST_PIECE or any(48 <= c < 58 for c in body))


def _is_name(line: bytes) -> bool:
    """Return whether a line ends in a name such as retrieveVStorageObject: few pieces of base64 have only letters."""
    found = _BODY.match(line)
    return found is not None and found["body"].isalpha() and len(found["body"]) < SHORTEST_LINE


def _is_long(line: bytes) -> bool:
    """Return whether a line is as long as one of a key, with digits and letters of both cases, as no id has."""
    found = _BODY.match(line)
    body = found["body"] if found else b""
    return len(body) >= 40 and body != body.lower() and body != body.upper() and any(48 <= c < 58 for c in body)


def _is_mixed(body: bytes) -> bool:
    has_upper, has_lower = body.upper() != body.lower() and body != body.lower(), body != body.upper()
    return has_upper and (has_lower or any(48 <= c < 58 for c in body)) and len(body) > 3


def _redacted(line: bytes) -> bytes:
    found = _BODY.match(line)
    if found:
        return found["before"] + _BLOT + found["behind"]
    return _BLOT if b" " not in line.strip() and line.strip() else _LONG.sub(b" " + _BLOT + b" ", line)
