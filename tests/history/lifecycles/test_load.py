"""The files of the life cycles: what is wrong with one is told with its place, and docs/lifecycles.md tells the truth."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import load_vocabulary
from kvdiag.history.lifecycles.load import Lifecycles, lifecycles, lint
from kvdiag.history.lifecycles.replay import replay
from kvdiag.history.lifecycles.schema import read_lifecycles
from tests.history.lifecycles.test_machines import broken, event, states

ROOT = Path(__file__).parents[3]
FAULTS = [
    ("pod.worker.restartable: {to: ADDED}", "pod.worker.restarted: {to: ADDED}", "unknown kind of event"),
    ("pod.worker.restartable: {to: ADDED}", "pod.worker.restartable: {to: ADED}", "unknown state 'ADED'; did you mean"),
    ("pod.worker.restartable: {to: ADDED}", "pod.worker.restartable: {too: ADDED}", "unknown key 'too'"),
    ("after: TERMINATED, through: ADDED", "after: TERMINATE, through: ADDED", "unknown state or mark 'TERMINATE'"),
    ("keeps: [done]}", "keeps: [finished-off]}", "unknown state or flag of states 'finished-off'"),
    ("is: [comes]}", "is: [came]}", "unknown flag of a step 'came'"),
    (
        "ORPHAN: {waits: leftovers of its volumes to be removed, is: [trouble, gone,",
        "ORPHAN: {is: [gone,",
        "is not settled and does",
    ),
    ("pod.orphan.volumes: {to: ORPHAN}", "pod.orphan.volumes: {}", "no step leads to the state 'ORPHAN'"),
    ("parts: [mirror]", "parts: [mirrors]", "unknown part 'mirrors'"),
    ("[first, settled, resting]", "[settled, resting]", "one state is the first, not 0"),
    ("[cri.network.adding, cri.network.added]", "[cri.network.adding, cri.network.add]", "unknown kind of event"),
    ("  kill: [", "  kills: [", "no step has the detail 'kills'; did you mean 'kill'?"),
]


def test_what_comes_with_kvdiag_has_no_fault():
    """The linter finds nothing in the built-in life cycles."""
    assert [str(fault) for fault in lint(builtin_patterns())] == []


@pytest.mark.parametrize(("right", "wrong", "problem"), FAULTS)
def test_a_fault_is_told_with_its_place(tmp_path, right, wrong, problem):
    """Each fault of a file names file, line and column of what is wrong."""
    shutil.copytree(builtin_patterns() / "lifecycles", tmp_path / "lifecycles")
    path = tmp_path / "lifecycles" / "pod.yaml"
    text = path.read_text(encoding="utf-8")
    assert right in text
    path.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    _, faults = read_lifecycles(tmp_path / "lifecycles", load_vocabulary(builtin_patterns() / "events").kinds)
    assert any(problem in str(fault) for fault in faults), list(map(str, faults))
    for fault in faults:
        file, line, column = str(fault).split(":")[:3]
        assert file == str(path)
        assert int(line) > 0
        assert int(column) > 0
    line = text[: text.index(right)].count("\n") + 1
    assert any(f"pod.yaml:{line}:" in str(fault) for fault in faults) or "first" in problem or "leads to" in problem


def test_every_fault_is_told_at_once(tmp_path):
    """Two faults of one file are two errors."""
    shutil.copytree(builtin_patterns() / "lifecycles", tmp_path / "lifecycles")
    path = tmp_path / "lifecycles" / "node.yaml"
    text = path.read_text(encoding="utf-8").replace("to: STOPPED", "to: STOPED").replace("kernel.nfs.back", "nfs.back")
    path.write_text(text, encoding="utf-8")
    _, faults = read_lifecycles(tmp_path / "lifecycles", load_vocabulary(builtin_patterns() / "events").kinds)
    said = "\n".join(map(str, faults))
    assert said.count("unknown state 'STOPED'; did you mean 'STOPPED'?") == 2
    assert "unknown kind of event 'nfs.back'" in said


def test_a_label_is_there(tmp_path):
    """An entry of the vocabulary without a label is refused with its place."""
    shutil.copytree(builtin_patterns() / "events", tmp_path / "events")
    path = tmp_path / "events" / "crash.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"    label: .*\n", "", text, count=1), encoding="utf-8")
    with pytest.raises(Exception, match=r"crash.yaml:\d+:\d+: the key 'label' is missing"):
        load_vocabulary(tmp_path / "events")


def test_the_example_of_the_page(tmp_path):
    """The life cycle of docs/lifecycles.md is sound, and an illegal step of it is found."""
    page = (ROOT / "docs" / "lifecycles.md").read_text(encoding="utf-8")
    example = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)[0]
    (tmp_path / "driver.yaml").write_text(example, encoding="utf-8")
    files, faults = read_lifecycles(tmp_path, load_vocabulary(builtin_patterns() / "events").kinds)
    assert [fault for fault in faults if "no file tells the life of" not in str(fault)] == []
    assert files == {} or "driver" in files
    machine = Lifecycles(files, {}).machine("driver/example")
    kinds = ["csi.driver.banner", "csi.driver.registered", "csi.driver.deregistered", "csi.driver.registered"]
    transitions = list(replay(machine, [(kind, event(kind, n * 1_000_000)) for n, kind in enumerate(kinds)]))
    assert states(transitions) == "SERVING REGISTERED GONE REGISTERED"
    assert broken(transitions) == ["GONE → REGISTERED without SERVING"]


@pytest.mark.parametrize(
    ("machine", "tones"),
    [
        ("driver/csi", {"REGISTERED": "good", "RESTARTED": "good", "GONE": "bad"}),
        ("volume/filesystem", {"PUBLISHED": "good", "STAGING": "change", "RELEASED": "change", "DETACHED": "over"}),
        ("pod/1.27", {"RUNNING": "good", "SYNC": "change", "BACKOFF": "bad", "ORPHAN": "bad", "REMOVED": "over"}),
    ],
)
def test_tones(machine, tones):
    """A state looks like what its flags say: in use, changing, over or in trouble."""
    found = lifecycles().machine(machine)
    assert {state: str(found.tone(state)) for state in tones} == tones
