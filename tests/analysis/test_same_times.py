"""A line has one time and one author, whichever command tells it."""

from __future__ import annotations

import json

import pytest

from kvdiag.analysis.case import Case
from kvdiag.analysis.parse import records
from kvdiag.report.jsontext import event_line, record_line

JOURNAL = """\
-- Logs begin at Fri 2022-03-04 06:20:01 UTC, end at Sat 2022-03-05 06:20:01 UTC. --
Mar 04 23:59:58 node-a kubelet[811]: I0304 23:59:58.000000     811 kubelet.go:2447] "SyncLoop ADD" source="api" pods=["shop/web-0"]
Mar 05 00:00:01 node-a kubelet[811]: I0305 00:00:01.000000     811 kubelet.go:2460] "SyncLoop REMOVE" source="api" pods=["shop/web-0"]
"""
CONTAINERD = """\
Mar 05 05:29:58 node-a containerd[700]: time="2022-03-04T23:59:58.000000000Z" level=info msg="StopPodSandbox for \\"1f0c3a528d7b1f0c3a528d7b1f0c3a528d7b1f0c3a528d7b1f0c3a528d7b1f0c\\""
"""
DRIVER = """\
I0305 00:00:02.000000       1 server.go:101] GRPC call: /csi.v1.Node/NodeGetInfo
"""


def times(kvdiag, command, *paths, **options):
    """Give the time of each line, by source and line."""
    return {key: time for key, (time, _) in said(kvdiag, command, *paths, **options).items()}


def said(kvdiag, command, *paths, **options):
    """Give time and component of each line, by source and line."""
    return placed(map(json.loads, kvdiag(command, *paths, **options).stdout.splitlines()))


def placed(told):
    """Give time and component of what stands on each line."""
    return {(one["source"], one["line"]): (one["time"], one["component"]) for one in told}


def test_samples(thin):
    """Each event of a sample has the time and the component that its line has in `parse`."""
    parsed = placed(map(record_line, records(thin.options, pytest.fail)))
    recognised = placed(map(event_line, Case(thin.options).read().history.events))
    assert recognised
    # An event may stand on a line within a record of many lines, which `parse` tells by its first.
    common = recognised.keys() & parsed.keys()
    assert len(common) > len(recognised) // 2
    assert {key: recognised[key] for key in common} == {key: parsed[key] for key in common}


def test_logs_that_tell_each_other_the_year(kvdiag, tmp_path):
    """The year of a journal's header and the host's zone hold for all logs beside it, in all commands."""
    for name, text in {"kubelet.log": JOURNAL, "containerd.log": CONTAINERD, "driver.log": DRIVER}.items():
        (tmp_path / name).write_text(text)
    parsed = times(kvdiag, "parse", tmp_path)
    (at,) = [moment for (source, line), moment in parsed.items() if source.endswith("/kubelet.log") and line == 3]
    assert at == "2022-03-04T18:30:01.000000Z"
    (driver,) = [moment for (source, _), moment in parsed.items() if source.endswith("/driver.log")]
    assert driver == "2022-03-05T00:00:02.000000Z"
    recognised = times(kvdiag, "events", tmp_path)
    assert recognised == {key: parsed[key] for key in recognised}
    read = json.loads(kvdiag("analyze", tmp_path, "-o", "json").stdout)["inputs"]
    assert {one["source"].rpartition("/")[2]: one["ends"] for one in read}["kubelet.log"] == at


def test_a_pipe(kvdiag):
    """Of a pipe the first lines are printed by what later ones tell."""
    told = [
        json.loads(line)["time"]
        for line in kvdiag("parse", stdin=(JOURNAL.partition("\n")[2] + JOURNAL).encode()).stdout.splitlines()
    ]
    assert {time[:4] for time in told if time} == {"2022"}


NEW_YEAR = """\
Log file created at: 2023/12/31 20:00:00
I1231 23:50:00.000000     811 kubelet.go:2447] "SyncLoop ADD" source="api" pods=["shop/web-0"]
I1231 23:58:00.000000     811 words.go:1] "Nothing that has a name"
I0101 00:02:00.000000     811 words.go:1] "Nothing that has a name"
I0101 00:10:00.000000     811 kubelet.go:2460] "SyncLoop REMOVE" source="api" pods=["shop/web-0"]
I0101 00:12:00.000000     811 words.go:1] "Nothing that has a name"
"""


def test_new_year(kvdiag, tmp_path):
    """Also a line that is no event is of the year in which it stands, before and behind New Year."""
    (tmp_path / "kubelet.log").write_text(NEW_YEAR)
    parsed = times(kvdiag, "parse", tmp_path)
    told = [moment for moment in parsed.values() if moment]
    assert [moment[:10] for moment in told] == ["2023-12-31"] * 2 + ["2024-01-01"] * 3
    recognised = times(kvdiag, "events", tmp_path)
    assert len(recognised) == 2
    assert recognised == {key: parsed[key] for key in recognised}
