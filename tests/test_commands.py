"""What rules tell people to run: read-only commands find what their text says, guards stop mistakes, forms are right.

Commands that look at mounts are run on real ones, in a mount namespace (`tests/nodes.py`); those that need a cluster, a
runtime or a journal are checked for their form alone.
"""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import NamedTuple

import pytest

from kvdiag.rules.distribution import default_dialect
from kvdiag.rules.fill import command
from tests.nodes import DATA, FOLDER, HANDLE, KUBELET, POD_UID, PV, SAID, STAGED, STAGING, SUBPATH, TARGET, Node
from tests.patterns import library
from tests.shellforms import faults, simple_commands

RULES = library().rules
COMMANDS = sorted(
    {
        default_dialect().expand(text).strip()
        for rule in RULES
        for text in (*(fix.run for fix in rule.fix), *rule.collect)
        if text
    }
)
FAMILIES = ("2", "3")  # volume and CSI: their commands must have a trial or a reason

HOLDERS = "find /proc -maxdepth 3 -lname '*'{target_path}'*'"
STAGING_HOLDERS = "find /proc -maxdepth 3 -lname '*'{staging_path}'*'"
NAMESPACES = (
    "grep -lsF -e {target_path} /proc/[0-9]*/mountinfo | cut -d/ -f3 | xargs -r ps -o mntns,pid,args -p | sort -u -k1,1"
)
OF_THE_POD = "findmnt --list --output TARGET,SOURCE | grep -F -e {pod_uid}"
OF_THE_VOLUME = "findmnt --list --output TARGET,SOURCE | grep -F -e {spec_name}"
OF_THE_STAGING_PATH = "findmnt --list --output TARGET,SOURCE | grep -F -e {staging_path}"
FILES_LEFT = "ls -la {target_path}"
REMOVE_FILES = "rm -r --one-file-system {target_path}"
DELETED = "grep //deleted /proc/self/mountinfo"
LAZILY = "umount --lazy {target_path}"
MOUNT_ANYTHING = "mount --bind {target_path} {target_path}"
REMOVE_RECORD = "rm /var/lib/kubelet/pods/{pod_uid}/volumes/kubernetes.io~csi/VOLUME/vol_data.json"
UNMOUNT_SUBPATH = "umount /var/lib/kubelet/pods/{pod_uid}/volume-subpaths/VOLUME/CONTAINER/0"


class Trial(NamedTuple):
    """A state of the node, and what a command must print then; on an empty node it prints none of it."""

    scene: Callable[[Node], None]
    prints: tuple[str, ...]


