"""Lines that a scanner hit become raw_events: which event, of what, when."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.clock import MINUTE, SECOND, to_datetime
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.recognise import LONGEST_TEXT, Recogniser
from kvdiag.formats.bodies.registry import classify
from tests.patterns import known

UID, OTHER = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01", "95d6b80b-1111-4222-8333-444455556666"
SANDBOX = "3f2a9c" * 10 + "3f2a"
UNIQUE = "kubernetes.io/csi/csi.example.org^vol-1"
FAILED = (
    f'Operation for "{{volumeName:{UNIQUE} podName:{UID} nodeName:}}" failed. No retries permitted until '
    "2024-07-15 03:51:36.05 +0000 UTC m=+881.4 (durationBeforeRetry 500ms). Error: UnmountVolume.TearDown failed for "
    f'volume "data" (UniqueName: "{UNIQUE}") pod "{UID}" (UID: "{UID}") : kubernetes.io/csi: Unmounter.TearDownAt failed'
)
KEPT = '"Pod worker has been requested for removal but is still not fully terminated" podUID={uid}'
ADD = '"SyncLoop ADD" source="api" pods=["shop/web-0"]'


def recogniser(*blocks):
    """Give what read these blocks of lines, one after the other."""
    vocabulary, scan = known()
    reader, first = Recogniser(vocabulary), 0
    for block in blocks:
        data = block if isinstance(block, bytes) else "".join(f"{line}\n" for line in block).encode()
        reader.feed(data, first, scan.scan(data))
        first += data.count(b"\n")
    return reader


def raw_events(*lines):
    """Give the raw_events of lines."""
    return recogniser(lines).raw_events


def told(raw_event):
    """Give what a raw_event says, whoever said it and wherever it stood."""
    return raw_event.match.entry.kind, raw_event.match.refs, dict(raw_event.match.attrs)


def said_where(reader):
    """Give what each raw event says, and where."""
    return [
        (told(one), one.stamp, one.line, reader.texts[one.text_at], one.process, one.more) for one in reader.raw_events
    ]


def kinds(some):
    """Give the kinds of raw_events."""
    return [one.match.entry.kind for one in some]


def klog(text, time="03:49:33.850919", *, level="I", pid=1432, file="kubelet.go:2168"):
    """Give a klog line of 15 July."""
    return f"{level}0715 {time} {pid:>7} {file}] {text}"


def logrus(text, time="2024-07-15T03:49:34.060000000Z"):
    """Give a line of containerd."""
    return f'time="{time}" level=info msg={json.dumps(text)}'


def test_a_line_and_what_it_names():
    """A raw_event has its kind, its time, its place, its words, and the names and values of the line."""
    line = klog(FAILED, level="E", file="nestedpendingoperations.go:348")
    reader = recogniser(["nothing", line])
    (one,) = reader.raw_events
    kind, refs, attrs = told(one)
    assert (kind, one.line, reader.texts[one.text_at].decode(), one.process.pid) == (
        "volume.unpublish.failed",
        2,
        line,
        1432,
    )
    assert {(ref.kind, ref.value) for ref in refs} >= {
        ("unique_name", UNIQUE),
        ("volume_handle", "vol-1"),
        ("driver", "csi.example.org"),
        ("pod_uid", UID),
    }
    assert (attrs["backoff"], attrs["error"]) == ("500ms", "kubernetes.io/csi: Unmounter.TearDownAt failed")


@pytest.mark.parametrize("before", ["", "Jul 15 03:49:33 worker-1 k3s[811]: "])
def test_who_may_say_it_is_asked_of_each_type_and_file(before):
    """One call of a library lists for several programs, and one process is several of them."""
    site = {"level": "E", "file": "reflector.go:147"}
    text = "k8s.io/client-go/informers/factory.go:150: Failed to watch *v1.{0}: failed to list *v1.{0}: EOF"
    lines = [
        klog(text.format(kind), f"03:49:33.{number:06}", **site)
        for number, kind in enumerate(("Node", "StorageClass", "Service", "ReplicaSet"))
    ]
    assert [one.line for one in raw_events(*(before + line for line in lines))] == [1, 3]


@pytest.mark.parametrize(
    ("text", "as_json"),
    [
        (
            klog(ADD, file="kubelet.go:2168"),
            {"ts": 1721015373850.919, "caller": "kubelet/kubelet.go:2168", "msg": "SyncLoop ADD", "v": 2, "source": "api", "pods": [{"name": "web-0", "namespace": "shop"}]},
        ),
        (
            klog(f'"Pod is being synced for the first time" pod="shop/web-0" podUID="{UID}"'),
            {"ts": 1721015373850.919, "caller": "kubelet/pod_workers.go:1", "msg": "Pod is being synced for the first time", "v": 4, "pod": {"name": "web-0", "namespace": "shop"}, "podUID": UID},
        ),
        (
            klog(KEPT.format(uid=UID)),
            {"ts": 1721015373850.919, "caller": "kubelet/pod_workers.go:1", "msg": "Pod worker has been requested for removal but is still not fully terminated", "v": 4, "podUID": UID},
        ),
        (
            logrus(f'StopPodSandbox for "{SANDBOX}"'),
            {"level": "info", "msg": f'StopPodSandbox for "{SANDBOX}"', "time": "2024-07-15T03:49:34.060000000Z"},
        ),
        (
            logrus(f'RunPodSandbox for &PodSandboxMetadata{{Name:web-0,Uid:{UID},Namespace:shop,Attempt:0,}} returns sandbox id "{SANDBOX}"'),
            {"level": "info", "msg": f'RunPodSandbox for &PodSandboxMetadata{{Name:web-0,Uid:{UID},Namespace:shop,Attempt:0,}} returns sandbox id "{SANDBOX}"', "time": "2024-07-15T03:49:34.060000000Z"},
        ),
    ],
)  # fmt: skip
def test_json_says_the_same_as_text(text, as_json):
    """A line of klog or logrus in JSON is the same event, of the same things, as the line in text."""
    (plain,) = raw_events(text)
    (nested,) = raw_events(json.dumps(as_json, separators=(",", ":")))
    assert told(nested)[:2] == told(plain)[:2]


@pytest.mark.parametrize("prefix", ["", "Jul 15 03:49:33 worker-1 kubelet[1432]: ", "[worker-1] "])
def test_a_carrier_changes_nothing_that_is_said(prefix):
    """Prefixes of the journal and of collectors leave kind, names and values as they are."""
    (bare,) = raw_events(klog(FAILED, level="E"))
    (carried,) = raw_events(prefix + klog(FAILED, level="E"))
    assert told(carried) == told(bare)


def test_windows_line_ends():
    """A carriage return is part of no value."""
    data = f"{klog(KEPT.format(uid=UID))}\r\n{klog(KEPT.format(uid=OTHER))}\r\n{klog(FAILED, level='E')}\r\n".encode()
    crlf = recogniser(data).raw_events
    assert list(map(told, crlf)) == list(map(told, recogniser(data.replace(b"\r", b"")).raw_events))
    assert kinds(crlf) == ["pod.worker.kept", "pod.worker.kept", "volume.unpublish.failed"]


@pytest.mark.parametrize(
    ("times", "folded"),
    [
        (["03:49:00", "03:49:20", "03:50:20"], [(3, 80)]),
        (["03:49:00", "03:50:01"], [(1, 0), (1, 0)]),
        (["03:49:00", "03:50:00", "03:51:00", "03:52:01"], [(3, 120), (1, 0)]),
        (["03:49:20", "03:49:00"], [(1, 0), (1, 0)]),
        (["03:49:00", "03:49:00", "03:49:01"], [(2, 1)]),
    ],
)
def test_polls_are_folded(times, folded):
    """Repeats of a poll are one raw_event with a count; after a pause of over a minute another begins."""
    some = raw_events(*(klog(KEPT.format(uid=UID), f"{time}.000000") for time in times))
    assert [(one.more[0], (one.more[1] - one.stamp) // SECOND) for one in some] == folded


def test_polls_of_different_words_are_apart():
    """Only the same words of the same process fold."""
    lines = [
        klog(KEPT.format(uid=UID), "03:49:00.000000"),
        klog(KEPT.format(uid=OTHER), "03:49:01.000000"),
        klog(KEPT.format(uid=UID), "03:49:02.000000"),
        klog(KEPT.format(uid=UID), "03:49:03.000000", pid=9),
    ]
    assert [one.more[0] for one in raw_events(*lines)] == [2, 1, 1]


def test_what_is_no_poll_is_not_folded():
    """An operation that fails again is another event."""
    some = raw_events(klog(FAILED, "03:49:00.000000"), klog(FAILED, "03:49:01.000000"))
    assert [one.more for one in some] == [None, None]


def test_duplicates_are_dropped():
    """The same words at the same microsecond are one event, however often an input holds them."""
    reader = recogniser([klog(FAILED), klog(ADD), klog(FAILED)], [klog(FAILED)])
    assert (kinds(reader.raw_events), reader.recognised, reader.duplicates) == (
        ["volume.unpublish.failed", "pod.added"],
        4,
        2,
    )


def test_a_line_and_the_words_within_it_tell_one_event():
    """The whole line has the more names; where only the sentence was pasted, it tells the failure by itself."""
    sentence = FAILED.partition("Error: ")[2]
    whole = recogniser([klog(FAILED)]).raw_events
    alone = recogniser([sentence]).raw_events
    assert kinds(whole) == kinds(alone) == ["volume.unpublish.failed"]
    assert ("backoff" in whole[0].match.attrs, "backoff" in alone[0].match.attrs) == (True, False)


def test_lines_are_counted_over_blocks():
    """The place of a line is its number in the input, whichever block it is in."""
    reader = recogniser(["x", klog(ADD, "03:49:00.000000")], ["x", "x", klog(ADD, "03:49:01.000000")])
    assert [one.line for one in reader.raw_events] == [2, 5]


MANY_LINES = [
    klog('"Error syncing pod, skipping" err=<', level="E", file="pod_workers.go:1298"),
    '\tfailed to "KillPodSandbox" for "x" with KillPodSandboxError: "rpc error:',
    "\tdeadline exceeded",
    f' > pod="shop/web-0" podUID={UID}',
    klog(ADD, "03:49:40.000000"),
]


def test_what_stands_after_a_value_of_many_lines():
    """A value that klog writes as `key=<` goes on to the line that closes it; the names after it are the record's."""
    first, *_, second = raw_events(*MANY_LINES)
    kind, refs, attrs = told(first)
    assert (kind, first.line, second.line) == ("pod.sync.failed", 1, 5)
    assert ("pod_uid", UID) in refs
    assert "SyncLoop" not in attrs["error"]


