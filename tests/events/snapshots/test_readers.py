"""A file beside the logs is known by how it begins, and each fact in it has its line."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.events.snapshots.readers import evidence_in, read_evidence

UID = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
TARGET = f"/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~csi/pvc-77aa/mount"
STAGED = f"/var/lib/kubelet/plugins/kubernetes.io/csi/csi.example.org/{'8d1f0c' * 10}8d1f/globalmount"
STATE = f"""{{"Volumes":[
{{"VolName":"pvc-77aa","VolID":"d4f1","VolSize":1,"VolPath":"/csi-data-dir/d4f1","Attached":true,"Staged":["{STAGED}"],"Published":["{TARGET}"]}},
{{"VolName":"pvc-88bb","VolID":"e5f2","VolSize":1,"VolPath":"/csi-data-dir/e5f2","Attached":true,"Staged":null,"Published":null}}
],"Snapshots":null}}
"""
NODES = """{
  "kind": "NodeList", "apiVersion": "v1",
  "items": [
    {"metadata": {"name": "worker-1"}, "status": {"nodeInfo": {
      "containerRuntimeVersion": "containerd://1.7.13", "kubeProxyVersion": "v1.29.3",
      "kubeletVersion": "v1.29.3"}}},
    {"metadata": {"name": "worker-2", "labels": {
      "node.kubernetes.io/instance-type": "m6i.large"}}, "status": {"nodeInfo": {
      "containerRuntimeVersion": "docker://20.10.7", "kernelVersion": "6.1.0-18-amd64",
      "kubeletVersion": "v1.28.1", "osImage": "Debian GNU/Linux 12"}}}
  ]
}
"""
ATTACHMENTS = """{"apiVersion": "v1", "kind": "List", "items": [
  {"kind": "VolumeAttachment", "metadata": {"name": "csi-01"}, "spec": {"attacher": "csi.example.org", "nodeName": "worker-1", "source": {"persistentVolumeName": "pvc-77aa"}}, "status": {"attached": true}},
  {"kind": "VolumeAttachment", "metadata": {"name": "csi-02", "deletionTimestamp": "2024-03-12T08:00:00Z"}, "spec": {"nodeName": "worker-1", "source": {}}, "status": {"attached": true, "detachError": {"message": "timed out"}}},
  {"kind": "VolumeAttachment", "metadata": {"name": "csi-03"}, "spec": {"nodeName": "worker-1", "source": {}}, "status": {"attached": false}}
]}
"""
DPKG = """Desired=Unknown/Install/Remove/Purge/Hold
| Status=Not/Inst/Conf-files/Unpacked/halF-conf/Half-inst/trig-aWait/Trig-pend
||/ Name           Version            Architecture Description
+++-==============-==================-============-=================================
ii  containerd.io  1.6.28-1           amd64        An open and reliable container runtime
hi  kubelet        1.29.3-1.1         amd64        Node agent for Kubernetes clusters
ii  kubectl        1.29.3-1.1         amd64        Command-line utility
"""
RPM = "bash-5.2.15-1.amzn2023.x86_64\nkubelet-1.29.3-150500.1.1.x86_64\ncontainerd-1.7.11-1.amzn2023.x86_64\n"


def facts(name: str, text: str) -> tuple[str, list[tuple]]:
    """The kind of a file and what it says: line, kind, names, values."""
    kind = evidence_in(name, text.encode()[:4096])
    return kind, [
        (fact.line, fact.kind, {ref.kind: ref.value for ref in fact.refs}, dict(fact.attrs), fact.node)
        for fact in read_evidence(kind, text)
    ]


def version(line: int, component: str, said: str, node: str = "") -> tuple:
    """A version as `facts` gives it."""
    return (line, "version.found", {}, {"component": component, "version": said}, node)


def test_state_of_the_hostpath_driver():
    """Where each volume is published and staged, and where it is not."""
    kind, said = facts("csi/state.json", STATE)
    assert kind == "hostpath-state"
    at = {"pod_uid": UID, "spec_name": "pvc-77aa"}
    assert said == [
        (2, "csi.state.published", {"volume_handle": "d4f1", "target_path": TARGET} | at, {}, ""),
        (2, "csi.state.staged", {"volume_handle": "d4f1", "staging_path": STAGED, "driver": "csi.example.org"}, {}, ""),
        (3, "csi.state.unpublished", {"volume_handle": "e5f2"}, {}, ""),
        (3, "csi.state.unstaged", {"volume_handle": "e5f2"}, {}, ""),
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"sysfs on /sys type sysfs (rw,nosuid)\n/dev/sdb on {TARGET} type ext4 (rw,relatime)\n/dev/sdb on {STAGED} type ext4 (rw)\n",
        f"sysfs /sys sysfs rw,nosuid 0 0\n/dev/sdb {TARGET} ext4 rw,relatime 0 0\n/dev/sdb {STAGED} ext4 rw 0 0\n",
        f"TARGET   SOURCE   FSTYPE OPTIONS\n├─{TARGET} /dev/sdb ext4 rw\n└─{STAGED} /dev/sdb ext4 rw\n",
        f"24 30 0:22 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n50 30 8:16 / {TARGET} rw - ext4 /dev/sdb rw\n51 30 8:16 / {STAGED} rw - ext4 /dev/sdb rw\n",
    ],
    ids=["mount", "proc", "findmnt", "mountinfo"],
)  # fmt: skip
def test_mounts(text):
    """The mounts of volumes, in each way that lists them, and no others."""
    kind, said = facts("storage/mounts.txt", text)
    assert kind == "mounts"
    assert said == [
        (2, "mount.found", {"target_path": TARGET, "pod_uid": UID, "spec_name": "pvc-77aa"}, {}, ""),
        (3, "mount.found", {"staging_path": STAGED, "driver": "csi.example.org"}, {}, ""),
    ]


def test_nodes():
    """The versions of each node; of a runtime that is not known none."""
    assert facts("nodes.json", NODES) == (
        "nodes",
        [
            version(5, "containerd", "1.7.13", "worker-1"),
            version(6, "kubelet", "v1.29.3", "worker-1"),
            version(8, "instance-type", "m6i.large", "worker-2"),
            version(9, "kernel", "6.1.0-18-amd64", "worker-2"),
            version(10, "kubelet", "v1.28.1", "worker-2"),
            version(10, "os-image", "Debian GNU/Linux 12", "worker-2"),
        ],
    )


def test_volume_attachments():
    """Which are attached, wait to be, and wait to be deleted."""
    kind, said = facts("va.json", ATTACHMENTS)
    assert kind == "volume-attachments"
    assert said == [
        (2, "attachment.found", {"attachment": "csi-01", "node": "worker-1", "spec_name": "pvc-77aa"}, {}, ""),
        (3, "attachment.left", {"attachment": "csi-02", "node": "worker-1"}, {"error": "timed out"}, ""),
        (4, "attachment.waiting", {"attachment": "csi-03", "node": "worker-1"}, {}, ""),
    ]


NODE = """metadata:
    labels:
      kubernetes.io/hostname: worker-1
    managedFields:
    - fieldsV1:
        f:status:
          f:nodeInfo:
            f:kubeletVersion: {}
    name: worker-1
  status:
    nodeInfo:
      containerRuntimeVersion: containerd://1.7.13
      kubeProxyVersion: v1.29.3
      kubeletVersion: v1.29.3