TRIALS = {
    "findmnt --mountpoint {target_path}": Trial(Node.published, (TARGET,)),
    OF_THE_STAGING_PATH: Trial(Node.published, (STAGING,)),
    "findmnt --submounts {target_path}": Trial(Node.published, (TARGET,)),
    OF_THE_POD: Trial(Node.published, (TARGET,)),
    "findmnt --list --output TARGET,SOURCE,FSTYPE | grep -F -e {pod_uid}": Trial(Node.published, (TARGET,)),
    OF_THE_VOLUME: Trial(Node.published, (TARGET,)),
    "findmnt --list --output TARGET,SOURCE": Trial(Node.published, (TARGET, STAGING)),
    "findmnt --list --output TARGET,SOURCE | grep -F -e volume-subpaths": Trial(Node.subpath_left, (SUBPATH,)),
    "findmnt --output TARGET,PROPAGATION": Trial(Node.shared, ("shared",)),
    DELETED: Trial(Node.source_deleted, (SUBPATH,)),
    "ls -la /var/lib/kubelet/pods/{pod_uid}": Trial(Node.published, ("volumes",)),
    (
        "find /var/lib/kubelet/plugins/kubernetes.io/csi -maxdepth 3 -name vol_data.json"
        " -exec grep -lF -e {volume_handle} {} +"
    ): Trial(Node.published, (f"{STAGED}/vol_data.json",)),
    "find /var/lib/kubelet/plugins_registry /var/lib/kubelet/plugins -maxdepth 2 -type s": Trial(
        Node.sockets, ("csi.example.org-reg.sock", "plugins/csi.example.org/csi.sock")
    ),
    "ls /var/lib/kubelet/pods": Trial(Node.published, (POD_UID,)),
    "find /var/lib/kubelet/pods/{pod_uid}/volumes -maxdepth 3 -name vol_data.json -ls": Trial(
        Node.record_left, (f"{FOLDER}/vol_data.json",)
    ),
    "find /var/lib/kubelet/pods /var/lib/kubelet/plugins/kubernetes.io/csi -xdev -name vol_data.json -empty": Trial(
        Node.record_empty, (f"{FOLDER}/vol_data.json",)
    ),
    "find /var/lib/kubelet/pods/{pod_uid}/volumes -maxdepth 3 -path '*/'{spec_name}'*' -ls": Trial(
        Node.record_left, ("vol_data.json",)
    ),
    "find /var/lib/kubelet/pods/{pod_uid}/volumes -mindepth 2 -maxdepth 2 -name {spec_name}": Trial(
        Node.record_left, (FOLDER,)
    ),
    FILES_LEFT: Trial(Node.files_left, ("file",)),
    "find /var/lib/kubelet/pods/{pod_uid}/volume-subpaths -maxdepth 3": Trial(Node.subpath_left, (SUBPATH,)),
}
TRIED_BELOW = {
    HOLDERS,
    STAGING_HOLDERS,
    NAMESPACES,
    REMOVE_FILES,
    "umount {target_path}",
    "umount {staging_path}",
    LAZILY,
    MOUNT_ANYTHING,
    "timeout 5 bash -c 'exec 3<>/dev/tcp/\"$1\"/2049 && echo it answers' bash {server}",
    "timeout 5 bash -c 'exec 3<>/dev/tcp/\"$1\"/445 && echo it answers' bash {server}",
    "ss --listening --tcp --numeric --processes src 127.0.0.1",
}
FORM_ALONE = {
    "Get-SmbGlobalMapping": "needs Windows",
    "ausearch": "needs an audit log",
    "blkid": "lists what disks there are",
    "cat /etc/iscsi/initiatorname.iscsi": "a file of the machine itself",
    "date": "shows the clock of the machine itself",
    "dmesg": "the kernel's log is not ours to write",
    "drbdadm": "needs DRBD",
    "e2fsck -n DEVICE": "a faulty file system is nothing to make here",
    "which rbd": "a program of the machine itself",
    "find /usr/libexec/kubernetes/kubelet-plugins/volume/exec -maxdepth 2": "a folder of the machine itself",
    "find /sbin/ -name 'mount.*'": "a folder of the machine itself",
    "findmnt": "lists what is mounted",
    "findmnt --types fuse,fuse.ceph-fuse,fuse.glusterfs,fuse.s3fs,fuse.gcsfuse,fuse.juicefs": "needs a FUSE process",
    "findmnt --types nfs,nfs4": "an NFS mount needs a server in the kernel",
    "grep -lsF -e /dev/rbd /proc/[0-9]*/mountinfo | cut -d/ -f3 | xargs -r ps -o mntns,pid,args -p | sort -u -k1,1": (
        "needs an RBD device; the same is tried with a path"
    ),
    "ls -l /dev/disk/by-id": "lists what disks there are",
    "ls -l /dev/disk/by-path": "lists what disks there are",
    "ls -l /sbin/mount.nfs": "a file of the machine itself",
    "gluster": "needs a GlusterFS server",
    "iscsiadm": "needs an iSCSI initiator",
    "journalctl": "needs systemd",
    "losetup": "lists what loop devices there are",
    "ls -dZ PATH": "needs SELinux",
    "ls -l /dev/fuse": "a file of the machine itself",
    "ls /etc/kubernetes/secrets-store-csi-providers /var/run/secrets-store-csi-providers": (
        "folders of the machine itself"
    ),
    "ls -la /usr/libexec/kubernetes/kubelet-plugins/volume/exec": "a folder of the machine itself",
    "lsblk": "lists what disks there are",
    "lvs": "needs LVM",
    "multipath": "needs multipathd",
    "multipathd": "is not running here",
    "nvme": "needs NVMe over Fabrics",
    "openssl": "needs a certificate of kubelet",
    "ps": "a process in uninterruptible sleep cannot be made",
    "rpcinfo": "asks rpcbind of the machine itself",
    "systemctl": "needs systemd",
    "umount --force --lazy {target_path}": "needs a server that is gone",
    "vgs": "needs LVM",
    "zfs": "needs ZFS",
    "zpool": "needs ZFS",
    "find /var/lib/kubelet/pods -maxdepth 4 -path '*/volumes/*/*' | xargs -r ls -dZ": "needs a kernel with SELinux",
    "kubectl": "needs a cluster",
    "crictl": "needs a runtime",
}


@pytest.fixture
def node() -> Iterator[Node]:
    """Give a node that is thrown away, or skip with the reason."""
    try:
        made = Node()
    except OSError as error:
        pytest.skip(str(error))
    try:
        yield made
    finally:
        made.close()


