"""`kvdiag redact`: what is written can be shared, and still tells the same story."""

import gzip
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.analysis.anonymize import Inputs, mask_names
from kvdiag.analysis.inventory import take_inventory
from kvdiag.analysis.redact import with_output_paths
from kvdiag.events.made_names import inline_handle
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.history.views.inventory import InventoryFilter
from kvdiag.model.options import Options
from kvdiag.model.record import Origin
from kvdiag.model.report import Report
from kvdiag.model.values import SubjectKind

ROOT = Path(__file__).parents[1]
WORDS = re.compile(rb"[-\w.]+")
UIDS = re.compile(rb"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
LINE = 'I0312 05:49:00.241725  190330 server.go:12] "Set" token="{}" pod="shop/web-0"\n'
KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nIBAAKC\n-----END RSA PRIVATE KEY-----\nafter\n"


def told(report: Report) -> list:
    """Give what a report finds, without names: the rules, how sure, how often, when, and which lines prove it."""
    return [
        (
            *(one.rule.name, one.verdict, one.role, one.severity, one.count, one.begins, one.ends, one.doubts),
            [(seen.step, place(seen.event.origin), seen.event.time) for seen in one.evidence],
            len(one.explains),
        )
        for one in report.findings
    ]


def place(origin: Origin) -> tuple[str, int]:
    return Path(origin.source).name.removesuffix(".gz"), origin.line


def test_without_names_it_finds_the_same(kvdiag, tmp_path, sample, thin):
    """Every incident gives the same findings after its names are gone, and none of its UIDs or pods is left."""
    shared, whole = tmp_path / "shared", thin.report
    kvdiag("redact", "--anonymize", "--output-folder", shared, thin.folder)
    report = analyze(sample.asked(shared))
    assert told(report) == told(whole)
    rules = [finding.rule.name for finding in whole.findings]
    assert sorted(rules) == sorted(finding["rule"] for finding in sample.expected["findings"])
    read, was = (sorted((one.records, one.recognised, one.unread) for one in done.inputs) for done in (report, whole))
    assert read == was
    written = b"".join(path.read_bytes() for path in shared.rglob("*") if path.is_file())
    pods = take_inventory(thin.options, InventoryFilter(kind=SubjectKind.POD)).inventory.rows
    assert not {pod.name.partition("/")[2].encode() for pod in pods} & set(WORDS.findall(written))
    known = set(UIDS.findall(b"".join(map(unpacked, thin.folder.iterdir()))))
    assert not known & set(UIDS.findall(written))


def unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def test_secrets_go_and_names_stay(kvdiag):
    """Without --anonymize only secrets are taken out; every other byte is as it was."""
    done = kvdiag("redact", stdin=LINE.format("hunter2secret").encode())
    assert done.stdout == LINE.format("[redacted]")
    assert "secrets removed from 1" in done.stderr
    assert done.returncode == 0


def test_a_key_over_many_lines_goes(kvdiag):
    """Of a private key that spans lines nothing is left, and what follows is."""
    done = kvdiag("redact", stdin=KEY.encode())
    assert "MII" not in done.stdout
    assert "IBA" not in done.stdout
    assert done.stdout.endswith("\nafter\n")
    assert done.stdout.count("\n") == KEY.count("\n")


def test_a_pipe_is_read_twice(kvdiag):
    """Names of standard input go too, also before the line that tells what they are."""
    done = kvdiag("redact", "--anonymize", "--salt", "x", stdin=b"about web-0\n" + LINE.encode())
    assert "web-0" not in done.stdout
    assert len(set(re.findall(r"pod-[0-9a-f]{6}", done.stdout))) == 1


@pytest.mark.parametrize("most", [0, 5_000_000])
def test_ids_that_are_hashes_of_names_stay_so(most, monkeypatch, tmp_path):
    """The handle of an inline volume and the name of an attachment are hashes of the new names, also of many volumes."""
    monkeypatch.setattr("kvdiag.analysis.anonymize.MOST_HASHES", most)
    uid, inline = (
        "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01",
        inline_handle("1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01", "scratch"),
    )
    log = tmp_path / "kubelet.log"
    log.write_text(
        'I0312 05:49:00.241725  190330 reconciler_common.go:245] "operationExecutor.MountVolume started for volume '
        f'\\"scratch\\" (UniqueName: \\"kubernetes.io/csi/disk.csi.example.com^{inline}\\") pod \\"web-0\\" (UID: \\"{uid}\\") " pod="shop/web-0"\n',
        "utf-8",
    )
    mask = mask_names(Inputs(Options(paths=(str(log),))), "x")[1]
    assert mask.apply(inline) == inline_handle(mask.apply(uid), mask.apply("scratch"))


def test_the_same_salt_hides_alike(kvdiag):
    """Two runs with one salt fit together; without one they do not."""
    runs = [
        kvdiag("redact", "--anonymize", *salt, stdin=LINE.encode()).stdout for salt in [["--salt", "x"]] * 2 + [[]] * 2
    ]
    assert runs[0] == runs[1]
    assert len(set(runs)) == 3


def test_where_it_goes(kvdiag, tmp_path):
    """One log goes to a file, several to a folder under their own names, and nothing is overwritten."""
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(LINE, "utf-8")
    both = [tmp_path / "a.log", tmp_path / "b.log"]
    assert kvdiag("redact", both[0], "--output-file", tmp_path / "c.log").returncode == 0
    assert (tmp_path / "c.log").read_text("utf-8") == LINE
    again = kvdiag("redact", both[0], "--output-file", tmp_path / "c.log")
    assert (again.returncode, "file exists; choose another path" in again.stderr) == (2, True)
    many = kvdiag("redact", *both)
    assert (many.returncode, "--output-folder" in many.stderr) == (2, True)
    assert kvdiag("redact", *both, "--output-folder", tmp_path / "out").returncode == 0
    assert len(list((tmp_path / "out").rglob("*.log"))) == 2


@pytest.mark.parametrize(
    ("was", "masked", "is_written_as"),
    [
        ("shop/shop-logs.txt.gz", "shop/node-1.host-2", "shop/node-1-log.txt"),
        ("shop/shop-logs.txt", "shop/node-1.txt", "shop/node-1-log.txt"),
        ("shop/kubelet.log", "shop/kubelet.host-2", "shop/kubelet.log"),
        ("shop/kubelet.log", "shop/kubelet.log", "shop/kubelet.log"),
        ("shop/shop.json", "shop/node-1.host-2", "shop/node-1.json"),
        ("shop/shop.1", "shop/node-1.1", "shop/node-1.1"),
    ],
)
def test_a_log_is_known_for_one_by_its_masked_name(was, masked, is_written_as, tmp_path):
    """A folder is read by the names of its files, so their endings and the word `log` stay."""
    source = TextInput(was, b"")
    assert list(with_output_paths([source], tmp_path, lambda _: masked)) == [(source, tmp_path / is_written_as)]


def test_what_cannot_be_read(kvdiag, tmp_path):
    """A missing log is said and the others are written; the exit code tells."""
    (tmp_path / "a.log").write_text(LINE, "utf-8")
    done = kvdiag("redact", tmp_path / "a.log", tmp_path / "none.log", "--output-folder", tmp_path / "out")
    assert done.returncode == 3
    assert "none.log: no such file" in done.stderr
    assert len(list((tmp_path / "out").rglob("a.log"))) == 1


def test_bytes_that_are_no_text_stay(kvdiag, tmp_path):
    """What is not UTF-8 is written as it was read."""
    log = tmp_path / "a.log"
    log.write_bytes(b"I0312 05:49:00.241725 1 a.go:1] \xff\xfe caf\xe9\r\nno end")
    kvdiag("redact", "--anonymize", log, "--output-file", tmp_path / "b.log")
    assert (tmp_path / "b.log").read_bytes() == log.read_bytes()


PEOPLE = r"""==> Audit <==
|---------|-----------------|----------|-------------|---------|---------------------|
| Command |      Args       | Profile  |    User     | Version |     Start Time      |
|---------|-----------------|----------|-------------|---------|---------------------|
| start   | --driver=docker | minikube | jdoe        | v1.36.0 | 11 Aug 25 09:39 UTC |
| start   | --driver=docker | minikube | LAP-1\ana_k | v1.36.0 | 11 Aug 25 09:39 UTC |
| stop    |                 | minikube | root        | v1.36.0 | 11 Aug 25 09:39 UTC |

I0917 16:12:14.134489    7155 out.go:345] /home/jdoe/.kube/config, jdoe, /Users/mmiller/.minikube, /home/docker/x
I0917 16:12:14.134489    7155 out.go:345] "C:\\Users\\ana_k\\.minikube" C:\Users\Jürgen Groß\x and Jürgen Groß, mmiller
"""


def test_names_of_people_go(kvdiag):
    """A user in a path or in minikube's table is hidden, the same one alike; shared accounts are not."""
    done = kvdiag("redact", "--anonymize", stdin=PEOPLE.encode())
    assert not [name for name in ("jdoe", "ana_k", "mmiller", "Jürgen", "Groß") if name in done.stdout]
    found = re.findall(r"user-[0-9a-f]{6}", done.stdout)
    assert (len(found), len(set(found))) == (9, 4)
    assert "/home/docker/x" in done.stdout
    assert "| root " in done.stdout


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_of_a_pipe(end, tmp_path):
    """Standard input is kept in a file without a name: nothing is in the folder of such files, at any time."""
    command = [sys.executable, "-m", "kvdiag", "redact", "--anonymize"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env={**os.environ, "TMPDIR": str(tmp_path)}
    ) as running:
        running.stdin.write(LINE.format("hunter2secret").encode() * 1000)
        running.stdin.flush()
        for _ in range(5):
            time.sleep(0.1)
            assert list(tmp_path.iterdir()) == []
        running.send_signal(end)
    assert list(tmp_path.iterdir()) == []


def test_what_was_replaced_is_said(kvdiag, tmp_path):
    """How many names of each kind were replaced is said, and which lines are no text."""
    log = LINE.encode() + b"at 0a:1b:2c:3d:4e:5f \xff\n"
    done = kvdiag("redact", "--anonymize", "--output-file", tmp_path / "a.log", stdin=log)
    for said in ("replaced: ", "1 pods", "1 namespaces", "1 MAC", "1 lines are not text, the first at stdin:2"):
        assert said in done.stderr


def test_a_log_in_utf_16_is_read(kvdiag):
    """UTF-16 is written as UTF-8, without its secrets."""
    done = kvdiag("redact", stdin=LINE.format("hunter2secret").encode("utf-16"))
    assert done.stdout == LINE.format("[redacted]")


def test_no_line_is_lost(kvdiag):
    """A last line without an end that is nothing but the rest of a secret stays a line."""
    done = kvdiag("redact", stdin=b"at secret: [\n!")
    assert done.stdout.count("\n") == 1
    assert done.stdout.endswith("[redacted]")
    assert "!" not in done.stdout
