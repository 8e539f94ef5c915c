"""Times of logs without dates: ages, uptimes and lines in order are printed as such, never with an assumed date."""

from __future__ import annotations

import os
import re

import pytest

AGES = """LAST SEEN   TYPE      REASON                   OBJECT       MESSAGE
12m         Warning   FailedCreatePodSandBox   pod/web-0    Failed to create pod sandbox: rpc error: code = Unknown \
desc = failed to setup network for sandbox "0a1b": plugin type="portgate" failed (add): no such network "blue"
9m          Warning   FailedCreatePodSandBox   pod/web-0    Failed to create pod sandbox: rpc error: code = Unknown \
desc = failed to setup network for sandbox "0a1c": plugin type="portgate" failed (add): no such network "blue"
"""
UPTIMES = "[ 7512.402311] XFS (sdb): Corruption detected. Unmount and run xfs_repair\n" * 2
NO_TIMES = "Error: failed to run Kubelet: unknown flag: --cadvisor-port\n"
DATE = re.compile(r"20\d\d-\d\d-\d\d|\d\d:\d\d:\d\d")


@pytest.mark.parametrize(
    ("text", "said", "read"),
    [
        (AGES, "2 times, from 12m to 9m before the rows were printed.", "3 lines, ages, no dates"),
        (UPTIMES, "2h5m after boot", "2 lines, uptimes, no dates"),
        (NO_TIMES, " Once. ", "1 line"),
    ],
    ids=["ages", "uptimes", "no times"],
)
def test_a_log_without_dates_gets_none(kvdiag, tmp_path, text, said, read):
    """The date of the file orders lines of several logs; it is no fact of the fault."""
    (tmp_path / "node.log").write_text(text)
    shown = kvdiag("analyze", "node.log", cwd=tmp_path).stdout
    assert said in " ".join(shown.split())
    assert read in shown
    assert not DATE.search(shown), shown


ROWS = """  Type     Reason            Age                  From               Message
  ----     ------            ----                 ----               -------
  Warning  FailedMount       2m12s (x8 over 20m)  kubelet            MountVolume.SetUp failed for volume "cfg" : \
secret "web-tls" not found
  Warning  FailedScheduling  25m                  default-scheduler  0/3 nodes are available: 3 Insufficient memory.
"""


@pytest.mark.parametrize("output", ["text", "markdown", "compact"])
def test_tables_have_ages_too(kvdiag, tmp_path, output):
    """So do the rows of several failures."""
    (tmp_path / "node.log").write_text(ROWS)
    shown = kvdiag("analyze", "-o", output, "node.log", cwd=tmp_path).stdout
    assert "web-tls" in shown
    assert not DATE.search(shown), shown


BESIDE_DATES = f"""{ROWS}2026-11-05T18:28:32.000000+00:00 node3 rpc.gssd[4041]: ERROR: failed to parse nfs/clnt6dc/info
2026-11-05T18:30:34.000000+00:00 node3 rpc.gssd[4041]: ERROR: failed to parse nfs/clnt6dd/info
"""


@pytest.mark.parametrize("output", ["text", "markdown", "html"])
def test_ages_beside_dates_stay_ages(kvdiag, tmp_path, output):
    """Nothing says that the rows were printed when the last dated line was; the time of the log is that of its dates."""
    (tmp_path / "node.log").write_text(BESIDE_DATES)
    shown = kvdiag("analyze", "-o", output, "node.log", cwd=tmp_path).stdout
    assert "web-tls" in shown
    assert "18:10:34" not in shown, shown  # 20 minutes before the last line
    assert "18:28:22" not in shown, shown
    if output == "text":
        assert "8 times, from 20m to 2m12s before the rows were printed." in " ".join(shown.split())
        assert "2026-11-05 18:28:32 to 18:30:34 UTC" in shown


def test_ages_beside_uptimes_stay_apart(kvdiag, tmp_path):
    """The kernel's lines count from the boot, rows of kubectl back from when they were printed."""
    kernel = "[ 1234.567890] Out of memory: Killed process 4242 (java) total-vm:1000kB, anon-rss:900kB, file-rss:0kB\n"
    row = '  Warning  FailedMount  7m  kubelet  MountVolume.SetUp failed for volume "pvc-1" : the widgets are gone\n'
    (tmp_path / "node.log").write_text(kernel + row)
    shown = " ".join(kvdiag("analyze", "-v", "node.log", cwd=tmp_path).stdout.split())
    for words in (
        "Once, 20m34s after boot.",
        "node.log:1 uptime 20m34s",
        "Once, 7m before the rows were printed.",
        "node.log:2 age 7m",
        "2 lines, ages and uptimes, no dates",
    ):
        assert words in shown, shown


