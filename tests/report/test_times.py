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
        (AGES, "Began 12m before the rows were printed: 2 times in 3m.", "3 lines, ages, no dates"),
        (UPTIMES, "2h5m after boot", "2 lines, uptimes, no dates"),
        (NO_TIMES, "Once; no time read.", "1 lines, no times read"),
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
