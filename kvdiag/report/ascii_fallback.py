"""ASCII replacements for symbols, for terminals without Unicode: one character each, so that columns stay aligned."""

from __future__ import annotations

import codecs
from collections.abc import Mapping

ERROR_HANDLER = "kvdiag.signs"
"""The name of the codec error handler."""

ASCII_FOR: Mapping[str, str] = dict(zip("▁▂▃▄▅▆▇█●━○·…×–—│◆→", ".:-=+*%#*-o-~x--|*>", strict=True))


def _replace_unencodable(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(ASCII_FOR.get(character) or _escaped(character) for character in found), error.end


def _escaped(character: str) -> str:
    return character.encode("ascii", "backslashreplace").decode("ascii")


codecs.register_error(ERROR_HANDLER, _replace_unencodable)
