"""A table of events has none of a sandbox that was made: after one that failed the next container proves it."""

from __future__ import annotations

import pytest

from kvdiag.analysis.case import Case
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options

FAILED = "{age}  Warning  FailedCreatePodSandBox  pod/{pod}  Failed to create pod sandbox: rpc error: code = Unknown desc = words"
CREATED = "{age}  Normal  Created  pod/{pod}  Created container{name}"


def failed(age: str, pod: str = "web-0") -> str:
    """A row of a sandbox that could not be made."""
    return FAILED.format(age=age, pod=pod)


def created(age: str, pod: str = "web-0", name: str = ": app") -> str:
    """A row of a container that was created."""
    return CREATED.format(age=age, pod=pod, name=name)


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        ([failed("8m"), created("7m")], [2]),
        ([failed("8m"), created("7m", name="")], [2]),
        ([failed("8m"), created("7m"), created("6m")], [2]),
        ([failed("8m"), created("7m"), failed("6m"), created("5m")], [2, 4]),
        ([failed("8m"), created("9m")], []),
        ([failed("8m"), created("8m")], []),
        ([failed("8m"), created("7m", pod="web-1")], []),
        ([created("7m")], []),
    ],
)
def test_the_next_container(rows, lines):
    """Only of that pod, only later than the failure, and once for each."""
    text = "\n".join(["LAST SEEN   TYPE      REASON   OBJECT   MESSAGE", *rows, ""])
    events = Case(Options(paths=())).read(given=[TextInput("events.txt", text.encode())]).history.events
    assert [event.origin.line - 1 for event in events if event.kind == "sandbox.created"] == lines


def test_a_row_proves_no_verbosity():
    """Kubelet prints a line of that kind at -v=4; a row of an event shows nothing of its -v."""
    text = "\n".join(["LAST SEEN   TYPE      REASON   OBJECT   MESSAGE", failed("8m"), created("7m"), ""])
    history = Case(Options(paths=())).read(given=[TextInput("events.txt", text.encode())]).history
    assert {one.kind for one in history.events} >= {"sandbox.created"}
    assert [one.verbosity for one in history.coverage] == [0]


def test_rows_of_a_watched_event():
    """`get events --watch` prints an event again with its new count: only what is new counts."""
    head = "LASTSEEN   FIRSTSEEN   COUNT   NAME   KIND   SUBOBJECT   TYPE   REASON   SOURCE   MESSAGE"
    row = (
        "2024-03-12 08:{last} +0000 UTC   2024-03-12 08:00:00 +0000 UTC   {count}   data-0.153bda428c5eccff   "
        "PersistentVolumeClaim             Warning   ProvisioningFailed   persistentvolume-controller   Failed to provision "
        'volume with StorageClass "fast": no such thing'
    )
    text = "\n".join([head, *(row.format(last=last, count=count) for last, count in (("05:00", 5), ("06:00", 6))), ""])
    events = Case(Options(paths=())).read(given=[TextInput("events.txt", text.encode())]).history.events
    found = [event for event in events if event.kind == "volume.provision.failed"]
    assert sum(event.count for event in found) == 6
    assert max(event.ends for event in found) - min(event.time for event in found) == 6 * 60 * 10**6