def test_a_value_of_many_lines():
    """An error of many lines is known by all of them."""
    _, _, attrs = told(raw_events(*MANY_LINES)[0])
    assert "deadline exceeded" in attrs["error"]


def test_a_panic_and_its_functions():
    """A Go crash is one event with its reason and the functions of the first goroutine."""
    dump = [
        "panic: runtime error: invalid memory address or nil pointer dereference",
        "",
        "goroutine 99 [running]:",
        "example.org/shim.(*Task).Delete(0xc0001, 0x2)",
        "\t/src/shim/task.go:10 +0x1d",
        "example.org/shim.Run(...)",
        "\t/src/shim/run.go:20",
    ]
    (one,) = raw_events(*(f"Jul 15 03:49:33 worker-1 containerd[3851]: {line}" for line in dump))
    kind, _, attrs = told(one)
    assert kind == "runtime.panicked"
    assert "nil pointer dereference" in attrs["reason"]
    assert "Task" in attrs["functions"]
    assert (one.process.node, one.process.ident, one.line) == ("worker-1", "containerd", 1)


def test_a_line_without_a_header_is_dated_by_the_line_before():
    """A crash that a process wrote without a time happened when the line before it was written."""
    before, crash = raw_events(klog(ADD), "panic: something broke", "", "goroutine 1 [running]:", "main.main()")[:2]
    assert kinds([before, crash]) == ["pod.added", "runtime.panicked"]
    assert crash.stamp == before.stamp