def needs(text: str) -> None:
    """Skip where a program of a command is missing."""
    for words in simple_commands(text):
        if not shutil.which(words[0]):
            pytest.skip(f"there is no {words[0]} here")


def filled(text: str) -> str:
    """Give a rule's command with this node's values; what the node has no name for is called by the slot's own."""
    slots = re.findall(r"\{([a-z_]+)\}", text)
    return command(text, {slot: SAID.get(slot, slot) for slot in slots})


def said(node: Node, text: str) -> str:
    """Give what a rule's command prints on the node."""
    return node.run(filled(text)).stdout


def test_a_shell_reads_every_command():
    """Each is one when it is filled: it is read by itself, as what a function would do, and not run."""
    read = 'while IFS= read -r -d "" text; do eval "unused() { :; $text\n}" || echo "$text"; done'
    said = "".join(f"{filled(text)}\0" for text in COMMANDS)
    done = subprocess.run(["bash", "-c", read], input=said, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")


def test_every_command_has_the_form_of_its_programs():
    """Each runs known programs, with options that those have."""
    found = {(text, fault) for text in COMMANDS for words in simple_commands(filled(text)) for fault in faults(words)}
    assert found == set()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("journalctl -k --grep x -A 25", "journalctl: no option -A"),
        ("kubectl get pods --field-selectors a=b", "kubectl: no option --field-selectors"),
        ("kubectl got pods", "kubectl got: no command that is known"),
        ("ls | frobnicate", "frobnicate: no program that is known"),
        ("grep -lZx a b 2>/dev/null", "grep: no option -lZx"),
        ("ls /proc | xargs -r ps -q", "ps: no option -q"),
        ("kill -USR1 $(pidf containerd)", "pidf: no program that is known"),
        ("find / -name x -exec grep -lZ y {} +", "grep: no option -lZ"),
    ],
)
def test_a_wrong_form_is_told(text, fault):
    """An option, command or program that does not exist is found in any part of a command line."""
    assert [fault for words in simple_commands(text) for fault in faults(words)] == [fault]


def test_every_command_about_volumes_is_tried():
    """A command of the volume and CSI rules has a trial on a real node, or a reason why it has none."""
    texts = {
        default_dialect().expand(fix.run).strip()
        for rule in RULES
        if rule.id[2] in FAMILIES
        for fix in rule.fix
        if fix.run
    }
    tried = TRIALS.keys() | TRIED_BELOW
    untried = {text for text in texts - tried if text not in FORM_ALONE and text.split()[0] not in FORM_ALONE}
    assert untried == set()


def test_every_trial_is_of_a_command_there_is():
    """What is tried here stands in a rule."""
    assert (TRIALS.keys() | TRIED_BELOW) - set(COMMANDS) == set()


@pytest.mark.parametrize("text", TRIALS)
def test_it_finds_what_its_text_says(text, node):
    """The command prints what it is told to look for when it is there, and not when it is not."""
    needs(text)
    assert not [words for words in TRIALS[text].prints if words in said(node, text)]
    TRIALS[text].scene(node)
    found = said(node, text)
    assert [words for words in TRIALS[text].prints if words not in found] == []


def test_two_mounts_on_each_other_are_two_lines(node):
    """Both are told, and one umount takes only the upper one off."""
    needs("findmnt")
    node.published()
    node.must(f"mount --bind {DATA} {TARGET}")
    assert said(node, "findmnt --mountpoint {target_path}").count(TARGET) == 2
    node.must(filled("umount {target_path}"))
    assert said(node, "findmnt --mountpoint {target_path}").count(TARGET) == 1
    assert "busy" in node.run(f"rmdir {TARGET}").stderr


@pytest.mark.parametrize(
    "doing", [f"cd {TARGET}", f"exec 3<{TARGET}/file", f"cd {TARGET}/folder", f"exec 3>{TARGET}/new"]
)
def test_a_process_in_a_mount_is_found_and_keeps_umount_from_working(doing, node):
    """The guard names the process that makes umount say busy; when it has ended, umount works."""
    needs(HOLDERS)
    node.published()
    with node.running(doing) as pid:
        assert f"/proc/{pid}/" in said(node, HOLDERS)
        assert "busy" in node.run(filled("umount {target_path}")).stderr
    assert said(node, HOLDERS) == ""
    node.must(filled("umount {target_path}"))
    assert said(node, "findmnt --mountpoint {target_path}") == ""


