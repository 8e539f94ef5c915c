"""Replace names, ids and addresses by others of the same format, consistently in all logs.

Relations that kvdiag uses are kept: a short id is a prefix of the long one, a UUID keeps its format also with
underscores, and the three ids that are hashes of names become hashes of the new names.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
from collections.abc import Mapping

MOST_REMEMBERED = 100_000
MOST_PARTS = 24  # parts of a word such as a-b-c that is searched for names
MOST_TABLED = 100_000
LONG_CODE = 16  # hexadecimal digits; two of a million names collide with a probability of 1 : 30 million
MOST_COUNTED = 1_000_000  # names of a kind
SHORT_ID = 12  # characters of an id that programs print
LUN = 33  # digits of the WWID that multipath gives a LUN: 3, and the id of the LUN
# Kinds of names, as shown to the user.
_KINDS = {
    "ns": "namespaces",
    "pod": "pods",
    "ctr": "containers",
    "node": "nodes",
    "vol": "volumes",
    "img": "images",
    "host": "hosts",
    "obj": "objects",
    "label": "labels",
    "user": "users",
    "mail": "mail addresses",
    "ipv4": "addresses",
    "ipv6": "addresses",
    "dashed": "addresses",
    "uuid": "UIDs",
    "hex": "ids",
    "wwn": "WWNs",
    "wide": "WWNs",
    "wwpn": "WWNs",
    "iqn": "iSCSI and NVMe names",
    "mac": "MAC addresses",
    "ec2": "cloud ids",
    "ocid": "cloud ids",
    "account": "accounts and projects",
    "org": "organizations",
    "serial": "serial numbers",
}

# pod1f0c3a52-… is a cgroup, vol0f1e… an id of EC2 as a disk has it; \n is an escape, not a letter
_AT = r"(?:(?<=pod)|(?<=vol)|(?<=\\n)|(?<=\\t)|(?<![0-9A-Za-z]))"
_ID = re.compile(
    rf"{_AT}(?:(?P<uuid>[0-9a-fA-F]{{8}}(?P<dash>[-_])[0-9a-fA-F]{{4}}(?P=dash)[0-9a-fA-F]{{4}}(?P=dash)"
    r"[0-9a-fA-F]{4}(?P=dash)[0-9a-fA-F]{12})|(?P<hex>(?=[0-9]{0,127}[a-f])(?=[a-f]{0,127}[0-9])[0-9a-f]{12,128}"
    r"|(?=[0-9]{0,127}[A-F])(?=[A-F]{0,127}[0-9])[0-9A-F]{12,128})"
    r"|(?<=naa\.|eui\.)(?P<wwn>[0-9a-fA-F]{16,32}))(?![0-9A-Za-z])"
    r"|(?<=0x)(?P<wide>[0-9a-fA-F]{16}(?:[0-9a-fA-F]{16})?)(?![0-9A-Za-z])"
)
_PIECE = re.compile(
    r"\\[ntrbf]|\\u[0-9a-fA-F]{4}|\\x[0-9a-fA-F]{2}|%[0-9A-F]{2}|(?<![\w-])--[a-z][0-9a-z-]*"
    r"|(?P<mail>(?<![\w.+-])[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,5}(?![\w-]))"
    r"|(?P<wwpn>(?<![\w:-])(?:[0-9a-fA-F]{2}:){7}[0-9a-fA-F]{2}(?![\w:-]))"
    r"|(?P<mac>(?<![\w:-])[0-9a-fA-F]{2}(?:(?::[0-9a-fA-F]{2}){5}|(?:-[0-9a-fA-F]{2}){5})(?![\w:-])"
    r"|(?<![\w.-])(?=[\d.]{0,12}[a-fA-F])[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4}){2}(?![\w.-]))"
    r"|(?P<iqn>(?<![\w.-])(?:iqn|nqn)\.\d{4}-\d\d\.[\w.-]{1,200}(?::[\w.:-]{0,200}\w)?)"
    r"|(?P<ec2>(?<![\w-])(?:i|vol|snap|subnet|eni|sg|vpc|ami|fs|fsap|rtb|igw|lt|nat|vpce)-[0-9a-f]{8}(?![\w-]))"
    r"|(?P<dashed>(?<![\w.-])\d{1,3}(?:-\d{1,3}){3}(?=\.[a-z])|(?<![\w.-])(?:ip|ec2)-\d{1,3}(?:-\d{1,3}){3}(?![\w-]))"
    r"|(?P<ocid>(?<![\w.])ocid1\.[a-z0-9.-]{20,})"
    r"|(?P<ipv4>(?<![\w.-])\d{1,3}(?:\.\d{1,3}){3}(?!\w|\.\d))"
    r"|(?P<ipv6>(?<![\w:.])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![\w:]|\.\d))"
    r"|(?P<word>[0-9A-Za-z]+(?:[-.][0-9A-Za-z]+)*)"
)
_WORD = re.compile(r"[0-9A-Za-z]+(?:[-.][0-9A-Za-z]+)*")
_JOINT = re.compile(r"([-.])")
_DASHED = re.compile(r"(?<![\w-])(?:ip|ec2)-\d{1,3}(?:-\d{1,3}){3}(?![\w-])")
_UNITS = (".service", ".socket", ".slice", ".scope", ".mount", ".timer", ".target", ".device", ".path")
_LOCAL_NETWORKS = tuple(
    map(ipaddress.ip_network, ("127.0.0.0/8", "0.0.0.0/32", "255.255.255.255/32", "169.254.169.254/32"))
)


class Mask:
    """Replaces names by a keyed hash, so that no table is needed and nobody can guess them without the key."""

    def __init__(self, names: Mapping[str, str], key: bytes) -> None:
        """`names` with their kinds, as a `Learner` collects them."""
        self._key = key
        self._kinds = names
        # Very many names are not checked for collisions: the codes are long enough.
        self._words = self._mask_names(names) if len(names) <= MOST_TABLED else None
        self._replaced_hashes: dict[str, set[int]] = {}
        odd = sorted((name for name in names if not _WORD.fullmatch(name)), key=len, reverse=True)
        self._odd = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, odd))})(?!\w)") if odd else None
        self._hashes: dict[str, str] = {}
        self._remembered: dict[tuple[str, str], str] = {}

    def apply(self, text: str) -> str:
        """Return a text with its names replaced."""
        if self._odd is not None:  # names with blanks or letters that _WORD does not match
            text = self._odd.sub(lambda found: self._masked_name(found[0]), text)
        return _PIECE.sub(self._piece, _ID.sub(self._id, text))

    @property
    def replaced(self) -> Mapping[str, int]:
        """Return how many names were replaced, by kind."""
        return {kind: len(hashes) for kind, hashes in self._replaced_hashes.items()}

    def forget(self) -> None:
        """Reset the counters."""
        self._replaced_hashes.clear()
        self._remembered.clear()

    def _count(self, kind: str, name: str) -> None:
        hashes = self._replaced_hashes.setdefault(_KINDS.get(kind, kind), set())
        if len(hashes) < MOST_COUNTED:
            hashes.add(hash(name))

    def same_hash(self, old: str, new: str) -> None:
        """Replace the hash of an old name by the hash of the new one."""
        self._hashes[old] = new

    def _mask_names(self, names: Mapping[str, str]) -> dict[str, str]:
        masked: dict[str, str] = {}
        used: set[str] = set()
        for name, kind in sorted(names.items()):
            code = self._code("name", name)
            shapes = (_shaped(kind, name, code, length) for length in range(6, 65))
            masked[name] = next(shape for shape in shapes if shape not in used)
            used.add(masked[name])
        return masked

    def _code(self, kind: str, value: str) -> str:
        return hmac.new(self._key, f"{kind}:{value}".encode("utf-8", "surrogateescape"), hashlib.sha256).hexdigest()

    def _id(self, found: re.Match[str]) -> str:
        text = found[0]
        known = self._hashes.get(text) or self._remembered.get(("id", text))
        if known is not None:
            return known
        kind = found.lastgroup if found.lastgroup != "dash" else "uuid"
        self._count(kind or "", text)
        return self._remember("id", text, self._uuid(text, found["dash"]) if found["uuid"] else self._hex(text))

    def _uuid(self, text: str, dash: str) -> str:
        code = self._code("uuid", text.lower().replace("_", "-"))
        parts = (code[:8], code[8:12], code[12:16], code[16:20], code[20:32])
        return dash.join(parts).upper() if text.isupper() else dash.join(parts)

    def _hex(self, text: str) -> str:
        """Return a new id; each character depends on those before it, so that prefixes of ids stay prefixes."""
        if text != text.lower():
            return self._hex(text.lower()).upper()
        if len(text) == LUN and text[0] == "3":
            return "3" + self._hex(text[1:])
        state = bytes.fromhex(self._code("hex", text[:SHORT_ID]))
        digits = [state.hex()[:SHORT_ID]]
        for character in text[SHORT_ID:]:
            state = hashlib.sha256(state + character.encode()).digest()
            digits.append(f"{state[0] & 15:x}")
        return "".join(digits)

    def _piece(self, found: re.Match[str]) -> str:
        text, kind = found[0], found.lastgroup
        if kind is None:  # an escape or an option
            return text
        known = self._remembered.get((kind, text))
        if known is not None:
            return known
        match kind:
            case "wwpn" | "mac":
                new = self._octets(kind, text)
            case "iqn" | "ec2" | "ocid":
                new = self._called(kind, text)
            case "dashed":
                new = self._dashed(text)
            case "mail":
                new = text if text.endswith(_UNITS) else f"user-{self._code('mail', text)[:6]}@example.com"
            case "ipv4" | "ipv6":
                new = self._address(text)
            case _:
                new = self._word(text)
        if kind != "word" and new != text:
            self._count(kind, text)
        return self._remember(kind, text, new)

    def _octets(self, kind: str, text: str) -> str:
        """Return a locally administered MAC address, or a WWN, in the same notation."""
        if "." in text:  # as switches write it
            plain = self._octets(kind, ":".join(re.findall("..", text.replace(".", "")))).replace(":", "")
            return ".".join((plain[:4], plain[4:8], plain[8:]))
        code = self._code(kind, text.lower().replace("-", ":"))
        octets = [("50" if kind == "wwpn" else "02"), *(code[n : n + 2] for n in range(0, 14, 2))]
        new = text[2].join(octets[: 8 if kind == "wwpn" else 6])
        return new.upper() if text != text.lower() else new

    def _called(self, kind: str, text: str) -> str:
        """Return a new id for a storage network or a cloud."""
        if kind == "iqn":
            return f"{text[:3]}.2001-04.com.example:{self._code('iqn', text)[:12]}"
        if kind == "ec2":
            return text[:-8] + self._code("hex", text[-8:])[:8]
        return f"ocid1.{text.split('.')[1]}.oc1..{self._code('ocid', text)}"

    def _dashed(self, text: str) -> str:
        """Replace the address in `ip-10-0-1-23` (a host of EC2) and `10-0-1-23` (a pod in DNS) as elsewhere."""
        head = next((head for head in ("ip-", "ec2-") if text.startswith(head)), "")
        return head + self._address(text.removeprefix(head).replace("-", ".")).replace(".", "-")

    def _masked_name(self, name: str) -> str:
        self._count(self._kinds[name], name)
        if self._words is None:
            return _shaped(self._kinds[name], name, self._code("name", name), LONG_CODE)
        return self._words[name]

    def _address(self, text: str) -> str:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:  # 10:02:19 is a time
            return text
        if address.version == 6:
            return text if address.is_loopback or address.is_unspecified else f"fd00::{self._code('ip', text)[:4]}"
        if any(address in network for network in _LOCAL_NETWORKS):
            return text
        code = bytes.fromhex(self._code("ip", text))
        return f"10.{code[0]}.{code[1]}.{code[2]}"

    def _word(self, text: str) -> str:
        """Replace a word that is a name, else the longest names in it: `web-0` in `data-web-0`."""
        if text in self._kinds:
            return self._masked_name(text)
        if "ip-" in text or "ec2-" in text:
            text = _DASHED.sub(lambda found: self._dashed(found[0]), text)
        parts = _JOINT.split(text)
        if len(parts) == 1 or len(parts) > 2 * MOST_PARTS or text.endswith(".go"):
            return text
        pieces: list[str] = []
        at = 0
        while at < len(parts):
            ends = (end for end in range(len(parts), at, -2) if "".join(parts[at:end]) in self._kinds)
            end = next(ends, 0)
            pieces.append(self._masked_name("".join(parts[at:end])) if end else parts[at])
            pieces.extend(parts[(end or at + 1) : (end or at + 1) + 1])  # the joint after it
            at = (end or at + 1) + 1
        return "".join(pieces)

    def _remember(self, kind: str, old: str, new: str) -> str:
        if len(self._remembered) >= MOST_REMEMBERED:
            self._remembered.clear()
        self._remembered[kind, old] = new
        return new


def _shaped(kind: str, name: str, code: str, length: int) -> str:
    """Return the new name: as many digits for a number, otherwise the kind and a code."""
    if name.isdecimal():
        lowest = 10 ** (len(name) - 1)
        return str(lowest + int(code[: length + 20], 16) % (9 * lowest))
    return f"{'project' if kind == 'account' else kind}-{code[:length]}"
