"""The key=value pairs after a structured klog message, in every encoding since Kubernetes 1.21.

    I1120 20:38:08.948176  2595 pod.go:1] "Status" pod="ns/a" podUID=95d6b80b status={Phase:Running Conds:[{Type:Init}]}

A value is a quoted string, bare text, JSON, a Go dump that contains spaces, or a block of lines (`err=<`, lines led
by TAB, then ` >`). The encoding is detected for each value, since kubelet mixes them in one file.
"""

from __future__ import annotations

import re

from kvdiag.formats.bodies.goquote import unquote

_MOST_FIELDS = 200
_LONGEST_DUMP = 65536
_IDENT = (
    rb"[ \t]{1,8}(?!m=[+\-]\d)[A-Za-z_][\w.\-/]{0,200}="  # `m=+881.48` is the monotonic part of a Go time, not a key
)
# Nine values of ten are a string without escapes, or text and flat lists without spaces: 0.7 µs instead of 4.
_EASY = re.compile(
    rb'[ \t]*+([A-Za-z_][\w.\-/]*)=(?:"([^"\\]*)"(?=\s|$)'
    rb'|([^\s"<{\[&][^\s{\[]*|\[[^\s\[\]{}]*\]|\{[^\s\[\]{}]*\})(?=[ \t]*$|' + _IDENT + rb"))?"
)
# klog prints keys that are no strings as Go does: `%!s(int=1)="v"`, `{name}="v"`, `map[test:%!s(bool=true)]="v"`;
# the kubelet itself has keys with spaces: `/proc/swaps contents=<`.
_ODD = re.compile(rb'[ \t]*+([^"\n]{1,200}?)=(?="|<\n|<$)')
_NEXT = re.compile(rb"(?=" + _IDENT + rb")|\n")
_BRACES = re.compile(rb'[{\[]|[}\]]|"[^"\\\n]*+(?>(?:\\.[^"\\\n]*+)*)"')
_DUMP = re.compile(rb"[{\[&]|map\[|\*?[\w.]+[{]")
_BLOCK_END = re.compile(rb"\n *>(?=[ \n]|$)")


def scan(text: bytes) -> tuple[dict[str, str], bool]:
    """Return the pairs at the begin of the text, and whether the last value is complete.

    Of duplicate keys the last one wins, as in klog.
    """
    fields: dict[str, str] = {}
    at, ends, complete = 0, len(text), True
    while at < ends and len(fields) < _MOST_FIELDS:
        found = _EASY.match(text, at) or _ODD.match(text, at)
        if found is None:
            break
        key, easy, easier = found.group(1, 2, 3) if found.re is _EASY else (found.group(1), None, None)
        name, at = key.decode("utf-8", "replace"), found.end()
        if easy is not None:
            fields[name] = easy.decode("utf-8", "replace")
        elif easier is not None:
            fields[name] = easier.decode("utf-8", "replace")
        else:
            fields[name], at, complete = _value(text, at)
    return fields, complete


def block_is_open(line: bytes) -> bool:
    """Return whether a line ends with `key=<`, so that the value continues on the next lines."""
    return line.endswith(b"=<")


def _value(text: bytes, at: int) -> tuple[str, int, bool]:
    """Return the value at `at`: its text, where it ends, and whether it is complete."""
    first = text[at : at + 1]
    if first == b'"':
        quoted = unquote(text, at)
        return quoted.text, quoted.end, quoted.terminated
    if first == b"<" and text[at + 1 : at + 2] in (b"\n", b""):
        return _block(text, at + 1)
    following = _NEXT.search(text, at)
    end = following.start() if following else len(text)
    complete = True
    if _DUMP.match(text, at):
        end, complete = _dump_end(text, at, end)
    return text[at:end].rstrip().decode("utf-8", "replace"), end, complete


def _block(text: bytes, at: int) -> tuple[str, int, bool]:
    found = _BLOCK_END.search(text, at)
    end = found.start() if found else len(text)
    lines = text[at:end].split(b"\n")[1:]
    # journald turns the leading TAB into spaces and adds its own indentation.
    value = b"\n".join(line[1:] if line[:1] == b"\t" else line.lstrip(b" ") for line in lines)
    return value.decode("utf-8", "replace"), found.end() if found else end, found is not None


def _dump_end(text: bytes, at: int, candidate: int) -> tuple[int, bool]:
    """Return where a Go or JSON dump ends: at the first ` key=` outside all braces."""
    depth = 0
    for token in _BRACES.finditer(text, at, at + _LONGEST_DUMP):
        if depth == 0 and token.start() >= candidate:
            return candidate, True
        match token.group()[:1]:
            case b"{" | b"[":
                depth += 1
            case b"}" | b"]":
                depth -= 1
                if depth <= 0:
                    following = _NEXT.search(text, token.end())
                    candidate = following.start() if following else len(text)
                    depth = 0
    if depth == 0:
        return candidate, True
    return min(len(text), at + _LONGEST_DUMP), False
