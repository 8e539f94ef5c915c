"""Carriers that a copy, an export or a collector adds, and the lines that only look like one."""

import json
from datetime import UTC, datetime

import pytest

from kvdiag.base.clock import from_datetime
from kvdiag.formats.bodies.registry import classify, read_body
from kvdiag.formats.carriers.peel import Peeled, peel
from kvdiag.formats.timestamps import syslog_minute
from tests.recorded import records_of_lines

KLOG = rb'E1120 20:39:21.779765    6175 kubelet.go:2200] "Pod is terminated, but \"x\"" pod="default/db-0"'
TEXT = KLOG.decode()
LOGRUS = b'time="2026-11-20T20:39:21.779765123Z" level=info msg="StopPodSandbox for \\"cf8d\\" returns successfully"'
AT = from_datetime(datetime(2026, 11, 20, 20, 39, 21, tzinfo=UTC))
FRAME = from_datetime(datetime(2000, 11, 20, 20, 39, 21, tzinfo=UTC))
JOURNAL = b"Nov 20 20:39:21 worker-1 kubelet[6175]: "


@pytest.mark.parametrize(
    "prefix",
    [
        b"kubelet.err.log:21143:",
        b"kubelet.err.log:",
        b"/var/log/kubelet.log:7:",
        b"./logs/kubelet.log:",
        b"../a/kubelet.log:12:",
        b"messages:",
        rb"C:\k\kubelet.log:12:",
        rb"C:\Program Files\k\kubelet.err.log:",
        b"2026-11-20.log:9:",
        b"* ",
        b"13. ",
        b"  7. ",
        b"- ",
        b"> ",
        b">> > ",
        b"Thu, Jan 28 2021 7:57:21 pm | ",
        b"\xef\xbb\xbf",
    ],
)
@pytest.mark.parametrize(
    ("line", "told"),
    [
        (KLOG, Peeled(KLOG)),
        (LOGRUS, Peeled(LOGRUS)),
        (JOURNAL + KLOG, Peeled(KLOG, FRAME, "worker-1", "kubelet", 6175, "journal-short")),
        (JOURNAL.replace(b"kubelet[6175]", b"kernel") + b"oom-kill: x",
         Peeled(b"oom-kill: x", FRAME, "worker-1", "kernel", None, "journal-short")),
    ],
)  # fmt: skip
def test_what_tells_nothing_is_taken_off(prefix: bytes, line: bytes, told: Peeled) -> None:
    """A file's name, a line number, a bullet and a byte order mark leave the line as it was."""
    assert peel(prefix + line) == told
    assert classify(prefix + line) == "head"


@pytest.mark.parametrize("indent", [b"", b"        ", b"\t"])
@pytest.mark.parametrize("comma", [b"", b",", b", "])
def test_a_line_in_a_list(indent: bytes, comma: bytes) -> None:
    """A line that Ansible prints as an element of a list is the line; text in quotes without a time is not."""
    assert peel(indent + json.dumps((JOURNAL + KLOG).decode()).encode() + comma) == peel(JOURNAL + KLOG)
    assert peel(b'"Jun is the month"' + comma).body == b'"Jun is the month"' + comma


@pytest.mark.parametrize("mark", [b"* ", b"- ", b"  * ", b"> ", b"| ", b"`", b"> `", b"* `"])
@pytest.mark.parametrize(
    "row",
    [
        b'Warning  FailedMount  3m (x9 over 20m)  kubelet  x "y" : z',
        b'FailedMount  3m  kubelet, worker-1  x "y" : z',
        b'3m12s   Warning   FailedMount   pod/web-0   x "y" : z',
    ],
)
def test_a_row_of_events_behind_a_mark(mark: bytes, row: bytes) -> None:
    """A row of kubectl's events is freed of what Markdown puts before it."""
    assert peel(mark + row + b"`" * mark.count(b"`")) == Peeled(row)
    assert classify(mark + row) == "head"


@pytest.mark.parametrize(
    "line",
    [
        b"* Warning signs were seen for 3m",
        b"- Failed 3 times",
        b"`Normal` is the type",
        b"foo.log:12: not found",
        b"main.go:12:5: undefined: x",
        b"http://10.0.0.7:8080/healthz",
        b"* one of several things",
        b"| Name | Value |",
        "│ one of several things │".encode(),
        b"- kubelet.service",
        b"--- a/kubelet.log",
        b"error:E1120 was raised",
        b"2026-11-20T20:39:21Z,GET,/healthz,200",
        b'"some quoted text", and more',
        b"1795206361779,5,8",
        b"2026-11-20T20:39:21Zulu",
        b"[a b] c",
        b"[one two three] E1120 20:39",
        b'level=info time="2026-11-20T20:39:21Z" msg=x',
        "März war kalt".encode(),
        b"Foo 20 20:39:21 worker-1 kubelet[6175]: x",
    ],
)
def test_words_are_no_carriers(line: bytes) -> None:
    """What only looks like a file's name, a row or a bullet is left alone when no log line follows."""
    assert peel(line) == Peeled(line)


