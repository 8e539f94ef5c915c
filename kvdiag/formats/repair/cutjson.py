"""Objects of JSON that were cut at their end, as far as they can be read.

    {"ts":1721015373850.919,"caller":"kubelet/kubelet.go:2168","msg":"SyncLoop ADD","v":2,"pods":[{"name":"we

Texts and numbers of the outermost level are given as they stand, the last one also when its end is missing.
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
    """Give the texts and numbers of an object whose end is missing; of a key that occurs twice the last."""
    return {key.decode(): _number(number) if number else unescape(text) for key, text, number in _PAIR.findall(body)}


def _number(digits: bytes) -> float | str:
    try:
        return float(digits)
    except ValueError:
        return digits.decode()
