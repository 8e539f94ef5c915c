"""`kvdiag pods` and `kvdiag volumes` as a person uses them."""

import csv
import io
import json
from itertools import permutations
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOST = "sample-logs/hostpath-inline-republished"
REMOVED = "sample-logs/driver-removed-before-pod"
DETACHED = ("sample-logs/detach-without-unstage", "--year", "2024")


@pytest.fixture
def items(kvdiag):
    """Give the function that gives the rows of a command as JSON, by name."""

    def ask(*arguments):
        done = kvdiag(*arguments, "-o", "json")
        assert done.returncode == 0, done.stderr
        return {item["name"]: item for item in json.loads(done.stdout)["items"]}

    return ask


def test_pods(items):
    """Each pod has the state it reached, what it waits for, its failed operations and its findings."""
    pods = items("pods", REMOVED)
    stuck = pods["analytics/reports-0"]
    assert (stuck["state"], stuck["stuck"], stuck["waits_for"]) == ("TERMINATED", True, "volumes to be unmounted")
    assert (stuck["retries"], stuck["findings"]) == (11, ["pod-stuck-terminating-volumes"])
    assert stuck["failure"] == "NodeUnpublish failed, retry in 2m2s"
    assert (pods["analytics/warehouse-1"]["state"], pods["analytics/warehouse-1"]["stuck"]) == ("REMOVED", False)


def test_volumes(items):
    """Each volume has its mode and state; the illegal step of the one that was never unstaged is named."""
    volumes = items("volumes", *DETACHED)
    assert {name[:12]: item["state"] for name, item in volumes.items()} == {
        "pvc-123e2ece": "DETACHED",
        "pvc-74ec8508": "PUBLISHED",
        "pvc-842d1617": "DETACHED",
    }
    faulty = next(item for name, item in volumes.items() if name.startswith("pvc-123e2ece"))
    assert faulty["illegal"] == ["UNPUBLISHED → RELEASED without UNSTAGED"]
    assert faulty["findings"] == ["csi-nodeunstage-missing"]
    assert {item["machine"] for item in volumes.values()} == {"volume/filesystem"}


def test_local_volumes_are_left_out(items):
    """Projected volumes and their like are shown with --all only."""
    assert set(items("volumes", LOST)) == {"data", "pvc-1c09e90a-26ae-4a19-9093-b321d0982bb1"}
    everything = items("volumes", LOST, "--all")
    assert {item["machine"] for item in everything.values()} == {"volume/inline", "volume/filesystem", "volume/local"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["pods", REMOVED, "--stuck"], ["pod/analytics/reports-0"]),
        (["pods", REMOVED, "-n", "analytics"], ["pod/analytics/reports-0", "pod/analytics/warehouse-1"]),
        (["pods", REMOVED, "-n", "analytic"], []),
        (
            ["pods", REMOVED, "--driver", "blob.csi.example.com"],
            ["pod/analytics/reports-0", "pod/analytics/warehouse-1"],
        ),
        (["pods", REMOVED, "--driver", "nfs"], []),
        (["pods", REMOVED, "--node", "storage-2", "--stuck"], ["pod/analytics/reports-0"]),
        (["pods", REMOVED, "--node", "storage-3"], []),
        (["volumes", REMOVED, "--stuck"], ["volume/pvc-2d4d946a-38c4-4853-8e37-dcf9915a4467"]),
        (["volumes", *DETACHED, "-n", "storefront"], ["volume/pvc-123e2ece-5035-4d30-bfb4-6d6daf5516ee"]),
        (["volumes", "sample-logs/healthy-csi-volume", "--stuck"], []),
        (["pods", "sample-logs/healthy-csi-volume", "--stuck"], []),
    ],
)
def test_filters(kvdiag, arguments, expected):
    """Each filter leaves what it says, one name a line."""
    done = kvdiag(*arguments, "-o", "name")
    assert (done.returncode, done.stdout.splitlines()) == (0, expected)


def test_slow(kvdiag):
    """The parts of each life come after the rows, the percentiles at the end."""
    text = kvdiag("volumes", "--slow", "sample-logs/healthy-csi-volume", COLUMNS="80").stdout
    rows, parts, figures = text.split("\n\n")
    assert rows.startswith("NAME")
    assert "unstage" in parts
    assert figures.splitlines()[0].split() == ["STEP", "COUNT", "P50", "P90", "P99", "MAX"]
    assert max(map(len, text.splitlines())) <= 80


def test_csv(kvdiag):
    """With --slow each step is a column."""
    done = kvdiag("pods", "--slow", "-o", "csv", "sample-logs/healthy-csi-volume")
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(done.stdout))}
    assert rows["default/web-0"]["sandbox"] == "0.178102"


def test_the_order_of_the_inputs_does_not_matter(kvdiag):
    """The same files in another order give the same inventory."""
    files = sorted((ROOT / DETACHED[0]).glob("*.log"))[:3]
    said = {kvdiag("volumes", *order, "--year", "2024", "-o", "json", "--slow").stdout for order in permutations(files)}
    assert len(said) == 1


def test_exit_codes(kvdiag, tmp_path):
    """0 when something was understood, 2 for an output there is not, 3 for what cannot be read or understood."""
    prose = tmp_path / "prose.log"
    prose.write_text("It was a dark and stormy night.\n")
    assert kvdiag("pods", prose).returncode == 3
    assert kvdiag("volumes", tmp_path / "missing.log").returncode == 3
    assert kvdiag("pods", REMOVED, tmp_path / "missing.log").returncode == 3
    assert kvdiag("pods", REMOVED, "-o", "yaml").returncode == 2
    assert kvdiag("pods", stdin=b"").returncode == 3


def test_standard_input(kvdiag):
    """Without paths the log comes from standard input."""
    log = (ROOT / DETACHED[0] / "kubelet.log").read_bytes()
    assert "volume/pvc-123e2ece" in kvdiag("volumes", "--year", "2024", "-o", "name", stdin=log).stdout
