"""`kvdiag collect` on the root of a node: what is collected, what is bounded, and what is never read."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.conftest import ROOT, run_kvdiag

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

needs_journalctl = pytest.mark.skipif(not shutil.which("journalctl"), reason="no journalctl")
POD = "kube-system_csi-node-x_1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01/driver"
SAMPLE = ROOT / "sample-logs" / "hostpath-driver-lost-state"


@pytest.fixture
def node(tmp_path: Path) -> Path:
    """Give the root of a node without a journal: kubelet's log, a driver's, an application's, and traps."""
    root = tmp_path / "node"
    pods = root / "var/log/pods"
    (pods / POD).mkdir(parents=True)
    (pods / "shop_web-0_2a0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f02/web").mkdir(parents=True)
    (root / "proc").mkdir()
    shutil.copyfile(SAMPLE / "kubelet.log", root / "var/log/kubelet.log")
    lines = (SAMPLE / "csi-hostpath.log").read_text("utf-8").splitlines()
    (pods / POD / "0.log").write_text("".join(f"2026-11-20T20:30:00.5Z stderr F {line}\n" for line in lines), "utf-8")
    (pods / "shop_web-0_2a0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f02/web/0.log").write_text("hello\n")
    (tmp_path / "outside").write_text("of another machine\n")
    (pods / POD / "1.log").symlink_to(tmp_path / "outside")
    os.mkfifo(pods / POD / "2.log")
    (pods / POD / "3.log").write_text("2026-11-01T00:00:00Z stderr F long ago\n")
    os.utime(pods / POD / "3.log", (1, 1))
    (root / "proc/mounts").write_text("/dev/sdb /var/lib/kubelet/pods/x ext4 rw,password=hunter2-Zx81kQ 0 0\n")
    return root


def collected(archive: Path | io.BytesIO) -> dict[str, str]:
    """Return the files of an archive."""
    where = {"fileobj": archive} if isinstance(archive, io.BytesIO) else {"name": archive}
    with tarfile.open(**where, mode="r:gz") as tar:
        return {one.name: tar.extractfile(one).read().decode() for one in tar if one.isfile()}


def test_the_logs_that_findings_rest_on(node, tmp_path):
    """kubelet, the driver and the mounts, in an archive that is analyzed as the node; nothing of applications, no link."""
    done = run_kvdiag("collect", tmp_path / "b.tar.gz", "--root", node)
    assert done.returncode == 0, done.stderr
    files = collected(tmp_path / "b.tar.gz")
    assert files.keys() == {"collected.json", "kubelet.log", "mounts.txt", f"pods/{POD}/0.log"}
    assert "no journal" in done.stderr
    assert json.loads(files["collected.json"])["files"] == sorted(files.keys() - {"collected.json"})
    assert (tmp_path / "b.tar.gz").stat().st_mode & 0o077 == 0
    found = run_kvdiag("analyze", tmp_path / "b.tar.gz", "-o", "json", "--fail-on", "never")
    rules = {finding["rule"] for finding in json.loads(found.stdout)["findings"]}
    assert "csi-nodeunpublish-state-lost" in rules


def test_secrets_are_removed_on_request(node, tmp_path):
    """From every file, also from the list of mounts."""
    with (node / "var/log/kubelet.log").open("a") as log:
        log.write('E1120 20:41:31.000001 1 x.go:1] "failed" password="hunter2-Zx81kQ"\n')
    assert run_kvdiag("collect", tmp_path / "raw.tar.gz", "--root", node).returncode == 0
    assert run_kvdiag("collect", tmp_path / "safe.tar.gz", "--root", node, "--redact").returncode == 0
    raw, safe = (collected(tmp_path / f"{name}.tar.gz") for name in ("raw", "safe"))
    assert raw.keys() == safe.keys()
    assert "hunter2" in raw["mounts.txt"]
    assert "hunter2" in raw["kubelet.log"]
    assert not [name for name, text in safe.items() if "hunter2" in text]
    assert safe["kubelet.log"].count("\n") == raw["kubelet.log"].count("\n")