def test_a_text_that_is_no_log():
    """Words of a log in a text without any time are no events."""
    assert raw_events(ADD, "He wrote: " + KEPT.format(uid=UID)) == []


def test_a_long_line():
    """A line of any length is read; only its beginning is kept as evidence."""
    reader = recogniser([klog(FAILED + " x" * 50_000, level="E")])
    (one,) = reader.raw_events
    assert told(one)[0] == "volume.unpublish.failed"
    assert len(reader.texts[one.text_at]) == LONGEST_TEXT


@pytest.mark.parametrize("damage", [b"\xff\xfe", b"\x00", b"\x1b[31m", "é".encode(), b"\r\r"])
def test_damaged_bytes(damage):
    """Bytes that are no text neither stop the reading nor hide the line after them."""
    data = (
        klog(FAILED, level="E").encode()
        + damage
        + b"\n"
        + damage
        + b"\n"
        + klog(ADD, "03:49:40.000000").encode()
        + b"\n"
    )
    assert kinds(recogniser(data).raw_events)[-1] == "pod.added"


LINES = [
    klog(ADD, "03:49:01.000000"),
    klog(FAILED, "03:49:02.000000", level="E"),
    klog(KEPT.format(uid=UID), "03:49:03.000000"),
    "Jul 15 03:49:04 worker-1 kubelet[1432]: " + klog(ADD, "03:49:04.000000"),
    logrus(f'StopPodSandbox for "{SANDBOX}"', "2024-07-15T03:49:05Z"),
    "nothing that is known",
    "",
]


