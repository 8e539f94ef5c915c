"""Words that take away the meaning of others: of each pair one line speaks, and one stays modest."""

from __future__ import annotations

import pytest

from kvdiag.anatomy.error import Candidate, read_error, strongest_error
from kvdiag.model.values import Level

TEARDOWN = 'UnmountVolume.TearDown failed for volume "data" (UniqueName: "kubernetes.io/csi/disk.example.org^v") : '
SETUP = 'MountVolume.SetUp failed for volume "data" : '
START = "failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "


@pytest.mark.parametrize(
    ("text", "primitive"),
    [
        ("a: open /srv/x: permission denied, failed to clean up sandbox: no such file or directory", "EACCES"),
        ("a: failed to clean up sandbox: open /srv/x: permission denied", "EACCES"),
        ("dial tcp 192.0.2.1:80: connect: connection refused: context deadline exceeded", "ECONNREFUSED"),
        ("call: context deadline exceeded", "DEADLINE"),
        ("[failed to set up pod: no IP addresses available, failed to release: database is locked]", "IP_POOL"),
        ("no IP addresses available: database is locked", "LOCK"),
        ("failed to parse file /srv/x.json: EOF", "JSON_CUT"),
        ("error reading from server: EOF", "SERVER_CLOSED"),
        ("inotify_add_watch /srv/x: no space left on device", "INOTIFY"),
        ("write /srv/x: no space left on device", "ENOSPC"),
        ("Throttling request took 1.2s, request: GET:https://192.0.2.1:6443/api/v1/nodes", "CLIENT_THROTTLE"),
        ("GET https://192.0.2.1:6443/api/v1/nodes: 429 Too Many Requests", "THROTTLED"),
        ("housekeeping took too long to execute", ""),
        ("request took too long to execute", "SLOW_STORE"),
        ('AttachVolume.Attach failed for volume "v": volume is attached to node node-b', "ATTACHED_ALREADY"),
        ("CIFS: Status code returned 0xc0000022 STATUS_ACCESS_DENIED", "SMB_DENIED"),
        ("exec failed: the process ended with STATUS_ACCESS_DENIED", ""),
        ("CIFS: Status code returned 0xc000006d STATUS_LOGON_FAILURE", "SMB_LOGON"),
        ("gMSA: the domain answers STATUS_LOGON_FAILURE", ""),
        ("mount error 13 = Permission denied", "CEPHFS_DENIED"),
        ("mount error 13 = Permission denied\nRefer to the mount.cifs(8) manual page (e.g.man mount.cifs)", ""),
        (
            "mount error 2 = No such file or directory\nRefer to the mount.cifs(8) manual page (e.g.man mount.cifs)",
            "",
        ),
        ("mount error 5 = Input/output error\nRefer to the mount.cifs(8) manual page (e.g.man mount.cifs)", ""),
        ("mount error 22 = Invalid argument\nRefer to the mount.cifs(8) manual page (e.g.man mount.cifs)", ""),
        ("librados: client.a authentication error (1) Operation not permitted", "CEPH_AUTH"),
        ("vault: authentication error (1) operation not permitted", "EPERM"),
        ("could not add new controller: already connected", "NVME_CONNECTED"),
        ("nvme subsystem is already connected, nothing to do", ""),
        ("resize volume v failed: volume is attached to node node-b. Only offline expansion is supported", ""),
        ("Normal message err: <nil>", ""),
        ("nfs: permission denied, or you may not be authorized", "EACCES"),
        ('nodes is forbidden: User "system:anonymous" cannot list resource "nodes"', "ANONYMOUS"),
        ('nodes is forbidden: User "jane" cannot list resource "nodes"', "FORBIDDEN_RBAC"),
        ('secrets is forbidden: User "system:node:a" cannot list resource "secrets"', "FORBIDDEN_NODE"),
        ("lookup _ceph-mon._tcp on 192.0.2.53:53: no such host", ""),
        ("lookup mon.example.org on 192.0.2.53:53: no such host", "NXDOMAIN"),
        ("stat /etc/kubernetes/bootstrap-kubelet.conf: no such file or directory", "BOOTSTRAP"),
        ("stat /etc/kubernetes/other.conf: no such file or directory", "ENOENT"),
        ("hcsshim::ActivateLayer failed in Win32: The parameter is incorrect. (0x57)", "HCS_LAYER"),
        ("hcsshim::System::start failed in Win32: The parameter is incorrect. (0x57)", "HCS"),
        ("hcnCreateNetwork failed in Win32: The parameter is incorrect. (0x57)", "HNS"),
        ('failed to resolve image "sha256:ab12": not found', "IMAGE_NOT_STORED"),
        ("vol 8f. ServerFaultCode: Cannot complete login due to an incorrect user name or password.", "VSPHERE_LOGIN"),
        ("CNS: Failed to retrieve datastore for vol 8f. (vim.fault.NotFound)", "VSPHERE_DISK"),
        ("CNS: Failed to retrieve datastore for vol 8f. (vim.fault.HostCommunication)", ""),
        ("Failed to set nvme_core io_timeout: Permission denied (os error 13)", "EACCES"),
        ("Failed to set nvme_core io_timeout: No such file or directory (os error 2)", "NVME_CORE"),
    ],
)
def test_primitive(text, primitive):
    """A guard changes which words count as the cause; without it the words count."""
    assert read_error(text).primitive == primitive


