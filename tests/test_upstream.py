"""What the vocabulary says of Kubernetes' lines is what upstream prints: words, keys and verbosity, by version."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import pytest

from kvdiag.model.vocabulary import Entry, Wording
from tests.patterns import vocabulary
from tools.upstream import (
    COMPONENTS,
    UNKNOWN,
    Call,
    calls,
    calls_of,
    is_listed,
    listed,
    meant,
    table,
    wordings_without_row,
)

VOCABULARY = vocabulary()
ENTRIES = [entry for entry in VOCABULARY.entries if entry.component in COMPONENTS and entry.wordings]
WORDINGS = [(entry, wording) for entry in ENTRIES for wording in entry.wordings]
LISTED = table(UNKNOWN)
KEY = re.compile(r'(?:(?<!=)" |\.\.\.)([A-Za-z]\w*)=')
OPTIONAL = re.compile(r"\[\[.*?\]\]")
# Calls without any of the keys that are read: whose logger was made with the pod's names, and one that names no pod.
NAMELESS = {("kubelet/pod_workers.go", 36), ("kubelet/kubelet_pods.go", 21)}


@cache
def found(component: str, kind: str, message: str, place: str) -> tuple[Call, ...]:
    """The calls that a wording means."""
    wording = next(
        w for e, w in WORDINGS if (e.component, e.kind, w.message, w.place) == (component, kind, message, place)
    )
    return tuple(meant(wording, component, calls()))


def calls_for(entry: Entry, wording: Wording) -> tuple[Call, ...]:
    """The same, looked for once."""
    return found(entry.component, entry.kind, wording.message, wording.place)


def test_every_component_is_judged_or_listed():
    """No component is passed over in silence."""
    for entry in VOCABULARY.entries:
        assert entry.component in COMPONENTS or not entry.wordings or listed(entry, entry.wordings[0], counts=False)


def test_words_are_printed_upstream():
    """Each wording is the text of a call in its versions, or the list says why that cannot be known."""
    assert WORDINGS
    assert list(wordings_without_row(ENTRIES)) == []


def test_a_wording_without_a_row_is_named():
    """A new wording is named with its place and the files of which one needs a row for it."""
    wording = Wording("Scratch disk is gone", 'Scratch disk is gone"', place="patterns/events/x.yaml:3:5")
    (missing,) = wordings_without_row([Entry("pod.scratch.gone", "kubelet", (wording,))])
    assert missing == (
        "patterns/events/x.yaml:3:5: tests/data/upstream-calls.tsv has no call that prints 'Scratch disk is gone\"'; add "
        "its row, or a row to tests/data/upstream-unknown.tsv that says why there is none"
    )


def proved(entry: Entry, wording: Wording) -> int:
    """The lowest -v at which one of a wording's versions prints it, or what the list says; its own where none does."""
    verbosities = {call.verbosity for call in calls_for(entry, wording)}
    chosen = [int(row["verbosity"]) for row in listed(entry, wording, counts=True) if row["message"] != "*"]
    return (chosen or [min(verbosities)])[0] if verbosities else wording.verbosity


def test_verbosity_is_that_of_upstream():
    """A wording proves the lowest -v at which one of its versions prints it."""
    assert [
        (wording.place, wording.message, wording.verbosity, proved(entry, wording))
        for entry, wording in WORDINGS
        if wording.verbosity != proved(entry, wording)
    ] == []


def highest(entry: Entry) -> int:
    """The highest verbosity of a kind's wordings, unless the list names another."""
    chosen = [int(row["verbosity"]) for row in listed(entry, None, counts=True)]
    found = {wording.verbosity for wording in entry.wordings}
    for wording in entry.wordings:
        if not listed(entry, wording, counts=True):
            found |= {call.verbosity for call in calls_for(entry, wording)}
    return (chosen or [max(found)])[0]


def test_absence_counts_where_all_is_printed():
    """Below the highest verbosity of its wordings the absence of a kind means nothing, unless the list says why."""
    assert [(e.place, e.kind, e.verbosity, highest(e)) for e in ENTRIES if e.verbosity != highest(e)] == []


def keys_of(wording: Wording) -> frozenset[str]:
    """The keys that a wording reads: of its fields, and of what it has behind the end of its message."""
    text = OPTIONAL.sub("", wording.message)
    inner = (key for key in KEY.findall(text) if '"' in wording.anchor + text.partition(wording.anchor)[2])
    return frozenset([*wording.fields.values(), *inner])


