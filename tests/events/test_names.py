"""Names are validated and brought to one spelling; what does not look like a name gives none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.events.made_names import attachment_name, inline_handle, staging_hash, staging_path
from kvdiag.events.names import _POD_OBJECT, PLACEHOLDERS, _message_end, pods_in, refs_of, text_of, tidy_error

UID = "5b0c7a1e-2f4d-4c8e-9a63-0d1e2f3a4b5c"
STATIC = "275b2c5cfba1e8b6d3ede7160515a026"
ID = "3f2a9c" * 10 + "3f2a"
UNIQUE = "kubernetes.io/csi/disk.example.com^vol-1"
TARGET = f"/var/lib/kubelet/pods/{UID}/volumes/kubernetes.io~csi/pvc-1/mount"
SHA = "8d1f" * 16


@pytest.mark.parametrize(
    ("kind", "value", "refs"),
    [
        ("pod_uid", UID, [("pod_uid", UID)]),
        ("pod_uid", f'"{UID}"', [("pod_uid", UID)]),
        ("pod_uid", STATIC, [("pod_uid", STATIC)]),
        ("pod_uid", "web-0", []),
        ("pod_uid", "", []),
        ("pod", "shop/web-0", [("pod", "shop/web-0")]),
        ("pod", "web-0", [("pod_name", "web-0")]),
        ("pod", "", []),
        ("pod", "/", []),
        ("pod", f"web-0_shop({UID})", [("pod", "shop/web-0"), ("pod_uid", UID)]),
        ("pod", '{"name":"web-0","namespace":"shop"}', [("pod", "shop/web-0")]),
        ("pods", "[shop/a shop/b]", [("pod", "shop/a"), ("pod", "shop/b")]),
        ("pods", '"[shop/a]"', [("pod", "shop/a")]),
        ("pods", '["shop/a","shop/b"]', [("pod", "shop/a"), ("pod", "shop/b")]),
        ("pods", '[{"name":"a","namespace":"shop"}]', [("pod", "shop/a")]),
        ("pods", f"a_shop({UID}), b_shop({STATIC})", [("pod", "shop/a"), ("pod_uid", UID), ("pod", "shop/b"), ("pod_uid", STATIC)]),
        ("pods", "null", []),
        ("pods", "[]", []),
        ("pod_metadata", f"&PodSandboxMetadata{{Name:a,Uid:{UID},Namespace:shop,Attempt:0,}}", [("pod_uid", UID), ("pod", "shop/a")]),
        ("pod_metadata", rf'name:\"a\" uid:\"{UID}\"  namespace:\"shop\" attempt:1', [("pod_uid", UID), ("pod", "shop/a")]),
        ("container_id", ID, [("container_id", ID)]),
        ("container_id", f'"containerd://{ID}"', [("container_id", ID)]),
        ("container_id", f"docker://{ID}", [("container_id", ID)]),
        ("container_id", f"cri-o://{ID}", [("container_id", ID)]),
        ("container_id", f'{{"Type":"containerd","ID":"{ID}"}}', [("container_id", ID)]),
        ("container_id", rf'{{\"Type\":\"containerd\",\"ID\":\"{ID}\"}}', [("container_id", ID)]),
        ("sandbox_id", f"{{Type:containerd ID:{ID}}}", [("sandbox_id", ID)]),
        ("sandbox_id", "not-hex", []),
        ("unique_name", UNIQUE, [("unique_name", UNIQUE), ("volume_handle", "vol-1"), ("driver", "disk.example.com")]),
        ("unique_name", f"kubernetes.io/csi/{UID}-data", [("unique_name", f"kubernetes.io/csi/{UID}-data"), ("pod_uid", UID), ("outer_name", "data")]),
        ("unique_name", f"kubernetes.io/secret/{UID}-token", [("unique_name", f"kubernetes.io/secret/{UID}-token"), ("pod_uid", UID), ("outer_name", "token")]),
        ("unique_name", "kubernetes.io/rbd/pool:image", [("unique_name", "kubernetes.io/rbd/pool:image")]),
        ("unique_name", "pvc-1", [("spec_name", "pvc-1")]),
        ("unique_name", "", []),
        ("target_path", TARGET, [("target_path", TARGET), ("pod_uid", UID), ("spec_name", "pvc-1")]),
        ("target_path", TARGET.replace("/var/lib/kubelet", "/var/snap/microk8s/common/kubelet"), [("target_path", TARGET.replace("/var/lib/kubelet", "/var/snap/microk8s/common/kubelet")), ("pod_uid", UID), ("spec_name", "pvc-1")]),
        ("target_path", "c:" + TARGET.replace("/", r"\\"), [("target_path", "c:" + TARGET), ("pod_uid", UID), ("spec_name", "pvc-1")]),
        ("target_path", f"/k/plugins/kubernetes.io/csi/volumeDevices/publish/pvc-1/{UID}", [("target_path", f"/k/plugins/kubernetes.io/csi/volumeDevices/publish/pvc-1/{UID}"), ("pod_uid", UID), ("spec_name", "pvc-1")]),
        ("target_path", f"/k/pods/{UID}/volumeDevices/kubernetes.io~csi/pvc-1", [("target_path", f"/k/pods/{UID}/volumeDevices/kubernetes.io~csi/pvc-1"), ("pod_uid", UID), ("spec_name", "pvc-1")]),
        ("target_path", "relative", []),
        ("staging_path", f"/k/plugins/kubernetes.io/csi/disk.example.com/{SHA}/globalmount", [("staging_path", f"/k/plugins/kubernetes.io/csi/disk.example.com/{SHA}/globalmount"), ("driver", "disk.example.com")]),
        ("staging_path", "/k/plugins/kubernetes.io/csi/pv/pvc-1/globalmount", [("staging_path", "/k/plugins/kubernetes.io/csi/pv/pvc-1/globalmount"), ("spec_name", "pvc-1")]),
        ("staging_path", "/k/plugins/kubernetes.io/csi/volumeDevices/staging/pvc-1", [("staging_path", "/k/plugins/kubernetes.io/csi/volumeDevices/staging/pvc-1"), ("spec_name", "pvc-1")]),
        ("attachment", "csi-" + SHA, [("attachment", "csi-" + SHA)]),
        ("attachment", "/dev/vdb", []),
        ("driver", "disk.example.com", [("driver", "disk.example.com")]),
        ("node", "worker-1", [("node", "worker-1")]),
        ("node", "a b", []),
        ("error", "boom", []),
    ],
)  # fmt: skip
def test_refs(kind, value, refs):
    """A value gives exactly the identities it speaks of."""
    assert [tuple(ref) for ref in refs_of(kind, value.encode())] == refs


@pytest.mark.parametrize(
    ("error", "pod"),
    [
        (f'failed to reserve sandbox name "web-0_shop_{UID}_0": name "web-0_shop_{UID}_0" is reserved for "{ID}"', "shop/web-0"),
        (rf'failed to reserve container name \"app_web-0_shop_{UID}_12\"', "shop/web-0"),
        (f"error reserving pod name k8s_web-0_shop_{UID}_0 for id {ID}: name is reserved", "shop/web-0"),
        (f"name web.v1-0_kube-system_{STATIC}_3 is reserved", "kube-system/web.v1-0"),
        (f"web-0_shop_{UID}_0 and web-1_shop_{UID}_0", ""),
        (f"web-0_shop_{UID}", ""),
        (f"web-0_shop_{UID}_0_x", ""),
        (f"Web-0_shop_{UID[:-1]}_0", ""),
        (f"web-0_shop({UID})", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_the_pod_that_an_error_names(error, pod):
    """The runtime's name of a sandbox or container holds its pod's; two pods are none."""
    named = {ref.kind: ref.value for ref in pods_in(error.encode())}
    assert named.get("pod", "") == pod
    assert set(named) == ({"pod", "pod_uid"} if pod else set())


def test_computed_names():
    """The names that kubelet computes are what a real cluster printed."""
    handle = "50e984c6-e525-11f1-9fe0-8aeaacff18fb"
    driver = "hostpath.csi.k8s.io"
    digest = "150b1f8f06b03ba0d365d8c09302450dc2192abdfcdd55363806df8e573b6fa1"
    assert staging_hash(handle) == digest
    assert (
        staging_path("/var/lib/kubelet/", driver, handle)
        == f"/var/lib/kubelet/plugins/kubernetes.io/csi/{driver}/{digest}/globalmount"
    )
    assert (
        attachment_name(handle, driver, "worker-1")
        == "csi-9745ba1ee3d12478a38fba421a8e9c1e66369f28e6b2d2b8b2ccfda14674844c"
    )
    inline = inline_handle("952e399f-f958-428e-97ee-123725a5cc89", "data")
    assert inline == "csi-01dafb8b23d7fdd36e81e92e3f120c267e569f193fe9f4458e36aa4de9f316af"


@pytest.mark.parametrize(
    ("raw", "tidy"),
    [
        (b"no such file", b"no such file"),
        (b'timed out"', b"timed out"),
        (rb'driver \"d\" not found" pod="shop/web-0" podUID="x"', b'driver "d" not found'),
        (rb'"UnmountVolume failed \"a\" : x"', b'UnmountVolume failed "a" : x'),
        (b'desc = "plain" quotes', b'desc = "plain" quotes'),
        (rb'no \"d\"" pod={Name:a Namespace:b} x', b'no "d"'),
        (rb'no \"d\"" pod="a" x', rb'no \"d\"" pod="a" x'.replace(rb"\"", b'"')),
        (b'no " key="a" pods=["a/b" c="d"', b"no"),
        (b'time="2025-07-02T09:41:43Z" level=error msg="runc create failed: no"', b"runc create failed: no"),
        (
            rb'failed: time=\"2025-07-02T09:41:43Z\" level=error msg=\"exec: \\\"/a\\\": no\"\n" pod="shop/web-0"',
            b'failed: "exec: \\"/a\\": no"',
        ),
        (b'first line\nlast" a=b c="d e" f=', b"first line\nlast"),
        (rb'"at 8, to retry\\n"' + b'"', b"at 8, to retry"),
        (rb"cannot open C:\data\\n", rb"cannot open C:\data\n"),
        (b"", b""),
    ],
)
def test_errors_are_tidied(raw, tidy):
    """An error loses the quotes and fields of the log call around it."""
    assert tidy_error(raw) == tidy


def test_text_of_attributes():
    """An attribute loses its quotes, and bytes that are no UTF-8 do not stop it."""
    assert text_of("version", b'"v1.29.3"') == "v1.29.3"
    assert text_of("message", b"a\xff") == "a\ufffd"


def test_kinds_of_refs_have_readers():
    """Every placeholder with a subject can give refs; every other gives none."""
    for name, placeholder in PLACEHOLDERS.items():
        assert bool(placeholder.kind) == bool(
            refs_of(name, f"{UID}".encode())
            or name
            in {
                "pod_metadata",
                "pods",
                "target_path",
                "staging_path",
                "container_id",
                "sandbox_id",
                "attachment",
                "cgroup",
                "pv_name",
            }
        )


@given(st.sampled_from(sorted(PLACEHOLDERS)), st.binary(max_size=300))
def test_any_bytes_are_survived(name, value):
    """No value raises, whatever it holds."""
    assert isinstance(refs_of(name, value), tuple)
    assert isinstance(text_of(name, value), str)


@pytest.mark.parametrize(
    "text",
    [
        b'" a=""',
        b'" a=b',
        b'"',
        b"\\",
        b'\\"',
        b'" a="\\"',
        b'" a=&',
        b'" ' + b"a" * 50,
        b'" \t',
        b'\n" a=b',
        b'"name\\',
        b'"name":"a\\',
    ],
    ids=ascii,
)
def test_long_values_are_searched_once(text):
    """Where a message ends, and which pods a list names, is found in linear time: what is quadratic would not end."""
    for end in (b"", b'"', b" x", b"\n"):
        value = text * (100_000 // len(text)) + end
        _message_end(value)
        assert not _POD_OBJECT.search(value)


@pytest.mark.parametrize(
    "part", [b'" a="x', b"\\", b'"', b"{", b'\\"', b" a=b", b"kubernetes.io/csi/", b"a_b(", b"a_", b' level=time="']
)
def test_hostile_values_take_no_time(part):
    """Values of any length and shape are read in linear time, or not at all: what is quadratic would not end."""
    for name in PLACEHOLDERS:
        refs_of(name, part * 200_000)
        text_of(name, part * 200_000)
    pods_in(part * 200_000)


POD = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
BOX = "3f2a9c71" * 8


@pytest.mark.parametrize(
    ("cgroup", "named"),
    [
        (f"/kubepods/burstable/pod{POD}/{BOX}", [POD, BOX]),
        (f"/kubepods/pod{POD}", [POD]),
        (f"/kubepods.slice/kubepods-pod{POD.replace('-', '_')}.slice/cri-containerd-{BOX}.scope", [POD, BOX]),
        (
            f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{POD.replace('-', '_')}.slice/crio-{BOX}.scope",
            [POD, BOX],
        ),
        (f"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{POD.replace('-', '_')}.slice", [POD]),
        (
            f"/system.slice/containerd.service/kubepods-burstable-pod{POD.replace('-', '_')}.slice:cri-containerd:{BOX}",
            [POD, BOX],
        ),
        (f"/kubepods/besteffort/pod{'5b0c' * 8}/{BOX}", ["5b0c" * 8, BOX]),
        (f"/docker/{BOX}", []),
        ("/system.slice/podman.service", []),
        (f"/kubepods/pod{POD}/{BOX}0", [POD]),
    ],
)
def test_cgroups(cgroup, named):
    """A pod's cgroup names its pod and its container in the style of any driver and runtime; another's names nothing."""
    assert [ref.value for ref in refs_of("cgroup", cgroup.encode())] == named
