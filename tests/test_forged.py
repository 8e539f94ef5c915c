"""What a pod prints is never a finding about the node: each sick sample, printed by an ordinary container."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.model.options import Options
from kvdiag.model.report import DoubtReason, Report
from kvdiag.model.values import Severity, Verdict

SAMPLES = Path(__file__).parents[1] / "sample-logs"
LOGS = sorted(path for path in SAMPLES.rglob("*.log*") if path.is_file())
STAMP = b"2026-11-20T20:39:21.779765123Z stdout F "
UID = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"


def printed(path: Path, folder: Path, pod: str, container: str = "app") -> Report:
    """Analyze a log as a container of the pod would have printed it."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    log = folder / f"var/log/pods/{pod}_{UID}/{container}/0.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(b"".join(STAMP + line + b"\n" for line in data.splitlines()))
    return analyze(Options(paths=(str(folder),)))


@pytest.mark.parametrize("path", LOGS[:: max(1, len(LOGS) // 24)], ids=lambda path: f"{path.parent.name}-{path.name}")
def test_no_finding_of_medium_or_above(path, tmp_path):
    """Neither as the log of the container, nor beside the log of a node."""
    report = printed(path, tmp_path, "shop_evil")
    assert [one.rule.name for one in report.findings if one.severity >= Severity.MEDIUM] == []
    assert report.problems == ()


DAY = b"Nov 20 20:39:21"
KLOG = b"E1120 20:39:21.000000    2201 x.go:1] "
CGROUP = f"/kubepods/burstable/pod{UID}/0a1b"
POD_LOG = f"/var/log/pods/shop_evil_{UID}/app/0.log"
JOURNALED = {"__REALTIME_TIMESTAMP": "1795208971100000"}
DESCRIBED = b"""Name:             web-0
Namespace:        shop
Containers:
  app:
    Last State:     Terminated
      Reason:       Error
      Message:      %s
      Exit Code:    1
    Ready:          False
    Restart Count:  3
"""
ID = "0a1b2c3d4e5f"
# How else the output of a container reaches a log: the name of the file, and a line as it stands there.
WAYS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "docker, file": (f"var/lib/docker/containers/{ID}/{ID}-json.log", lambda line: record(log=line, stream="stdout")),
    "docker, journal": ("journal.log", lambda line: DAY + b" worker-1 %s[811]: " % ID.encode() + line),
    "CRI-O, journal": ("journal.log", lambda line: DAY + b" worker-1 conmon[811]: " + line),
    "docker, named": ("journal.log", lambda line: DAY + b" worker-1 k8s_app_web-0_shop[811]: " + line),
    "journal as JSON": (
        "j.json",
        lambda line: record(MESSAGE=line, SYSLOG_IDENTIFIER="kubelet", CONTAINER_NAME="kubelet"),
    ),
    "Google Cloud": (
        "g.json",
        lambda line: record(textPayload=line, resource={"labels": {"container_name": "kubelet"}}),
    ),
    "fluent-bit": ("f.json", lambda line: record(message=line, kubernetes={"container_name": "kubelet"})),
    "kubectl --prefix": ("k.log", lambda line: b"[pod/web-0/app] " + line),
    "stern": ("s.log", lambda line: b"web-0 kubelet " + line),
    "kail": ("k.log", lambda line: b"shop/web-0[kubelet]: " + line),
    "Sonobuoy": ("podlogs/shop/web-0/logs/kubelet.txt", lambda line: line),
    "a probe": ("kubelet.log", lambda line: PROBE + b'"' + json.dumps(line.decode())[1:-1].encode() + b'"'),
    "a probe, lines": ("kubelet.log", lambda line: PROBE + b"<\n\t" + line + b"\n >"),
    "a probe, lines in a journal": (
        "kubelet.log",
        lambda line: b"\n".join(
            DAY + b" worker-1 kubelet[2201]: " + part for part in (PROBE + b"<", b"        " + line, b" >")
        ),
    ),
    "journal, a process of a pod": (
        "j.json",
        lambda line: record(MESSAGE=line, SYSLOG_IDENTIFIER="kubelet", _SYSTEMD_CGROUP=CGROUP, **JOURNALED),
    ),
    "journal, a process called kernel": (
        "j.json",
        lambda line: record(MESSAGE=line, SYSLOG_IDENTIFIER="kernel", _TRANSPORT="syslog", **JOURNALED),
    ),
    "journal, short, a process called kernel": ("journal.log", lambda line: DAY + b" worker-1 kernel[811]: " + line),
    "podman, journal": ("journal.log", lambda line: DAY + b" worker-1 podman[811]: " + line),
    "journal export": (
        "j.export",
        lambda line: (
            b"__REALTIME_TIMESTAMP=1795208971100000\nCONTAINER_NAME=web\nSYSLOG_IDENTIFIER=kubelet\nMESSAGE=%s\n" % line
        ),
    ),
    "journal verbose": (
        "j.log",
        lambda line: (
            b"Fri 2026-11-20 20:39:21.100000 UTC [s=0a1b2c3d;i=1]\n    CONTAINER_NAME=web\n"
            b"    SYSLOG_IDENTIFIER=kubelet\n    MESSAGE=" + line
        ),
    ),
    "Loki, by the file": ("l.json", lambda line: record(line=line, labels={"filename": POD_LOG, "job": "kubelet"})),
    "Vector, by the file": ("v.json", lambda line: record(message=line, file=POD_LOG)),
    "Filebeat, by the file": ("f.json", lambda line: record(message=line, log={"file": {"path": POD_LOG}})),
    "Fluentd, by the tag": (
        "f.json",
        lambda line: record(log=line, tag="kubernetes.var.log.containers.web-0_shop_app-0a1b.log"),
    ),
    "CloudWatch, by the stream": (
        "c.json",
        lambda line: record(message=line, logStreamName="kube.var.log.containers.web-0_shop_app-0a1b.log"),
    ),
    "Troubleshoot": ("cluster-resources/pods/logs/shop/web-0/kubelet.log", lambda line: line),
    "a lifecycle hook": (
        "kubelet.log",
        lambda line: (
            KLOG
            + b'"Exec lifecycle hook for Container in Pod failed" execCommand=["sh"] err="x" message='
            + json.dumps(line.decode()).encode()
        ),
    ),
    "the status of a pod": (
        "kubelet.log",
        lambda line: (
            KLOG
            + b'"Patch status for pod" pod="shop/web-0" patch='
            + json.dumps(json.dumps({"message": line.decode()})).encode()
        ),
    ),
    "the configuration of a sandbox": (
        "containerd.log",
        lambda line: (
            b'time="2026-11-20T20:39:21Z" level=debug msg="Request: &RunPodSandboxRequest{Config:&PodSandboxConfig{'
            b'Annotations:map[string]string{note: %s,},},}"' % json.dumps(line.decode())[1:-1].encode()
        ),
    ),
    "the last words of a container": ("d.txt", lambda line: DESCRIBED % line),
    "more last words": ("d.txt", lambda line: DESCRIBED % (b"the end\n" + line)),
    "a dump of the cluster": (
        "logs.txt",
        lambda line: b"==== START logs for container app of pod shop/web-0 ====\n" + line,
    ),
    "an event": (
        "events.json",
        lambda line: json.dumps(
            {
                "kind": "Event",
                "apiVersion": "v1",
                "metadata": {"name": "web-0.1", "namespace": "shop"},
                "involvedObject": {"kind": "Pod", "namespace": "shop", "name": "web-0"},
                "reason": "Unhealthy",
                "message": f"Readiness probe failed: {line.decode()}",
                "type": "Warning",
                "lastTimestamp": "2026-11-20T20:39:21Z",
                "source": {"component": "kubelet", "host": "worker-1"},
            }
        ).encode(),
    ),
    "a command": ("c.log", lambda line: EXEC % line.replace(b'"', rb"\"")),
}
PROBE = (
    b'I1120 20:39:21.000000    2201 prober.go:107] "Probe failed" probeType="Readiness" pod="shop/web-0" podUID="%s"'
    b' containerName="app" probeResult="failure" output=' % UID.encode()
)
EXEC = b'time="2026-11-20T20:39:21Z" level=info msg="ExecSync for \\"0a1b\\" with command [sh -c %s] and timeout 1 (s)"'
SAID = (
    b"F1120 20:39:21.000000    2201 server.go:198] failed to run Kubelet: unable to load bootstrap kubeconfig",
    b"nvme nvme1: Removing after probe failure status: -19",
    b"Nov 20 20:39:21 worker-1 kernel: nvme nvme1: Removing after probe failure status: -19",
    b'time="2026-11-20T20:39:21Z" level=fatal msg="Failed to run CRI service" error="the disk is gone"',
    b"panic: freepages: failed to get all reachable pages (page 640: multiple references)",
)


def record(**entry: object) -> bytes:
    """Give an object as docker, a journal or a collector writes it."""
    told = {key: value.decode() if isinstance(value, bytes) else value for key, value in entry.items()}
    return json.dumps({**told, "time": "2026-11-20T20:39:21Z"}).encode()


@pytest.mark.parametrize("way", WAYS)
def test_the_output_of_a_container_by_any_way(tmp_path, way):
    """Whatever kubelet, the runtime or the kernel would print is no finding about them where a container printed it."""
    name, wrap = WAYS[way]
    log = tmp_path / name
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"".join(wrap(line) + b"\n" for line in SAID))
    found = analyze(Options(paths=(str(log),), year=2026)).findings
    assert [one.rule.name for one in found if one.severity >= Severity.MEDIUM] == []


@pytest.mark.parametrize("line", SAID[:2] + SAID[3:])
def test_the_same_lines_of_the_host(tmp_path, line):
    """What the lines above say is found where the program that they are of prints them."""
    who = b"kernel" if line.startswith(b"nvme") else b"containerd[900]" if line[:1] in b"tp" else b"kubelet[2201]"
    (tmp_path / "journal.log").write_bytes(DAY + b" worker-1 " + who + b": " + line + b"\n")
    assert analyze(Options(paths=(str(tmp_path / "journal.log"),), year=2026)).findings != ()


def test_a_program_of_the_host_that_quotes(tmp_path):
    """The sender of a line is the one that the journal names, whomever its text names."""
    (tmp_path / "journal.log").write_bytes(DAY + b" worker-1 sshd[811]: " + SAID[2] + b"\n")
    assert analyze(Options(paths=(str(tmp_path / "journal.log"),), year=2026)).findings == ()


def test_a_driver_in_the_log_of_a_nameless_container(tmp_path):
    """Where nothing names the container, what its output alone shows is possible, and nothing is to be changed."""
    lines = (SAMPLES / "hostpath-driver-lost-state" / "csi-hostpath.log").read_bytes().splitlines()
    (tmp_path / "x.log").write_bytes(b"".join(STAMP + line + b"\n" for line in lines))
    (found, *_) = analyze(Options(paths=(str(tmp_path / "x.log"),))).findings
    assert DoubtReason.AUTHOR in {doubt.reason for doubt in found.doubts}
    assert [fix for fix in found.texts.all.fix if fix.after] == []


@pytest.mark.parametrize(("namespace", "changing"), [("kube-system", 1), ("shop", 0)])
def test_a_driver_in_a_namespace_of_users(tmp_path, namespace, changing):
    """Anyone may call a container csi-plugin: what only such a log shows is possible, and nothing is to be changed."""
    driver = SAMPLES / "hostpath-driver-lost-state" / "csi-hostpath.log"
    (found, *_) = printed(driver, tmp_path, f"{namespace}_csi-node", "csi-plugin").findings
    doubts = [doubt for doubt in found.doubts if doubt.reason is DoubtReason.AUTHOR]
    assert (len(doubts), len([fix for fix in found.texts.all.fix if fix.after])) == (1 - changing, changing)
    assert found.verdict is Verdict.POSSIBLE


def test_the_time_of_the_runtime_counts(tmp_path):
    """A time far from that at which the runtime took the line is the container's invention."""
    log = tmp_path / f"var/log/pods/kube-system_csi-node_{UID}/driver/0.log"
    log.parent.mkdir(parents=True)
    within = b'time="%s" level=error msg="failed"\n'
    near, far = b"2026-11-20T20:39:20Z", b"2031-01-01T00:00:00Z"
    log.write_bytes(b"".join(STAMP + within % time for time in (near, far, near)))
    (read,) = analyze(Options(paths=(str(tmp_path),))).inputs
    assert read.ends - read.begins < 10_000_000
