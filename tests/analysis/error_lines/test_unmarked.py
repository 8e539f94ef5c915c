"""Errors that were taken out of a log are listed with their causes; other texts without a log are not."""

from __future__ import annotations

import pytest

from kvdiag import analyze
from kvdiag.analysis.error_lines.unmarked import SHORT_LOG
from kvdiag.model.values import Level

ERRORS = [
    "failed to find disk by lun 3",
    "Unable to attach or mount volumes: unmounted volumes=[data]",
    "could not find enough disk luns",
    "Error response from daemon: pull access denied for shop/web",
    "error getting node worker-1 from the cache",
    'OCI runtime exec failed: exec failed: unable to start container process: exec: "bash": executable file not found',
    "mkdir /data: read-only file system",
    'Get "https://192.0.2.7:10250/stats": dial tcp 192.0.2.7:10250: connect: connection refused',
    'exec: "/start.sh": permission denied',
    "mount.nfs: access denied by server while mounting 192.0.2.5:/export",
    "driver name disk.example.org not found in the list of registered CSI drivers",
    "command returned: Failed to parse ctrl info for nqn=nqn.2016-06.io.spdk:cnode1",
    "kubelet  Failed to create pod sandbox: rpc error: code = NotFound desc = failed to create shim: not found",
    'MountVolume.MountDevice failed for volume "<name>" :',
    'Attach volume "vol-1" to instance "i-1" failed with volume vol-1 is not attached to i-1',
    "volume(rg#acct#share) mount //acct.example.org/share on /mnt failed with mount failed: exit status 32",
    'no mount entry found for "fs-1".efs.example.org among entries overlay:/, proc:/proc',
    "Fail to add a controller, the number of controllers reached limit",
    "0/5 nodes are available: 2 node(s) did not have enough free storage.",
    "the driver did not find a pool for the volume",
    'audit(1710230400.1:7): avc:  denied  { read } for pid=7 comm="web" tclass=dir permissive=1',
    "the number of volumes on this node reached the limit",
    "No available lun was found for host : host-a",
    "no valid IPv4 addresses found on the host interfaces",
    "CSI driver does not support snapshotting, exiting",
    "Listening on 192.0.2.1:6443: bind: address already in use",
    "Writing /data/state: read-only file system",
    "    Message:  rpc error: code = Internal desc = ControllerUnpublishVolume failed for pvc-1: 404 Not Found",
]
OTHERS = [
    "no errors found in 3 files",
    "No resources found in default namespace.",
    "No events found in shop namespace.",
    "No vulnerabilities found for image registry.example.org/shop:1.2",
    "No matching hooks found for pod shop/web-0",
    "no certificate found for host shop.example.org, issuing a new one",
    "CSI driver does not support PUBLISH_UNPUBLISH_VOLUME, not watching VolumeAttachments",
    "CSI driver does not support Plugin Controller Service, using trivial handler",
    "Config file didn't have a section [mesh], using the defaults",
    "The client version does not match the server version; continuing",
    "If you did not find the address, run: kubectl get svc -n mesh",
    "retries of a claim end when the driver did not find a volume",
    "cache size reached limit, evicting the oldest entry",
    "log file reached the maximum size, it will be rotated",
    "The download limit was not reached yet",
    "Jobs that fail are retried three times",
    "policy: Fail open on errors",
    "0 tests failed with errors",
    "Acquiring store lock with id: 5b0c7a1e",
    "NAME   READY   STATUS    RESTARTS   AGE",
    "Unable to find image 'nginx:latest' locally",
    "+ kubectl apply -f web.yaml",
    "/dev/sda1        50G   20G   30G  40% /",
    "  restartPolicy: OnFailure",
    "  - name: FAIL_ON_ERROR",
    "0 failed, 12 passed",
    "failed: 0",
    "Last Exit Code: 0",
    "[preflight] Running pre-flight checks",
    "note: this path does not exist yet",
    "After the upgrade the volume failed with an error that I could not find.",
    'if ! mount /data; then echo "mount failed: exit 32"; fi',
    "RUN apk add curl || echo failed to install: curl",
    "We have set the proxy: it failed with our old image",
    "PLAY RECAP: ok=3 changed=1 unreachable=0 failed=0",
]
STARTED = 'I0312 08:00:00.000000    2201 kubelet.go:2447] "SyncLoop ADD" source="api" pods=["shop/web-0"]'
INFO = "I0312 08:00:01.000000    2201 nodeserver.go:51] "
WORSE = "W0312 08:00:02.000000    2201 nodeserver.go:60] volumegroup: retrying"


def told(text: str) -> list[tuple[str, Level]]:
    """Return the errors that a report lists or explains, each by its first words and with its level."""
    errors = analyze(text=text).errors
    return [(group.message[:20], group.level) for group in (*errors.groups, *errors.known)]


