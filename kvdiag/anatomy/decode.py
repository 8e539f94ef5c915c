r"""Flatten a record for reading: its message and errors, cut to a bounded size, without secrets, quoting undone.

    err="failed to \"CreatePodSandbox\" … \\\"web-0\\\": dial unix /run/a.sock: connect: no such file or directory"

Nested quotes are not parsed as a tree: with any number of backslashes in front of a quote gone, places are enough.
"""

from __future__ import annotations

import re

from kvdiag.base.regex import lazy_regex
from kvdiag.model.record import Body
from kvdiag.model.values import Level
from kvdiag.safe.secrets import redacted

HEAD, TAIL = 4 << 10, 12 << 10  # characters of a record: callers are at its begin, the innermost cause at its end
CUT = " … "
ERROR_FIELDS = ("err", "error", "Err", "Error", "output", "stderr")
_ESCAPED = lazy_regex(r"\\{1,200}([\"'/`])")
_BREAK = lazy_regex(r"\\{1,200}([ntr])")
_HTML = lazy_regex(r"\\{1,200}u00(26|3[ce])")
_ROOT = lazy_regex(r"[\"'(\[`]{0,3}(?:[A-Za-z]:\\|\\\\)")
_PLUGIN = lazy_regex(
    r"plugin type=\\?\"([^\"\\\n]{1,80})\\?\"(?: name=[^ \n]{1,90})? failed \((?:add|delete|check)\): ?"
)
_CSI = lazy_regex(r"kubernetes\.io/csi: [\w.]{1,40} failed: ?")
_KUBELET = lazy_regex(
    r"failed to \"\w{1,40}\" for \"([^\"\n]{1,330})\" with (\w{1,40}): "
    r"(?:\"((?:[^\"\\\n]|\\[^\n]){0,4000})\"(?=[\],;\s]|\Z))?"
)
_SANDBOX = lazy_regex(
    r"Failed to create sandbox for pod \\{0,3}\"[^\"\\\n]{1,330}\\{0,3}\": ?"
    r"|Failed to prepare dynamic resources: (?:prepare dynamic resources: )?"
)
_SAYS_NO_CODE = lazy_regex(r"rpc error: code = (?:Unknown|Internal) desc = ?")
_CODE = lazy_regex(r"rpc error: code = (\w{1,24}) desc = ?")
_TOKEN = 200  # characters in front of a backslash in which the token around it begins
_WRAPPED = lazy_regex(
    r"(?<= or| is| of| to|not| in|the|and) ?\n(?=[a-z]{2,30} [a-z]{2}|[a-z]{4,30}(?:\n|\Z))"
)  # a copied text is wrapped behind a word that ends no sentence: `Name or\nservice not known`
_POSITION = lazy_regex(r"\b[\w.-]{1,80}\.go:\d{1,6}\] ")  # in klog's header
_BLANK = {"n": "\n", "t": " ", "r": " "}


def error_text(body: Body) -> str:
    """Return what a record says about an error: its message, and the fields that hold errors or output of programs.

    The reason of an event, which is its caller, names the operation that failed.
    """
    reason = body.caller if body.caller.isalpha() else ""
    names = [name for name in ERROR_FIELDS if body.fields.get(name)]
    if ": " in body.fields.get("reason", ""):
        names.append("reason")
    errors = (body.fields[name] for name in names)
    initiator = body.fields.get("iqn", "")
    named = (f"iqn={initiator}",) if initiator.startswith("/") else ()  # a path is no name of an initiator
    return ": ".join(part for part in (reason, body.message, *errors, *named) if part)


def stated_level(body: Body) -> Level:
    """Return the level of a record; a line without a format states none, and counts as an error."""
    return Level.ERROR if body.format == "plain" else body.level


def cut(text: str) -> str:
    """Return the head and the tail of a long text."""
    return text if len(text) <= HEAD + TAIL else f"{text[:HEAD]}{CUT}{text[-TAIL:]}"


def flatten(text: str, *, redact: bool = True) -> str:
    """Return a text cut to a bounded size, without secrets, with the quoting of all levels undone.

    Secrets go first: a name that is taken out of a text may be a part of one that no longer looks like it.
    """
    text = redacted(cut(text)) if redact else cut(text)
    text = _HTML.sub(lambda found: chr(int(found[1], 16)), text)
    return _WRAPPED.sub(" ", _BREAK.sub(_line_end, _ESCAPED.sub(r"\1", text)))


def without_position(record: str) -> str:
    """Return a line without the file that printed it: `remote_runtime.go:193]` is no word of an operation."""
    return _POSITION.sub("", record, count=1)


def without_callers(text: str) -> str:
    """Return an error with fewer words for the CNI plug-in, the container or the sandbox that it is about."""
    text = _KUBELET.sub(_reason, _PLUGIN.sub(r"CNI plug-in \1: ", _CSI.sub("", text)))
    return _SANDBOX.sub("", text)


def _reason(found: re.Match[str]) -> str:
    """Return kubelet's reason, and the container where it has one; the error behind it without its quotes."""
    who, reason, error = found.groups(default="")
    return f"{reason}: {error}" if who.endswith(")") else f"{reason} of {who}: {error}"  # a pod's name ends in (UID)


def without_wrappers(text: str) -> str:
    """Return the same without what gRPC puts around an error; a code that says something stays."""
    text = without_callers(_CODE.sub(r"\1: ", _SAYS_NO_CODE.sub("", text)))
    before, quote, after = text.rpartition('"')
    odd = quote and "'\"'" not in text and text.count(quote) % 2  # its other one went, or was cut off
    return before + after if odd else text


def _line_end(found: re.Match[str]) -> str:
    """Return a blank or line end for its escape; a path of Windows, which has such folders, stays as it is."""
    before = found.string[max(0, found.start() - _TOKEN) : found.start()]
    return found[0] if _ROOT.match(re.split(r"\s", before)[-1]) else _BLANK[found[1]]
