"""Lines joined to records."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.formats.bodies.registry import FORMATS, canonical, classify, is_head, read_body
from kvdiag.history.ingest.records import RawRecord
from kvdiag.model.record import Body
from kvdiag.model.values import Level
from tests.recorded import records_of, records_of_lines

KLOG = 'I0715 03:49:33.850919    1432 kubelet.go:2168] "{}"'
LOGRUS = 'time="2024-07-15T03:49:34.123456789Z" level=info msg="{}"'
KUBELET = "Jul 15 03:49:34 node-1 kubelet[9]: "
CONTAINERD = "Jul 15 03:49:34 node-1 containerd[7]: "


def records(text: str) -> list[RawRecord]:
    """All records of a text."""
    return records_of(text.encode())


def told(text: str) -> list[tuple[int, int, str, str]]:
    """First line, number of lines, format and message of each record."""
    return [(raw.line, raw.lines, raw.body.format, raw.body.message) for raw in records(text)]


def test_one_line_each() -> None:
    """Ordinary lines of all formats are a record each, in their order."""
    text = "\n".join(
        (KLOG.format("a"), LOGRUS.format("b"), '{"ts":1721015373850.9,"msg":"c","v":0}', '{"level":"info","msg":"d"}')
    )
    assert told(text) == [(1, 1, "klog", "a"), (2, 1, "logrus", "b"), (3, 1, "klogjson", "c"), (4, 1, "logrus", "d")]


def test_a_block_of_lines() -> None:
    """The lines of a multi-line value belong to the record that opens it."""
    text = KLOG.format("conf") + ' cfg=<\n\tone\n\ttwo\n > path="/x"\n' + KLOG.format("next")
    first, second = records(text)
    assert (first.lines, first.body.fields) == (4, {"cfg": "one\ntwo", "path": "/x"})
    assert second.body.message == "next"


def test_a_block_in_the_journal_with_others_between() -> None:
    """Under the journal every line of a block has its own prefix, and other programs speak in between."""
    text = "\n".join(
        (
            KUBELET + KLOG.format("conf") + " cfg=<",
            CONTAINERD + LOGRUS.format("other"),
            KUBELET + "        one",
            KUBELET + ' > path="/x"',
            KUBELET + KLOG.format("next"),
        )
    )
    first, second, third = records(text)
    assert (first.line, first.lines, first.body.fields) == (1, 3, {"cfg": "one", "path": "/x"})
    assert (first.peeled.node, first.peeled.ident, first.peeled.body) == ("node-1", "kubelet", b"")
    assert (second.line, second.body.message) == (2, "other")
    assert third.body.message == "next"


def test_a_message_with_line_breaks() -> None:
    """Lines without a header belong to the record above them, as the hostpath driver prints them."""
    text = (
        "I0715 03:49:33.850919    1432 nodeserver.go:176] target /a\nfstype \ndevice \nmountflags []\n"
        + KLOG.format("next")
    )
    assert told(text) == [(1, 4, "klog", "target /a\nfstype \ndevice \nmountflags []"), (5, 1, "klog", "next")]


def test_lines_of_no_known_format() -> None:
    """Where no format was ever seen every line is a plain record."""
    assert told("one\n  two\n\nthree") == [(1, 1, "plain", "one"), (2, 1, "plain", "  two"), (4, 1, "plain", "three")]


def test_a_crash() -> None:
    """A crash is one record, however many lines it has, and ends with the next header."""
    text = (
        LOGRUS.format("a")
        + "\nfatal error: concurrent map writes\n\ngoroutine 12 [running]:\nruntime.throw({0x55, 0x1})\n\t/go/panic.go:992 +0x71\n\ngoroutine 1 [idle]:\n"
        + LOGRUS.format("starting containerd")
    )
    first, crash, after = records(text)
    assert first.lines == 1
    assert (crash.line, crash.lines, crash.body.format, crash.body.level) == (2, 7, "gopanic", Level.FATAL)
    assert crash.body.fields == {"goroutine": "12", "state": "running", "functions": "runtime.throw"}
    assert after.body.message == "starting containerd"


def test_a_crash_in_the_journal() -> None:
    """Under the journal the lines of a crash are joined by their sender."""
    text = "\n".join(
        CONTAINERD + line if line else KUBELET + KLOG.format("meanwhile")
        for line in (
            "fatal error: concurrent map writes",
            "goroutine 12 [running]:",
            "",
            "runtime.throw(0x55)",
            "        /go/panic.go:9 +0x71",
            "exit status 2",
        )
    )
    crash, other = records(text)
    assert (crash.lines, crash.body.message, crash.body.pid) == (5, "fatal error: concurrent map writes", 7)
    assert other.line == 3


def test_the_dump_below_a_fatal_line() -> None:
    """The goroutines below an F line go to its fields, not into its message."""
    (raw,) = records(
        "F1120 21:05:54.227502   20837 connection.go:114] Lost connection\ngoroutine 1 [running]:\nmain.main()\n\t/go/main.go:3 +0x1"
    )
    assert (raw.lines, raw.body.message, raw.body.level) == (4, "Lost connection", Level.FATAL)
    assert raw.body.fields == {"goroutine": "1", "state": "running", "functions": "main.main"}


def test_systemd_and_the_kernel_speak_for_themselves() -> None:
    """Plain text under a journal prefix is a record of its own."""
    text = "\n".join(
        (
            KUBELET + KLOG.format("a"),
            KUBELET + "Flag --x has been deprecated",
            "Jul 15 03:49:34 node-1 systemd[1]: Stopped kubelet.",
        )
    )
    assert [(raw.peeled.ident, raw.body.message) for raw in records(text)] == [
        ("kubelet", "a"),
        ("kubelet", "Flag --x has been deprecated"),
        ("systemd", "Stopped kubelet."),
    ]


def test_partial_lines_are_joined_per_stream() -> None:
    """What the runtime has cut in pieces is put together again, each stream for itself."""
    time = "2024-07-15T03:49:34Z"
    head, tail = KLOG.format("long message")[:60], KLOG.format("long message")[60:]
    text = f"{time} stderr P {head}\n{time} stdout F {KLOG.format('other')}\n{time} stderr F {tail}"
    assert sorted(told(text)) == [(1, 1, "klog", "long message"), (2, 1, "klog", "other")]


def test_a_partial_line_without_its_end() -> None:
    """A last part that never comes costs nothing but the end."""
    assert told(f"2024-07-15T03:49:34Z stderr P {KLOG.format('half')}") == [(1, 1, "klog", "half")]


def test_chatter() -> None:
    """What journalctl and klog say about the log itself is told apart."""
    text = "-- Reboot --\nLog file created at: 2024/07/15 03:49:33\n" + KLOG.format("a")
    assert [raw.body.format for raw in records(text)] == ["chatter", "chatter", "klog"]


def test_the_preamble_of_the_next_file() -> None:
    """A restarted program writes its preamble into the same file; it belongs to no record before it."""
    text = KLOG.format("stopping") + "\nLog file created at: 2024/07/15 03:49:33\n" + KLOG.format("a")
    assert [raw.body.format for raw in records(text)] == ["klog", "chatter", "klog"]


def test_records_are_bounded() -> None:
    """Of a record with thousands of lines two hundred are kept and all are counted."""
    (raw,) = records("panic: x\n" + "\n".join(f"\t/go/a.go:{n} +0x1" for n in range(5000)))
    assert (raw.lines, raw.body.truncated) == (5001, True)
    assert raw.raw.count(b"\n") == 199
    (raw,) = records(KLOG.format("x" * 100_000))
    assert len(raw.raw) == 65536


EXPORT = "__CURSOR=s=ab8f;i=1\n__REALTIME_TIMESTAMP=1721015374000000\n_HOSTNAME=node-1\nMESSAGE={}\nSYSLOG_IDENTIFIER=kubelet\n_PID=9\n\n"
VERBOSE = "Mon 2024-07-15 03:49:34.000000 UTC [s=ab8f135e0b994f2f;i=3;b=a1]\n    _HOSTNAME=node-1\n    MESSAGE={}\n    SYSLOG_IDENTIFIER=kubelet\n    _PID=9\n"


def pretty(message: str) -> str:
    """An entry as journalctl -o json-pretty prints it."""
    fields = {
        "__REALTIME_TIMESTAMP": "1721015374000000",
        "_HOSTNAME": "node-1",
        "MESSAGE": message,
        "SYSLOG_IDENTIFIER": "kubelet",
        "_PID": "9",
    }
    return "{\n" + ",\n".join(f'\t"{key}" : {json.dumps(value)}' for key, value in fields.items()) + "\n}\n"


@pytest.mark.parametrize("render", [EXPORT.format, VERBOSE.format, pretty])
def test_journal_entries_of_many_lines(render) -> None:
    """export, verbose and json-pretty give the same records as one line would."""
    first, second = records(render(KLOG.format("a")) + render(LOGRUS.format("b")))
    assert (first.body.message, second.body.message) == ("a", "b")
    for raw in (first, second):
        assert (raw.peeled.stamp, raw.peeled.node, raw.peeled.ident, raw.peeled.pid) == (
            1721015374000000,
            "node-1",
            "kubelet",
            9,
        )


def test_binary_messages_in_export() -> None:
    """A message that is not printable has a length before it."""
    message = KLOG.format("a")
    text = f"__CURSOR=s=ab8f;i=1\nMESSAGE\n{chr(len(message))}\0\0\0\0\0\0\0{message}\n_PID=9\n\n"
    assert told(text) == [(2, 1, "klog", "a")]


def test_a_lone_brace_is_no_journal_entry() -> None:
    """Lines that only look like the opening of an entry are given back."""
    assert told("{\nhello\n}") == [(1, 1, "plain", "{"), (2, 1, "plain", "hello"), (3, 1, "plain", "}")]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (KLOG.format("a"), "head"),
        (KUBELET + KLOG.format("a"), "head"),
        (LOGRUS.format("a"), "head"),
        ("INFO[0001] x", "head"),
        ('{"ts":1,"msg":"x"}', "head"),
        ('{"log":"x","stream":"stderr"}', "head"),
        ("??? " + KLOG.format("a"), "head"),
        ('reconciler.go:388] "Could not"', "head"),
        ("Jul 15 03:49:34 n kernel: oom-kill", "head"),
        ("panic: x", "head"),
        ("\tline of a block", "continuation"),
        (' > pod="a/b"', "continuation"),
        ("goroutine 1 [running]:", "continuation"),
        ("main.main()", "continuation"),
        ("fstype ", "continuation"),
        ("mountflags []", "continuation"),
        (KUBELET + "        line of a block", "continuation"),
        ("", "chatter"),
        ("-- Reboot --", "chatter"),
        ("* -- Logs begin at Mon 2024-07-15 03:40:00 UTC. --", "chatter"),
        ("* ", "chatter"),
        ("Log file created at: 2024/07/15 03:49:33", "chatter"),
        ("_HOSTNAME=node-1", "chatter"),
        ("MESSAGE=" + KLOG.format("a"), "head"),
        ("+ grep -q cloud-provider=azure", "chatter"),
        ("2024-07-15T03:49:34.052Z\tINFO\tservice/node.go:12\tNodeStageVolume", "head"),
        ("2024-07-15T03:49:34.052Z INFO service/node.go:12 NodeStageVolume", "head"),
        ("sigs.k8s.io/driver/pkg/csi.(*service).NodeStageVolume", "continuation"),
        ("main.(*driver).run.func1", "continuation"),
        ("level=info ts=2024-07-15T03:49:34Z component=x msg=a", "head"),
        ("ts=2024-07-15T03:49:34Z caller=main.go:7 level=info msg=a", "head"),
        ("www.example.com", "unread"),
        ("INFO some words", "unread"),
        ("some words", "unread"),
        ("NAME  READY", "unread"),
        ('{"kind":"Pod"}', "unread"),
    ],
)
def test_classify(line: str, kind: str) -> None:
    """Each line alone is told as head, continuation, chatter or unread."""
    assert classify(line.encode()) == kind
    assert classify(line.encode() + b"\n") == kind


def test_every_reader_has_its_name() -> None:
    """A body names the reader it came from, so that adding a format is one name here."""
    lines = {
        "klog": KLOG.format("a"),
        "klogjson": '{"ts":1,"msg":"a","v":0}',
        "logrus": LOGRUS.format("a"),
        "zap": "INFO\tmain.go:7\ta",
        "capnslog": "2024-07-15 03:49:34.052729 I | etcdmain: a",
        "kubectl-event": "3m12s   Warning   FailedMount   pod/web-0   a",
        "event-object": '{"involvedObject":{"kind":"Pod","name":"web-0"},"reason":"FailedMount","message":"a"}',
    }
    assert [*lines] == [one.name for one in FORMATS]
    for name, line in lines.items():
        body = read_body(line.encode())
        assert body is not None
        assert body.format == name
        assert is_head(line.encode())


def test_canonical() -> None:
    """A body of any format is rendered as klog's structured text, quotes escaped."""
    body = Body(format="klogjson", message='volume "v"', fields={"pod": "d/x", "err": 'a "b"\n'})
    assert canonical(body) == rb'"volume \"v\"" pod="d/x" err="a \"b\"\n"'


