"""One input becomes a log; what breaks on the way is told, and what was read until then counts."""

from __future__ import annotations

import gzip
from contextlib import contextmanager
from io import BytesIO

import pytest

from kvdiag.base.clock import to_datetime
from kvdiag.base.errors import InputError
from kvdiag.history.ingest.log_reader import TextInput, read_source
from kvdiag.model.record import NO_PROVENANCE
from tests.patterns import known

ADD = 'I0715 03:49:{second:02}.850919    1432 kubelet.go:2168] "SyncLoop ADD" source="api" pods=["shop/web-{second}"]\n'
OTHER = "I0715 04:{minute:02}:00.000000    1432 other.go:1] nothing that is known\n"
CALL = "I0715 03:50:00.000000       1 server.go:101] GRPC call: /csi.v1.Node/NodeUnpublishVolume\n"
ANSWER = "I0715 03:50:01.000000       1 server.go:114] GRPC response: {}\n"


def read(source):
    """Give what an input said, the problems told, and the progress reported."""
    problems, progress = [], []
    (made,) = read_source(source, *known(), problems.append, lambda name, size: progress.append((name, size)))
    return made, problems, progress


def text(data, name="kubelet.log"):
    """Read a text as an input of that name."""
    return read(TextInput(name, data.encode()))[0]


def clock(stamp):
    """Give a time for people."""
    return to_datetime(stamp).strftime("%H:%M:%S")


def test_a_testimony():
    """An input's raw_events, its lines, and the times of its first and last line, whatever those say."""
    made = text(OTHER.format(minute=1) + ADD.format(second=5) + "\n" + OTHER.format(minute=9))
    said = made.log
    assert (said.source, said.lines, said.yearless, said.preamble_year) == ("kubelet.log", 4, True, None)
    assert [one.line for one in said.raw_events] == [2]
    assert (clock(said.first), clock(said.last)) == ("04:01:00", "04:09:00")
    assert made.recognised == 1
    assert len(said.wordings) == 1


@pytest.mark.parametrize(
    "below",
    [
        "Jul 15 03:49:40 worker-1 dockerd[811]: 2024/07/15 03:49:40 http: superfluous response.WriteHeader call\n",
        'Jul 15 03:49:40 worker-1 dockerd[811]: time="2024-07-15T03:49:40.000000000Z" level=info msg="API listen"\n',
    ],
)
def test_a_carrier_without_a_year_around_dated_lines(below):
    """Lines that the carrier alone dates have the year of the others, at the end of the log or within it."""
    above = 'Jul 15 03:49:33 worker-1 dockerd[811]: time="2024-07-15T03:49:33.000000000Z" level=info msg="API listen"\n'
    said = text(above + "Jul 15 03:49:35 worker-1 systemd[1]: Started Kubelet.\n" + below, name="Docker").log
    assert said.yearless


def test_lines_and_calls_in_order():
    """What is made of gRPC lines stands among the other raw_events by its line."""
    said = text(ADD.format(second=1) + CALL + ADD.format(second=2) + ANSWER).log
    assert [one.match.entry.kind for one in said.raw_events] == [
        "pod.added",
        "csi.nodeunpublish.called",
        "pod.added",
        "csi.nodeunpublish.succeeded",
    ]


@pytest.mark.parametrize(
    ("head", "year"),
    [
        ("Log file created at: 2021/07/15 03:49:33\nRunning on machine: a\n", 2021),
        ("Running on machine: a\nLog file created at: 2021/07/15 03:49:33\n", 2021),
        ("Log file created at: yesterday\n", None),
        ("x\n" * 20 + "Log file created at: 2021/07/15 03:49:33\n", None),
    ],
)
def test_the_year_in_the_header_of_a_file(head, year):
    """Klog's own files say their year at the top, and only there."""
    assert text(head + ADD.format(second=1)).log.preamble_year == year


@pytest.mark.parametrize(
    ("name", "data", "component"),
    [
        ("x.log", ADD.format(second=1), "kubelet"),
        ("x.log", CALL + ANSWER, "csi-driver"),
        ("csi-attacher.log", CALL + ANSWER, "external-attacher"),
        ("containerd.log", "nothing\n", "containerd"),
        ("x.log", "nothing\n", ""),
    ],
)
def test_who_speaks(name, data, component):
    """Whose log it is is known by what was recognised, and for sidecars and silence by its name."""
    assert text(data, name).log.component == component


def test_an_empty_input():
    """An empty input says nothing, and is no problem."""
    made, problems, progress = read(TextInput("empty", b""))
    assert (made.log.raw_events, made.log.first, made.log.lines) == ([], None, 0)
    assert (problems, progress) == ([], [])


def test_progress():
    """Progress names the input and adds up to its bytes."""
    data = (ADD.format(second=1) * 9000).encode()
    _, _, progress = read(TextInput("big", data))
    assert {name for name, _ in progress} == {"big"}
    assert sum(size for _, size in progress) == len(data)