@pytest.mark.parametrize(
    ("line", "stamp", "body"),
    [
        (b"2026-11-20T20:39:21Z," + KLOG, AT, KLOG),
        (b"2026-11-20T20:39:21.250Z," + KLOG, AT + 250_000, KLOG),
        (b"2026-11-20 20:39:21," + KLOG, AT, KLOG),
        (b"1795207161000," + KLOG, AT, KLOG),
        (b"1795207161000000000," + KLOG, AT, KLOG),
        (b'2026-11-20T20:39:21Z,"' + KLOG.replace(b'"', b'""') + b'"', AT, KLOG),
        (b'"2026-11-20T20:39:21Z","' + KLOG.replace(b'"', b'""') + b'",worker-1', AT, KLOG),
        (b'2026-11-20T20:39:21Z,"' + JOURNAL + KLOG.replace(b'"', b'""') + b'"', AT, KLOG),
        (b"2026-11-20T20:39:21Z" + KLOG, AT, KLOG),
        (b"2026-11-20T21:39:21.5+01:00" + LOGRUS, AT + 500_000, LOGRUS),
    ],
)
def test_a_time_and_a_line(line: bytes, stamp: int, body: bytes) -> None:
    """Rows of CloudWatch and Loki, quoted as CSV or not, and Rancher's time without a blank carry the time."""
    told = peel(line)
    assert (told.body, told.stamp) == (body, stamp)
    assert classify(line) == "head"


@pytest.mark.parametrize("head", [b"timestamp,line", b'"Date","Line"', b"timestamp,message", b"Time,Line,tsNs"])
def test_the_head_of_an_export(head: bytes) -> None:
    """The names of the columns are no line that was not understood."""
    assert classify(head) == "chatter"


def obj(**entry: object) -> bytes:
    """An object as Python and most tools write it, with blanks."""
    return json.dumps(entry).encode()


ISO = "2026-11-20T20:39:21Z"
PAYLOAD = {"MESSAGE": TEXT, "_HOSTNAME": "worker-1", "SYSLOG_IDENTIFIER": "kubelet", "_PID": "6175"}
RESOURCE = {"type": "k8s_container", "labels": {"container_name": "driver", "node_name": "worker-1"}}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (obj(log=TEXT + "\n", stream="stderr", time=ISO), ("", "", "docker-json")),
        (obj(stream="stderr", time=ISO, log=TEXT + "\n"), ("", "", "docker-json")),
        (obj(line=TEXT, timestamp=ISO, fields={"pod": "x", "container": "driver", "node_name": "n-1"}),
         ("n-1", "driver", "container-json")),
        (obj(timestamp="1795207161000000000", line=TEXT), ("", "", "collector-json")),
        (obj(timestamp=1795207161000, message=TEXT, ingestionTime=1), ("", "", "collector-json")),
        (obj(message=TEXT, nodeName="n-1", containerName="driver", timestamp=ISO), ("n-1", "driver", "container-json")),
        (obj(jsonPayload=PAYLOAD, timestamp=ISO), ("worker-1", "kubelet", "cloud-json")),
        (obj(insertId="1", textPayload=TEXT, timestamp=ISO, resource=RESOURCE), ("worker-1", "driver", "container-json")),
        (obj(jsonPayload={"message": TEXT}, timestamp=ISO), ("", "", "cloud-json")),
        (json.dumps({"msg": TEXT, "talos-level": "info", "talos-service": "kubelet", "talos-time": ISO}).encode(),
         ("", "kubelet", "talos-json")),
        (json.dumps({"talos-time": ISO, "talos-service": "kubelet", "msg": TEXT}, separators=(",", ":")).encode(),
         ("", "kubelet", "talos-json")),
    ],
)  # fmt: skip
def test_objects_of_collectors(line: bytes, told: tuple[str, str, str]) -> None:
    """docker, Loki, CloudWatch, Google Cloud and Talos: line, time, node and program, whatever the order of keys."""
    found = peel(line)
    assert (found.body, found.stamp) == (KLOG, AT)
    assert (found.node, found.ident, found.carrier) == told
    assert classify(line) == "head"


@pytest.mark.parametrize(
    "line",
    [
        obj(level="info", message=TEXT, timestamp=ISO),
        obj(message="a user came in", user="x", timestamp=ISO),
        obj(message=5, timestamp=ISO),
        obj(line=12, timestamp=ISO),
        obj(jsonPayload={"user": "x"}, timestamp=ISO),
        obj(textPayload=None),
        obj(log="x", level="info"),
        b'{"ts":1721015373850.9,"caller":"a.go:1","msg":"I1120 20:39:21.779765 1 a.go:1] x","v":0}',
        b'{"msg":"x","level":"info"}',
        b'{"message": "cut',
        b'{"msg":"x","talos-service":"cut',
    ],
)
def test_objects_that_are_log_lines(line: bytes) -> None:
    """An object with a level or with keys of its own is what a program logged."""
    assert peel(line).body == line


