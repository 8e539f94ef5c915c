"""What the worst inputs take: each is made, given to a command, and its CPU time and peak memory are printed.

    python bench/bounds.py [--million] [--only WORD] [--folder FOLDER]

Each row: the input, the command, its exit code, CPU seconds (user and system), peak memory in MB, and the last line
that was said. `--million` makes ten times as many subjects, findings and members: an hour, and 1 GB of disk. What was
measured stands in docs/bounds.md.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

BEGINS = datetime(2026, 7, 1, tzinfo=UTC)
APART = timedelta(milliseconds=50)
MEMBER = b"I0701 00:00:00.000000    1432 kubelet.go:2400] a line\n"
HEADER = "{severity}{time:%m%d %H:%M:%S.%f}    1432 "
GRPC = (
    HEADER + 'utils.go:97] "GRPC call" method="/csi.v1.Node/NodePublishVolume" request="{request}" response="{{}}" '
    'deadline="" \n'
)
BUSY = (
    'nestedpendingoperations.go:348] Operation for "{{volumeName:kubernetes.io/csi/d.example^{pv} podName:{uid} '
    'nodeName:}}" failed. No retries permitted until {time:%Y-%m-%d %H:%M:%S} +0000 UTC m=+199.1 '
    "(durationBeforeRetry 500ms). Error: "
    'UnmountVolume.TearDown failed for volume "data" (UniqueName: "kubernetes.io/csi/d.example^{pv}") pod "{uid}" '
    '(UID: "{uid}") : kubernetes.io/csi: Unmounter.TearDownAt failed to clean mount dir [{path}]: kubernetes.io/csi: '
    "failed to remove dir [{path}]: remove {path}: device or resource busy\n"
)


class Trap(NamedTuple):
    """An input: how it is called and made, and the commands that are given it."""

    name: str
    write: Callable[[Path], None]
    commands: tuple[str, ...] = ("analyze -q",)


def main() -> None:
    """Make each input, run its commands, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", action="store_true", help="ten times as many of everything that is counted")
    parser.add_argument("--only", default="", metavar="WORD", help="only what has this word in its name")
    parser.add_argument("--folder", type=Path, help="where the inputs are made (a temporary folder)")
    options = parser.parse_args()
    print(f"{'input':<34} {'command':<24} {'exit':>4} {'CPU s':>7} {'MB':>6}  said")
    with tempfile.TemporaryDirectory(prefix="kvdiag-bounds-", dir=options.folder) as folder:
        for trap in traps(1_000_000 if options.million else 100_000):
            if options.only in trap.name:
                path = Path(folder, trap.name.replace(" ", "-").replace(",", ""))
                trap.write(path)
                for command in trap.commands:
                    print(measured(trap.name, command, path), flush=True)


