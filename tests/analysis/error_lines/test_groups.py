"""Error lines are counted exactly and grouped by what they say; what findings and entries explain is no group."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.analysis.error_lines import lines as room
from kvdiag.analysis.parse import records
from kvdiag.base.clock import from_datetime
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options
from kvdiag.model.values import Level
from tests.errorlines import KUBELET, klog, network


@pytest.mark.parametrize(
    ("lines", "groups"),
    [
        ([network("08:15:00"), network("08:15:01")], [("widget.go:17", 2)]),
        ([network("08:15:00"), network("08:15:01", "W")], [("widget.go:17", 1), ("widget.go:17", 1)]),
        ([klog('a.go:1] "No" err="x: y1 is z"'), klog('a.go:1] "No" err="w: y2 is z"')], [("a.go:1", 2)]),
        (
            [klog('a.go:1] "No" err="x: it is z"'), klog('a.go:1] "No" err="x: it is w"')],
            [("a.go:1", 1), ("a.go:1", 1)],
        ),
        ([klog('a.go:1] "No"'), klog('a.go:2] "No"')], [("a.go:1", 1), ("a.go:2", 1)]),
        ([klog("a.go:1] lost 3 of 7"), klog("a.go:1] lost 12 of 70")], [("a.go:1", 2)]),
        (
            [
                klog(f'a.go:1] "No" err="pod {uid} is gone"')
                for uid in ("1f0c3a52-8d7b-4e6f-9a10", "24beeabc-deff-4e6f-9a10")
            ],
            [("a.go:1", 2)],
        ),
        ([klog('a.go:1] "Fine"', level="I")], []),
        (["E0312 is no header of klog\n", "W: nor this\n"], []),
    ],
)
def test_groups(errors_of, lines, groups):
    """Lines of one call with the same last clause are one group, whatever names and numbers they have."""
    said = errors_of(kubelet=KUBELET + "".join(lines))
    assert [(group.where, group.count) for group in said.groups] == groups
    assert said.lines == said.unexplained == sum(count for _, count in groups)


DESCRIBED = """\
Events:
  Type     Reason            Age                 From                     Message
  ----     ------            ----                ----                     -------
  Normal   Pulled            64m                 kubelet                  Container image already present
  Warning  FailedOddly       62m (x12 over 64m)  kubelet, worker-1        it is odd: no such thing
  Warning  FailedAttachOdd   62m                 attachdetach-controller  it cannot be attached: no such thing
  Warning  FailedScheduling  62m                 default-scheduler        0/3 nodes are available
  Warning  FailedGetScale    62m                 horizontal-pod-autoscaler  no such deployment
