"""What collectors make, given as it is: the nodes stay apart, and a volume that went from one to the other is one."""

from __future__ import annotations

import importlib.util
import io
import json
import tarfile
import zipfile
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("nodes", Path(__file__).parent / "test_nodes.py")
nodes = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(nodes)
HANDLE = "vol-0a1b2c3d4e5f"


def bare(folder: Path, *, is_unstaged: bool) -> tuple[bytes, bytes]:
    """The kubelet logs of two nodes as files have them: without the journal's prefix, which names the host."""
    logs = nodes.write(folder, ahead=0, is_unstaged=is_unstaged)
    texts = [(logs / name).read_text().splitlines(keepends=True) for name in ("a.log", "b.log")]
    return tuple("".join(line.partition("]: ")[2] for line in text).encode() for text in texts)


def pack(path: Path, files: dict[str, bytes]) -> Path:
    """Make a bundle: a tar.gz, or a zip by its name."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as writer:
            for name, content in files.items():
                writer.writestr(name, content)
        return path
    with tarfile.open(path, "w:gz") as writer:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(content), 1_710_240_000
            writer.addfile(member, io.BytesIO(content))
    return path


LAYOUTS = {
    "kind": ("kind/demo-worker/kubelet.log", "kind/demo-worker2/kubelet.log", "demo-worker", "demo-worker2"),
    "must-gather": (
        "mg/host_service_logs/infra-1/kubelet_service.log",
        "mg/host_service_logs/infra-2/kubelet_service.log",
        "infra-1",
        "infra-2",
    ),
    "nodes": ("mg/nodes/w-1.example.org/kubelet.log", "mg/nodes/w-2.example.org/kubelet.log", "w-1.example.org", "w-2.example.org"),
}  # fmt: skip


def analyze(kvdiag, *paths: Path) -> dict:
    """The JSON report."""
    return json.loads(kvdiag("analyze", "--year", "2024", "-o", "json", *paths).stdout)


@pytest.mark.parametrize("packing", ["bundle.tar.gz", "bundle.zip"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_nodes_by_layout(kvdiag, tmp_path, layout, packing):
    """Where lines name no host, the layout does: a volume staged on both nodes is found, with their names."""
    first, second, one, two = LAYOUTS[layout]
    a, b = bare(tmp_path, is_unstaged=False)
    report = analyze(kvdiag, pack(tmp_path / packing, {first: a, second: b}))
    assert {(i["source"], i["node"]) for i in report["inputs"]} == {
        (f"{tmp_path}/{packing}/{first}", one),
        (f"{tmp_path}/{packing}/{second}", two),
    }
    (says,) = [f["says"] for f in report["findings"] if f["rule"] == "volume-staged-on-two-nodes"]
    assert f"was staged on {two} while {one} still had it staged" in says


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
