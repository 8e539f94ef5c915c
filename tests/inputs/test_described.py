"""What kubectl describes of a pod or a node beside its events is an event too, at the line where it stands."""

from __future__ import annotations

import json

import pytest

from kvdiag.inputs import described
from kvdiag.inputs.sniff import looks_like_log
from tests.rewriting import rewritten

ID = "containerd://" + "3f2a9c" * 10 + "3f2a"
POD = """\
Name:             web-0
Namespace:        shop
Node:             worker-1/10.0.0.7
Containers:
  app:
    Container ID:   {id}
    State:          {state}
      Reason:       CrashLoopBackOff
    Last State:     Terminated
      Reason:       OOMKilled
      Exit Code:    137
      Started:      Tue, 12 Mar 2024 08:00:00 +0100
      Finished:     Tue, 12 Mar 2024 08:00:01 +0100
    Ready:          False
    Restart Count:  6
    Limits:
      memory:  100Mi
Events:           <none>
"""
NODE = """\
Name:               worker-1
Roles:              <none>
Conditions:
  Type             Status  LastHeartbeatTime                 LastTransitionTime                Reason            Message
  ----             ------  -----------------                 ------------------                ------            -------
  DiskPressure     False   Tue, 12 Mar 2024 08:00:00 +0000   Tue, 12 Mar 2024 07:00:00 +0000   KubeletHasNoDisk  all fine
  Ready            False   Tue, 12 Mar 2024 08:00:00 +0000   Tue, 12 Mar 2024 07:30:00 +0000   KubeletNotReady   no network
Events:              <none>
"""
ENDED = """\
    Last State:     Terminated
      Reason:       Error
      Message:      panic: no widget

goroutine 1 [running]:
main.main()

      Exit Code:    2
    Restart Count:  4
"""


def events(text: str) -> list[tuple[int, str, str, str, str]]:
    """Give line, type, reason, time and message of each event that a description is rewritten to."""
    out, numbers = rewritten(text.encode(), described.detect)
    lines = out.decode().splitlines()
    assert [line for line in lines if not line.startswith("{")] == [
        line for number, line in enumerate(text.splitlines(), 1) if not lines[number - 1].startswith("{")
    ]
    told = [(number, json.loads(line)) for number, line in zip(numbers, lines, strict=True) if line.startswith("{")]
    return [(n, one["type"], one["reason"], one.get("lastTimestamp", ""), one["message"]) for n, one in told]


def test_states_of_a_container():
    """What it waits for and how it ended last, with exit code and restarts; the ID is that of the one that ended."""
    assert events(POD.format(id=ID, state="Waiting")) == [
        (
            7,
            "Warning",
            "CrashLoopBackOff",
            "",
            "Container app is waiting: CrashLoopBackOff, last state OOMKilled, exit code 137, restart count 6",
        ),
        (
            9,
            "Warning",
            "OOMKilled",
            "2024-03-12T08:00:01+01:00",
            f"Container app terminated: OOMKilled, exit code 137, restart count 6, id {ID}",
        ),
    ]


def test_a_container_that_runs_again():
    """Its ID is not that of the one that ended."""
    running, ended = events(POD.format(id=ID, state="Running"))
    assert running[1:3] == ("Normal", "CrashLoopBackOff")
    assert ended[4] == "Container app terminated: OOMKilled, exit code 137, restart count 6, now Running"


PART = """\
Last State:  Terminated
  Reason:    OOMKilled
  Exit Code: 137
Limits:
  memory: 64Mi

State: a word of another text
"""


def test_a_container_without_the_name_of_its_pod():
    """Neither its name nor how often it was started is known; the text below is not of the container."""
    assert events(PART) == [(1, "Warning", "OOMKilled", "", "Container terminated: OOMKilled, exit code 137")]
    assert described.detect(PART.replace("Exit Code", "Exit").encode()) is None


def test_an_error_ends_with_its_message(kvdiag, tmp_path):
    """The lines below a state are not part of the error in its message."""
    message = 'runc create failed: unable to start container process: exec: "wgte": executable file not found in $PATH'
    text = POD.format(id=ID, state="Waiting").replace("OOMKilled\n", f"StartError\n      Message:      {message}\n")
    path = tmp_path / "describe.txt"
    path.write_text(text)
    lines = kvdiag("events", str(path), "-o", "json").stdout.splitlines()
    errors = [one["attrs"]["error"] for one in map(json.loads, lines) if "error" in one["attrs"]]
    assert errors
    assert all(error.endswith("executable file not found in $PATH") for error in errors)


def test_conditions_of_a_node():
    """A condition that is as it should be is no warning."""
    fine, bad = events(NODE)
    assert (fine[:2], bad[:3]) == ((6, "Normal"), (7, "Warning", "KubeletNotReady"))
    assert bad[3:] == (
        "2024-03-12T08:00:00+00:00",
        "Condition Ready is False since 2024-03-12T07:30:00+00:00: no network",
    )
    _, young = events(NODE.replace("07:30:00", "07:59:00"))
    assert young[3:] == ("2024-03-12T07:59:00+00:00", "Condition Ready is False: no network")


@pytest.mark.parametrize(
    ("message", "rules"),
    [
        (
            "PLEG is not healthy: pleg was last seen active 31m0s ago; threshold is 3m0s",
            {"pleg-not-healthy", "node-not-ready"},
        ),
        ("disk is broken", {"node-not-ready"}),
    ],
)
def test_a_node_that_is_not_ready(kvdiag, tmp_path, message, rules):
    """Kubelet's last report says since when the node is not Ready; no other line is needed."""
    path = tmp_path / "describe.txt"
    path.write_text(NODE.replace("no network", message), "utf-8")
    findings = json.loads(kvdiag("analyze", "--fail-on", "never", "-o", "json", path).stdout)["findings"]
    assert {(one["rule"], one["severity"]) for one in findings} == {(rule, "medium") for rule in rules}


@pytest.mark.parametrize("text", [POD.format(id=ID, state="Waiting"), f"stdout:\n{NODE}"])
def test_without_events(kvdiag, tmp_path, text):
    """A description whose events are gone is read, named or found in a folder."""
    (tmp_path / "describe.txt").write_text(text, "utf-8")
    assert looks_like_log("describe.txt", text.encode())
    for path in (tmp_path / "describe.txt", tmp_path):
        done = kvdiag("analyze", path)
        assert (done.returncode, "recognized" in done.stdout) == (0, False)


def test_a_panic_of_a_container_without_its_pod():
    """Its message has blank lines and is followed by the exit code; a text that follows is left alone."""
    out, _ = rewritten(f"{ENDED}\nE0312 08:00:00.000000\n".encode(), described.detect)
    event, *others = out.decode().splitlines()
    assert json.loads(event)["message"] == "Container terminated: Error, exit code 2, restart count 4: panic: no widget"
    assert [line for line in others if line] == [
        "      Reason:       Error",
        "      Exit Code:    2",
        "    Restart Count:  4",
        "E0312 08:00:00.000000",
    ]


def test_a_hostile_message():
    """A message of megabytes is cut, so that the event with it can be read."""
    text = f"{ENDED}\n{ENDED.replace('no widget', 'x' * 5_000_000)}"
    out, _ = rewritten(text.encode(), described.detect)
    assert len(out) < 20_000


def test_other_texts():
    """A text that describes nothing stays as it is."""
    assert described.detect(b"Name of the widget: x\nState:    Running\n") is None