def test_a_process_beside_the_mount_is_not_taken_for_a_holder(node):
    """What works on the same file system, but not below the mount, is not told and does not keep umount from working."""
    needs(HOLDERS)
    node.published()
    with node.running(f"cd {DATA}; exec 3<{DATA}/file"):
        assert said(node, HOLDERS) == ""
        node.must(filled("umount {target_path}"))


def test_a_process_in_the_staging_path_is_found(node):
    """The same for the path of the node."""
    needs(STAGING_HOLDERS)
    node.published()
    with node.running(f"cd {STAGING}") as pid:
        assert f"/proc/{pid}/cwd" in said(node, STAGING_HOLDERS)
        assert "busy" in node.run(filled("umount {staging_path}")).stderr
    node.must(filled("umount {staging_path}"))


def test_a_container_does_not_hold_the_mount_of_the_node(node):
    """A process in a private namespace, though it works in the volume, does not keep umount from working."""
    needs(HOLDERS)
    node.published()
    with node.running(f"cd {TARGET}", "unshare", "--mount", "--propagation", "private"):
        node.must(filled("umount {target_path}"))


def test_a_container_to_which_mounts_are_propagated_holds_them(node):
    """One that mounts /var/lib/kubelet does: its process is told, by the path that it has there, and umount is refused."""
    needs(HOLDERS)
    node.must("mount --make-shared /var/lib")
    node.published()
    with node.running(f"cd {TARGET}", "unshare", "--mount", "--propagation", "slave") as pid:
        assert f"/proc/{pid}/cwd" in said(node, HOLDERS)
        assert "busy" in node.run(filled("umount {target_path}")).stderr
    node.must(filled("umount {target_path}"))


def test_a_mount_that_is_held_goes_lazily(node):
    """What umount refuses while a process works in it, is off the node with --lazy; the process keeps its data."""
    node.published()
    with node.running(f"cd {TARGET}"):
        assert "busy" in node.run(filled("umount {target_path}")).stderr
        node.must(filled(LAZILY))
        assert said(node, "findmnt --mountpoint {target_path}") == ""
    assert node.must(f"cat {DATA}/file") == "kept\n"


def test_a_mount_is_put_where_the_next_unmount_wants_one(node):
    """An unmount fails where nothing is mounted, and succeeds once the folder is mounted onto itself."""
    node.must(f"mkdir -p {TARGET}")
    assert "not mounted" in node.run(filled("umount {target_path}")).stderr
    node.must(filled(MOUNT_ANYTHING))
    assert TARGET in said(node, "findmnt --mountpoint {target_path}")
    node.must(filled("umount {target_path}"))


def test_a_mount_whose_source_was_deleted_is_unmounted(node):
    """It is in the list by the path that umount takes, and then no longer."""
    node.source_deleted()
    assert said(node, DELETED).split()[4] == SUBPATH
    node.must(f"umount {SUBPATH}")
    assert said(node, DELETED) == ""


def test_a_mount_beneath_is_found_and_keeps_umount_from_working(node):
    """The second line of findmnt --submounts is what makes umount say busy."""
    needs("findmnt")
    node.published()
    node.must(f"mount --bind {KUBELET} {TARGET}/folder")
    assert f"{TARGET}/folder" in said(node, "findmnt --submounts {target_path}")
    assert "busy" in node.run(filled("umount {target_path}")).stderr


def test_a_mount_that_only_another_namespace_has_is_found(node):
    """Unmounted on the node, it is told with the one process that still has it; then with none."""
    needs(NAMESPACES)
    node.published()
    with node.cloned() as pid:
        node.must(filled("umount {target_path}"))
        lines = said(node, NAMESPACES).splitlines()
        assert [line.split()[1] for line in lines if line.split()[1] != "PID"] == [str(pid)]
    assert said(node, NAMESPACES) == ""


def test_a_directory_that_is_mounted_cannot_be_removed(node):
    """What kubelet does when the driver has not unmounted is refused as busy, and works after umount."""
    node.published()
    assert "busy" in node.run(f"rmdir {TARGET}").stderr
    node.must(filled("umount {target_path}"))
    node.must(f"rmdir {TARGET}")
    assert node.must(f"cat {DATA}/file") == "kept\n"


def test_a_process_in_a_directory_does_not_keep_it_from_being_removed(node):
    """Busy for rmdir is a mount point, never a process; so the rule about it does not send people after processes."""
    node.must(f"mkdir -p {TARGET}")
    with node.running(f"cd {TARGET}"):
        node.must(f"rmdir {TARGET}")