def test_the_newest_lines_within_the_size(node, tmp_path):
    """Of a log that is too large the end is kept, from the beginning of a line, and that is noted."""
    done = run_kvdiag("collect", tmp_path / "b.tar.gz", "--root", node, "--max-size", "60K")
    files = collected(tmp_path / "b.tar.gz")
    whole = (node / "var/log/kubelet.log").read_text("utf-8")
    assert 20_000 < len(files["kubelet.log"].encode()) <= 60 << 10
    assert whole.endswith("\n" + files["kubelet.log"])
    assert sum(len(text.encode()) for name, text in files.items() if name != "collected.json") <= 60 << 10
    assert "kubelet.log: only its last" in done.stderr


def test_links_of_folders_lead_nowhere(node, tmp_path):
    """A pod that may write to /var/log cannot have files outside of the root collected, whatever it makes a link."""
    secret = tmp_path / "etc" / "kube-system_x_1f0c3a52" / "c"
    secret.mkdir(parents=True)
    (secret / "0.log").write_text("of another machine\n")
    (node / "var/log/pods" / "kube-system_y_1f0c3a52").symlink_to(secret.parent)
    shutil.rmtree(node / "var/log/pods" / POD)
    (node / "var/log/pods" / POD).symlink_to(secret)
    assert "of another machine" not in str(whole := collected_of(node, tmp_path / "a.tar.gz"))
    assert "kubelet.log" in whole
    (node / "var/log/pods").rename(tmp_path / "pods")
    (node / "var/log/pods").symlink_to(tmp_path / "etc")
    assert "of another machine" not in str(collected_of(node, tmp_path / "b.tar.gz"))


def collected_of(root: Path, archive: Path) -> dict[str, str]:
    """Collect the node at a root; return the files of the archive."""
    assert run_kvdiag("collect", archive, "--root", root).returncode == 0
    return collected(archive)


def test_to_standard_output_and_nothing_there(node, tmp_path):
    """`-` writes the archive; a root without logs is an error that says so."""
    command = [sys.executable, "-m", "kvdiag", "collect", "-", "--root", str(node)]
    done = subprocess.run(command, capture_output=True, check=True)
    assert "kubelet.log" in collected(io.BytesIO(done.stdout))
    empty = run_kvdiag("collect", tmp_path / "b.tar.gz", "--root", tmp_path / "outside")
    assert empty.returncode == 3
    assert "no log of the node was found" in empty.stderr
    assert not (tmp_path / "b.tar.gz").exists()


def write_journal(node):
    """Write a journal of 12 March 2024 into the root of a node."""
    of_machine = node / "var/log/journal/0123456789abcdef0123456789abcdef"
    of_machine.mkdir(parents=True)
    packed = ROOT / "tests/data/journal/node.journal.zst"
    (of_machine / "system.journal").write_bytes(zstd.decompress(packed.read_bytes()))


@needs_journalctl
def test_the_journal_of_a_day(node, tmp_path):
    """The lines of kubelet and the runtime, with the node's name, read by the real journalctl; of another day none."""
    write_journal(node)
    for day, lines in (("2024-03-12", 5), ("2024-03-13", 0)):
        archive = tmp_path / f"{day}.tar.gz"
        done = run_kvdiag("collect", archive, "--root", node, "--day", day)
        assert done.returncode == 0, done.stderr
        files = collected(archive)
        assert files.get("journal.log", "").count("\n") == lines
        assert "kernel.log" not in files
        assert "no journal" not in done.stderr
    found = run_kvdiag("parse", tmp_path / "2024-03-12.tar.gz")
    records = [json.loads(line) for line in found.stdout.splitlines()]
    of_journal = [one for one in records if one["source"].endswith("journal.log")]
    assert {(one["component"], one["node"]) for one in of_journal} == {
        ("kubelet", "worker-7"),
        ("containerd", "worker-7"),
    }