def traps(many: int) -> Iterator[Trap]:
    """All inputs, `many` of what they have many of."""
    yield Trap(f"{many} pods and volumes", lines(pods(many)), ("analyze -q", "pods -o json", "volumes -o json"))
    yield Trap(f"{many} sandboxes", lines(sandboxes(many)), ("analyze -q", "events", "parse"))
    yield Trap(
        f"{many} findings",
        lines(busy(many // 2)),
        ("analyze -q", "analyze -o html", "analyze -o github", "analyze -o json"),
    )
    yield Trap(f"{many} pods in lists", lines(listed(many)))
    yield Trap(f"{many} processes", lines(processes(many)))
    yield Trap(f"{many} members.tar.gz", lambda path: tar(path, many))
    yield Trap(f"{many} members.zip", lambda path: zipped(path, many))
    yield Trap("links.d", links)
    yield Trap("1 GB line", lambda path: chunks(path, b"x" * (1 << 20), 954))
    yield Trap("268 MB of blank lines.gz", lambda path: packed(path, b"\n" * (1 << 20), 256))
    yield Trap("400 MB of blank lines.gz", lambda path: packed(path, b"\n" * (1 << 20), 382))
    yield Trap("100000 pairs in one line", lines(pairs(100_000)), ("analyze -q", "parse"))
    yield Trap("10 MB JSON line", lines(json_line(10_000_000)), ("analyze -q", "parse"))
    yield Trap("1 MB JSON line", lines(json_line(1_000_000)), ("analyze -q", "parse"))
    yield Trap("deep gRPC request", lines(deep(200_000)), ("analyze -q", "parse"))


def measured(name: str, command: str, path: Path) -> str:
    """Run one command over an input, and give its row."""
    words = [sys.executable, "-m", "kvdiag", *command.split(), str(path)]
    with tempfile.TemporaryFile() as said, Path(os.devnull).open("wb") as nothing:
        process = subprocess.Popen(words, stdout=nothing, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        last = said.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
    cpu, memory = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return f"{name:<34} {command:<24} {process.returncode:>4} {cpu:>7.1f} {memory:>6.0f}  {last[-100:]}"


def lines(made: Iterator[str]) -> Callable[[Path], None]:
    """Write these lines."""

    def write(path: Path) -> None:
        with path.open("w") as file:
            file.writelines(made)

    return write


def at(number: int) -> datetime:
    """When a line was written."""
    return BEGINS + number * APART


def name_of(kind: str, number: int) -> str:
    """Give 64 digits that name one thing."""
    return hashlib.sha256(f"{kind} {number}".encode()).hexdigest()


def uid_of(kind: str, number: int) -> str:
    """Give a UUID that names one thing."""
    said = name_of(kind, number)
    return f"{said[:8]}-{said[8:12]}-4{said[13:16]}-a{said[17:20]}-{said[20:32]}"


def pods(many: int) -> Iterator[str]:
    """Pods with a volume each: two lines."""
    words = (
        ("reconciler_common.go:231", "operationExecutor.MountVolume started"),
        ("operation_generator.go:622", "MountVolume.SetUp succeeded"),
    )
    for number in range(many):
        uid, pv = uid_of("pod", number), uid_of("volume", number)
        for part, (place, said) in enumerate(words):
            yield (
                HEADER.format(severity="I", time=at(2 * number + part))
                + rf'{place}] "{said} for volume \"pvc-{pv}\" (UniqueName: \"kubernetes.io/csi/d.example^{pv}\") '
                + rf'pod \"web-{number}\" (UID: \"{uid}\") " pod="shop/web-{number}"'
                + "\n"
            )


def sandboxes(many: int) -> Iterator[str]:
    """Sandboxes that are made and stopped: two lines."""
    for number in range(many):
        uid, sandbox = uid_of("pod", number), name_of("sandbox", number)
        made, stopped = (at(2 * number + part).strftime("%Y-%m-%dT%H:%M:%S.%f000Z") for part in (0, 1))
        about = f"&PodSandboxMetadata{{Name:web-{number},Uid:{uid},Namespace:shop,Attempt:0,}}"
        yield f'time="{made}" level=info msg="RunPodSandbox for {about} returns sandbox id \\"{sandbox}\\""\n'
        yield f'time="{stopped}" level=info msg="StopPodSandbox for \\"{sandbox}\\""\n'


def busy(many: int) -> Iterator[str]:
    """Volumes with two findings each, in two lines."""
    for number in range(2 * many):
        uid, pv = uid_of("pod", number % many), uid_of("volume", number % many)
        path = f"/var/lib/kubelet/pods/{uid}/volumes/kubernetes.io~csi/pvc-{pv}/mount"
        header = HEADER.format(severity="E", time=at(number))
        yield header + BUSY.format(time=at(number), uid=uid, pv=pv, path=path)


def listed(many: int) -> Iterator[str]:
    """Pods that are added by thousands."""
    for number in range(0, many, 5_000):
        named = ",".join(f'"a/{pod}"' for pod in range(number, number + 5_000))
        header = HEADER.format(severity="I", time=at(number))
        yield header + f'kubelet.go:2400] "SyncLoop ADD" source="api" pods=[{named}]\n'


def processes(many: int) -> Iterator[str]:
    """A log in which each line is of another process."""
    for number in range(many):
        yield (
            f"{at(number):%b %d %H:%M:%S} worker-1 kubelet[{number + 1}]: I{at(number):%m%d %H:%M:%S.%f} {number + 1} "
            'kubelet.go:2400] "SyncLoop ADD" source="api" pods=["shop/web-0"]\n'
        )


def pairs(many: int) -> Iterator[str]:
    """One line of many values."""
    values = " ".join(f'key{number}="value"' for number in range(many))
    yield HEADER.format(severity="I", time=at(0)) + f'kubelet.go:2400] "SyncLoop ADD" {values}\n'


def json_line(size: int) -> Iterator[str]:
    """One entry of a journal."""
    words = "a b " * (size // 4)
    yield f'{{"__REALTIME_TIMESTAMP":"1782864000000000","SYSLOG_IDENTIFIER":"kubelet","MESSAGE":"{words}"}}\n'


def deep(many: int) -> Iterator[str]:
    """A call whose request is nested."""
    yield GRPC.format(severity="I", time=at(0), request='{\\"a\\":' * many)


def chunks(path: Path, chunk: bytes, times: int) -> None:
    """Write one line of many chunks."""
    with path.open("wb") as file:
        for _ in range(times):
            file.write(chunk)
        file.write(b"\n")


def packed(path: Path, chunk: bytes, times: int) -> None:
    """Write chunks as gzip."""
    with gzip.open(path, "wb") as file:
        for _ in range(times):
            file.write(chunk)


def tar(path: Path, many: int) -> None:
    """Write an archive of many small logs."""
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for number in range(many):
            member = tarfile.TarInfo(f"logs/{number}.log")
            member.size = len(MEMBER)
            archive.addfile(member, io.BytesIO(MEMBER))
            archive.members.clear()  # type: ignore[attr-defined]


def zipped(path: Path, many: int) -> None:
    """Write an archive of many small logs."""
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(many):
            archive.writestr(f"logs/{number}.log", MEMBER)


def links(path: Path) -> None:
    """Make a folder of links to where nothing ends."""
    inside = path / "inside"
    inside.mkdir(parents=True)
    (inside / "kubelet.log").write_bytes(MEMBER)
    for name, target in (("proc", "/proc"), ("sys", "/sys"), ("dev", "/dev"), ("kmsg", "/proc/kmsg"), ("loop", "..")):
        (inside / name).symlink_to(target)
    (inside / "itself").symlink_to("itself")


if __name__ == "__main__":
    main()
