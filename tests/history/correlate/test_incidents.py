"""Folders that have nothing to do with each other are incidents of their own; each is judged as if it were alone."""

from __future__ import annotations

import json

import pytest

from tests.errorlines import klog

POD = 'pod="shop/web-0" podUID="{uid}-8d7b-4e6f-9a10-5b2c7d8e9f01"'
EVENTS = '3m  Warning  FailedMount  pod/web-0  MountVolume.SetUp failed for volume "data" : it is odd\n'


def kubelet(uid: str, minute: int) -> str:
    """Give a log of a kubelet with one pod."""
    lines = [klog('server.go:487] "Kubelet version" kubeletVersion="v1.29.2"', f"08:{minute:02}:00", "I")]
    lines += [
        klog(
            f'pod_workers.go:1] "Pod worker has been requested for removal" {POD.format(uid=uid)}',
            f"08:{minute:02}:{n:02}",
        )
        for n in range(5)
    ]
    lines += [
        klog(
            f'nested.go:1] "Back-off 5m0s restarting failed container=app" {POD.format(uid=uid)}', f"08:{minute:02}:30"
        )
    ]
    return "".join(lines)


@pytest.fixture
def folders(tmp_path):
    """Give the function that writes a log of kubelet, and a table of events, into each of some folders."""

    def written(**logs: str):
        for name, text in logs.items():
            (tmp_path / name).mkdir()
            (tmp_path / name / "kubelet.log").write_text(text, "utf-8")
            (tmp_path / name / "events.txt").write_text(EVENTS, "utf-8")
        return tmp_path

    return written


def found(kvdiag, *paths):
    """Give the keys of what is found, and when the tables of events end."""
    report = json.loads(kvdiag("analyze", "-o", "json", "--year", "2024", *paths).stdout)
    tables = {
        one["source"].split("/")[-2]: one["ends"] for one in report["inputs"] if one["source"].endswith("events.txt")
    }
    return sorted(one["key"] for one in report["findings"]), tables


def test_two_incidents(kvdiag, folders):
    """Each has its own findings, and ages count from the logs beside the table."""
    folder = folders(a=kubelet("1f0c3a52", 0), b=kubelet("2f0c3a52", 40))
    keys, tables = found(kvdiag, folder)
    assert [key.rpartition("/")[2] for key in keys if "#" in key] == [key.rpartition("/")[2] for key in keys] != []
    assert {name: end[11:16] for name, end in tables.items()} == {"a": "07:57", "b": "08:37"}


def test_one_incident(kvdiag, folders):
    """Logs that name the same pod at one time are of one incident, and so are files that were named."""
    folder = folders(a=kubelet("1f0c3a52", 0), b=kubelet("1f0c3a52", 0))
    assert not any("#" in key for key in found(kvdiag, folder)[0])
    other = folder / "b" / "kubelet.log"
    other.write_text(kubelet("2f0c3a52", 40))
    assert not any("#" in key for key in found(kvdiag, folder / "a" / "kubelet.log", other)[0])