@pytest.mark.parametrize("line", ERRORS)
def test_an_error_is_told(line):
    """By how it begins, or by its cause; also at level info, if the log has no line of a worse level."""
    assert [level for _, level in told(f"NAME  READY\n{line}\n")] == [Level.ERROR]
    if not analyze(text=f"{STARTED}\n{INFO}{line}\n").findings:
        assert [level for _, level in told(f"{STARTED}\n{INFO}{line}\n")] == [Level.WARNING]
    assert [words for words, _ in told(f"{INFO}{line}\n{WORSE}\n")] == ["volumegroup: retryin"]
    assert [words for words, _ in told(f"{WORSE}\n{INFO}{line}\n")] == ["volumegroup: retryin"]


@pytest.mark.parametrize("line", OTHERS)
def test_other_text_is_none(line):
    """What commands print, and manifests."""
    assert not told(f"{line}\n")
    assert not told(f"{STARTED}\n{INFO}{line}\n")


@pytest.mark.parametrize(
    "line",
    [
        'time="2026-03-12T08:00:00Z" level=debug msg="failed to find disk by lun 3"',
        "Normal  Pulled  5s  kubelet  failed to find disk by lun 3",
    ],
)
def test_some_lines_are_no_failure_whatever_they_say(line):
    """Of level debug beside others, and events of type Normal."""
    assert not told(f"{STARTED}\n{line}\n")


def test_several_logs_of_containers_have_no_errors_without_a_level(tmp_path):
    """A program's words alone are no error where its log is one of many."""
    for name in ("one.log", "two.log"):
        (tmp_path / name).write_text(f"2026-03-12T08:00:00.000000000Z stdout F {ERRORS[0]}\n" * 3, "utf-8")
    assert not analyze(tmp_path).errors.groups


def test_lines_of_level_debug_alone_are_read():
    """Who pastes them alone means that one of them is a failure."""
    line = 'time="2026-03-12T08:00:00Z" level=debug msg="failed to find disk by lun 3"'
    assert told(f"{line}\n") == [("failed to find disk ", Level.WARNING)]


def test_a_program_without_levels_is_read_beside_others():
    """As etcd's last words, between the lines of systemd."""
    head = "Mar 12 08:00:00 node-a etcd[2201]: "
    text = f"{head}[WARNING] use the other logger\n{head}error verifying flags, expected an IP address\n"
    assert ("error verifying flag", Level.ERROR) in told(text)


@pytest.mark.parametrize("line", [ERRORS[0], f"{INFO}{ERRORS[0]}"])
def test_a_log_has_levels(line, tmp_path):
    """In a long text words alone are no failure, nor in one of several logs."""
    few, many = f"{line}\n" * 9, f"{line}\n" * (SHORT_LOG // len(line) + 1)
    assert told(few)
    assert not told(many)
    for name in ("one.log", "two.log"):
        (tmp_path / name).write_text(f"{STARTED}\n{line}\n", "utf-8")
    assert not analyze(tmp_path).errors.groups


def test_the_last_line_may_not_be_ended():
    """It is read apart from the others, and is the same."""
    assert told(f"{STARTED}\n{INFO}{ERRORS[0]}") == [("failed to find disk ", Level.WARNING)]
    assert told(f"{WORSE}\n{INFO}{ERRORS[0]}") == [("volumegroup: retryin", Level.WARNING)]


def test_of_a_failure_at_level_info_the_cause_is_named():
    """As of one that is marked."""
    error = "unable to activate logical volumes: Cannot process volume group vg-data: exit status 5"
    (group,) = analyze(text=f"{STARTED}\n{INFO}{error}\n").errors.groups
    assert group.anatomy is not None
    assert "volume group" in group.anatomy.sentence


def test_the_cause_is_named():
    """In the report of a text that has no line of a known format."""
    (group,) = analyze(text=f"{ERRORS[5]} in $PATH: unknown\n").errors.groups
    assert group.anatomy is not None
    assert group.anatomy.sentence == "the container image has no program bash in its $PATH"


def test_a_line_that_follows_no_record_is_read_beside_others():
    """What a person pasted above a table or in a paragraph of its own; below a record it may be a part of that."""
    line, row = "failed to find disk by lun 3", "Normal  Pulled  5s  kubelet  Container image already present"
    assert told(f"{line}\n{row}\n") == [(line[:20], Level.ERROR)]
    assert told(f"{STARTED}\n\n{line}\n") == [(line[:20], Level.WARNING)]
    assert [words for words, _ in told(f"{WORSE}\n{line}\n")] == ["volumegroup: retryin"]


def test_a_level_behind_namespace_pod_and_container():
    """As stern prints a line of all namespaces."""
    text = "kube-system switch-s5mh2 switch REMOTE_INTERVAL is set to 10000\n"
    line = "kube-system switch-s5mh2 switch modinfo: ERROR: Module openvswitch not found."
    assert [level for _, level in told(f"{text}{line}\n")] == [Level.ERROR]