"""
ATTACHED = """  kind: VolumeAttachment
  metadata:
    name: csi-01
  spec:
    attacher: csi.example.org
    nodeName: worker-1
    source:
      persistentVolumeName: pvc-77aa
  status:
    attached: true
- apiVersion: storage.k8s.io/v1
  kind: VolumeAttachment
  metadata:
    deletionTimestamp: "2024-03-12T08:00:00Z"
    name: csi-02
  spec:
    nodeName: worker-1
  status:
    attached: true
    detachError:
      message: timed out
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x", f"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Node\n  {NODE}kind: List\n"),
        ("cluster/nodes.yaml", f"items:\n- {NODE}metadata: {{}}\n"),
        ("core/nodes/worker-1.yaml", "---\napiVersion: v1\nkind: Node\n" + NODE.replace("\n  ", "\n")),
        ("x", "apiVersion: v1\nkind: Node\n" + NODE.replace("\n  ", "\n") + "---\napiVersion: v1\nkind: Node\n"),
    ],
    ids=["list", "typed list", "one", "documents"],
)
def test_nodes_in_yaml(name, text):
    """The versions of each node, in each way that YAML lists them."""
    kind, said = facts(name, text)
    line = text.count("\n", 0, text.index("containerd://")) + 1
    assert kind == "nodes"
    assert said == [
        version(line, "containerd", "1.7.13", "worker-1"),
        version(line + 2, "kubelet", "v1.29.3", "worker-1"),
    ]


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("x", "apiVersion: v1\nitems:\n- apiVersion: storage.k8s.io/v1\n"),
        (
            "csi/volumeattachments.yaml",
            "apiVersion: storage.k8s.io/v1\nitems:\n- metadata:\n    name: csi-00\n- x: 1\n",
        ),
    ],
)
def test_volume_attachments_in_yaml(name, head):
    """Which are attached, and which wait to be deleted."""
    kind, said = facts(name, head + ATTACHED)
    line = head.count("\n")
    assert kind == "volume-attachments"
    assert said[-2:] == [
        (line + 3, "attachment.found", {"attachment": "csi-01", "node": "worker-1", "spec_name": "pvc-77aa"}, {}, ""),
        (line + 15, "attachment.left", {"attachment": "csi-02", "node": "worker-1"}, {"error": "timed out"}, ""),
    ]


