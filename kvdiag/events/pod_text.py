r"""Find text from a pod in a line of kubelet, the runtime or an event: it is not part of the line's own message.

    "Probe failed" probeType="Readiness" pod="shop/web-0" containerName="app" probeResult="failure" output="panic: …"

The output of a probe or hook, the command in a container, the container's spec and an invalid image name may be any
text, also a message of kubelet, the runtime or the kernel.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kvdiag.base.regex import lazy_regex

SHORTEST = 7  # bytes: as `exec: "`; an event has no header before its message


class _Quote(NamedTuple):
    """Where such text begins, and the text after it (the last match); without it, the end of the line.

    `word` is in each such beginning, and in few other lines: 0.5 µs for a line without any of them.
    """

    word: bytes
    begins: re.Pattern[bytes]
    ends: bytes = b""


# Of kubelet's prober, lifecycle hooks and Container specs, of containerd's ExecSync and of runc.
_QUOTES = (
    _Quote(b"robe", lazy_regex(rb'"Probe failed"[^\n]{0,1000}? output=')),
    _Quote(b"robe", lazy_regex(rb"(?:Liveness|Readiness|Startup) probe (?:failed|warning): ")),
    _Quote(
        b"robe",
        lazy_regex(rb'(?:Liveness|Readiness|Startup) probe for \\*"[^"]{1,400}" (?:failed|warning)[^:]{0,20}: '),
    ),
    _Quote(b" cmd=[", lazy_regex(rb" cmd=\[")),
    _Quote(b" with command [", lazy_regex(rb" with command \["), b"] and timeout"),
    _Quote(b"exec: ", lazy_regex(rb'exec: \\*"'), b'": '),
    _Quote(b"&Container{", lazy_regex(rb"&Container\{"), b"} start failed in pod"),
    _Quote(b"default image tag", lazy_regex(rb'default image tag \\*"'), b": couldn't parse image"),
    _Quote(b"ifecycle hook (", lazy_regex(rb"ifecycle hook \(")),
    _Quote(b"chdir to cwd", lazy_regex(rb'chdir to cwd \(\\*"'), b'") set in config'),
    _Quote(b"Config{", lazy_regex(rb"&(?:Container|PodSandbox)Config\{")),
    # what a container left at its end; what a runtime says why it did not start one is no text of a pod
    _Quote(
        b" terminated: ",
        lazy_regex(
            rb"Container [-a-z0-9.]{1,253} terminated: (?!StartError|ContainerCannotRun)[^\n]{1,400}?: ",
        ),
    ),
    _Quote(
        b"Exec lifecycle hook ",
        lazy_regex(rb'"Exec lifecycle hook for Container in Pod failed"[^\n]{0,1000}? (?:execCommand|message)='),
    ),
    # the status has the message that a container left at its end
    _Quote(b"tatus for pod", lazy_regex(rb'"?Patch status for pod[" ][^\n]{0,400}? (?:patch=|with )')),
    _Quote(b"tatus for pod", lazy_regex(rb'"Status for pod updated successfully"[^\n]{0,400}? status=')),
)
_WORDS = tuple(dict.fromkeys(quote.word for quote in _QUOTES))


def is_pod_text(text: bytes, at: int) -> bool:
    """Return whether the text at an offset of a line is from a pod."""
    if at < SHORTEST or not _has_word(text, at):
        return False
    for word, begins, ends in _QUOTES:
        if text.find(word, 0, at) < 0:
            continue
        for found in begins.finditer(text, 0, at):
            end = text.rfind(ends, found.end()) if ends else -1
            if end < 0 or at < end:
                return True
    return False


def _has_word(text: bytes, at: int) -> bool:
    for word in _WORDS:  # noqa: SIM110 (a generator takes twice as long)
        if text.find(word, 0, at) >= 0:
            return True
    return False
