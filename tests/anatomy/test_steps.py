"""The sentence above a check says what the command shows."""

from __future__ import annotations

import pytest

from kvdiag.anatomy.error import read_error
from kvdiag.anatomy.steps import CHECK, step_of


@pytest.mark.parametrize(
    ("command", "step"),
    [
        ("{host} lsmod", "See which kernel modules are loaded."),
        ("{journal:kernel} | grep -i oom", "Read the kernel log."),
        ("kubectl get csr", "See which certificate signing requests are pending."),
        ("kubectl get pods -A -o wide", "See which pods there are, where they run, and whether they are ready."),
        ("kubectl get ippools.crd.projectcalico.org -o yaml", "See the ippools."),
        ("kubectl get storageclasses,pv", "See the storageclasses and pv."),
        ("kubectl get --raw /readyz", "Ask the API server whether it is ready."),
        ("{host} ss -tnp", "See the TCP connections and whose they are."),
        ("{host} ss -ltnp", "See which programs listen on which port."),
        ("{host} ss -xlp", "See which programs listen on which socket."),
        ("{host} uname -m", "See the architecture of the node."),
        ("{host} ls /lib/modules", "See which files there are."),
        ("{host} ls -l /dev/kvm", "See which files there are, with owner and mode."),
        ("{host} lsblk -S", "See the block devices."),
        ("{host} ps -C ovsdb-server -o pid,args", "See which of these processes run."),
        ("{host} ps -eo pid,stat,wchan:30,args", "See the processes and what they wait for."),
        ("{host} ausearch -m avc -ts boot", "See what SELinux denied."),
        ("kubectl get pods -A -o yaml | grep -A8 -e preStop:", "Read these fields of the pods."),
        ("kubectl get {object}", CHECK),
        ("{host} widgetctl list", CHECK),
    ],
)
def test_what_a_command_shows(command, step):
    """By how it begins; of kubectl get, what it lists."""
    assert step_of(command) == step


EARLY = """rejected connection from "192.0.2.7:56406" (error "tls: failed to verify client certificate: x509: \
certificate has expired or is not yet valid: current time 2019-09-03T17:28:31Z is before 2021-11-20T05:48:00Z")"""


@pytest.mark.parametrize(
    ("error", "step"),
    [
        ("dial tcp 192.0.2.7:6443: connect: connection refused", "Check 192.0.2.7:6443."),
        (EARLY, "Check whether the clock of this machine is right."),
    ],
)
def test_a_command_without_the_object(error, step):
    """The object is named where the command is about it."""
    assert read_error(error).step == step
