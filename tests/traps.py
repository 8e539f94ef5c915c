"""Texts that send a careless regex or loop into quadratic time, and everything that reads words of a log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.recognise import Recogniser
from kvdiag.events.vocabulary import Vocabulary, load_vocabulary
from kvdiag.formats.bodies.gopanic import read as read_panic
from kvdiag.formats.bodies.registry import canonical, classify, read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.formats.rpc.fragments import request_of
from kvdiag.formats.rpc.lines import read_fragment
from kvdiag.history.ingest.log_reader import TextInput, read_source
from kvdiag.inputs.scan.choose import make_scanner
from kvdiag.safe.clean import clean
from tests.recorded import records_of

KLOG = b"I0715 03:49:33.850919    1432 kubelet.go:2168] "
UNITS = (
    *(b'a="', b"{{{{", b"\\\\\\\\", b"[[", b" ", b"\t", b"1", b"a", b'time="', b'"', b"\\", b'\\"', b"{", b"}", b"(", b"="),
    *(b"a=", b"a={", b" a=b", b' a="b"', b' a="b\\', b":", b"a:", b"a: ", b"a-", b"-", b"/", b"a/", b"\\\\", b'{"', b'{"a":'),
    *(b"[pod/", b"<", b"=<", b">", b"\r", b"\x1b[", b"\x1b[0m", b"1:", b"1 ", b"a ", b"a b=", b"volume ", b"name:", b'name:"'),
    *(b"secrets:{", b'secrets="', b"token=", b"token=abcd,", b"://a:", b"eyJ", b"kubernetes.io/csi/", b"/pods/", b"{Name:"),
    *(b"msg=", b' msg="', b'level=info msg="', b"I0715 ", b"I0715 03:49:33", b"2024-07-15T03:49:33", b".go:1] ", b"a.", b"&{"),
    *(b"&quot;", b"&#34", b"\xe2\x80\x9c", b"\xff", b"\0", b'","', b"\\n", b"\\t", b"a,", b"{Name:a,Uid:", b"PodSandboxMetadata{"),
    *(b"map[", b"map[a:", b"(0x1)", b"a(", b"*", b"(*", b".go:", b"2024-07-15 ", b"1s", b"=[", b"}]", b'"}', b"a\n", b"\n", b"\n\t"),
    *(b"pods=[", b"ID:", b"error: ", b'err="', b' err="\\"', b"MESSAGE=", b'"MESSAGE":"', b'"MESSAGE":[', b'"log":"', b"x:x"),
)  # fmt: skip
LEADS = (
    b"",
    KLOG,
    KLOG + b'"Message" ',
    KLOG + b'"',
    KLOG + b"a={",
    KLOG + b'a="',
    b'time="2024-07-15T03:49:33Z" level=info msg="',
    b'{"ts":1.0,"msg":"',
    b'{"MESSAGE":"',
    b"Jul 15 03:49:33 n kubelet[1]: ",
    b"panic: ",
)


def traps(size: int) -> list[bytes]:
    """Give every unit, repeated to `size` bytes, behind every lead."""
    return [lead + unit * (size // len(unit)) for lead in LEADS for unit in UNITS]


@cache
def vocabulary() -> Vocabulary:
    """Give what the components print."""
    return load_vocabulary(builtin_patterns() / "events")


def recognise_everywhere(trap: bytes) -> None:
    """Put the trap around each literal of the vocabulary, and match its wordings."""
    words = vocabulary()
    for number, literal in enumerate(words.literals):
        for line in (KLOG + b'"' + literal + trap, KLOG + trap + literal + trap):
            Recogniser(words).feed(line, 0, [(0, line, (number,))])


def understand(trap: bytes) -> None:
    """Read the trap as one line of each format."""
    peeled = peel(trap)
    body = read_body(peeled.body)
    if body is not None:
        canonical(body)
        read_fragment(body.message, body.fields)


def analyse(trap: bytes) -> None:
    """Read the trap as a whole log."""
    for _ in read_source(
        TextInput("x", trap), vocabulary(), make_scanner(vocabulary().literals), print, lambda _name, _size: None
    ):
        pass


def parse(trap: bytes) -> None:
    """Read the trap as records."""
    records_of(trap)


READERS: Mapping[str, Callable[[bytes], object]] = {
    "understand": understand,
    "classify": classify,
    "parse": parse,
    "analyse": analyse,
    "piece": lambda trap: read_fragment("GRPC request: " + trap.decode("latin-1"), {}),
    "request": lambda trap: request_of(trap.decode("latin-1")),
    "panic": lambda trap: read_panic(trap.split(b"\n")),
    "clean": lambda trap: clean(trap.decode("latin-1")),
}