def test_objects_of_other_kinds():
    """In a list of many kinds a node is no attachment."""
    text = f"apiVersion: v1\nitems:\n- apiVersion: storage.k8s.io/v1\n{ATTACHED}- kind: Node\n  {NODE}"
    assert len(list(read_evidence("volume-attachments", text))) == 2


@pytest.mark.parametrize(
    ("tail", "problem"),
    [
        ("- &a {b: *a}\n", r"line:16:3: anchors and aliases"),
        ("- {b: [}\n", r"line:16:"),
        ("- " + "[" * 100 + "]" * 100 + "\n", "nested deeper than"),
        ("- !!python/object:os.system x\n", "the tag"),
        ("- a\x00\n", "not valid YAML"),
    ],
)
def test_yaml_that_is_broken(tail, problem):
    """What stands before a fault is read, and the fault is told with its line."""
    found = []
    with pytest.raises(ValueError, match=problem):
        found.extend(read_evidence("nodes", f"items:\n- {NODE}{tail}"))
    assert len(found) == (0 if "\x00" in tail else 2)


@given(st.sampled_from(["nodes", "volume-attachments"]), st.text("ab-:{}[]'\"&*!|> \n"))
def test_any_yaml(kind, text):
    """Whatever stands in a text, it is read, or said to be none of it."""
    with suppress(ValueError):
        assert list(read_evidence(kind, f"items:\n{text}")) == []


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("kubelet-version.txt", "Kubernetes v1.29.3\n", [version(1, "kubelet", "v1.29.3")]),
        ("x", "containerd github.com/containerd/containerd v1.7.13 7c3aca7a\n", [version(1, "containerd", "1.7.13")]),
        ("x", "containerd containerd.io 1.6.28 ae07eda3\n", [version(1, "containerd", "1.6.28")]),
        ("x", "Version:  0.1.0\nRuntimeName:  containerd\nRuntimeVersion:  v1.7.13\nRuntimeApiVersion:  v1\n", [version(3, "containerd", "1.7.13")]),
        ("kind-worker/kubernetes-version.txt", "v1.29.2", [version(1, "kubelet", "v1.29.2")]),
        ("installed-debs", DPKG, [version(5, "containerd", "1.6.28"), version(6, "kubelet", "1.29.3")]),
        ("installed-rpms", RPM, [version(2, "kubelet", "1.29.3"), version(3, "containerd", "1.7.11")]),
    ],
)  # fmt: skip
def test_versions(name, text, said):
    """What programs and lists of packages say of versions."""
    assert facts(name, text)[1] == said


SANDBOX, CONTAINER = "cf8d3a59b71e0", "3f2a9c71c3b74"
PODS = """WARN[0000] runtime connect using default endpoints
POD ID              CREATED             STATE               NAME                NAMESPACE           ATTEMPT             RUNTIME
cf8d3a59b71e0       About an hour ago   NotReady            web-0               shop                0                   (default)
"""
PS = """CONTAINER           IMAGE               CREATED             STATE               NAME                ATTEMPT             POD ID              POD                 NAMESPACE
3f2a9c71c3b74       9f76b554c615d       3 days ago          Exited              web                 2                   cf8d3a59b71e0       web-0               shop
"""
PS_OF_2018 = """CONTAINER ID        IMAGE               CREATED             STATE               NAME                ATTEMPT             POD ID
3f2a9c71c3b74       9f76b554c615d       3 days ago          CONTAINER_EXITED    web                 2                   cf8d3a59b71e0
"""
PODS_JSON = f"""{{
  "items": [
    {{
      "id": "{SANDBOX * 4}",
      "metadata": {{"name": "web-0", "uid": "{UID}", "namespace": "shop", "attempt": 0}},
      "state": "SANDBOX_NOTREADY", "createdAt": "1710230400000000000"
    }}
  ]
}}
"""
PS_JSON = f"""{{
  "containers": [
    {{
      "id": "{CONTAINER * 4}", "podSandboxId": "{SANDBOX * 4}",
      "metadata": {{"name": "web", "attempt": 2}}, "state": "CONTAINER_EXITED",
      "labels": {{"io.kubernetes.pod.name": "web-0", "io.kubernetes.pod.namespace": "shop", "io.kubernetes.pod.uid": "{UID}"}}
    }}
  ]
}}
"""
POD = {"pod": "shop/web-0"}
OF_POD = {"pod_uid": UID, "pod": "shop/web-0"}


