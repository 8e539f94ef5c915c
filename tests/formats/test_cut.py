"""Lines that were cut at either end are read as far as they go, and marked; what stands between lines is told apart."""

from __future__ import annotations

import json

import pytest

from kvdiag.formats.bodies.registry import classify, read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.formats.repair.cutjson import read_cut
from tests.recorded import records_of

KLOG = 'E1120 20:39:21.779765    6175 kubelet.go:2200] "Pod is terminated" pod="shop/web-0"'
LOGRUS = 'time="2026-11-20T20:48:24.019017790Z" level=info msg="containerd successfully booted in 0.024525s"'


@pytest.mark.parametrize(
    "entry",
    [
        {"log": KLOG, "stream": "stderr", "time": "2026-11-20T20:39:21Z"},
        {"__REALTIME_TIMESTAMP": "1795206361779999", "_HOSTNAME": "n", "MESSAGE": KLOG},
        {"timestamp": 1795206361779, "message": KLOG},
    ],
)
@pytest.mark.parametrize("left", [0, 12])
def test_an_envelope_without_its_end(entry, left):
    """Of an object that was cut within its message, what is left of the message is read, and marked."""
    whole = json.dumps(entry, separators=(",", ":"))
    cut = whole[: whole.index("shop") - left].encode()
    peeled = peel(cut)
    body = read_body(peeled.body)
    assert classify(cut) == "head"
    assert not peeled.partial
    assert body is not None
    assert (body.caller, body.truncated) == ("kubelet.go:2200", True)
    assert body.message.startswith("Pod is term")


OBJECTS = {
    "docker": {"log": KLOG + "\n", "stream": "stderr", "time": "2026-11-20T20:39:21Z"},
    "journal": {"__REALTIME_TIMESTAMP": "1795206361779999", "_HOSTNAME": "n", "MESSAGE": KLOG, "_PID": "6175"},
    "klog": {
        "ts": 1795206361779.9,
        "caller": "kubelet/kubelet.go:2200",
        "msg": "Pod is terminated",
        "v": 2,
        "pod": {"name": "web-0", "namespace": "shop"},
    },
    "containerd": {"level": "info", "pod": "shop/web-0", "msg": "Pod is terminated", "time": "2026-11-20T20:39:21Z"},
    "cloudwatch": {"timestamp": 1795206361779, "message": KLOG},
}
HEADLESS = [
    *(("docker", cut) for cut in ('og":', "1120", "20:39", "65  ", "6175", "elet.go")),
    *(("journal", cut) for cut in ("REALTIME", "1795", "HOST", "n", "1120", "20:39", "175 ", "elet.go")),
    *(("klog", cut) for cut in ("s", "95", "caller", "elet/", "elet.go")),
    *(("containerd", cut) for cut in ("vel", "nfo")),
    *(("cloudwatch", cut) for cut in ("stamp", "1795", "779")),
]


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize(("kind", "cut"), HEADLESS)
def test_an_object_without_its_head(kind, cut, separators):
    """Of an object that lost its head the message is read, or what is left of it, with what follows, and marked."""
    whole = json.dumps(OBJECTS[kind], separators=separators)
    line = whole[whole.index(cut) :].encode()
    (raw,) = records_of(line)
    assert classify(line) == "head"
    assert (raw.body.message, raw.body.fields["pod"].count("web-0")) == ("Pod is terminated", 1)
    assert raw.body.truncated


@pytest.mark.parametrize(
    "line",
    [
        'saw {"a":1,"msg":"x"}',
        'saw {"a":1,"b":"x"}',
        'x","b":2}',
        '","MESSAGE":"x"',
        'words","_PID":"7","_HOSTNAME":"n"}',
        '"a","b":}',
        "}",
    ],
)
def test_words_before_an_object(line):
    """A text that quotes an object, and the rest of one that says nothing, are words."""
    assert peel(line.encode()).body.decode() == line


@pytest.mark.parametrize("piece", [b',"a":', b'","a":"', b"{", b'"', b"\\"])
def test_hostile_ends_of_objects(piece):
    """Half a megabyte of what an object may be made of is looked at once."""
    assert peel(b"x" + piece * (500_000 // len(piece)) + b"}").carrier


@pytest.mark.parametrize("cut", [8, 15, 30])
def test_logrus_without_its_head(cut):
    """A line that lost the beginning of its time keeps its words, and is marked."""
    line = LOGRUS[cut:].encode()
    body = read_body(peel(line).body)
    assert classify(line) == "head"
    assert body is not None
    assert (body.message, body.truncated, body.stamp) == ("containerd successfully booted in 0.024525s", True, None)


@pytest.mark.parametrize(
    "lead",
    [
        *("12-", "12:", "kubelet.log-12-", "kubelet.log-", "kubelet.log:12:", "/var/log/messages-7-"),
        *("/var/log/pods/a_b_c/d/0.log-7-", "./k-1/kubelet.log-", "> "),
    ],
)
@pytest.mark.parametrize(
    "carrier", ["", "Nov 20 20:39:21 worker-1 kubelet[6175]: ", "2026-11-20T20:39:21.779Z stderr F "]
)
def test_lines_around_what_was_searched_for(lead, carrier):
    """`grep -C` writes a dash where it writes a colon before a hit."""
    assert peel((lead + carrier + KLOG).encode()).body.decode() == KLOG


@pytest.mark.parametrize(
    "words", ["2026-11-20 was a Friday", "kube-system was slow", "12-factor apps", "a.b-c", "node-1.example-2 is down"]
)
def test_words_with_dashes(words):
    """A dash before words that are no log line is a dash."""
    assert peel(words.encode()).body.decode() == words


@pytest.mark.parametrize(
    "line", ["--", "```", "```console", "~~~", "Flag --address has been deprecated, This parameter"]
)
def test_what_stands_between_lines(line):
    """Separators of grep, fences of Markdown and warnings about flags are no lines that were not understood."""
    assert classify(line.encode()) == "chatter"


@pytest.mark.parametrize("line", ["```x y", "--x", "-- x", "Flag it"])
def test_what_only_looks_like_it(line):
    """Other words are told as unread."""
    assert classify(line.encode()) == "unread"


@pytest.mark.parametrize("line", ["[  OK  ] Started x.", "[\x1b[0;32m  OK  \x1b[0m] Started \x1b[1mx\x1b[0m.\r"])
def test_console(line):
    """What systemd writes while it boots is systemd's, its colours taken off."""
    peeled = peel(line.encode())
    assert (peeled.body, peeled.ident, peeled.carrier) == (b"Started x.", "systemd", "console")


def test_cut_object():
    """Texts and numbers are given, the last text also without its end."""
    assert read_cut(b'{"a":"x\\"y","b":1.5,"c":{"d":2},"e":"z') == {"a": 'x"y', "b": 1.5, "d": 2.0, "e": "z"}