@pytest.mark.parametrize(
    ("text", "modest"),
    [
        (f"{TEARDOWN}remove /srv/x: no such file or directory", True),
        (f"{SETUP}open /srv/x: no such file or directory", False),
        (f"{TEARDOWN}open /srv/x: permission denied", False),
        ("Registration of the crio container factory failed: dial unix /var/run/crio/crio.sock: no such file", False),
        (
            "Registration of the crio container factory failed: dial unix /run/crio/crio.sock: no such file or directory",
            True,
        ),
        ("can't process config file: open /etc/kubernetes/manifests/.a.swx: no such file or directory", True),
        ('failed to get container status "x": container not found', True),
    ],
)
def test_already_gone_and_optional(text, modest):
    """What is missing while something is removed, listed or optional is no cause; the sentence only quotes."""
    read = read_error(text)
    assert (not read.names_cause) == (modest or not read.primitive)
    assert bool(read.note) == modest


def test_level_info():
    """A plain errno at level info is no statement, except of a gRPC error or a cause by itself."""
    assert not read_error("open /srv/x: permission denied", level=Level.INFO).names_cause
    assert read_error("GRPC error: open /srv/x: permission denied", level=Level.INFO).names_cause
    assert read_error("rpc error: code = Internal desc = a: permission denied", level=Level.INFO).names_cause
    assert read_error("write /srv/x: no space left on device", level=Level.INFO).names_cause


def test_path_in_the_image():
    """A program that is started in a container is looked for in the image, and no command on the node is given."""
    inside = read_error(f'{START}exec: "/app/run": permission denied')
    outside = read_error('helper failed: exec: "/opt/run": permission denied')
    assert (inside.object_kind, inside.check) == ("entry", "")
    assert "image" in inside.sentence
    assert (outside.object_kind, outside.object) == ("path", "/opt/run") or outside.object_kind == ""


def test_objects_that_are_none():
    """Mount itself, a gRPC method, a Go symbol and a list of LUNs are no objects."""
    assert read_error("/usr/bin/mount: permission denied").object == ""
    assert read_error("/csi.v1.Node/NodePublishVolume: permission denied").object == ""
    assert read_error("/pkg.(*T).Run: permission denied").object == ""
    assert read_error("open /srv/x: permission denied").object == "/srv/x"


def test_deadline_names_no_driver():
    """A wait of kubelet for the API server is not blamed on a CSI driver."""
    read = read_error(f"{SETUP}failed to sync configmap cache: timed out waiting for the condition")
    assert "CSI" not in read.sentence
    assert read.owner == "API server"


def test_the_program_that_prints_it_is_no_driver():
    """A dead connection in an answer may be of either side; that a disk is full is what the driver answers."""
    call = 'MountVolume.SetUp failed for volume "v" (UniqueName: "kubernetes.io/csi/disk.example.org^v") : '
    code = "rpc error: code = Unavailable desc = "
    dead = read_error(f"{call}{code}http2: client connection lost", program="kubelet")
    full = read_error(f"{call}{code}write /srv/x: no space left on device", program="kubelet")
    assert dead.sentence == "the program uses a connection that is closed or dead"
    assert full.sentence.startswith("CSI driver disk.example.org: ")


