"""Events as kubectl lists them are records, whatever columns were asked for."""

from __future__ import annotations

import pytest

from kvdiag.base.clock import DAY, HOUR, MINUTE, PRINTED, SECOND
from kvdiag.formats.bodies.eventtable import Described, assigned, descriptions, is_kernels, node_of, read, repeats
from kvdiag.formats.bodies.registry import canonical, classify, read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.formats.timestamps import rfc3339
from kvdiag.model.values import Level

SAID = 'MountVolume.SetUp failed for volume "data" : rpc error: code = Internal desc = exit status 32'
OLD = {"type": "Warning", "reason": "FailedMount", "age": "3m12s", "first_seen": "9m", "count": "12"}
SEEN = "2024-03-12 08:09:00 -0700 PDT   2024-03-12 08:03:00 -0700 PDT"
SHORT = {"type": "Warning", "reason": "FailedMount", "object": "pod/web-0", "age": "3m12s"}


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (f"3m12s       Warning   FailedMount   pod/web-0   {SAID}", SHORT),
        (f"shop        3m12s       Warning   FailedMount   pod/web-0   {SAID}", SHORT | {"namespace": "shop"}),
        (
            f"3m (x5 over 10m)   Warning   FailedMount   pod/web-0   {SAID}",
            SHORT | {"age": "3m (x5 over 10m)", "count": "5", "over": "10m"},
        ),
        (
            f"3m12s       Warning   FailedMount   pod/web-0                          kubelet, worker-1   {SAID}   9m      12      web-0.17a",
            SHORT | {"source": "kubelet, worker-1", "first_seen": "9m", "count": "12", "name": "web-0.17a"},
        ),
        (
            f"3m12s       Warning   FailedMount   pod/web-0   spec.containers{{app}}   kubelet, worker-1   {SAID}   9m      1       web-0.17a",
            SHORT | {"source": "kubelet, worker-1", "first_seen": "9m", "count": "1", "name": "web-0.17a"},
        ),
        (
            f"  Warning  FailedMount  3m12s (x2 over 5m1s)  kubelet  {SAID}",
            {
                "type": "Warning",
                "reason": "FailedMount",
                "age": "3m12s (x2 over 5m1s)",
                "count": "2",
                "over": "5m1s",
                "source": "kubelet",
            },
        ),
        (
            f"  Warning  FailedMount  3m12s (x2 over 5m1s)  example.com/cephfs_cephfs-0_5b0c7a1e  {SAID}",
            {
                "type": "Warning",
                "reason": "FailedMount",
                "age": "3m12s (x2 over 5m1s)",
                "count": "2",
                "over": "5m1s",
                "source": "example.com/cephfs_cephfs-0_5b0c7a1e",
            },
        ),
        (
            f"  Warning  FailedMount  <unknown>  kubelet, worker-1  {SAID}",
            {"type": "Warning", "reason": "FailedMount", "age": "<unknown>", "source": "kubelet, worker-1"},
        ),
        (
            f"  Warning  FailedMount  3m12s  kubelet, {SAID}",
            {"type": "Warning", "reason": "FailedMount", "age": "3m12s", "source": "kubelet"},
        ),
        (
            f"  Warning  FailedMount  3m12s  kubelet,   {SAID}",
            {"type": "Warning", "reason": "FailedMount", "age": "3m12s", "source": "kubelet"},
        ),
        (
            f"3m12s   Warning   FailedMount   Pod   kubelet, worker-1   {SAID}",
            {"type": "Warning", "reason": "FailedMount", "age": "3m12s", "kind": "Pod", "source": "kubelet, worker-1"},
        ),
        (
            f"3m12s   Warning   FailedMount   Pod   {SAID}",
            {"type": "Warning", "reason": "FailedMount", "age": "3m12s", "kind": "Pod"},
        ),
        (
            f"  9m\t\t3m12s\t\t12\t{{kubelet worker-1}}\tspec.containers{{app}}\tWarning\t\tFailedMount\t{SAID}",
            OLD | {"source": "kubelet, worker-1", "part": "spec.containers{app}"},
        ),
        (f"  9m  3m12s  12  {{kubelet worker-1}}    FailedMount  {SAID}", OLD | {"source": "kubelet, worker-1"}),
        (
            f"  FailedMount  3m12s  kubelet, worker-1  {SAID}",
            {"type": "Warning", "reason": "FailedMount", "age": "3m12s", "source": "kubelet, worker-1"},
        ),
        (f"  9m  3m12s  12  kubelet, worker-1    Warning  FailedMount  {SAID}", OLD | {"source": "kubelet, worker-1"}),
        (
            f"3m12s     9m        12        web-0.17a1b2c3d4e5f607   Pod   spec.containers{{app}}   Warning   FailedMount   {{kubelet worker-1}}   {SAID}",
            OLD
            | {
                "object": "pod/web-0",
                "kind": "Pod",
                "source": "kubelet, worker-1",
                "name": "web-0.17a1b2c3d4e5f607",
                "part": "spec.containers{app}",
            },
        ),
        (
            f"3m12s 9m 12 web-0 Pod Warning FailedMount {{kubelet worker-1}} {SAID}",
            OLD | {"object": "pod/web-0", "kind": "Pod", "source": "kubelet, worker-1"},
        ),
    ],
)
def test_rows(line, fields):
    """A row says how bad it was, why, of what, how long ago and how often, and its message stands alone."""
    body = read(line.encode())
    assert body is not None
    assert (body.level, body.message, body.fields) == (Level.WARNING, SAID, fields)
    assert classify(line.encode()) == "head"
    assert read_body(peel(line.encode()).body) == body


