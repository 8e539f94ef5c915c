"""Error lines are counted exactly and grouped by what they say; what findings and entries explain is no group."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from kvdiag.clock import from_datetime
from kvdiag.commands.parse import records
from kvdiag.model.options import Options
from kvdiag.model.values import Level
from kvdiag.unexplained import lines as room
from kvdiag.unexplained.tally import CONTROLLERS, NODE
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
    assert said.lines == said.rest == sum(count for _, count in groups)


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


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (DESCRIBED, {"it is odd: no such thing", "it cannot be attached: no such thing"}),
        (LISTED, {"it is odd: no such thing"}),
    ],
)
def test_rows_of_kubectl(errors_of, table, said):
    """A warning among the events of kubectl is counted where it tells of a node; a scheduler's or an autoscaler's not."""
    assert {group.says for group in errors_of(events=table).groups} == said


def test_a_group_tells_all_of_its_lines(errors_of):
    """How many, since when, what about, and where the first of them stands."""
    lines = [klog(f'a.go:1] "No" err="it is z" pod="shop/web-{n}"', f"08:1{n}:00") for n in range(3)]
    (group,) = errors_of(kubelet=KUBELET + "".join(lines)).groups
    assert (group.component, group.level, group.says) == ("kubelet", Level.ERROR, "No — it is z")
    assert (group.ends or 0) - (group.begins or 0) == 120_000_000
    assert group.subjects == ("shop/web-0", "shop/web-1", "shop/web-2")
    assert str(group.origin) == "kubelet.log:2"


def test_what_goes_on_comes_first(errors_of):
    """What still came when the log ended stands before what came more often and has ended."""
    ended = "".join(klog('a.go:1] "Ended"', f"08:15:{n:02}") for n in range(9))
    goes_on = "".join(klog('b.go:1] "Goes on"', f"09:{n:02}:00") for n in range(5))
    said = errors_of(kubelet=KUBELET + ended + goes_on)
    assert [(group.where, group.goes_on) for group in said.groups] == [("b.go:1", True), ("a.go:1", False)]


def test_lines_are_counted_as_parse_tells_them(thin):
    """Each record of level warning or worse of the node's programs counts once."""
    worse = [one for one in records(thin.options, lambda _problem: None) if one.level in room.WORSE]
    ours = [one for one in worse if one.component in {*NODE, *CONTROLLERS, ""}]
    assert thin.report.errors.lines == len(ours) > 0


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


def test_logs_of_others_do_not_count(errors_of):
    """An API server's errors are its own, and so are those of any other program in a journal."""
    journal = "".join(
        f"Mar 12 08:15:0{n} worker-1 {who}[7]: E0312 08:15:0{n}.100000       7 a.go:1] gone\n"
        for n, who in enumerate(("kubelet", "kube-apiserver", "calico-node", "containerd"))
    )
    said = errors_of(journal=journal)
    assert {group.component for group in said.groups} == {"kubelet", "containerd"}
    assert errors_of(**{"kube-apiserver": network("08:15:00")}).lines == 0


def test_two_logs_are_one_list(errors_of):
    """The same error of two nodes is one group; it goes on when it does on one of them."""
    last = klog('b.go:1] "Later"', "09:15:00", "I")
    text = KUBELET + network("08:15:00") + network("08:15:20")
    (group,) = errors_of(kubelet=text + last, **{"kubelet-2": text}).groups
    assert (group.count, group.goes_on, str(group.origin)) == (4, True, "kubelet.log:2")


def test_bounded(errors_of, monkeypatch):
    """Beyond the limit lines are counted by the hour, and groups for which there is no room as not listed."""
    monkeypatch.setattr(room.Allowance.__init__, "__defaults__", (10,))
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