def unprinted(entry: Entry, wording: Wording) -> Iterator[object]:
    """Keys of a wording that no version prints, and calls that print keys of which none is read."""
    structured = [call for call in calls_for(entry, wording) if call.structured]
    read = keys_of(wording)
    if structured and read:
        yield from read - frozenset().union(*(call.keys for call in structured))
    if read and not listed(entry, wording, counts=True):
        for call in structured:
            nameless = {(call.file, minor) for minor in call.minors} <= NAMELESS
            if not nameless and call.keys and not read & call.keys:
                yield call


def test_keys_are_printed_upstream():
    """Each key is printed in some of the versions, and in each of them one that is read, if it prints any."""
    faults = [(wording.place, fault) for entry, wording in WORDINGS for fault in unprinted(entry, wording)]
    assert faults == []


def is_needed(row: dict[str, str]) -> bool:
    """Whether a row of the list speaks of wordings that are there, and of none that the table judges."""
    about = [(entry, wording) for entry, wording in WORDINGS if is_listed(row, entry, wording)]
    return bool(about) and (bool(row["verbosity"]) or not any(calls_for(*pair) for pair in about))


def test_nothing_is_listed_in_vain():
    """What is listed is a wording that is there, with a reason, and none that the table judges."""
    assert [row for row in LISTED if not row["reason"] or (row["kind"] != "*" and not is_needed(row))] == []


def test_calls_are_all_used():
    """The table has no call that no wording means."""
    used = {call._replace(minors=frozenset()) for pair in WORDINGS for call in calls_for(*pair)}
    assert [call for call in calls() if call._replace(minors=frozenset()) not in used] == []


ROW = {"file": "kubelet/x.go", "severity": "I", "verbosity": "2", "structured": "n", "keys": "", "minors": "1.19,1.21"}
(CALL,) = calls_of([ROW | {"message": "Killing container %q with a %d second grace period"}])
(VOLUME,) = calls_of(
    [ROW | {"message": "[vol] Mount succeeded … device path %q", "structured": "y", "keys": "pod", "minors": "1.30"}]
)


@pytest.mark.parametrize(
    ("call", "anchor", "message", "since", "minors"),
    [
        (CALL, "Killing container", 'Killing container "{container_id}" with[[ a]] {grace_period} second', "", {19, 21}),
        (CALL, "Killing container", 'Killing container "{container_id}" with a', "<1.21", {19}),
        (CALL, "Killing container", 'Killing container "{container_id}" with a', ">=1.22", None),
        (CALL, "grace period", 'Killing container "{container_id}" ...grace period', "", {19, 21}),
        (CALL, "Killing container", "Killing container {container_id} for", "", {19, 21}),
        (CALL, "Killing container", 'Killing container"', "", None),
        (CALL, "container", 'Killed container "{container_id}" with a', "", None),
        (CALL, "Killing the container", "Killing the container", "", None),
        (VOLUME, "Mount succeeded", 'Mount succeeded for volume "{spec_name}" (UniqueName: "{_}") pod "{_}"', "", {30}),
        (VOLUME, "Mount succeeded", 'Mount succeeded" volume="{spec_name}"', "", None),
    ],
)  # fmt: skip
def test_which_call_is_meant(call, anchor, message, since, minors):
    """A wording means a call that prints its letters around the anchor, in a version it names; a value is anything."""
    wording = Wording(anchor, message, since={"kubelet": since} if since else {})
    told = meant(wording, "kubelet", [call])
    assert [set(one.minors) for one in told] == ([] if minors is None else [minors])


def test_the_likest_call_is_meant():
    """Where the value of one call could hold what another says, that one is meant."""
    vague = CALL._replace(message="Killing container %v", verbosity=9)
    wording = Wording(
        "Killing container", 'Killing container "{container_id}" with a {grace_period} second grace period'
    )
    assert [call.verbosity for call in meant(wording, "kubelet", [vague, CALL])] == [2]


@pytest.mark.parametrize(
    ("message", "keys"),
    [
        ('Said" pod="{pod}" event={{ID:{pod_uid}', {"pod", "event"}),
        ('Said" podUID={pod_uid}...duration={duration}', {"podUID", "duration"}),
        ('Said for volume "{spec_name}"[[" pod="{pod}"]]', set()),
        ('Said" err="back-off {backoff} failed container={container_name} pod={pods}"', {"err"}),
    ],
)
def test_keys_of_a_wording(message, keys):
    """Keys stand behind the end of the message; what looks like one inside a value is none."""
    assert keys_of(Wording("Said", message)) == keys
    assert keys_of(Wording("Said", "Said", fields={"node": "nodeName"})) == {"nodeName"}