def test_parts_of_a_line_in_docker() -> None:
    """Also with blanks, a text without a line end goes on."""
    assert peel(obj(stream="stderr", log="half", time=ISO)).partial
    halves = [{"log": text, "stream": "stderr", "time": ISO} for text in (TEXT[:50], TEXT[50:] + "\n")]
    (raw,) = records_of_lines(json.dumps(half, separators=(",", ":")).encode() for half in halves)
    assert raw.body == read_body(KLOG)


def k0s(line: bytes, tail: bytes = b" component=kubelet stream=stderr") -> bytes:
    """A line as k0s logs it for one of its children."""
    escaped = line.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    return b'time="2026-11-20 20:39:21" level=info msg="' + escaped + b'"' + tail


@pytest.mark.parametrize("inner", [KLOG, LOGRUS, b'{"level":"info","msg":"x"}'])
@pytest.mark.parametrize("outer", [b"", b"Nov 20 20:39:21 worker-1 k0s[697]: "])
def test_a_supervisor(inner: bytes, outer: bytes) -> None:
    """k0s puts what kubelet, containerd and etcd write into a message, and names them."""
    told = peel(outer + k0s(inner, b" component=kubelet"))
    assert (told.body, told.ident, told.stamp) == (inner, "kubelet", AT)
    assert peel(outer + k0s(inner)).body == inner


@pytest.mark.parametrize(
    "line",
    [
        k0s(b"Starting kubelet"),
        k0s(KLOG, b""),
        k0s(KLOG, b" namespace=k8s.io"),
        k0s(KLOG)[:90],
        LOGRUS.replace(b"StopPod", b"E1120 20:39:21.7 StopPod"),
        b'time="2026-11-20T20:39:21Z" level=warning msg="cleanup warnings time=\\"2026-11-20T20:39:21Z\\" level=info"',
    ],
)
def test_a_quoted_line_is_no_carrier(line: bytes) -> None:
    """A program that quotes another's line, or no line at all, speaks for itself."""
    assert peel(line) == Peeled(line)


MONTHS = {
    "de": "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "fr": "janv. févr. mars avril mai juin juil. août sept. oct. nov. déc.",
    "es": "ene feb mar abr may jun jul ago sep oct nov dic",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
    "zh": "1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月",
}


@pytest.mark.parametrize("names", MONTHS.values(), ids=MONTHS)
def test_months_of_other_languages(names: str) -> None:
    """Journalctl writes months in the language of its user."""
    for number, name in enumerate(names.split(), start=1):
        stamp = from_datetime(datetime(2000, number, 5, 20, 39, 21, tzinfo=UTC))
        assert syslog_minute(f"{name}  5 20:39".encode()) == stamp - 21_000_000
        told = peel(f"{name}  5 20:39:21 worker-1 kubelet[6175]: ".encode() + KLOG)
        assert told == Peeled(KLOG, stamp, "worker-1", "kubelet", 6175, "journal-short")


@pytest.mark.parametrize("bar", ["│", "|"])
def test_the_frame_of_a_pane(bar: str) -> None:
    line = "E1120 20:39:21.779765    6175 kubelet.go:2200] x"
    assert peel(f"{bar} {line}       {bar}\n".encode()).body == line.encode()


def test_kubetail() -> None:
    """Kubetail names pod and container."""
    assert peel(b"[csi-0 driver] " + KLOG) == Peeled(KLOG, ident="driver", carrier="pod-prefix")
    assert peel(b"[csi-0 driver] 2026-11-20T20:39:21Z " + KLOG).stamp == AT


@pytest.mark.parametrize("piece", [b"a:1:", b"* ", b"| ", b'"', b"\xef\xbb\xbf", b"1,", b'time="', b"a.b/c:", b"[a b] ", b'{"log":', b"I1120 ", b"2026-11-20T20:39:21Z,", b'{"msg":'])  # fmt: skip
def test_long_hostile_lines_are_peeled_in_linear_time(piece: bytes) -> None:
    """Half a megabyte of one piece repeated comes back."""
    many = piece * (500_000 // len(piece))
    for lead in (
        b"",
        b"x.log:",
        b"* ",
        b"2026-11-20T20:39:21Z,",
        b'2026-11-20T20:39:21Z,"',
        k0s(b"I1120 20:39:21")[:-40],
    ):
        assert peel(lead + many).carrier


@pytest.mark.parametrize(
    ("line", "body"), [(b"**" + KLOG + b"**", KLOG), (b"**" + KLOG, KLOG), (b"**bold**", b"**bold**")]
)
def test_bold_type(line, body):
    """Markdown's marks around a line are no part of it; around other words they are left."""
    assert peel(line).body == body