@given(st.lists(st.sampled_from(LINES), max_size=12), st.data())
def test_where_blocks_end_does_not_matter(lines, data):
    """Cut into blocks before any line that begins a record, an input says the same."""
    heads = [number for number, line in enumerate(lines) if classify(line.encode()) == "head"]
    cut = data.draw(st.sampled_from([0, *heads]))
    whole, parts = recogniser(lines), recogniser(lines[:cut], lines[cut:])
    assert said_where(parts) == said_where(whole)
    assert (parts.recognised, parts.duplicates) == (whole.recognised, whole.duplicates)


def test_the_wordings_seen_are_known():
    """Which spelling was met says something of the version; only spellings that were met count."""
    reader = recogniser([klog(ADD)])
    assert {known()[0].owner(number).kind for number in reader.wordings} == {"pod.added"}
    assert recogniser(["x"]).wordings == set()


def test_a_fold_is_a_minute():
    """Polls are apart by more than a minute before they are two."""
    lines = [klog(KEPT.format(uid=UID), "03:49:00.000000"), klog(KEPT.format(uid=UID), "03:50:00.000001")]
    one, two = raw_events(*lines)
    assert two.stamp - one.stamp == MINUTE + 1


SILENT = "nfs: server 192.0.2.10 not responding, still trying"


@pytest.mark.parametrize(
    ("line", "heard"),
    [
        (f"Jul 15 03:49:33 worker-1 kernel: {SILENT}", True),
        (f"Jul 15 03:49:33 worker-1 kernel: [  759.689531] {SILENT}", True),
        (f"2024-07-15T03:49:33+00:00 worker-1 kernel: {SILENT}", True),
        (f"[  759.689531] {SILENT}", True),
        (f"[Mon Jul 15 03:49:33 2024] {SILENT}", True),
        (f"Jul 15 03:49:33 worker-1 app[7]: {SILENT}", False),
        (klog(SILENT), False),
        (logrus(SILENT), False),
        (SILENT, False),
    ],
)
def test_only_the_kernel_speaks_for_the_kernel(line, heard):
    """The kernel's words count when the kernel says them, in the journal, in syslog or in dmesg; no program's do."""
    assert kinds(raw_events(line)) == (["kernel.nfs.silent"] if heard else [])


def test_a_line_that_tells_only_how_much_later_it_is():
    """In dmesg -H a line without a minute is of the minute above it."""
    (one,) = raw_events("[Jul15 03:49] acpi: words", f"[  +0.125642] {SILENT}")
    assert to_datetime(one.stamp).strftime("%m-%d %H:%M") == "07-15 03:49"


KILLING = 'E1120 20:39:21.779765    6175 prober.go:107] "Probe failed" pod="shop/web-0" output="{} {}'
REMOVED = f'"Pod worker has been requested for removal but is still not fully terminated" podUID="{UID}"'


