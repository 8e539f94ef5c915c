"""What collectors make, given as it is: the nodes stay apart, and a volume that went from one to the other is one."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import tarfile
import zipfile
from collections import defaultdict
from pathlib import Path

import pytest
import yaml

_spec = importlib.util.spec_from_file_location("nodes", Path(__file__).parent / "test_nodes.py")
nodes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(nodes)
HANDLE = "vol-0a1b2c3d4e5f"


def bare(folder: Path, *, is_unstaged: bool) -> tuple[bytes, bytes]:
    """The kubelet logs of two nodes as files have them: without the journal's prefix, which names the host."""
    logs = nodes.write(folder, ahead=0, is_unstaged=is_unstaged)
    texts = [(logs / name).read_text().splitlines(keepends=True) for name in ("a.log", "b.log")]
    return tuple("".join(line.partition("]: ")[2] for line in text).encode() for text in texts)


def packed(name: str, files: dict[str, bytes]) -> bytes:
    """An archive: a zip by its name, else a tar; what its files' paths call an archive is one in it."""
    stream, inner = io.BytesIO(), defaultdict(dict)
    plain = {}
    for path, content in files.items():
        found = re.fullmatch(r"(.*?\.(?:zip|tar))/(.+)", path)
        if found:
            inner[found[1]][found[2]] = content
        else:
            plain[path] = content
    plain |= {path: packed(path, held) for path, held in inner.items()}
    if name.endswith(".zip"):
        with zipfile.ZipFile(stream, "w") as archive:
            for path, content in plain.items():
                archive.writestr(path, content)
    else:
        with tarfile.open(fileobj=stream, mode="w:gz" if name.endswith("gz") else "w") as archive:
            for path, content in plain.items():
                member = tarfile.TarInfo(path)
                member.size, member.mtime = len(content), 1_710_240_000
                archive.addfile(member, io.BytesIO(content))
    return stream.getvalue()


def pack(path: Path, files: dict[str, bytes]) -> Path:
    """Make a bundle: a tar.gz, or a zip by its name."""
    path.write_bytes(packed(path.name, files))
    return path


# Where each collector keeps a node's kubelet log, and what else of the two nodes.
LAYOUTS = {
    "kind": ("kind/demo-{}/kubelet.log", "worker", "worker2", "demo-{}"),
    "must-gather": ("mg/host_service_logs/{}/kubelet_service.log", "infra-1", "infra-2", "{}"),
    "must-gather, performance": ("mg/nodes/{0}/{0}_logs_kubelet", "w-1.example.org", "w-2.example.org", "{}"),
    "gkectl": ("snapshot/nodes/{}/sudo_journalctl_-u_kubelet.log", "10.0.0.3", "10.0.0.4", "{}"),
    "longhorn": ("supportbundle/nodes/{0}.zip/{0}/logs/kubelet.log", "w-1", "w-2", "{}"),
    "talos": ("{}/service-logs/kubelet.log", "10.5.0.3", "10.5.0.4", "{}"),
    "rancher": ("{}-2024-03-12_08_00_00/journald/kubelet", "w-1", "w-2", "{}"),
    "troubleshoot": ("support-bundle-2024-03-12T08_00_00/host-collectors/{}/journald/kubelet.txt", "w-1", "w-2", "{}"),
    "troubleshoot, copied": ("support-bundle-2024-03-12T08_00_00/node-logs/{}/archive.tar/log/kubelet.log", "w-1", "w-2", "{}"),
    "sonobuoy": ("plugins/systemd-logs/results/{}/systemd_logs", "w-1", "w-2", "{}"),
    "periscope": ("2024-03-12T08-00-00Z/{0}/{0}.zip/systemlogs/kubelet", "aks-1-vmss000000", "aks-1-vmss000001", "{}"),
    "cluster api": ("clusters/c-1/machines/{}/kubelet.log", "c-1-md-0-a", "c-1-md-0-b", "{}"),
    "cluster api, pool": ("clusters/c-1/machine-pools/mp-0/{}/kubelet.log", "w-1", "w-2", "{}"),
    "log-dump": ("artifacts/{}/kubelet.log", "e2e-minion-group-4q2x", "e2e-minion-group-xk7p", "{}"),
}  # fmt: skip
BESIDE = {
    "gkectl": {"snapshot/kubectlCommands/describe_nodes": b"Name: 10.0.0.3\n"},
    "longhorn": {
        "supportbundle/yamls/cluster/kubernetes/nodes.yaml": b"items: []\n",
        "supportbundle/nodes/w-1.zip/w-1/hostinfos/hostinfo": b"hostname : \n \tw-1\n",
    },
    "talos": {"10.5.0.3/summary": b"Client:\n", "10.5.0.3/service-logs/kubelet.state": b"NODE 10.5.0.3\n"},
    "rancher": {"w-1-2024-03-12_08_00_00/systeminfo/hostname": b"w-1\n"},
    "troubleshoot": {
        "support-bundle-2024-03-12T08_00_00/host-collectors/w-1/journald/kubelet-info.json": b'{"command":"journalctl"}',
        "support-bundle-2024-03-12T08_00_00/host-collectors/system/node_list.json": b'{"nodes":["w-1","w-2"]}',
    },
    "sonobuoy": {"hosts/w-1/healthz.json": b'{"status":200}', "meta/run.json": b"{}"},
    "cluster api": {"clusters/c-1/machines/c-1-md-0-a/kubelet-version.txt": b"Kubernetes v1.29.3\n"},
    "log-dump": {"artifacts/junit_01.xml": b"<testsuite/>\n"},
}


