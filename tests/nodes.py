"""A node to try commands on: real mounts below /var/lib/kubelet, in a mount namespace that is thrown away.

/var/lib is an empty tmpfs there, so that nothing of the machine itself can be seen or harmed by what a rule says.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

POD_UID = f"1f0c3a52-8d7b-4e6f-9a10-{os.getpid():012x}"  # /proc tells of the nodes of tests that run beside this one
PV = "pvc-77aa11cc-0b1d-4f5e-8c9a-2d3e4f5a6b7c"
HANDLE = "vol-0a1b2c3d4e5f"
KUBELET = "/var/lib/kubelet"
POD = f"{KUBELET}/pods/{POD_UID}"
FOLDER = f"{POD}/volumes/kubernetes.io~csi/{PV}"
TARGET = f"{FOLDER}/mount"
STAGED = f"{KUBELET}/plugins/kubernetes.io/csi/csi.example.org/{'8d1f0c' * 10}8d1f"
STAGING = f"{STAGED}/globalmount"
DATA = "/var/lib/data"  # what the volume holds
SUBPATH = f"{POD}/volume-subpaths/VOLUME/CONTAINER/0"
SAID = {
    "pod_uid": POD_UID,
    "spec_name": PV,
    "volume": PV,
    "volume_handle": HANDLE,
    "unique_name": f"kubernetes.io/csi/csi.example.org^{HANDLE}",
    "target_path": TARGET,
    "staging_path": STAGING,
    "driver": "csi.example.org",
    "node": "worker-1",
    "namespace": "shop",
    "pod_name": "web-0",
    "pod": "shop/web-0",
    "server": "127.0.0.53",
    "sandbox_id": "24bee860a677b045e22fb764067cee0dbddeaeb2ac68ccd229b26418d24cf2e6",
    "container_id": "3f2a9c60a677b045e22fb764067cee0dbddeaeb2ac68ccd229b26418d24cf2e6",
}


class Node:
    """A process that keeps a mount namespace, in which commands are run."""

    def __init__(self) -> None:
        """Raises OSError with the reason where no namespace can be had."""
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        for program in ("unshare", "nsenter", "mount", "bash"):
            if not shutil.which(program):
                raise OSError(f"there is no {program} here")
        begin = "mount -t tmpfs tmpfs /var/lib && echo ready && exec sleep 600"
        self._keeper = subprocess.Popen(
            ["unshare", *user, "--mount", "--propagation", "private", "sh", "-c", begin],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._keeper.stdout
        if (said := self._keeper.stdout.readline().strip()) != "ready":
            self.close()
            raise OSError(f"no mount namespace can be made here: {said}")
        as_root = ["--user", "--preserve-credentials"] if user else []
        self._enter = ["nsenter", "--target", str(self._keeper.pid), *as_root, "--mount"]
        self._left = ExitStack()

    def close(self) -> None:
        """End what runs there; the mounts go with the last process."""
        self._keeper.kill()
        self._keeper.communicate()

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """Run a command there as a person would paste it."""
        return subprocess.run(
            [*self._enter, "bash", "-c", command],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def must(self, command: str) -> str:
        """Run what cannot fail and give its output."""
        done = self.run(command)
        assert done.returncode == 0, (command, done.stderr)
        return done.stdout

    @contextmanager
    def running(self, command: str, *namespace: str) -> Iterator[int]:
        """Something that runs there, in a mount namespace of its own if `namespace` is `unshare …`; gives its PID."""
        process = subprocess.Popen(
            [*self._enter, *namespace, "bash", "-c", f"{command}; echo ready; read -r _"],
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout
        try:
            assert process.stdout.readline() == "ready\n"
            yield process.pid
        finally:
            process.communicate("over\n")

    @contextmanager
    def cloned(self) -> Iterator[int]:
        """Another mount namespace that has all mounts of the node as they are now, as a container's has."""
        with self.running("true", "unshare", "--mount", "--propagation", "private") as pid:
            yield pid

    def published(self) -> None:
        """The volume is staged, and published to the pod."""
        self.must(f"mkdir -p {DATA}/folder {STAGING} {TARGET} && echo kept > {DATA}/file")
        self.must(f"mount --bind {DATA} {STAGING} && mount --bind {STAGING} {TARGET}")
        record = f'{{"driverName":"csi.example.org","volumeHandle":"{HANDLE}"}}'
        self.must(f"echo '{record}' | tee {STAGED}/vol_data.json > {FOLDER}/vol_data.json")

    def record_left(self) -> None:
        """The mount is gone, the file beside it is not."""
        self.must(f"mkdir -p {FOLDER} && echo '{{}}' > {FOLDER}/vol_data.json")

    def record_empty(self) -> None:
        """The mount is gone, and the file beside it was cut to nothing."""
        self.must(f"mkdir -p {FOLDER} && : > {FOLDER}/vol_data.json")

    def files_left(self) -> None:
        """Nothing is mounted, but files lie in the folder."""
        self.must(f"mkdir -p {TARGET} && echo left > {TARGET}/file")

    def subpath_left(self) -> None:
        """A mount of one folder of a volume."""
        self.must(f"mkdir -p {DATA}/folder {SUBPATH} && mount --bind {DATA}/folder {SUBPATH}")

    def source_deleted(self) -> None:
        """A mount of one folder of a volume, which was removed behind it."""
        self.must(f"mkdir -p {DATA}/folder {SUBPATH} && mount --bind {DATA}/folder {SUBPATH} && rmdir {DATA}/folder")

    def shared(self) -> None:
        """Mounts that are propagated, as a node must have them."""
        self.must("mount --make-shared /var/lib")

    def sockets(self) -> None:
        """A CSI driver that listens."""
        made = "import socket,sys; [socket.socket(socket.AF_UNIX).bind(path) for path in sys.argv[1:]]"
        registry, own = f"{KUBELET}/plugins_registry", f"{KUBELET}/plugins/csi.example.org"
        self.must(f"mkdir -p {registry} {own}")
        self.must(f"python3 -c '{made}' {registry}/csi.example.org-reg.sock {own}/csi.sock")