@given(st.text(), st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.text(), max_size=4))
def test_canonical_can_be_read_back(message: str, fields: dict[str, str]) -> None:
    """What `canonical` renders, klog's reader reads."""
    body = read_body(
        b"I0715 03:49:33.850919    1432 a.go:1] " + canonical(Body(format="x", message=message, fields=fields))
    )
    assert body is not None
    assert (body.message, body.fields) == (message.rstrip(), fields)


PIECES = [
    KLOG.format("a").encode(),
    LOGRUS.format("b").encode(),
    KUBELET.encode(),
    b" cfg=<",
    b"\n\tx\n",
    b"\n > y=1\n",
    b"panic: x\n",
    b"goroutine 1 [running]:\n",
    b"\n",
    b"{\n",
    b"MESSAGE=",
    b"__CURSOR=s=a\n",
    b"2024-07-15T03:49:34Z stderr P ",
    b'{"MESSAGE":null}',
]


@given(st.lists(st.sampled_from(PIECES) | st.binary(max_size=10), max_size=12).map(b"".join))
def test_any_bytes(text: bytes) -> None:
    """No input raises, and no record begins outside the input or before its predecessor's line."""
    lines = text.split(b"\n")
    for raw in records_of(text):
        assert 1 <= raw.line <= len(lines)
        assert raw.lines >= 1
    for line in lines:
        assert classify(line) in {"head", "continuation", "chatter", "unread"}
        read_body(line)


@pytest.mark.parametrize(
    "entry",
    [
        lambda line: {"log": line + "\n", "stream": "stderr", "time": "2026-11-20T21:03:31Z"},
        lambda line: {"MESSAGE": line, "SYSLOG_IDENTIFIER": "kubelet", "_PID": "1"},
        lambda line: {"line": line, "timestamp": "2026-11-20T21:03:31Z"},
        lambda line: {"message": line, "timestamp": 1795206361779},
    ],
)
def test_a_value_of_many_lines_in_objects(entry) -> None:
    """A block of lines is one value also where each of its lines is an object of its own."""
    lines = [KLOG.format("a") + " configuration=<", "\tFileCheckFrequency: 20s", ' > path="/var/lib"', KLOG.format("b")]
    first, second = records_of_lines(json.dumps(entry(line)).encode() for line in lines)
    assert (first.lines, first.body.fields.get("path"), second.line) == (3, "/var/lib", 4)