"""
LISTED = """\
LAST SEEN   TYPE      REASON             OBJECT      MESSAGE
3m          Warning   FailedOddly        pod/web-0   it is odd: no such thing
3m          Warning   FailedScheduling   pod/web-1   0/3 nodes are available
3m          Normal    Pulled             pod/web-1   Container image already present
"""
DATED = """\
LAST\tFIRST\tTYPE\tREASON\tOBJECT\tCOUNT\tCOMPONENT\tHOST\tMESSAGE
2024-03-12T08:15:00Z\t2024-03-12T08:10:00Z\tWarning\tVolumeResizeOdd\tpersistentvolumeclaim/shop/data\t3\tresizer\t\tit cannot grow: no such thing
2024-03-12T08:15:00Z\t2024-03-12T08:10:00Z\tNormal\tPulled\tpod/shop/web-1\t3\tkubelet\tworker-1\tContainer image already present
"""


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            DESCRIBED,
            {
                ("kubelet", "FailedOddly", "it is odd: no such thing"),
                ("attachdetach-controller", "FailedAttachOdd", "it cannot be attached: no such thing"),
                ("default-scheduler", "FailedScheduling", "… nodes are available"),
                ("horizontal-pod-autoscaler", "FailedGetScale", "no such deployment"),
            },
        ),
        (
            LISTED,
            {
                ("events", "FailedOddly", "it is odd: no such thing"),
                ("events", "FailedScheduling", "… nodes are available"),
            },
        ),
        (DATED, {("resizer", "VolumeResizeOdd", "it cannot grow: no such thing")}),
    ],
)
def test_rows_of_kubectl(errors_of, table, said):
    """Each warning among the events of kubectl is counted, whoever saw it, by its reason."""
    groups = errors_of(events=table).groups
    assert {(group.component, group.where, group.message) for group in groups} == said
    assert all(group.message.rpartition("… ")[2] in group.sample for group in groups)


def test_a_group_tells_all_of_its_lines(errors_of):
    """How many, since when, what about, and where the first of them stands."""
    lines = [klog(f'a.go:1] "No" err="it is z" pod="shop/web-{n}"', f"08:1{n}:00") for n in range(3)]
    (group,) = errors_of(kubelet=KUBELET + "".join(lines)).groups
    assert (group.component, group.level, group.message) == ("kubelet", Level.ERROR, "No — it is z")
    assert (group.ends or 0) - (group.begins or 0) == 120_000_000
    assert group.subjects == ("shop/web-0", "shop/web-1", "shop/web-2")
    assert str(group.origin) == "kubelet.log:2"


def test_the_output_of_mount_behind_a_carrier(errors_of):
    """A runtime prints its carrier before each line of a message; the last lines have the cause."""
    target = "/var/lib/kubelet/plugins/kubernetes.io/csi/disk.example.org/1f/globalmount"
    said = [
        "E0312 08:15:00.000000       1 mount_linux.go:195] Mount failed: exit status 32",
        "Mounting command: mount",
        f"Mounting arguments: -t nfs 192.0.2.7:/pvc-1 {target}",
        f"Output: mount: {target}: mount point does not exist.",
        "       dmesg(1) may have more information after failed mount system call.",
    ]
    lines = [f"2024-03-12T08:15:00.43060878{at}Z stderr F {line}" for at, line in enumerate(said)]
    (group,) = errors_of(csi="\n".join(lines)).groups
    assert group.sample.count("\n") == len(said) - 1
    assert group.anatomy is not None
    assert (group.anatomy.primitive, group.anatomy.object) == ("MOUNTPOINT_MISSING", target)


def test_what_goes_on_comes_first(errors_of):
    """What still came when the log ended stands before what came more often and has ended."""
    ended = "".join(klog('a.go:1] "Ended"', f"08:15:{n:02}") for n in range(9))
    goes_on = "".join(klog('b.go:1] "Goes on"', f"09:{n:02}:00") for n in range(5))
    said = errors_of(kubelet=KUBELET + ended + goes_on)
    assert [(group.where, group.is_ongoing) for group in said.groups] == [("b.go:1", True), ("a.go:1", False)]


def test_lines_are_counted_as_parse_tells_them(thin):
    """Each record of level warning or worse counts once; so does an event of type Warning, and a node that is NotReady."""
    told = list(records(thin.options, lambda _problem: None))
    not_ready = {
        one.origin for one in told if "became not ready" in one.message or one.fields.get("event") == "NodeNotReady"
    }
    worse = [
        one for one in told if one.level in room.WORSE or one.fields.get("type") == "Warning" or one.origin in not_ready
    ]
    assert thin.report.errors.lines == len(worse) > 0


@pytest.mark.parametrize(
    ("since", "until", "count"), [(None, None, 6), (2, None, 4), (None, 2, 3), (2, 4, 3), (10, None, 0)]
)
def test_a_time_that_was_asked_for(errors_of, since, until, count):
    """Only lines of that time count, and what goes on is judged by its end."""
    begins = from_datetime(datetime(2024, 3, 12, 8, 15, tzinfo=UTC))
    text = KUBELET + "".join(network(f"08:15:0{n}") for n in range(6))
    options = Options(
        year=2024,
        zone=0,
        since=None if since is None else begins + since * 1_000_000,
        until=None if until is None else begins + until * 1_000_000 + 500_000,
    )
    assert errors_of(options, kubelet=text).lines == count


def test_programs_of_the_node_come_first(errors_of):
    """The errors of any program count; those of the node's programs stand before others, however many these are."""
    journal = "".join(
        f"Mar 12 08:15:0{n} worker-1 {who}[7]: E0312 08:15:0{n}.100000       7 a.go:1] gone\n"
        for n, who in enumerate(("calico-node", "kube-apiserver", "kubelet", "calico-node", "journal"))
    )
    said = errors_of(journal=journal)
    assert [(group.component, group.count) for group in said.groups] == [
        ("kubelet", 1), ("calico-node", 2), ("kube-apiserver", 1), ("journal", 1)
    ]  # fmt: skip
    assert errors_of(**{"kube-apiserver": network("08:15:00")}).lines == 1


