"""What may be of level warning or worse is found in every notation, alone and mixed with others."""

from __future__ import annotations

import pytest

from kvdiag.analysis.error_lines import suspects
from kvdiag.analysis.error_lines.suspects import LevelMarks

INFO = b'I0312 08:15:00.100000    2201 kubelet.go:2447] "SyncLoop ADD" source="api" pods=["shop/web-0"]'
FOUND = [
    b'E0312 08:15:00.100000    2201 kubelet.go:2916] "Container runtime network not ready"',
    b"W0312 08:15:00.100000    2201 reflector.go:324] failed to list",
    b"Mar 12 08:15:00 worker-1 kubelet[2201]: F0312 08:15:00.100000    2201 server.go:1] gone",
    b"2024-03-12T08:15:00.1Z stderr F E0312 08:15:00.100000    2201 main.go:1] gone",
    b'{"log":"E0312 08:15:00.100000    2201 main.go:1] gone\\n","stream":"stderr","time":"2024-03-12T08:15:00.1Z"}',
    b'time="2024-03-12T08:15:00.1Z" level=warning msg="cleanup warnings"',
    b"level=error ts=2024-03-12T08:15:00.1Z msg=gone",
    b"lvl=warn msg=gone",
    b'{"level":"error","ts":1710231300.1,"caller":"main.go:1","msg":"gone"}',
    b'{"ts":1710231300100.1,"caller":"main.go:1","msg":"gone","err":"it went"}',
    b'{"ts":1710231300100.1,"caller":"a.go:1","msg":"gone","pod":{"name":"vault-0","namespace":"v"}}',
    b"ERRO[0012] gone",
    b"\x1b[33mWARN\x1b[0m[0012] gone",
    b"2024-03-12T08:15:00.100Z\tERROR\tservice/node.go:404\tgone",
    b"2024-03-12T08:15:00.100Z  error  service/node.go:404 gone",
    b"E reconciler.go:388] gone",
    b'Operation for "\\"csi.example.org^1\\"" failed. No retries permitted until 2024-03-12 08:17:00 (durationBeforeRetry 2m2s).',
    b"Mar 12 08:15:00.1: INFO: At 2024-03-12 08:14:00 - event for web-0: {kubelet worker-1} FailedMount: no such device",
    b'[   72.660743] [talos] retrying error: failed to pull image "ghcr.io/siderolabs/installer:v1.7.6"',
    b"I0312 08:15:00.100000       1 x.go:7] /csi.v1.Node/NodeUnpublishVolume: REP 7: rpc error: code = Internal desc = gone",
    b'I0312 08:15:00.100000    2201 eviction_manager.go:349] "Eviction manager: must evict pod(s) to reclaim" resourceName="memory"',
    b'time="2024-03-12T08:15:00.1Z" level=info msg="Container cf8d failed to exit within 10 seconds of kill - trying direct SIGKILL"',
    b"Mar 12 08:15:00 worker-1 node-start[77]: /usr/local/bin/node-start: line 17: /usr/bin/a: No such file or directory",
    b'2024-03-12 08:15:00.100000 I | embed: rejected connection from "192.0.2.7:41652" (error "remote error: tls: bad certificate", ServerName "")',
    b'2024-03-12 08:15:00.100000 I | etcdmain: rejected connection from "192.0.2.7:41652" (error "remote error: tls: bad certificate", ServerName "")',
    b'I0312 08:15:00.100000       1 controller.go:881] cannot start watcher for PVC shop/data: events is forbidden: User "system:serviceaccount:shop:nfs" cannot list resource "events" in API group "" in the namespace "shop"',
    b"FATA[0305] not healthy, log: I0207 10:28:17.110391       1 plugins.go:161] Loaded",
    b"    FATA[0305] open /etc/x.yaml: no such file or directory",
    b"2024-03-12T08:15:00.100000000Z stderr F PANI[0305] gone",
    b'{"SYSLOG_IDENTIFIER":"rke","MESSAGE":"FATA[0123] gone"}',
    rb'{"log":"\u001b[31mFATA\u001b[0m[0003] gone\n","stream":"stderr","time":"2024-03-12T08:00:03.000000000Z"}',
    rb'{"log":"2024-03-12 08:15:00.100000 I | embed: rejected connection from \"192.0.2.7:41652\" (error \"EOF\")\n"}',
    b'time="2024-03-12T08:15:00.1Z" level=fatal msg="gone, log: I0207 10:28:17.110391       1 plugins.go:161] Loaded"',
    b"panic: runtime error: index out of range",
    b"Mar 12 08:15:00 worker-1 kubelet[2201]: panic: gone",
]
PASSED_OVER = [
    b'time="2024-03-12T08:15:00.1Z" level=info msg="StopPodSandbox returns successfully"',
    b'{"level":"info","ts":1710231300.1,"caller":"main.go:1","msg":"fine"}',
    b'{"ts":1710231300100.1,"caller":"main.go:1","msg":"fine","v":2}',
    b"Mar 12 08:15:00 worker-1 systemd[1]: Started kubelet.",
    b"Mar 12 08:15:00.1: INFO: At 2024-03-12 08:14:00 - event for web-0: {kubelet worker-1} Started: Started container web",
    b"[   72.660743] [talos] task startAllServices (1/1): service kubelet is running",
    b'time="2024-03-12T08:15:00.1Z" level=info msg="Container cf8d failed to exit within 30 seconds of signal 15 - using the force"',
    b'I0312 08:15:00.100000       1 proxy.go:35] front: rejected connection from "192.0.2.7:41652", not in the list',
    INFO,
]


def found(data: bytes) -> list[bytes]:
    """Give the lines themselves."""
    return [
        data[begin:end] for begin, end in LevelMarks().suspects(data, data.count(b"\n") + (not data.endswith(b"\n")))
    ]


@pytest.mark.parametrize("line", FOUND)
@pytest.mark.parametrize("before", [b"", INFO + b"\n", b"some text\n\n"])
@pytest.mark.parametrize("after", [b"", b"\n", b"\n" + INFO + b"\n"])
def test_found(line, before, after):
    """A line is found first, last and between others, once."""
    assert found(before + line + after) == [line]


@pytest.mark.parametrize("line", PASSED_OVER)
def test_passed_over(line):
    """What is of level info in its own notation is not even looked at."""
    assert found(INFO + b"\n" + line + b"\n") == []


def test_all_in_order():
    """Mixed notations are found in the order of their lines."""
    assert found(b"\n".join([*FOUND, *PASSED_OVER, *FOUND])) == [*FOUND, *FOUND]


def test_a_long_log_is_searched_by_a_scanner(monkeypatch):
    """Reports in lines of level info are the same as in a short log, equal lines included."""
    lines = [*FOUND, *PASSED_OVER, *FOUND, b"I0312 08:15:00.100000 1 x.go:7] Warning", FOUND[-5], FOUND[-5]]
    wanted = found(b"\n".join(lines))
    monkeypatch.setattr(suspects, "_WORTH_A_SCANNER", 0)
    assert found(b"\n".join(lines)) == wanted


def test_each_report_has_a_word_of_the_scanner():
    """Otherwise a long log would lose what a short one shows."""
    reports = [*suspects._REPORTS, *suspects._REPORTS_JSON, suspects._ERROR]
    assert [one for one in reports if not any(word in one for word in suspects._REPORT_WORDS)] == []
