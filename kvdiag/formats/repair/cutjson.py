"""Read truncated JSON objects as far as possible.

    {"ts":1721015373850.919,"caller":"kubelet/kubelet.go:2168","msg":"SyncLoop ADD","v":2,"pods":[{"name":"we

Returns texts and numbers of the outermost level, the last one even if it is incomplete.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kvdiag.base.regex import lazy_regex
from kvdiag.formats.bodies.goquote import unescape

_PAIR = lazy_regex(
    rb'"([A-Za-z_@][\w.\-/]{0,200}+)" ?: ?(?:"([^"\\]*+(?>(?:\\.[^"\\]*+)*))(?="|\\?$)|(-?[\d.]{1,40}+)(?=[,}\]]|$))',
    re.DOTALL,
)


def read_cut(body: bytes) -> Mapping[str, str | float]:
    """Return the texts and numbers of a truncated object; of a repeated key the last."""
    return {key.decode(): _number(number) if number else unescape(text) for key, text, number in _PAIR.findall(body)}


def _number(digits: bytes) -> float | str:
    try:
        return float(digits)
    except ValueError:
        return digits.decode()
