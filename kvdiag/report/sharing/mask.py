"""Names, ids and addresses → others of the same shape, the same ones for the same wherever they stand.

What kvdiag joins by stays joined: a short id begins as the long one does, a UUID keeps its shape also where it is
written with underscores, and the three ids that are hashes of names are hashes of the new names.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Mapping

MOST_REMEMBERED = 100_000
MOST_PARTS = 24  # of a word such as a-b-c, in which names are looked for
SHORT_ID = 12  # characters of an id that programs show

_AT = r"(?:(?<=pod)|(?<=\\n)|(?<=\\t)|(?<![0-9A-Za-z]))"  # pod1f0c3a52-… is a cgroup; \n is an escape, not a letter
_ID = re.compile(
    rf"{_AT}(?:(?P<uuid>[0-9a-fA-F]{{8}}(?P<dash>[-_])[0-9a-fA-F]{{4}}(?P=dash)[0-9a-fA-F]{{4}}(?P=dash)"
    r"[0-9a-fA-F]{4}(?P=dash)[0-9a-fA-F]{12})|(?P<hex>(?=[0-9]{0,127}[a-f])(?=[a-f]{0,127}[0-9])[0-9a-f]{12,128}))"
    r"(?![0-9A-Za-z])"
)
_PIECE = re.compile(
    r"\\[ntrbf]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|%[0-9A-F]{2}|(?<![\w-])--[a-z][0-9a-z-]*"
    r"|(?P<mail>(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,5}(?![\w-]))"
    r"|(?P<ipv4>(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d))"
    r"|(?P<ipv6>(?<![\w:.])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![\w:]|\.\d))"
    r"|(?P<word>[0-9A-Za-z]+(?:[-.][0-9A-Za-z]+)*)"
)
_WORD = re.compile(r"[0-9A-Za-z]+(?:[-.][0-9A-Za-z]+)*")
_JOINT = re.compile(r"([-.])")
_UNITS = (".service", ".socket", ".slice", ".scope", ".mount", ".timer", ".target", ".device", ".path")
_OWN = tuple(map(ipaddress.ip_network, ("127.0.0.0/8", "0.0.0.0/32", "255.255.255.255/32", "169.254.169.254/32")))


class Mask:
    """Replaces by a keyed hash, so that nothing has to be remembered and nobody without the key can guess."""

    def __init__(self, names: Mapping[str, str], key: bytes) -> None:
        """`names` with what they are names of, as a `Learner` collects them."""
        self._key = key
        self._words = self._named(names)
        odd = sorted((name for name in names if not _WORD.fullmatch(name)), key=len, reverse=True)
        self._odd = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, odd))})(?!\w)") if odd else None
        self._hashes: dict[str, str] = {}
        self._remembered: dict[tuple[str, str], str] = {}

    def text(self, text: str) -> str:
        """A line, or any other text, without the names."""
        if self._odd is not None:  # names with blanks or letters that no word of the logs has
            text = self._odd.sub(lambda found: self._words[found[0]], text)
        return _PIECE.sub(self._piece, _ID.sub(self._id, text))

    def same_hash(self, old: str, new: str) -> None:
        """From now on an id that is the hash of an old name becomes the hash of the new one."""
        self._hashes[old] = new

    def _named(self, names: Mapping[str, str]) -> dict[str, str]:
        given: dict[str, str] = {}
        taken: set[str] = set()
        for name, kind in sorted(names.items()):
            code = self._code("name", name)
            length = next(n for n in range(6, 65) if f"{kind}-{code[:n]}" not in taken)
            given[name] = f"{kind}-{code[:length]}"
            taken.add(given[name])
        return given

    def _code(self, kind: str, value: str) -> str:
        return hmac.new(self._key, f"{kind}:{value}".encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()

    def _id(self, found: re.Match[str]) -> str:
        text = found[0]
        known = self._hashes.get(text) or self._remembered.get(("id", text))
        if known is not None:
            return known
        return self._remember("id", text, self._uuid(text, found["dash"]) if found["uuid"] else self._hex(text))

    def _uuid(self, text: str, dash: str) -> str:
        code = self._code("uuid", text.lower().replace("_", "-"))
        parts = (code[:8], code[8:12], code[12:16], code[16:20], code[20:32])
        return dash.join(parts).upper() if text.isupper() else dash.join(parts)

    def _hex(self, text: str) -> str:
        """Each character depends on those before it, so that the beginning of an id becomes that of the new one."""
        state = bytes.fromhex(self._code("hex", text[:SHORT_ID]))
        given = [state.hex()[:SHORT_ID]]
        for character in text[SHORT_ID:]:
            state = hashlib.sha256(state + character.encode()).digest()
            given.append(f"{state[0] & 15:x}")
        return "".join(given)

    def _piece(self, found: re.Match[str]) -> str:
        text, kind = found[0], found.lastgroup
        if kind is None:  # an escape or an option
            return text
        known = self._remembered.get((kind, text))
        if known is not None:
            return known
        match kind:
            case "mail":
                new = text if text.endswith(_UNITS) else f"user-{self._code('mail', text)[:6]}@example.com"
            case "ipv4" | "ipv6":
                new = self._address(text)
            case _:
                new = self._word(text)
        return self._remember(kind, text, new)

    def _address(self, text: str) -> str:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:  # 10:02:19 is a time
            return text
        if address.version == 6:
            return text if address.is_loopback or address.is_unspecified else f"fd00::{self._code('ip', text)[:4]}"
        if any(address in network for network in _OWN):
            return text
        code = bytes.fromhex(self._code("ip", text))
        return f"10.{code[0]}.{code[1]}.{code[2]}"

    def _word(self, text: str) -> str:
        """The whole word if it is a name, else the longest names it is made of: `web-0` in `data-web-0`."""
        if text in self._words:
            return self._words[text]
        parts = _JOINT.split(text)
        if len(parts) == 1 or len(parts) > 2 * MOST_PARTS or text.endswith(".go"):
            return text
        given: list[str] = []
        at = 0
        while at < len(parts):
            ends = (end for end in range(len(parts), at, -2) if "".join(parts[at:end]) in self._words)
            end = next(ends, 0)
            given.append(self._words["".join(parts[at:end])] if end else parts[at])
            given.extend(parts[(end or at + 1) : (end or at + 1) + 1])  # the joint after it
            at = (end or at + 1) + 1
        return "".join(given)

    def _remember(self, kind: str, old: str, new: str) -> str:
        if len(self._remembered) >= MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[kind, old] = new
        return new
