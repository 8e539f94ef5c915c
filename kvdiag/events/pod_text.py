r"""Find text from a pod in a line of kubelet, the runtime or an event: it is not part of the line's own message.

    "Probe failed" probeType="Readiness" pod="shop/web-0" containerName="app" probeResult="failure" output="panic: …"

The output of a probe or hook, the command in a container, the container's spec and an invalid image name may be any
text, also a message of kubelet, the runtime or the kernel.
"""

from __future__ import annotations

from typing import NamedTuple

from kvdiag.base.regex import lazy_regex

SHORTEST = 7  # bytes: as `exec: "`; an event has no header before its message


class _Quote(NamedTuple):
    """The pattern where such text begins, and the text after it (the last match); without it, the end of the line."""

    begins: bytes
    ends: bytes = b""


# Of kubelet's prober, lifecycle hooks and Container specs, of containerd's ExecSync and of runc.
_QUOTES = (
    _Quote(rb'"Probe failed"[^\n]{0,1000}? output='),
    _Quote(rb"(?:Liveness|Readiness|Startup) probe (?:failed|warning): "),
    _Quote(rb'(?:Liveness|Readiness|Startup) probe for \\*"[^"]{1,400}" (?:failed|warning)[^:]{0,20}: '),
    _Quote(rb" cmd=\["),
    _Quote(rb" with command \[", b"] and timeout"),
    _Quote(rb'exec: \\*"', b'": '),
    _Quote(rb"&Container\{", b"} start failed in pod"),
    _Quote(rb'default image tag \\*"', b": couldn't parse image"),
    _Quote(rb"ifecycle hook \("),
    _Quote(rb'chdir to cwd \(\\*"', b'") set in config'),
    _Quote(rb"&(?:Container|PodSandbox)Config\{"),
    # what a container left at its end; what a runtime says why it did not start one is no text of a pod
    _Quote(rb"Container [-a-z0-9.]{1,253} terminated: (?!StartError|ContainerCannotRun)[^\n]{1,400}?: "),
    _Quote(rb'"Exec lifecycle hook for Container in Pod failed"[^\n]{0,1000}? (?:execCommand|message)='),
    _Quote(
        rb'"?Patch status for pod[" ][^\n]{0,400}? (?:patch=|with )'
    ),  # it has the message that a container left at its end
    _Quote(rb'"Status for pod updated successfully"[^\n]{0,400}? status='),
)
# Most lines have none of these words: 0.5 µs instead of 3.
_WORDS = (
    b"robe",
    b" cmd=[",
    b"command [",
    b"exec: ",
    b"&Container{",
    b"default image tag",
    b"ifecycle hook ",
    b"tatus for pod",
    b"chdir to cwd",
    b"Config{",
    b" terminated: ",
)
_BEGINS = lazy_regex(b"|".join(b"(%b)" % quote.begins for quote in _QUOTES))


def is_pod_text(text: bytes, at: int) -> bool:
    """Return whether the text at an offset of a line is from a pod."""
    if at < SHORTEST or not _has_word(text, at):
        return False
    for found in _BEGINS.finditer(text, 0, at):
        ends = _QUOTES[(found.lastindex or 1) - 1].ends
        end = text.rfind(ends, found.end()) if ends else -1
        if end < 0 or at < end:
            return True
    return False


def _has_word(text: bytes, at: int) -> bool:
    for word in _WORDS:  # noqa: SIM110 (a generator takes twice as long)
        if text.find(word, 0, at) >= 0:
            return True
    return False