def test_a_page_that_explains_is_no_server():
    """The address of a manual in an error is not what refused the call."""
    hint = "toomanyrequests: You may increase the limit: https://www.docker.com/increase-rate-limit"
    assert read_error(f"failed to pull image: {hint}").object == ""


def test_owner_only_with_its_operation():
    """A port that belongs to a plug-in's agent is named so only if a CNI call prints it."""
    refused = "dial tcp 127.0.0.1:50051: connect: connection refused"
    assert "aws-node" in read_error(f'plugin type="aws-cni" failed (add): {refused}').owner
    assert read_error(f"widget: {refused}").owner == ""


def test_bind_mount_is_no_file_system():
    """Mount's list of guesses is no statement."""
    read = read_error(
        "mount: /mnt: wrong fs type, bad option, bad superblock on /dev/sdq, missing codepage or helper program, or "
        "other error."
    )
    assert (read.primitive, read.object) == ("WRONG_FS", "/dev/sdq")
    assert "codepage" not in read.sentence


def test_oom_invoker_is_no_victim():
    """The process that asked for memory is not told as the one that was killed."""
    assert "java" not in read_error("java invoked oom-killer: gfp_mask=0xcc0").sentence
    assert "java" in read_error("Out of memory: Killed process 12 (java) total-vm:1kB").sentence


def test_strongest_error():
    """Of several errors the strongest counts, then the one that makes something, then the earliest."""
    weak = read_error("call: context deadline exceeded")
    gone = read_error("StopPodSandbox failed: dial tcp 192.0.2.1:80: connect: connection refused")
    made = read_error("RunPodSandbox failed: dial tcp 192.0.2.2:80: connect: connection refused")
    later = read_error("RunPodSandbox failed: dial tcp 192.0.2.3:80: connect: connection refused")
    chosen = strongest_error([Candidate(1, weak), Candidate(2, gone), Candidate(4, later), Candidate(3, made)])
    assert chosen is not None
    assert chosen.object == "192.0.2.2:80"
    assert strongest_error([]) is None


@pytest.mark.parametrize(
    "error",
    [
        "remove /run/widget/old.sock: no such file or directory, ignoring",
        "failed to read /etc/widget.env, ignoring: no such file or directory",
        "dial tcp 192.0.2.7:9000: connect: connection refused is expected before the first start",
    ],
)
def test_an_error_that_does_not_matter(error):
    """Words beside an error that say that it is ignored, expected or not enforced take away its meaning."""
    assert read_error(error).names_cause is False


def test_a_path_of_a_probe_is_in_the_container():
    """The output of a probe's command is about the container: no command on the node shows its cause."""
    assert read_error("Liveness probe failed: cat: /tmp/alive: No such file or directory").check == ""
    assert read_error("open /tmp/alive: no such file or directory").check == "{host} ls -ld /tmp/alive"


def test_a_folder_that_could_not_be_made_shows_its_parent():
    """The rights of the folder above decide, and they are shown although the object does not exist."""
    assert read_error("mkdir /srv/a/b: permission denied").check == "{host} ls -ldZ /srv/a /srv/a/b"
    assert read_error("mkdir srv/b: permission denied").check == "{host} ausearch -m avc -ts boot"


@pytest.mark.parametrize("folder", ["/run/containerd/task/1/rootfs/etc", "/var/lib/containerd/tmpmounts/mount7/etc"])
def test_a_path_that_the_runtime_has_removed(folder):
    """A container that did not start and a layer that was not unpacked leave nothing to look at."""
    assert read_error(f"chmod {folder}/hosts: no such file or directory").check == ""


def test_a_path_with_a_tilde_has_a_command():
    """The folder of each volume of a pod has a tilde in its name."""
    folder = "/var/lib/kubelet/pods/5b0c7a1e-2f4d-4c8e-9a63-0d1e2f3a4b5c/volumes/kubernetes.io~csi/data"
    assert read_error(f"stat {folder}: stale file handle").check == f"{{host}} findmnt -T '{folder}'"
    assert read_error("stat /srv/$(reboot): stale file handle").check == "{host} findmnt -t nfs,nfs4,cifs,ceph"


