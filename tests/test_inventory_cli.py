"""`kvdiag pods` and `kvdiag volumes` as a person uses them."""

import csv
import io
import json
from itertools import permutations
from pathlib import Path

import pytest
import yaml

from tests.conftest import run_kvdiag

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
    assert stuck["failure"] == "UnmountVolume.TearDown failed, retry in 2m2s"
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


def test_order(kvdiag):
    """Rows are sorted by what is asked for; of an order that is none the others are told."""
    rows = json.loads(kvdiag("pods", "-A", "--sort", "retries", "-o", "json", "tests/data/pod-failures").stdout)[
        "items"
    ]
    retries = [row["retries"] for row in rows]
    assert retries == sorted(retries, reverse=True) != sorted(retries)
    assert "name, retries, since, state, node" in kvdiag("pods", "--sort", "age", LOST).stderr


def test_yaml(kvdiag):
    """The rows as YAML are the rows as JSON."""
    as_json, as_yaml = (kvdiag("volumes", "-o", output, LOST).stdout for output in ("json", "yaml"))
    assert yaml.safe_load(as_yaml) == json.loads(as_json)


def test_pods_of_one_name(kvdiag, tmp_path):
    """Where a pod was made anew under its name, the rows tell their UIDs."""
    uids = ("0d5936eb-62b9-4a42-a53b-6986b4cfbefc", "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01")
    added = (
        'I1120 20:3{}:21.779765    6175 kubelet.go:2425] "SyncLoop (PLEG): event for pod" pod="shop/web-0" event={}\n'
    )
    event = '{{"ID":"{}","Type":"ContainerStarted","Data":"' + "ab" * 32 + '"}}'
    log = tmp_path / "kubelet.log"
    log.write_text("".join(added.format(n, event.format(uid)) for n, uid in enumerate(uids)))
    text = kvdiag("pods", "--year", "2026", log).stdout
    assert text.splitlines()[0].split()[:2] == ["NAME", "UID"]
    assert all(uid in text for uid in uids)


def test_slow(kvdiag):
    """The parts of each life come after the rows, the percentiles at the end."""
    text = kvdiag("volumes", "--slow", "sample-logs/healthy-csi-volume", COLUMNS="80").stdout
    rows, parts, figures = text.split("\n\n")
    assert rows.startswith("NAME")
    assert "unstage" in parts
    assert figures.splitlines()[0].split() == ["STEP", "COUNT", "P50", "P90", "P99", "MAX"]
    assert max(map(len, text.splitlines())) <= 80


STEPS = {
    "pods": "to running, volumes, sandbox, create, start, ready, to gone, kill, grace, unmount, cgroup, API delete",
    "volumes": "attach, verify, wait, stage, publish, unpublish, unstage, release, detach",
}


@pytest.mark.parametrize("command", STEPS)
def test_every_step_of_a_healthy_life_is_measured(kvdiag, command):
    """At -v=4 a pod and a volume that come and go have every part, with percentiles that rise."""
    told = json.loads(kvdiag(command, "--slow", "-o", "json", "sample-logs/healthy-csi-volume").stdout)
    assert {step["name"] for step in told["steps"]} == set(STEPS[command].split(", "))
    assert all(step["p50"] <= step["p90"] <= step["p99"] <= step["max"] for step in told["steps"])
    assert {item["now"] for item in told["items"]} == {None}


@pytest.fixture(scope="module")
def parts():
    """Give what is printed about the steps of pods of which each has one fault."""
    return run_kvdiag("pods", "--slow", "tests/data/pod-failures", COLUMNS="160").stdout.split("\n\n")[1]


@pytest.mark.parametrize(
    ("name", "step", "waits"),
    [
        ("default/img-0", "image pull", "waits 2m32s for its image"),
        ("default/env-0", "to running", "waits 2m30s for its configuration"),
        ("default/crash-0", "back-off", "waits 1m12s for the next try to start its container"),
        ("default/ready-0", "ready", "waits 2m31s for its containers to be ready"),
        ("default/host-0", "volumes", "waits 2m30s for volumes to be mounted"),
        ("default/eph-0", "", ""),  # evicted, and no more is to come
        ("kube-system/static-0-worker-1", "", ""),
    ],
)
def test_the_step_it_is_in_now(parts, name, step, waits):
    """Each pod that is not done has one step that it is in now, since when, and what it waits for."""
    mine = [line.split("  ") for line in parts.splitlines() if line.startswith(f"{name} ") and " waits " in line]
    assert [(line[-1].strip(), step in map(str.strip, line)) for line in mine] == ([(waits, True)] if step else [])


def test_a_state_that_is_no_step(kvdiag, tmp_path):
    """A pod that waits though no step is open is told by its state."""
    line = (
        'E0312 08:15:20.101500    2201 kubelet_volumes.go:245] "There were many similar errors. Turn up verbosity to see '
        'them." err="orphaned pod \\"1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01\\" found, but error occurred when trying to '
        'remove the volumes dir: not empty" numErrs=1\n'
    )
    (tmp_path / "kubelet.log").write_text(line)
    (item,) = json.loads(kvdiag("pods", "--slow", "-o", "json", tmp_path).stdout)["items"]
    assert (item["phases"], item["now"]["name"], item["now"]["waits_for"]) == ([], "ORPHAN", item["waits_for"])
    assert "ORPHAN" in kvdiag("pods", "--slow", tmp_path).stdout.split("\n\n")[1]


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
    assert kvdiag("pods", REMOVED, "-o", "xml").returncode == 2
    assert kvdiag("pods", stdin=b"").returncode == 3


def test_standard_input(kvdiag):
    """Without paths the log comes from standard input."""
    log = (ROOT / DETACHED[0] / "kubelet.log").read_bytes()
    assert "volume/pvc-123e2ece" in kvdiag("volumes", "--year", "2024", "-o", "name", stdin=log).stdout


FAILED_MOUNT = """\
LAST SEEN   TYPE      REASON        OBJECT      MESSAGE
5m          Warning   FailedMount   pod/web-0   MountVolume.WaitForAttach failed for volume "pvc-4e1b9a70-5f3c-4b0e-8a52-7c9d1e2f3a4b" : timed out waiting for the device
2m          Warning   FailedMount   pod/web-0   MountVolume.WaitForAttach failed for volume "pvc-4e1b9a70-5f3c-4b0e-8a52-7c9d1e2f3a4b" : timed out waiting for the device
"""
ONCE_FAILED = """\
LAST SEEN   TYPE      REASON        OBJECT      MESSAGE
5m          Warning   FailedMount   pod/web-0   MountVolume.SetUp failed for volume "kube-api-access-7hlxw" : failed to sync configmap cache: timed out waiting for the condition
1m          Normal    Pulled        pod/web-1   Container image "registry.example.com/app:1" already present on machine
"""


@pytest.mark.parametrize(
    ("events", "stuck"), [(FAILED_MOUNT, ["pvc-4e1b9a70-5f3c-4b0e-8a52-7c9d1e2f3a4b"]), (ONCE_FAILED, [])]
)
def test_volumes_that_only_events_tell_of(items, tmp_path, events, stuck):
    """Events tell of failures alone: a volume is stuck where analyze finds a fault that lasts, not after one try."""
    log = tmp_path / "events.txt"
    log.write_text(events)
    assert list(items("volumes", "--stuck", str(log))) == stuck