@pytest.mark.parametrize(
    ("line", "level"),
    [
        ('Mar 12 08:15:00 n1 dqlite[7]: time="2024-03-12T08:15:00Z" level=fatal msg="it is damaged"', Level.FATAL),
        ("Mar 12 08:15:00 n1 kernel: neighbour: arp_cache: neighbor table overflow!", Level.ERROR),
        ("\t[ERROR CRI]: container runtime is not running: output: it is not there", Level.ERROR),
        ("\t[WARNING Hostname]: hostname could not be reached", Level.WARNING),
        ("FATA[0003] pulling image failed: it is not there", Level.FATAL),
        ('plugin type="portgate" name="net" failed (add): it is not there', Level.ERROR),
        ("failed to frobnicate it: it is not there", Level.ERROR),
        ("[Tue Mar 12 08:15:00 2024] NETDEV WATCHDOG: eth1 (igb): transmit queue 3 timed out", Level.ERROR),
        ("Mar 12 08:15:00 n1 kernel: megaraid_sas 0000:5a:00.0: [30]waiting for 65 commands to complete for scsi0", Level.ERROR),
        ("[   17.031234] NETDEV WATCHDOG: eth0 (igb): transmit queue 3 timed out", Level.ERROR),
        ("  Normal  NodeNotReady  10s  kubelet  Node n1 status is now: NodeNotReady", Level.WARNING),
        ("[2024-03-12 08:15:00.123][1][critical][main] [source/server/server.cc:1] gone", Level.ERROR),
        ("ts=2024-03-12T08:15:00.000Z caller=main.go:1 level=error msg=gone", Level.ERROR),
        ("2024-03-12T08:15:00.123Z error vpxd[1719] [Originator@6876 sub=Fcd] CNS: no controller", Level.ERROR),
        ("2024-03-12T08:15:00.123Z warning hostd[1719] [Originator@6876 sub=Fcd] slow", Level.WARNING),
        ("cluster 2024-03-12T08:15:00.123+0000 mon.a (mon.0) 12 : cluster [WRN] Health check failed", Level.WARNING),
        ("[2024-03-12 08:15:00.823020] E [glusterfsd-mgmt.c:1388:mgmt_getspec_cbk] 0-mgmt: it is not supported", Level.ERROR),
        ("[2024-03-12 08:15:00.823020] W [MSGID: 101095] [xlator.c:392:xlator_dynload] 0-xlator: gone", Level.WARNING),
        ("[2024-03-12 08:15:00.823020] I [MSGID: 100030] [glusterfsd.c:2865:main] 0-a: Started running", None),
        ("2024-03-12T08:15:00.123+0000 7f1b2c3d4e5f -1 bluestore(/var/lib/ceph/osd/ceph-0) _open_db gone", Level.ERROR),
        ("debug 2024-03-12T08:15:00.123+0000 7f1b2c3d4e5f -1 bluestore(/a) _open_db gone", Level.ERROR),
        ("debug 2024-03-12T08:15:00.123+0000 7f1b2c3d4e5f  1 bluestore(/a) _mount path /a", None),
        ("Mar 12 08:15:00 n1 systemd[1]: widget.service: Scheduled restart job, restart counter is at 812.", Level.ERROR),
        ("Mar 12 08:15:00 n1 systemd[1]: widget.service: Scheduled restart job, restart counter is at 3.", None),
        ("node-1 widget[2201]: Error: it is gone", Level.ERROR),
        ("kube-system widget-s5mh2 widget modinfo: ERROR: Module openvswitch not found.", Level.ERROR),
        ("1.7102313e+09\tERROR\tcontrollers.Upgrade\tFailed to reconcile\t{}", Level.ERROR),
        ("2024/03/12 08:15:00 Error: it is gone", Level.ERROR),
        ("Mar 12 08:15:00 n1 systemd[1]: Failed to start Widget Service.", Level.ERROR),
        ("Mar 12 08:15:00 n1 dbus-daemon[7]: [system] Failed to activate service 'a.b': timed out", Level.ERROR),
        ("Mar 12 08:15:00 n1 etcd[7]: 2024-03-12 08:15:00.126551 W | etcdserver: it took too long", Level.WARNING),
        ("[ERROR] plugin/errors: 2 a.example.org. A: i/o timeout", Level.ERROR),
        ("2024-03-12 08:15:00.306 [WARNING][57] felix/widget.go 407: gone", Level.WARNING),
        ("2024-03-12T08:15:00.306Z stderr F Error: it is gone", Level.ERROR),
        ('{"severity":"ERROR","message":"it is gone","time":"2024-03-12T08:15:00Z"}', Level.ERROR),
        ('Mar 12 08:15:00 n1 k3s[7]: {"level":"warn","ts":"2024-03-12T08:15:00Z","caller":"wal/wal.go:7","msg":"slow"}', Level.WARNING),
        ("I0312 08:15:00.100000       1 connection.go:184] GRPC error: rpc error: code = Internal desc = gone", Level.ERROR),
        ('I0312 08:15:00.100000       1 connection.go:264] "GRPC response" response="{}" err="rpc error: code = Internal desc = gone"', Level.ERROR),
        ('I0312 08:15:00.100000       1 event.go:307] "Event occurred" object="a/b" kind="Pod" type="Warning" reason="Odd" message="gone"', Level.WARNING),
        ("I0312 08:15:00.100000       1 event.go:285] Event(v1.ObjectReference{Kind:\"Pod\"}): type: 'Warning' reason: 'Odd' gone", Level.WARNING),
        ("I0312 08:15:00.100000       1 connection.go:184] GRPC error: <nil>", None),
        ("Mar 12 08:15:00 n1 start[7]: /usr/bin/start: line 17: /usr/bin/widget: No such file or directory", Level.ERROR),
        ("[FAILED] Failed to start Widget configuration.", Level.ERROR),
        ("Mar 12 08:15:00 n1 start[7]: the text of line 17: it is there", None),
        ("Mar 12 08:15:00 n1 systemd[1]: Started Widget Service.", None),
        ("Mar 12 08:15:00 n1 kernel: usb 1-1: new high-speed USB device", None),
        ("Mar 12 08:15:00 n1 app[7]: the last error was long ago", None),
        ('{"caller":"main.go:157","event":"startUpdate","msg":"start of service update","ts":"2024-03-12T08:15:00Z"}', None),
    ],
)  # fmt: skip
def test_every_program_and_notation(errors_of, line, level):
    """Whoever reports a failure in whatever notation, it is counted; of what reports none nothing is."""
    said = errors_of(journal=f"{line}\n")
    groups = [(group.level, group.count, group.sample) for group in (*said.groups, *said.known)]
    assert groups == ([(level, 1, line)] if level else [])