@needs_journalctl
def test_a_journal_that_does_not_end(node, tmp_path):
    """The journal is asked for the day, and ended when the time is over; the logs beside it are there."""
    (node / "var/log/journal").mkdir()
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "journalctl"
    program.write_text(
        '#!/bin/sh\necho "$@" >> "$0.asked"\necho "2026-11-20T20:30:00+0000 n kubelet[1]: x"\nsleep 60\n'
    )
    program.chmod(0o755)
    words = ("collect", tmp_path / "b.tar.gz", "--root", node, "--day", "2026-11-20", "--limit-seconds", "3")
    done = run_kvdiag(*words, PATH=f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    assert done.returncode == 0, done.stderr
    asked = program.with_name("journalctl.asked").read_text().splitlines()[0]
    day = datetime(2026, 11, 20, tzinfo=UTC)
    assert f"--since=@{day.timestamp():.0f} --until=@{day.timestamp() + 86_400:.0f}" in asked
    assert "-u kubelet -u containerd" in asked
    assert "the time was over" in done.stderr
    assert "kubelet[1]: x" in collected(tmp_path / "b.tar.gz")["journal.log"]


def _report(path: Path, needs: list[dict[str, object]], commands: list[str]) -> Path:
    text = {"to_be_certain": needs, "findings": [{"collect": commands}]}
    path.write_text(json.dumps(text))
    return path


def _need(component: str, begins: str | None, ends: str | None, run: str) -> dict[str, object]:
    return {"component": component, "verbosity": 2, "begins": begins, "ends": ends, "findings": [], "run": run}


@needs_journalctl
def test_only_what_a_report_asks_for(node, tmp_path):
    """The units in their time, the folders of a pod; what is not on the node, and each other command, is named."""
    write_journal(node)
    needs = [
        _need("kubelet", "2024-03-12T00:00:00.5Z", "2024-03-13T00:00:00Z", "journalctl -u kubelet"),
        _need("kube-controller-manager", None, None, "kubectl logs -l component=kube-controller-manager"),
    ]
    commands = [
        "journalctl -u containerd --since '2024-03-13 00:00:00 UTC' --until '2024-03-14 00:00:00 UTC'",
        "kubectl -n shop logs web-0 --all-containers --previous",
        "cat /etc/shadow",
        "journalctl -u ../../x",
    ]
    report = _report(tmp_path / "report.json", needs, commands)
    done = run_kvdiag("collect", "--for", report, tmp_path / "b.tar.gz", "--root", node)
    assert done.returncode == 0, done.stderr
    files = collected(tmp_path / "b.tar.gz")
    web = "pods/shop_web-0_2a0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f02/web/0.log"
    assert files.keys() == {"collected.json", "kubelet.log", web}
    assert "kubelet[" in files["kubelet.log"]
    assert "containerd[" not in files["kubelet.log"]
    assert "kube-system_kube-controller-manager-*: this node has no log of it" in done.stderr
    assert "containerd: this node has no log of it since 2024-03-13 00:00:00Z" in done.stderr
    notes = json.loads(files["collected.json"])["notes"]
    assert "not collected, as this command is not run: cat /etc/shadow" in notes
    assert [note for note in notes if "../../x" in note] == [
        "not collected, as this command is not run: journalctl -u ../../x"
    ]


def test_a_report_is_asked_within_its_size_and_redacted(node, tmp_path):
    """Each log has its part of the size; secrets are removed; without a journal the files are taken."""
    with (node / "var/log/kubelet.log").open("a") as log:
        log.write('E1120 20:41:31.000001 1 x.go:1] "failed" password="hunter2-Zx81kQ"\n')
    needs = [_need("kubelet", None, None, "x"), _need("csi-driver", None, None, "y")]
    report = _report(tmp_path / "report.json", needs, [])
    words = ("collect", "--for", report, tmp_path / "b.tar.gz", "--root", node, "--redact", "--max-size", "20K")
    done = run_kvdiag(*words)
    assert done.returncode == 0, done.stderr
    files = collected(tmp_path / "b.tar.gz")
    assert files.keys() == {"collected.json", "kubelet.log", f"pods/{POD}/0.log"}
    assert "hunter2" not in files["kubelet.log"]
    assert len(files[f"pods/{POD}/0.log"]) > 5_000
    assert sum(map(len, files.values())) < 24_000


def test_through_standard_input_and_output(node, tmp_path):
    """As `kubectl debug` runs it: the report is the input, the archive is the output."""
    report = _report(tmp_path / "report.json", [_need("kubelet", None, None, "x")], [])
    command = [sys.executable, "-m", "kvdiag", "collect", "--root", str(node), "--for", "/dev/stdin", "-"]
    done = subprocess.run(command, input=report.read_bytes(), capture_output=True, check=True)
    assert collected(io.BytesIO(done.stdout)).keys() == {"collected.json", "kubelet.log"}


def test_the_report_of_an_analysis_is_understood(tmp_path, node):
    """What `analyze -o json` writes of a possible finding is what `collect --for` collects."""
    lines = (SAMPLE / "kubelet.log").read_text("utf-8").splitlines(keepends=True)
    (tmp_path / "cut.log").write_text("".join(lines[: len(lines) // 2]), "utf-8")
    found = run_kvdiag("analyze", tmp_path / "cut.log", "-o", "json")
    report = json.loads(found.stdout)
    assert isinstance(report["to_be_certain"], list)
    assert isinstance(report["findings"][0]["collect"], list)
    report["to_be_certain"] = [_need("kubelet", None, None, "x")]
    (tmp_path / "report.json").write_text(json.dumps(report))
    done = run_kvdiag("collect", "--for", tmp_path / "report.json", tmp_path / "b.tar.gz", "--root", node)
    assert done.returncode == 0, done.stderr
    assert "kubelet.log" in collected(tmp_path / "b.tar.gz")


@pytest.mark.parametrize(
    ("host", "is_said"),
    [("worker-1", False), ("WORKER-1.example.com", False), ("worker-10", True), ("", False)],
)
@pytest.mark.parametrize("place", ["input", "finding"])
def test_a_report_about_another_node(node, tmp_path, host, is_said, place):
    """Is named once in a note, which the archive has too; the logs are collected all the same."""
    report = {"to_be_certain": [_need("kubelet", None, None, "x")], "findings": []}
    if place == "input":
        report["inputs"] = [{"node": "worker-1"}, {"node": ""}]
    else:
        report["findings"] = [{"collect": [], "subject": {"kind": "volume", "ids": {"node": "worker-1"}}}]
    (tmp_path / "report.json").write_text(json.dumps(report))
    (node / "etc").mkdir()
    (node / "etc/hostname").write_text(f"{host}\n")
    done = run_kvdiag("collect", "--for", tmp_path / "report.json", tmp_path / "b.tar.gz", "--root", node)
    assert done.returncode == 0, done.stderr
    note = f"the report is about worker-1, and the host name here is {host}: is this the node?"
    files = collected(tmp_path / "b.tar.gz")
    assert "kubelet.log" in files
    assert done.stderr.count(note) == int(is_said)
    assert (note in json.loads(files["collected.json"])["notes"]) == is_said


def test_a_link_is_no_host_name(node, tmp_path):
    """What etc/hostname of the root links to is of another machine."""
    report = _report(tmp_path / "report.json", [_need("kubelet", None, None, "x")], [])
    report.write_text(report.read_text().replace("{", '{"inputs": [{"node": "worker-1"}], ', 1))
    (tmp_path / "hostname").write_text("worker-2\n")
    (node / "etc").mkdir()
    (node / "etc/hostname").symlink_to(tmp_path / "hostname")
    done = run_kvdiag("collect", "--for", report, tmp_path / "b.tar.gz", "--root", node)
    assert (done.returncode, "the report is about" in done.stderr) == (0, False)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[1", "not a report"),
        ('{"to_be_certain": [], "findings": [], "inputs": [5]}', "not a report"),
        ("{}", "not a report"),
        ('{"to_be_certain": [], "findings": []}', "asks for another log"),
        (
            '{"to_be_certain": [{"component": "kubelet", "begins": 5, "ends": "x", "run": ""}], "findings": []}',
            "not a report",
        ),
        ("[" * 100_000, "not a report"),
    ],
)
def test_what_is_no_report(tmp_path, node, text, why):
    """Is wrong usage, with one sentence."""
    (tmp_path / "report.json").write_text(text)
    done = run_kvdiag("collect", "--for", tmp_path / "report.json", tmp_path / "b.tar.gz", "--root", node)
    assert done.returncode == 2
    assert why in done.stderr
    assert "Traceback" not in done.stderr