class Cut:
    """A gzip file that ends too soon."""

    name, modified, place, is_named = "cut.log.gz", None, NO_PROVENANCE, True

    @contextmanager
    def open(self):
        """Give the bytes until they end."""
        whole = gzip.compress(
            "".join(OTHER.format(minute=n % 60) + ADD.format(second=n % 60) for n in range(40_000)).encode()
        )
        with gzip.open(BytesIO(whole[: len(whole) // 2])) as file:
            yield file


def test_an_input_that_breaks_off():
    """What could be read of a damaged file counts, and that it ended too soon is told with its name."""
    made, problems, _ = read(Cut())
    assert made.log.lines > 1000
    assert made.recognised > 500
    assert [problem.source for problem in problems] == ["cut.log.gz"]
    assert "only partly read" in str(problems[0])


class Gone:
    """An input that cannot be opened."""

    name, modified, place, is_named = "gone.log", None, NO_PROVENANCE, True

    def open(self):
        """Refuse."""
        raise InputError("gone.log", "no such file")


def test_an_input_that_cannot_be_opened():
    """An input that is not there is a problem, and an empty log."""
    made, problems, _ = read(Gone())
    assert (made.log.lines, [str(problem) for problem in problems]) == (0, ["gone.log: no such file"])


MINIKUBE = f"""\
* ==> Audit <==
* |---------|------|
* | start   |      |
* ==> CRI-O <==
* -- Logs begin at Mon 2024-07-15 03:40:00 UTC. --
* Jul 15 03:49:40 minikube crio[801]: time="2024-07-15 03:49:40.000000000Z" level=info msg="Removed pod sandbox: {"b71e" * 16}" id=1 name=/runtime.v1.RuntimeService/RemovePodSandbox
* ==> node description <==
* Name:  minikube
* Roles: control-plane
* ==> kubelet <==
* Jul 15 03:49:10 minikube kubelet[1432]: {ADD.format(second=10)}"""


def test_the_logs_of_one_input():
    """Each section is a log with its own name, component and times; a table is counted as not read."""
    reads = list(read_source(TextInput("all.log", MINIKUBE.encode()), *known(), pytest.fail, lambda *_: None))
    assert [(r.log.source, r.log.component, r.survey.format) for r in reads] == [
        ("all.log/Audit", "", "text"),
        ("all.log/CRI-O", "crio", "journal-short/logrus"),
        ("all.log/node description", "", "text"),
        ("all.log/kubelet", "kubelet", "journal-short/klog"),
    ]
    assert [r.survey.unread for r in reads] == [2, 0, 2, 0]
    assert [r.survey.lines for r in reads] == [2, 2, 2, 1]
    assert [one.line for r in reads for one in r.log.raw_events] == [6, 11]
    assert clock(reads[1].log.first) == clock(reads[1].log.last) == "03:49:40"


CLIENT = f"""\
* ==> Letzter Start <==
* Log file created at: 2024/07/15 03:40:00
* Binary: Built with gc go1.22.5 for linux/amd64
* I0715 03:40:00.134489    7155 out.go:345] Setting OutFile to fd 1 ...
* E0715 03:40:01.134489    7155 logs.go:138] "command failed" err="exit status 1"
* ==> kubelet.INFO <==
Log file created at: 2024/07/15 03:40:00
{ADD.format(second=10)}
"""


def test_the_log_of_who_collected():
    """The log of minikube itself is known by how it begins, whatever its head is called; a file of klog begins otherwise."""
    reads = list(read_source(TextInput("all.log", CLIENT.encode()), *known(), pytest.fail, lambda *_: None))
    assert [(r.survey.format, r.survey.unread) for r in reads] == [("text", 4), ("klog", 0)]
    assert [one.line for r in reads for one in r.log.raw_events] == [8]


def test_an_input_of_nothing():
    """An input without a line is one log without a line."""
    assert [r.log.lines for r in read_source(TextInput("x", b""), *known(), pytest.fail, lambda *_: None)] == [0]


@pytest.mark.parametrize(
    ("name", "line", "kinds"),
    [
        ("kubelet.log", "I0715 03:49:33.850919    1432 server.go:411] Version: v1.20.3\n", ["kubelet.started"]),
        ("kube-apiserver.log", "I0715 03:49:33.850919    1432 server.go:629] Version: v1.20.3\n", []),
        ("scheduler [3f2a9c71c3b7]", 'E0715 03:49:33.850919 1 run.go:74] "command failed" err="x"\n', []),
        ("journal.log", 'Jul 15 03:49:33 m-1 kube-scheduler[7]: E0715 03:49:33.85 7 run.go:74] "command failed"\n', []),
    ],
)
def test_what_another_wrote_is_not_the_kubelets(name, line, kinds):
    """Words that programs of Kubernetes share are the kubelet's only where no other is known to have written them."""
    assert [one.match.entry.kind for one in text(line, name).log.raw_events] == kinds