def test_a_row_that_stands_for_many_times(errors_of):
    """An event that was seen fifteen times is told so often, since the first time, and goes on."""
    (group,) = errors_of(
        events="  Warning  Odd  1s (x15 over 56m)  kubelet  it is gone\n  Normal  Fine  1s  kubelet  it is there\n"
    ).groups
    assert (group.count, group.is_ongoing) == (15, True)
    assert group.ends - group.begins >= 55 * 60_000_000


def test_two_logs_are_one_list(errors_of):
    """The same error of two nodes is one group; it goes on when it does on one of them."""
    last = klog('b.go:1] "Later"', "09:15:00", "I")
    text = KUBELET + network("08:15:00") + network("08:15:20")
    (group,) = errors_of(kubelet=text + last, **{"kubelet-2": text}).groups
    assert (group.count, group.is_ongoing, str(group.origin)) == (4, True, "kubelet.log:2")


def test_bounded(errors_of, monkeypatch):
    """Beyond the limit lines are counted by the hour, and groups for which there is no room as not listed."""
    monkeypatch.setattr(room.LineQuota.__init__, "__defaults__", (10,))
    monkeypatch.setattr(room, "MOST_GROUPS", 3)
    text = KUBELET + "".join(klog(f'{name}.go:1] "No"') for name in "abcdef" * 20)
    said = errors_of(kubelet=text)
    assert said.lines == 120
    assert [group.count for group in said.groups] == [20, 20, 20]
    assert said.unlisted == 60


def test_a_crash_is_one_line(errors_of):
    """The lines at the head of a crash that may each name it are one."""
    text = KUBELET + "panic: it is gone\n\tpanic: again\n\ngoroutine 1 [running]:\nmain.main()\n"
    (group,) = errors_of(kubelet=text).groups
    assert (group.level, group.count) == (Level.FATAL, 1)


@pytest.mark.parametrize("dated", ["2024-03-12T08:16:00.100000000Z", "2024-03-13T08:16:00.100000000Z"])
def test_the_year_of_an_error_line_is_that_of_the_dated_lines_around_it(dated):
    """A klog line in the log of a program that logs dates, which no rule knows, is not of this year."""
    first, last = (
        f'time="{time}" level=info msg="nothing else"\n' for time in ("2024-03-12T08:14:00.100000000Z", dated)
    )
    log = TextInput("containerd.log", (first + network("08:15:00") + last).encode())
    (group,) = analyze(Options(zone=0), texts=[log]).errors.groups
    assert group.begins == from_datetime(datetime(2024, 3, 12, 8, 15, 0, 100_000, tzinfo=UTC))


def test_json_of_logrus_between_its_text_lines(errors_of):
    """They are one group with the words that are printed, also below a text line of the same process."""
    text = (
        'time="2024-03-12T08:14:00.100000000Z" level=error msg="the widget turns no more" error="spin: it is stuck"\n'
    )
    asjson = (
        '{"error":"spin: it is stuck","level":"error","msg":"the widget turns no more","time":"2024-03-12T08:14:01Z"}\n'
    )
    (group,) = errors_of(Options(), containerd=text + asjson + text).groups
    assert group.count == 3