def test_a_state_without_a_time_has_no_age(kvdiag, tmp_path):
    """A container's state was printed with the rows below it, which does not say when it began."""
    state = "  app:\n    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n"
    rows = "  Warning  BackOff  2m (x9 over 11m)  kubelet  Back-off restarting failed container app in pod web-0_shop(1f0c3a52)\n"
    (tmp_path / "pod.log").write_text(
        f"Name:  web-0\nNamespace:  shop\nContainers:\n{state}    Restart Count:  9\n{rows}"
    )
    shown = " ".join(kvdiag("analyze", "-v", "pod.log", cwd=tmp_path).stdout.split())
    assert "OOMKilled: container app of pod shop/web-0 Once." in shown, shown
    assert "0ms" not in shown, shown
    assert "age 11m" in shown, shown


def printed_on_two_days(folder, text):
    """Write two logs with the same ages."""
    for name, day in (("a.log", 10), ("b.log", 11)):
        (folder / name).write_text(text)
        os.utime(folder / name, (day * 86_400, day * 86_400))
    return "a.log", "b.log"


def test_logs_of_ages_that_were_printed_at_two_times(kvdiag, tmp_path):
    """The ages of two logs have no common moment: neither a start nor a duration follows from both."""
    shown = kvdiag("analyze", *printed_on_two_days(tmp_path, AGES), cwd=tmp_path).stdout
    assert "times; no common time." in shown
    assert not DATE.search(shown), shown
    assert " in 1d" not in shown


def test_pods_without_a_name_in_two_logs_are_two(kvdiag, tmp_path):
    """What kubectl describes may have been copied without the name of the pod."""
    shown = kvdiag("analyze", *printed_on_two_days(tmp_path, ROWS), cwd=tmp_path).stdout
    assert shown.count("medium    unnamed  FailedMount") == 2
    assert "pod ?" not in shown


MOUNT = """  Type     Reason       Age                 From     Message
  ----     ------       ----                ----     -------
  Warning  FailedMount  42m (x12 over 65m)  kubelet  MountVolume.SetUp failed for volume "data" : mount failed: \
exit status 32 Output: mount.nfs: access denied by server while mounting 192.0.2.9:/export
"""
KUBELET = """I0312 08:00:00.000000    4444 server.go:417] "Kubelet version" kubeletVersion="v1.29.2"
E0312 08:15:00.000000    4444 pod_workers.go:1300] "Error syncing pod, skipping" err="MountVolume.SetUp failed for \
volume \\"data\\" : mount failed: exit status 32 Output: mount.nfs: access denied by server while mounting \
192.0.2.9:/export" pod="shop/web-0" podUID="1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"
"""


@pytest.mark.parametrize("other", [MOUNT, KUBELET], ids=["ages", "dates"])
@pytest.mark.parametrize("command", ["analyze", "errors"])
def test_a_duration_is_of_one_log(kvdiag, tmp_path, command, other):
    """A finding that shows lines of one log only may count those of others, whose times cannot be compared."""
    pod = "Name:             web-0\nNamespace:        shop\n"
    (tmp_path / "a.log").write_text(pod + MOUNT)
    os.utime(tmp_path / "a.log", (18_333 * 86_400, 18_333 * 86_400))
    (tmp_path / "b.log").write_text(other if other == KUBELET else pod + other)
    os.utime(tmp_path / "b.log", (20_333 * 86_400, 20_333 * 86_400))
    shown = " ".join(kvdiag(command, "a.log", "b.log", cwd=tmp_path).stdout.split())
    assert "access denied" in shown or "does not let this node mount" in shown
    assert not re.search(r"(?: in | over |–)\d+[dh]", shown), shown


def test_two_boots_are_at_least_once(kvdiag, tmp_path):
    """Uptimes of two logs may be of two boots."""
    for name, uptime in (("a.log", 7201), ("b.log", 9201)):
        (tmp_path / name).write_text(f"[ {uptime}.100000] EXT4-fs (sdb): Remounting filesystem read-only\n")
    shown = " ".join(kvdiag("analyze", "a.log", "b.log", cwd=tmp_path).stdout.split())
    assert "errors of the file system on sdb of this node, at least once" in shown