@pytest.mark.parametrize(
    ("text", "line", "names"),
    [
        (PODS, 3, {"sandbox_id": SANDBOX} | POD),
        (PODS_JSON, 4, {"sandbox_id": SANDBOX * 4} | OF_POD),
        (PS, 2, {"container_id": CONTAINER, "sandbox_id": SANDBOX} | POD),
        (PS_OF_2018, 2, {"container_id": CONTAINER, "sandbox_id": SANDBOX}),
        (PS_JSON, 4, {"container_id": CONTAINER * 4, "sandbox_id": SANDBOX * 4} | OF_POD),
    ],
    ids=["pods", "pods as json", "ps", "ps of 2018", "ps as json"],
)
def test_crictl(text, line, names):
    """Each sandbox and container that is still there, with its state and whose it is, in each way that lists them."""
    kind, said = facts("crictl/x", text)
    assert kind == "crictl"
    is_container = "container_id" in names
    values = {"state": "Exited", "container_name": "web"} if is_container else {"state": "NotReady"}
    assert said == [(line, "container.found" if is_container else "sandbox.found", names, values, "")]


def test_tables_one_after_the_other():
    """Each table of a file has its own columns."""
    _, said = facts("x", PODS + "\n" + PS)
    assert [(line, kind) for line, kind, *_ in said] == [(3, "sandbox.found"), (6, "container.found")]


def test_host_of_a_sosreport():
    """The file that has the host's name in a sosreport, and no file of that name elsewhere."""
    assert facts("a.tar.xz/sosreport-w1-abc/etc/hostname", "w1.example.org\n") == (
        "hostname",
        [(1, "node.hostname", {"node": "w1.example.org"}, {}, "w1.example.org")],
    )
    assert evidence_in("rootfs/etc/hostname", b"w1\n") == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x", "v1.29.2\n"),
        ("x", "Version:  0.1.0\nRuntimeName:  cri-o\nRuntimeVersion:  1.29.1\n"),
        ("x", "Kubernetes v1.29.3 was installed on all nodes\n"),
        ("x", '{"kind": "EventList", "items": []}'),
        ("x", '{"kind": "Pod", "items": []}'),
        ("nodes.yaml", "items: 3\n"),
        ("x.yaml", "apiVersion: v1\nkind: ConfigMap\n"),
        ("x.yaml", "items:\n- metadata:\n    name: w1\n"),
        ("state.json", '{"Volumes": 3}'),
        (
            "events.json",
            '{"items": [{"involvedObject": {"kind": "Node", "name": "w1"}, "kind": "Event"}], "kind": "List"}',
        ),
        ("x", "POD ID, CREATED, STATE, NAME, NAMESPACE\n"),
        ("x", '{"items": [{"id": "web", "state": "SANDBOX_READY"}]}'),
        ("x", "the volume on /data type it in (x)\n"),
        ("x", 'I0312 08:00:00.1       1 main.go:1] "kind": "NodeList"\n'),
        ("x", ""),
    ],
)
def test_no_evidence(name, text):
    """What looks alike and is not it."""
    assert evidence_in(name, text.encode()) == ""


@pytest.mark.parametrize("kind", ["hostpath-state", "volume-attachments", "nodes"])
@pytest.mark.parametrize(
    "text",
    ["", "[1]", '{"items": [1, {}]}', '{"items": 3, "Volumes": {}}', '{"items": [{"metadata": [], "status": "x"}]}'],
)
def test_other_shapes(kind, text):
    """JSON of another shape has no facts, and what is no JSON is said to be none."""
    if text:
        assert list(read_evidence(kind, text)) == []
    else:
        with pytest.raises(ValueError, match="Expecting value"):
            list(read_evidence(kind, text))


@given(st.sampled_from(["mounts", "packages", "versions", "hostname", "crictl"]), st.text())
def test_any_text(kind, text):
    """Whatever stands in a text, it is read without a fault."""
    for fact in read_evidence(kind, text):
        assert 1 <= fact.line <= text.count("\n") + len(text.splitlines()) + 1


def test_words_that_are_not_there():
    """A file whose names stand in it otherwise than JSON writes them costs no more than one look at it each."""
    volumes = ",".join(f'{{"VolName":"x","VolID":"\\u00e{n % 10}{n}","Published":null}}' for n in range(50_000))
    assert len(list(read_evidence("hostpath-state", f'{{"Volumes":[{volumes}]}}'.replace("\\u00e0", "à")))) == 50_000