@pytest.mark.parametrize(
    ("age", "before"),
    [
        ("45s", 45 * SECOND),
        ("3m12s", 3 * MINUTE + 12 * SECOND),
        ("21m (x9 over 23m)", 21 * MINUTE),
        ("2d3h", 2 * DAY + 3 * HOUR),
        ("1y20d", 385 * DAY),
        ("<unknown>", None),
        ("<invalid>", None),
    ],
)
def test_an_age_is_a_time_before_the_printing(age, before):
    """What was seen last so long ago; an age that kubectl did not know is none."""
    body = read(f"  Warning  FailedMount  {age}  kubelet  {SAID}".encode())
    assert body is not None
    assert body.stamp == (None if before is None else PRINTED - before)


@pytest.mark.parametrize(
    ("line", "described", "words"),
    [
        (f"shop   3m   Warning   FailedMount   pod/web-0   {SAID}", "", 'object="shop/web-0" kind="Pod"'),
        (f"3m   Warning   FailedMount   pod/web-0   {SAID}", "shop/db-0", 'object="web-0" kind="Pod"'),
        (f"3m   Warning   FailedMount   node/worker-1   {SAID}", "", 'object="worker-1" kind="Node"'),
        (f"  Warning  FailedMount  3m  kubelet  {SAID}", "shop/db-0", 'object="shop/db-0" kind="Pod"'),
        (f"  Warning  FailedMount  3m  kubelet  {SAID}", "?", 'object="?" kind="Pod"'),
    ],
)
def test_one_notation_for_all_tables(line, described, words):
    """The object comes first, whichever table says it; a row of `describe` is about what was described."""
    body = read(line.encode())
    assert body is not None
    said = SAID.replace('"', '\\"')
    end = f'type="Warning" reason="FailedMount" message="{said}"'
    assert canonical(body, Described(name=described)).decode() == f'"Event listed" {words} {end}'


def test_who_is_described():
    """The scheduler's event names the pod, and where the source has a host it is the node."""
    scheduled = read(b"  Normal  Scheduled  33m  default-scheduler  Successfully assigned shop/web-0 to worker-1")
    other = read(f"  Warning  FailedMount  3m  kubelet, worker-1  {SAID}".encode())
    assert scheduled is not None
    assert other is not None
    assert (assigned(scheduled), node_of(scheduled)) == (Described(name="shop/web-0", node="worker-1"), "")
    assert (assigned(other), node_of(other)) == (None, "worker-1")


def test_times_of_a_watched_table():
    """The table of `get events --watch` of old has times with the zone's name, and the object is not its source."""
    line = "2024-03-12 08:09:00 +0100 CET  2024-03-12 08:03:00 +0100 CET  3  web-0.153bda428c5eccff  Pod  "
    body = read(peel(f"{line}Warning  FailedMount  kubelet, worker-1  {SAID}".encode()).body)
    assert body is not None
    assert (body.stamp, body.fields["object"]) == (rfc3339(b"2024-03-12T07:09:00Z"), "pod/web-0")
    assert body.fields["source"] == "kubelet, worker-1"