def test_the_staging_path_can_be_unmounted_under_a_pod(node):
    """The kernel does not refuse it, so the guard must: the pod's own mount is in the list of the volume's."""
    needs(OF_THE_VOLUME)
    node.published()
    assert TARGET in said(node, OF_THE_VOLUME)
    node.must(filled("umount {staging_path}"))
    assert TARGET in said(node, OF_THE_VOLUME)
    node.must(filled("umount {target_path}"))
    assert said(node, OF_THE_VOLUME) == ""


def test_a_driver_that_stages_below_the_staging_path(node):
    """As ceph's rbd does: the path itself is no mount, umount refuses it, and the list tells the folder that is one."""
    needs(OF_THE_STAGING_PATH)
    node.must(f"mkdir -p {DATA} {STAGING}/{HANDLE} && mount --bind {DATA} {STAGING}/{HANDLE}")
    assert said(node, "findmnt {staging_path}") == ""
    assert f"{STAGING}/{HANDLE}" in said(node, OF_THE_STAGING_PATH)
    assert "not mounted" in node.run(filled("umount {staging_path}")).stderr


def test_files_are_removed_where_nothing_is_mounted(node):
    """The leftover goes, and the pod's folder can be removed."""
    needs(OF_THE_POD)
    node.files_left()
    assert said(node, OF_THE_POD) == ""
    node.must(filled(REMOVE_FILES))
    node.must(f"rmdir {FOLDER}")


def test_the_guard_stops_a_removal_of_what_is_mounted(node):
    """With the volume mounted the same command would delete its data; the list of mounts says so beforehand."""
    needs(OF_THE_POD)
    node.published()
    assert TARGET in said(node, OF_THE_POD)
    node.run(filled(REMOVE_FILES))
    assert "No such file" in node.run(f"cat {DATA}/file").stderr


def test_a_stray_record_is_removed(node):
    """Without the file the folders of the pod are empty and can be removed."""
    node.record_left()
    node.must(filled(REMOVE_RECORD).replace("VOLUME", PV))
    node.must(f"rmdir -p {FOLDER} 2>/dev/null || test ! -e {FOLDER}")


def test_a_mount_of_a_subpath_is_unmounted(node):
    """It goes, with the volume's data in place."""
    node.subpath_left()
    node.must(filled(UNMOUNT_SUBPATH))
    node.must(f"rmdir {SUBPATH} && test -d {DATA}/folder")


def test_the_list_of_mounts_of_a_disk(node):
    """A file system on a device of its own is found alike, and its staging path is held apart from the pod's mount."""
    needs("mkfs.ext4 | truncate | losetup")
    node.must(f"mkdir -p {STAGING} {TARGET} && truncate --size 8M /var/lib/disk && mkfs.ext4 -q /var/lib/disk")
    if (done := node.run(f"mount -o loop /var/lib/disk {STAGING}")).returncode:
        pytest.skip(done.stderr)
    node.must(f"mount --bind {STAGING} {TARGET}")
    assert "ext4" in said(node, "findmnt --mountpoint {target_path}")
    assert TARGET in said(node, OF_THE_VOLUME)
    with node.running(f"cd {TARGET}") as pid:
        assert f"/proc/{pid}/cwd" in said(node, HOLDERS)
    node.must(f"umount {TARGET} && umount {STAGING}")


@pytest.mark.parametrize("port", [2049, 445])
def test_a_server_that_answers_on_the_port_of_nfs_or_smb(port):
    """It is told when it answers, and nothing is when it does not."""
    text = next(text for text in TRIED_BELOW if text.startswith("timeout") and f"/{port} " in text)
    needs(text)
    run = ["bash", "-c", filled(text)]
    assert subprocess.run(run, capture_output=True, text=True, check=False).stdout == ""
    with ExitStack() as left:
        listener = left.enter_context(socket.socket())
        try:
            listener.bind((SAID["server"], port))
        except OSError as error:
            pytest.skip(str(error))
        listener.listen()
        assert subprocess.run(run, capture_output=True, text=True, check=False).stdout == "it answers\n"


def test_who_listens_for_a_tunnel():
    """A listener on 127.0.0.1 is told with its port; one elsewhere is not."""
    text = "ss --listening --tcp --numeric --processes src 127.0.0.1"
    needs(text)
    with socket.create_server(("127.0.0.1", 0)) as here, socket.create_server(("127.0.0.53", 0)) as elsewhere:
        found = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True).stdout
        assert f"127.0.0.1:{here.getsockname()[1]}" in found
        assert f":{elsewhere.getsockname()[1]} " not in found