@pytest.mark.parametrize(
    ("error", "quoted"),
    [
        (
            'error getting node "n1": nodes "n1" is gone',
            'error getting node "n1": nodes "n1" is gone',
        ),
        ('"n1" has no such thing at all', '"n1" has no such thing at all'),
        ("Liveness probe failed: HTTP probe failed with statuscode: 503", "HTTP probe failed with statuscode: 503"),
        ("MountVolume.MountDevice failed : rpc error: code = Internal desc = [object Object]", "[object Object]"),
        (
            'couldn\'t mount: {"error": "the login was wrong, said the server", "path": "a/b", "status": 0}',
            "the login was wrong, said the server",
        ),
        (
            'refused: {"error":"invalid_grant","error_description":"the certificate of the app is too old"}',
            "the certificate of the app is too old",
        ),
        (
            '"Failure" err="the volume is gone for good: " span_id="cv" method="/csi.v1.Node/X" duration="2ms"',
            "the volume is gone for good",
        ),
        (
            '"msg"="failed" "error"="mkdir /mnt: it is gone for good" "request"={} "rpc_method"="/csi.v1.Node/X"',
            "mkdir /mnt: it is gone for good",
        ),
        (
            'autorest/azure: Service returned an error. Status=<nil> Code="NotNow" Message="The scale set is being moved."',
            "The scale set is being moved",
        ),
        ('exec user process caused "exec format error"', 'exec user process caused "exec format error"'),
        ("k3s.service: Failed with result 'exit-code'.", "Failed with result 'exit-code'"),
        ("the pod doesn't fit, as no 'large' node's here", "the pod doesn't fit, as no 'large' node's here"),
        ("ssh said: Unmatched '\"'.", "ssh said: Unmatched '\"'"),
        (
            "Unable to create storage backend: config (&{etcd3 [https://192.0.2.7:2379] false <nil>}), err (it is gone away)",
            "it is gone away",
        ),
        (
            'rejected connection from "192.0.2.7:1" (error "it is gone away for good", ServerName "a", IPAddresses [], DNSNames ["b"])',
            "it is gone away for good",
        ),
        (
            "0/6 nodes are available: 1 node(s) had taint {node.kubernetes.io/not-ready: }, that the pod didn't tolerate.",
            "1 node(s) had taint {node.kubernetes.io/not-ready: }, that the pod didn't tolerate",
        ),
    ],
)
def test_a_quoted_clause_is_quoted_as_printed(error, quoted):
    """Quotes of a name stay where they are, and a number stays behind its clause."""
    assert read_error(error).quoted == quoted


def test_a_folder_of_two_controllers_is_one_path():
    """Version 1 of cgroups has cpu and cpuacct in one folder, whose name has a comma."""
    path = "/sys/fs/cgroup/cpu,cpuacct/system.slice/docker-4f1d2c3b4a59.scope/cpu.shares"
    assert read_error(f"System error: open {path}: no such file or directory").object == path
    assert read_error(f"stat {path}, no such file or directory").object == path


def test_the_second_try_of_a_pull_is_no_cause():
    """CRI-O tries an image as an artifact, too; the error of the first try counts."""
    first = "pull image err: writing blob: fetching blob: StatusCode: 400, x"
    second = "artifact err: image reference: open /srv/x: permission denied"
    read = read_error(f"unable to pull image or OCI artifact: {first}; {second}", operations=("pull",))
    assert read.primitive == "HTTP_400"


@pytest.mark.parametrize(
    ("text", "check"),
    [
        (f'{START}error mounting "tmpfs" to rootfs at "/dev/shm": mount tmpfs:/dev/shm (via /proc/self/fd/7): operation not permitted', ""),
        (f'{START}error mounting "/srv/x" to rootfs at "/srv/y": stat /srv/x: no such file or directory', "ls -ld /srv/x"),
        (f"{SETUP}rpc error: code = Internal desc = open /opt/client.conf: no such file or directory", ""),
        (f"{SETUP}rpc error: code = Internal desc = stat /var/lib/kubelet/pods/a: no such file or directory", "ls -ld /var/lib/kubelet/pods/a"),
        (f"{SETUP}open /opt/client.conf: no such file or directory", "ls -ld /opt/client.conf"),
    ],
)  # fmt: skip
def test_paths_that_are_not_of_the_node(text, check):
    """The target of a container's mount, and a file of a driver's pod, are not looked for on the node."""
    assert read_error(text).check.removeprefix("{host} ") == check