@pytest.mark.parametrize("turned", [False, True])
def test_equal_words_are_judged_by_what_stands_before_them(turned):
    """A line of kubelet, and the same words in the output of a probe, of a short and of a long one."""
    kubelets = f"I1120 20:39:20.100000    6175 kubelet_pods.go:1026] {REMOVED}"
    of_pods = [KILLING.format(before, REMOVED) for before in ("", "x" * 200)]
    lines = [*of_pods, kubelets] if turned else [kubelets, *of_pods]
    kinds = [one.match.entry.kind for one in raw_events(*lines) if one.match.refs[:1] == (("pod_uid", UID),)]
    assert kinds == [told(raw_events(kubelets)[0])[0]]


@pytest.mark.parametrize(
    "path", sorted(builtin_patterns().parent.glob("sample-logs/*/*.log")), ids=lambda p: p.parent.name
)
def test_a_line_means_the_same_after_any_other(path):
    """What is known of lines that begin alike changes nothing: each line alone has the kind it has in its log."""
    lines = path.read_text("utf-8", "replace").splitlines()[:1500]
    vocabulary, scan = known()
    together = {
        (one.line, one.match.entry.kind, one.match.refs) for one in recogniser(lines).raw_events if not one.more
    }
    alone = Recogniser(vocabulary)
    alone._simple_literals = [False] * len(vocabulary.literals)  # so that each line is read in full
    data = "".join(f"{line}\n" for line in lines).encode()
    alone.feed(data, 0, scan.scan(data))
    assert together == {(one.line, one.match.entry.kind, one.match.refs) for one in alone.raw_events if not one.more}


EVENT = (
    'Warning  FailedMount  30s  kubelet  MountVolume.SetUp failed for volume "data" : '
    "rpc error: code = Internal desc = mount failed. output:"
)


@pytest.mark.parametrize(
    ("below", "error"),
    [
        (("", '"access is denied', "try again"), 'mount failed. output:\n"access is denied\ntry again'),
        (("no such share", "", "see the documentation"), "mount failed. output:\nno such share"),
        (("", "", "no such share"), "mount failed. output:\nno such share"),
    ],
)
def test_an_empty_line_ends_an_error_but_not_behind_a_colon(below, error):
    """What a colon announces is read although an empty line is between; any other empty line ends the error."""
    assert raw_events(EVENT, *below)[0].match.attrs["error"].endswith(error)


@pytest.mark.parametrize(
    "other",
    [
        "2024-03-12 08:00:01,628 ERROR [140216497063680] [vol-1] (mediator.py:call:98) - Failed to get fabrics.",
        "  2024-03-12 08:00:01,628 DEBUG [140216497063680] [vol-1] (utils.py:get:48) - node name : worker-1",
        "2024-03-12T08:00:01.628Z [INFO] started",
        "...",
        "  [...]",
        "4",
        "Name:           example-csi-node",
    ],
)
def test_a_line_of_another_program_ends_an_error(other):
    """A line with a time and a level, dots for lines that were left out, or a copied count, is no part of the error above it."""
    assert (
        raw_events(EVENT, "no such share", other, "Failed to get fabrics.")[0]
        .match.attrs["error"]
        .endswith("mount failed. output:\nno such share")
    )


def test_dated_output_of_a_program_is_part_of_its_error():
    """Ceph prints the time without a level before its errors."""
    below = "2019-03-12 08:00:01.628 7f1c2c7e4700 -1 auth: unable to find a keyring"
    assert raw_events(EVENT, below)[0].match.attrs["error"].endswith(below)


def test_nothing_continues_a_json_line():
    """The text of another program below a record in JSON is no part of its error."""
    line = (
        '{"host":"worker-1","level":"error","message":"handler error - driver: ZfsDriver method: NodeStageVolume error: '
        '{\\"code\\":2,\\"message\\":\\"unable to attach any iscsi devices\\"}","service":"democratic-csi",'
        '"timestamp":"2024-03-12T08:00:00.000Z"}'
    )
    (piece,) = recogniser([line, "retry - failed condition"]).rpc_lines
    assert "retry" not in piece.piece.error