def analyze(kvdiag, *paths: Path) -> dict:
    """The JSON report."""
    return json.loads(kvdiag("analyze", "--year", "2024", "-o", "json", *paths).stdout)


def log_of(report: dict) -> dict[str, str]:
    """The nodes of the logs that were read, without the files beside them, by the last part of their path."""
    return {i["source"]: i["node"] for i in report["inputs"] if i["format"].endswith("klog")}


@pytest.mark.parametrize("packing", ["bundle.tar.gz", "bundle.zip"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_nodes_by_layout(kvdiag, tmp_path, layout, packing):
    """Where lines name no host, the layout does: a volume staged on both nodes is one story, with their names."""
    path, first, second, node = LAYOUTS[layout]
    a, b = bare(tmp_path, is_unstaged=False)
    files = BESIDE.get(layout, {}) | {path.format(first): a, path.format(second): b}
    report = analyze(kvdiag, pack(tmp_path / packing, files))
    one, two = node.format(first), node.format(second)
    assert log_of(report) == {
        f"{tmp_path}/{packing}/{path.format(first)}": one,
        f"{tmp_path}/{packing}/{path.format(second)}": two,
    }
    assert report["problems"] == []
    (says,) = [f["says"] for f in report["findings"] if f["rule"] == "volume-staged-on-two-nodes"]
    assert f"was staged on {two} while it was still staged on {one}" in says


@pytest.mark.parametrize("layout", LAYOUTS)
def test_lines_before_any_layout(kvdiag, tmp_path, layout):
    """A host that the lines name is the node, whatever its folder is called."""
    path, first, second, _ = LAYOUTS[layout]
    logs = nodes.write(tmp_path, ahead=0, is_unstaged=False)
    files = {path.format(name): (logs / log).read_bytes() for name, log in ((first, "a.log"), (second, "b.log"))}
    report = analyze(kvdiag, pack(tmp_path / "bundle.tar.gz", files))
    assert sorted(log_of(report).values()) == ["node-a", "node-b"]
    (says,) = [f["says"] for f in report["findings"] if f["rule"] == "volume-staged-on-two-nodes"]
    assert "was staged on node-b while it was still staged on node-a" in says


def test_without_a_layout(kvdiag, tmp_path):
    """Folders that are called after anything make no nodes, and no finding about two of them."""
    a, b = bare(tmp_path, is_unstaged=False)
    report = analyze(kvdiag, pack(tmp_path / "b.tar.gz", {"before/kubelet.log": a, "after/kubelet.log": b}))
    assert {i["node"] for i in report["inputs"]} == {""}
    assert "volume-staged-on-two-nodes" not in {finding["rule"] for finding in report["findings"]}


def test_what_lines_say_goes_first(kvdiag, tmp_path):
    """The host's name in some lines of a node is its name in all files of that node."""
    logs = nodes.write(tmp_path, ahead=0, is_unstaged=False)
    a, b = bare(tmp_path, is_unstaged=False)
    files = {
        "demo-worker/journal.log": (logs / "a.log").read_bytes().replace(b" node-a kubelet", b" w1 kubelet"),
        "demo-worker/kubelet.log": a.replace(b"I0312 08:0", b"I0312 07:0"),
        "demo-worker2/kubelet.log": b,
    }
    done = kvdiag("events", pack(tmp_path / "b.tar.gz", files), "--year", "2024")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert {(event["source"].rpartition("b.tar.gz/")[2], event["node"]) for event in events} == {
        ("demo-worker/journal.log", "w1"),
        ("demo-worker/kubelet.log", "w1"),
        ("demo-worker2/kubelet.log", "demo-worker2"),
    }


def test_container_of_a_pod_log(kvdiag, tmp_path):
    """A sidecar's log is the sidecar's, by the folder that kubelet keeps it in."""
    line = b'2024-03-12T08:00:00.1Z stderr F I0312 08:00:00.100000       1 main.go:99] "Version" version="v4.5.1"\n'
    pods = "var/log/pods/shop_csi-0_1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
    report = analyze(kvdiag, pack(tmp_path / "b.tar.gz", {f"{pods}/csi-attacher/0.log": line}))
    assert [i["component"] for i in report["inputs"]] == ["external-attacher"]


ONE = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
MOUNT = f"/var/lib/kubelet/pods/{ONE}/volumes/kubernetes.io~csi/{nodes.PV}/mount"
RULE = "csi-nodeunpublish-state-lost"


def busy(last: str = "started") -> bytes:
    """What kubelet says, twice, of a mount that the driver does not remove, and an hour later of the volume.

    The driver's log is not there.
    """
    unique = f"kubernetes.io/csi/hostpath.csi.k8s.io^{HANDLE}"
    at = f'(UniqueName: "{unique}") pod "{ONE}" (UID: "{ONE}")'
    line = (
        'E0312 08:15:{second}.101500    2201 nestedpendingoperations.go:348] Operation for "{{volumeName:{unique} podName:{uid} nodeName:}}" failed. '
        "No retries permitted until 2024-03-12 08:15:{second}.601439 +0000 UTC m=+199.1 (durationBeforeRetry 500ms). "
        'Error: UnmountVolume.TearDown failed for volume "data" {at} : '
        "kubernetes.io/csi: Unmounter.TearDownAt failed to clean mount dir [{path}]: kubernetes.io/csi: "
        "failed to remove dir [{path}]: remove {path}: device or resource busy\n"
    )
    told = "".join(line.format(second=s, unique=unique, uid=ONE, path=MOUNT, at=at) for s in (20, 21))
    later = {
        "started": f'reconciler.go:616] operationExecutor.UnmountVolume started for volume "data" {at} ',
        "succeeded": nodes.unpublished(ONE).replace(nodes.UNIQUE, unique),
    }
    return (told + nodes.klog(5000, later[last])).encode()


def state(published: str, handle: str = HANDLE) -> bytes:
    """What csi-driver-host-path keeps of a volume."""
    said = f'{{"VolName":"{nodes.PV}","VolID":"{handle}","Attached":true,"Staged":null,"Published":{published}}}'
    return f'{{"Volumes":[{said}],"Snapshots":null}}\n'.encode()


@pytest.mark.parametrize(
    ("files", "verdict"),
    [
        ({}, "possible"),
        ({"csi/state.json": state("null")}, "confirmed"),
        ({"csi/state.json": state("[]")}, "confirmed"),
        ({"csi/state.json": state(f'["{MOUNT}"]')}, "possible"),
        ({"csi/state.json": state("null", "vol-9f8e7d6c5b4a")}, "possible"),
        ({"csi/state.json": state("null")[:-20]}, "possible"),
    ],
    ids=["kubelet alone", "null", "empty", "still known", "another volume", "cut"],
)
def test_state_of_a_driver(kvdiag, tmp_path, files, verdict):
    """That a driver has forgotten a volume which is still mounted is certain when its own record shows it."""
    report = analyze(kvdiag, pack(tmp_path / "b.tar.gz", {"node/kubelet.log": busy()} | files))
    (finding,) = [finding for finding in report["findings"] if finding["rule"] == RULE]
    assert finding["verdict"] == verdict
    lines = [line["source"].rpartition("/")[2] for line in finding["evidence"]]
    assert ("state.json" in lines) == (verdict == "confirmed")
    assert "2 times over 1s" in finding["says"]


def test_state_of_a_driver_that_got_there(kvdiag, tmp_path):
    """A record without the volume is as it should be once kubelet has said that the mount is gone."""
    report = analyze(
        kvdiag, pack(tmp_path / "b.tar.gz", {"kubelet.log": busy("succeeded"), "state.json": state("null")})
    )
    assert "confirmed" not in {finding["verdict"] for finding in report["findings"] if finding["rule"] == RULE}


def test_mount_that_is_still_there(kvdiag, tmp_path):
    """A mount that was found is evidence of the volume, and of no other; it neither makes nor lengthens a story."""
    other = MOUNT.replace(ONE, "2f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f02")
    mounts = f"sysfs on /sys type sysfs (rw)\n/dev/sdb on {MOUNT} type ext4 (rw)\n/dev/sdc on {other} type ext4 (rw)\n"
    alone = analyze(kvdiag, pack(tmp_path / "a.tar.gz", {"node/kubelet.log": busy()}))
    report = analyze(
        kvdiag, pack(tmp_path / "b.tar.gz", {"node/kubelet.log": busy(), "node/mounts.txt": mounts.encode()})
    )
    (finding,) = [finding for finding in report["findings"] if finding["rule"] == RULE]
    assert [line["line"] for line in finding["evidence"] if line["source"].endswith("mounts.txt")] == [2]
    assert finding["says"] == next(one["says"] for one in alone["findings"] if one["rule"] == RULE)
    pods = kvdiag("pods", tmp_path / "b.tar.gz", "--year", "2024").stdout
    assert "2f0c3a52" not in pods


def test_versions_in_files(kvdiag, tmp_path):
    """A version in a file counts where the log does not print one, with its place and node."""
    files = {
        "demo-worker/kubelet.log": busy(),
        "demo-worker/kubernetes-version.txt": b"v1.29.3",
        "nodes.json": b'{"kind": "NodeList", "items": [{"metadata": {"name": "demo-worker2"}, "status": {"nodeInfo": {"kubeletVersion": "v1.28.1"}}}]}',
    }
    report = analyze(kvdiag, pack(tmp_path / "b.tar.gz", files))
    seen = {
        (v["version"], v["how"], v["node"], v["source"].rpartition("b.tar.gz/")[2], v["line"])
        for v in report["versions"]
        if v["how"] == "file"
    }
    assert seen == {
        ("1.29.3", "file", "demo-worker", "demo-worker/kubernetes-version.txt", 1),
        ("1.28.1", "file", "demo-worker2", "nodes.json", 1),
    }


NODES_YAML = """---
apiVersion: v1
kind: Node
metadata:
  name: infra-1
status:
  nodeInfo:
    containerRuntimeVersion: cri-o://1.29.1
    kubeletVersion: v1.29.3
"""
ATTACHMENTS_YAML = f"""---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata:
  deletionTimestamp: "2024-03-12T08:00:00Z"
  name: csi-01
spec:
  attacher: csi.example.org
  nodeName: infra-1
  source:
    persistentVolumeName: {nodes.PV}
status:
  attached: true
"""
PODS_YAML = """\
---
apiVersion: v1
items:
- apiVersion: v1
  kind: Pod
  metadata:
    name: web-0
    namespace: shop
  spec:
    containers:
    - name: app
    nodeName: infra-1
  status:
    containerStatuses:
    - lastState:
        terminated:
          containerID: containerd://3f2a9c3f2a9c3f2a9c3f2a9c3f2a9c3f2a9c3f2a9c3f2a9c3f2a9c3f2a9c3f2a
          exitCode: 137
          finishedAt: "2024-03-12T08:00:01Z"
          reason: OOMKilled
      name: app
      restartCount: 6
      state:
        waiting:
          reason: CrashLoopBackOff
    phase: Running
kind: PodList
"""


def test_objects_of_a_must_gather(kvdiag, tmp_path):
    """Beside the logs stand the cluster's objects in YAML: versions by node, and what is held attached."""
    a, b = bare(tmp_path, is_unstaged=False)
    files = {
        "mg/host_service_logs/infra-1/kubelet_service.log": a,
        "mg/host_service_logs/infra-2/kubelet_service.log": b,
        "mg/cluster-scoped-resources/core/nodes/infra-1.yaml": NODES_YAML.encode(),
        "mg/cluster-scoped-resources/storage.k8s.io/volumeattachments/csi-01.yaml": ATTACHMENTS_YAML.encode(),
        "mg/namespaces/shop/core/pods.yaml": PODS_YAML.encode(),
        "mg/namespaces/shop/core/configmaps.yaml": b"---\napiVersion: v1\nitems: []\nkind: ConfigMapList\n",
    }
    bundle = pack(tmp_path / "mg.tar.gz", files)
    report = analyze(kvdiag, bundle)
    seen = {(v["component"], v["version"], v["node"], v["line"]) for v in report["versions"] if v["how"] == "file"}
    assert seen == {("crio", "1.29.1", "infra-1", 8), ("kubelet", "1.29.3", "infra-1", 9)}
    told = {i["source"].rpartition("/")[2]: (i["format"], i["unread"]) for i in report["inputs"]}
    assert told["pods.yaml"] == ("event-object", 0)
    assert "configmaps.yaml" not in told
    (told,) = json.loads(kvdiag("timeline", "volume", nodes.PV, bundle, "--year", "2024", "-o", "json").stdout)
    assert [row["line"] for row in told["rows"] if row["kind"] == "attachment.left"] == [6]


def test_objects_above_a_log(kvdiag, tmp_path):
    """A log behind YAML in one file is read, with the numbers of its lines."""
    path = tmp_path / "node.log"
    path.write_bytes(collected(NODES_YAML.encode(), busy()))
    report = analyze(kvdiag, path)
    assert {v["version"] for v in report["versions"] if v["how"] == "file"} == {"1.29.1", "1.29.3"}
    (finding,) = [finding for finding in report["findings"] if finding["rule"] == RULE]
    assert NODES_YAML.count("\n") + 2 in [line["line"] for line in finding["evidence"]]


def test_status_of_pods(kvdiag, tmp_path):
    """How containers ended and what they wait for is read from a list of pods, in YAML as in JSON."""
    as_yaml, as_json = tmp_path / "pods.yaml", tmp_path / "pods.json"
    as_yaml.write_text(PODS_YAML)
    as_json.write_text(json.dumps(yaml.safe_load(PODS_YAML)))
    for path in (as_yaml, as_json):
        (found,) = [one for one in analyze(kvdiag, path)["findings"] if one["explained_by"] is None]
        assert (found["rule"], found["subject"]["ids"]["pod"], found["begins"]) == (
            "oom-kill",
            "shop/web-0",
            "2024-03-12T08:00:01.000000Z",
        )


def test_printed_version_goes_first(kvdiag, tmp_path):
    """What kubelet prints of itself is not said again by a file."""
    banner = b'I0312 08:15:00.000001    2201 server.go:496] "Kubelet version" kubeletVersion="v1.29.4"\n'
    files = {"demo-worker/kubelet.log": banner + busy(), "demo-worker/kubernetes-version.txt": b"v1.29.3"}
    report = analyze(kvdiag, pack(tmp_path / "b.tar.gz", files))
    assert [(v["version"], v["how"]) for v in report["versions"] if v["how"] != "wording"] == [("1.29.4", "banner")]


def test_host_of_a_sosreport(kvdiag, tmp_path):
    """All logs of a sosreport are of its host, wherever in the archive the host's name stands."""
    root = "sosreport-w1-2024-03-12-abcdefg"
    bundle = pack(
        tmp_path / "b.tar.gz", {f"{root}/var/log/kubelet.log": busy(), f"{root}/etc/hostname": b"w1.example.org\n"}
    )
    done = kvdiag("events", bundle, "--year", "2024")
    assert {json.loads(line)["node"] for line in done.stdout.splitlines()} == {"w1.example.org"}


def test_file_that_is_broken(kvdiag, tmp_path):
    """A file that begins as evidence and breaks off is told; the logs are analysed."""
    done = kvdiag(
        "analyze",
        "--year",
        "2024",
        pack(tmp_path / "b.tar.gz", {"kubelet.log": busy(), "state.json": state("null")[:-20]}),
    )
    assert "b.tar.gz/state.json: looks like hostpath-state but cannot be parsed (" in done.stderr
    assert done.returncode == 0


SANDBOX = "cf8d3a59b71e04" * 4 + "cf8d3a59"
OTHER_SANDBOX = "0d2c64f78a154b" * 4 + "0d2c64f7"


def forgotten(sandbox: str = SANDBOX, first: int = 0, uid: str = ONE) -> bytes:
    """Kubelet forgets a pod whose sandbox it had, and does its rounds for six minutes."""
    pleg = (
        'kubelet.go:2453] "SyncLoop (PLEG): event for pod" pod="shop/web-0" event={{"ID":"{}","Type":"{}","Data":"{}"}}'
    )
    removed = 'pod_workers.go:1251] "Pod has been terminated and is no longer known to the kubelet, remove all history" podUID="{}"'
    lines = [
        nodes.klog(first, pleg.format(uid, "ContainerStarted", sandbox)),
        nodes.klog(first + 5, pleg.format(uid, "ContainerDied", sandbox)),
        nodes.klog(first + 10, removed.format(uid)),
        *(nodes.klog(first + second, 'kubelet.go:2457] "SyncLoop (housekeeping)"') for second in range(20, 400, 20)),
    ]
    return "".join(lines).encode()


def stopped(sandbox: str) -> bytes:
    """The last that is heard of containerd."""
    said = rf'StopPodSandbox for \\"{sandbox}\\" returns successfully'
    return f'time="2024-03-12T08:00:06.000000000Z" level=info msg="{said}"\n'.encode()


def crictl(state: str, sandbox: str = SANDBOX) -> bytes:
    """What `crictl pods` prints of one sandbox."""
    header = (
        "POD ID              CREATED             STATE               NAME                NAMESPACE           ATTEMPT"
    )
    return f"{header}\n{sandbox[:13]:20}{'2 hours ago':20}{state:20}{'web-0':20}{'shop':20}0\n".encode()


@pytest.mark.parametrize(
    ("listed", "verdict"),
    [
        ({}, "possible"),
        ({"pods.txt": crictl("NotReady")}, "confirmed"),
        ({"pods.txt": crictl("Ready")}, "possible"),
        ({"pods.txt": crictl("NotReady", OTHER_SANDBOX)}, "possible"),
    ],
    ids=["kubelet alone", "still there", "in use", "another one"],
)
def test_sandbox_that_is_still_there(kvdiag, tmp_path, listed, verdict):
    """That a sandbox was not removed is certain when crictl still lists it; another of the same name says nothing."""
    newer = forgotten(OTHER_SANDBOX, 1000, ONE.replace("1f", "2f"))[: forgotten().index(b"\n") + 1]
    logs = {"node/kubelet.log": forgotten() + newer, "node/containerd.log": stopped(SANDBOX)}
    report = analyze(kvdiag, pack(tmp_path / "b.tar.gz", logs | listed))
    findings = [f for f in report["findings"] if f["rule"] == "sandbox-not-removed"]
    assert [finding["verdict"] for finding in findings] == [verdict]
    lines = [line["source"].rpartition("/")[2] for line in findings[0]["evidence"]]
    assert ("pods.txt" in lines) == (verdict == "confirmed")


def collected(*files: bytes) -> bytes:
    """One file of many, as someone writes it who collects by hand."""
    return b"\n".join(files)


MOUNTS = f"/dev/sdb on {MOUNT} type ext4 (rw)\n".encode()
NODE_LIST = b"""{
    "apiVersion": "v1",
    "items": [{"metadata": {"name": "w1"}, "status": {"nodeInfo": {"kubeletVersion": "v1.29.3"}}}],
    "kind": "NodeList"
}
"""


@pytest.mark.parametrize("way", ["named", "stdin", "folder", "archive"])
@pytest.mark.parametrize("head", [MOUNTS, crictl("Ready") + MOUNTS, NODE_LIST], ids=["mounts", "crictl", "nodes"])
def test_collected_in_one_file(kvdiag, tmp_path, head, way):
    """Logs behind a table or a list are read, with the numbers of their lines, and so is what stands above them."""
    path = tmp_path / "node.log"
    path.write_bytes(collected(head, busy()))
    given = {
        "named": lambda: path,
        "stdin": lambda: "-",
        "folder": lambda: tmp_path,
        "archive": lambda: pack(tmp_path / "b.zip", {"node.log": path.read_bytes()}),
    }[way]()
    done = kvdiag("analyze", "--year", "2024", "-o", "json", given, stdin=path.read_bytes())
    report = json.loads(done.stdout)
    (finding,) = [finding for finding in report["findings"] if finding["rule"] == RULE]
    assert head.count(b"\n") + 2 in [line["line"] for line in finding["evidence"]]
    assert report["problems"] == []
    assert len(report["inputs"]) == 2
    if head is MOUNTS:
        assert 1 in [line["line"] for line in finding["evidence"]]


def test_long_list_above_a_log(kvdiag, tmp_path):
    """However many lines a list has, the log behind it has its time and clock."""
    path = tmp_path / "node.log"
    path.write_bytes(MOUNTS * 900 + busy())
    log = analyze(kvdiag, path)["inputs"][0]
    assert log["begins"].startswith("2024-03-12T08:15:20")


def dump() -> bytes:
    """What `kubectl cluster-info dump` prints: objects, and the logs of containers, one of them without its last end."""
    events = b'{\n    "kind": "EventList",\n    "apiVersion": "v1",\n    "items": []\n}\n'
    klog = 'I0312 08:00:00.100000       1 main.go:99] "Version" version="v4.5.1"'
    log = "==== {} logs for container {} of pod csi/csi-0 ===="
    logs = [
        f"{log.format('START', 'web')}\n[INFO] plugin/ready: waiting {{[\n{log.format('END', 'web')}\n",
        f"{log.format('START', 'csi-attacher')}\n{klog}{log.format('END', 'csi-attacher')}\n",
    ]
    return NODE_LIST + events + "".join(logs).encode() + events


def test_dump_of_a_cluster(kvdiag, tmp_path):
    """Of a dump each container's log is one of its own, and the nodes' versions are known."""
    path = tmp_path / "cluster-info-dump"
    path.write_bytes(dump())
    report = analyze(kvdiag, path)
    inputs = {i["source"].removeprefix(str(path)): i for i in report["inputs"]}
    assert inputs["/namespaces/csi/pods/csi-0/csi-attacher"]["component"] == "external-attacher"
    assert inputs["/namespaces/csi/pods/csi-0/web"]["lines"] == 1
    assert ("kubelet", "1.29.3", "w1") in {(v["component"], v["version"], v["node"]) for v in report["versions"]}
    done = kvdiag("parse", "--year", "2024", path)
    (record,) = [r for r in map(json.loads, done.stdout.splitlines()) if r["message"] == "Version"]
    assert record["line"] == dump().count(b"\n", 0, dump().index(b"I0312")) + 1


EKS = {
    "./kubelet/kubelet.log": b"journal",
    "./kubelet/kubelet_service.txt": b"# /etc/systemd/system/kubelet.service\n[Service]\nRestart=always\n",
    "./containerd/containerd-log.txt": b"Mar 12 08:00:00 w1 containerd[801]: starting\n",
    "./storage/mounts.txt": f"/dev/sdb on {MOUNT} type ext4 (rw)\n\nFilesystem      Size  Used Avail Use% Mounted on\n".encode(),
    "./system/pkglist.txt": b"bash-5.2.15-1.amzn2023.0.2.x86_64\nkubelet-1.29.3-20240312.amzn2023.x86_64\n",
    "./system/instance-id.txt": b"i-0123456789abcdef0\n",
    "./var_log/messages": b"Mar 12 08:00:00 w1 systemd[1]: Started x.\n",
    "./cni/10-aws.conflist": b'{"cniVersion": "0.4.0"}\n',
}


def test_log_bundle_of_eks(kvdiag, tmp_path):
    """Of a bundle as the EKS log collector makes it the logs, mounts and packages are read, and the rest is not."""
    logs = nodes.write(tmp_path, ahead=0, is_unstaged=True)
    files = EKS | {"./kubelet/kubelet.log": (logs / "a.log").read_bytes()}
    bundle = pack(tmp_path / "eks_i-0123456789abcdef0_2024-03-12_0800-UTC_0.7.8.tar.gz", files)
    report = analyze(kvdiag, bundle)
    assert {i["source"].removeprefix(f"{bundle}/"): i["format"] for i in report["inputs"]} == {
        "kubelet/kubelet.log": "journal-short/klog",
        "containerd/containerd-log.txt": "journal-short/plain",
        "var_log/messages": "journal-short/plain",
        "storage/mounts.txt": "mounts",
        "system/pkglist.txt": "packages",
    }
    assert ("kubelet", "1.29.3", "file") in {(v["component"], v["version"], v["how"]) for v in report["versions"]}