POD = """\
Name:             web-0
Namespace:        shop
Priority:         0
Service Account:  default
Node:             worker-1/10.0.0.5
Events:
"""
COLUMNS = "  Type     Reason       Age    From     Message\n"
NODE = """\
Name:               worker-1
Roles:              control-plane
Events:
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (POD, [Described(0, "shop/web-0", "Pod", "worker-1")]),
        (POD.replace("\n", "\r\n"), [Described(0, "shop/web-0", "Pod", "worker-1")]),
        (NODE, [Described(0, "worker-1", "Node", "worker-1")]),
        (f"$ kubectl describe\n{POD}\n{NODE}", [Described(1, "shop/web-0", "Pod", "worker-1"), Described(8, "worker-1", "Node", "worker-1")]),
        (POD.replace("worker-1/10.0.0.5", "<none>"), [Described(0, "shop/web-0", "Pod", "")]),
        (f"{POD}{COLUMNS}x\n{COLUMNS}x\n", [Described(0, "shop/web-0", "Pod", "worker-1"), Described(8)]),
        ("Name: web-0\nNamespace: shop\nEvents:\n", []),
    ],
    ids=["pod", "from Windows", "node", "both", "no node yet", "another table", "no columns"],
)  # fmt: skip
def test_what_is_described(text, told):
    """The first lines of a description name the pod with its node, or the node."""
    assert list(descriptions(text.encode())) == told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"  Warning  FailedMount  3m (x13 over 12m)  kubelet  {SAID}", (13, 9 * MINUTE)),
        (
            f"3m   Warning   FailedMount   pod/web-0   kubelet, worker-1   {SAID}   9m   12   web-0.17a",
            (12, 6 * MINUTE),
        ),
        (f"3m   Warning   FailedMount   pod/web-0   kubelet, worker-1   {SAID}   3m   1   web-0.17a", None),
        (f"  Warning  FailedMount  3m  kubelet  {SAID}", None),
        (f"  9m  3m  12  {{kubelet worker-1}}    Warning  FailedMount  {SAID}", (12, 6 * MINUTE)),
        (
            f"{SEEN}   12   web-0.153bda428c5eccff   Pod             Warning   FailedMount   kubelet, worker-1   {SAID}",
            (12, 6 * MINUTE),
        ),
    ],
)
def test_how_often_and_since_when(line, told):
    """A row stands for all repeats of an event."""
    body = read(line.encode())
    assert body is not None
    assert repeats(body) == told


@pytest.mark.parametrize(
    "line",
    [
        "LAST SEEN   TYPE      REASON      OBJECT      MESSAGE",
        "NAMESPACE   LAST SEEN   TYPE      REASON      OBJECT      MESSAGE",
        "  Type     Reason       Age    From     Message",
        "  ----     ------       ----   ----     -------",
        "  FirstSeen\tLastSeen\tCount\tFrom\t\t\tSubObjectPath\tType\t\tReason\t\tMessage",
        "  ---------\t--------\t-----\t----\t\t\t-------------\t--------\t------\t\t-------",
        "LASTSEEN   FIRSTSEEN   COUNT     NAME      KIND      SUBOBJECT   TYPE      REASON    SOURCE    MESSAGE",
    ],
)
def test_headings(line):
    """The names of the columns say nothing themselves."""
    assert classify(line.encode()) == "chatter"


@pytest.mark.parametrize(
    "line",
    [
        "Warning: FailedMount 3m",
        "3m12s later the pod was gone",
        "3m12s Warning FailedMount of a pod",
        "Normal  people  3m  say  so",
        "Warning  FailedMount",
    ],
)
def test_what_is_no_row(line):
    """Prose about events is prose."""
    assert read(line.encode()) is None


def test_a_row_that_is_quoted():
    """What an answer quotes of a table is read as the table."""
    body = read_body(peel(b">   Warning  BackOff  3m (x5 over 10m)  kubelet, worker-1  Back-off").body)
    assert body is not None
    assert (body.message, node_of(body)) == ("Back-off", "worker-1")


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("  Warning  TaskHung  3m  kernel-monitor, worker-1  INFO: task a:7 blocked", True),
        ("3m  Warning  OOMKilling  node/worker-1  Memory cgroup out of memory", True),
        ("  Warning  TaskHung  3m  kubelet, worker-1  INFO: task a:7 blocked", False),
        ("3m  Warning  SystemOOM  node/worker-1  System OOM encountered", False),
    ],
)
def test_what_the_kernel_said(row, expected):
    """What node-problem-detector found in the kernel's log is the kernel's word, whoever made an event of it."""
    body = read(row.encode())
    assert body is not None
    assert is_kernels(body) is expected


def test_a_row_whose_message_was_cut_off():
    """It is a row, and no part of the message in front of it."""
    body = read(b"  Warning  FailedMount  4s (x7 over 36s)   kubelet   ")
    assert body is not None
    assert (body.fields["source"], body.message) == ("kubelet", "")


def test_a_message_below_its_row():
    """The node is of the source, not the message."""
    row = b"  Warning  FailedMount  2m  kubelet, node-a\n  MountVolume.SetUp failed"
    found = read(row)
    assert found is not None
    assert (found.fields["source"], found.message) == ("kubelet, node-a", "MountVolume.SetUp failed")
