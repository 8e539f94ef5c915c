"""Pages in words: what the vocabulary says is what is shown, no line is wider than a screen."""

from __future__ import annotations

import json

import pytest

from kvdiag.analysis.explain import Explainer
from kvdiag.base.errors import UsageError
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.vocabulary import load_vocabulary
from kvdiag.explain.asjson import line_json, rule_json, topic_json, topics_json
from kvdiag.explain.page import step_wording
from kvdiag.explain.text import WIDTH, line_text, rule_text, topic_text, topics_text
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.vocabulary import Entry, Wording

EXPLAINER = Explainer()
VOCABULARY = load_vocabulary(builtin_patterns() / "events")
PAGES = [(topic, mode) for topic in EXPLAINER.topics.values() for mode in (topic.modes or {"": ""})]
each_page = pytest.mark.parametrize(("topic", "mode"), PAGES, ids=[f"{t.name} {m}".strip() for t, m in PAGES])
DELETE = b'I0312 08:15:00.100000    2201 kubelet.go:2463] "SyncLoop DELETE" source="api" pods=["shop/web-0"]'


@each_page
def test_pages_fit_a_screen(topic, mode):
    """No line but a link or a command is wider than eighty columns."""
    text = topic_text(EXPLAINER.page(topic, mode))
    wide = [line for line in text.splitlines() if len(line) > WIDTH]
    assert not [line for line in wide if "https://" not in line and not line.startswith("  $ ")]


@each_page
def test_words_are_the_vocabulary_s(topic, mode):
    """Who prints a line and from which -v on is what the vocabulary says of the kind."""
    for step in EXPLAINER.page(topic, mode).steps:
        assert [line.kind for line in step.lines] == list(step.step.shows)
        for line in step.lines:
            entry = VOCABULARY.kinds[line.kind]
            assert (line.component, line.verbosity) == (entry.component, entry.verbosity)


@each_page
def test_json_has_all_of_it(topic, mode):
    """The page as values can be written as JSON and has the steps in their order."""
    page = EXPLAINER.page(topic, mode)
    said = json.loads(json.dumps(topic_json(page)))
    assert [step["name"] for step in said["steps"]] == [step.step.name for step in page.steps]
    assert said["mode"] == (mode or None)


def entry(*wordings):
    """Give an entry with these wordings."""
    return Entry(kind="a.b", component="kubelet", wordings=wordings, verbosity=2)


@pytest.mark.parametrize(
    ("wording", "words"),
    [
        (Wording(anchor="x", message='] say "{pod_uid}" and {_}...end'), 'say "<pod_uid>" and ……end'),
        (Wording(anchor="x", message='done"', fields={"pod": "pod"}), '"done" pod=<pod>'),
        (Wording(anchor="x", message="a[[ (b)]] {{c}}"), "a (b) {c}"),
        (Wording(anchor="x", message='Error: [["]]failed: {error}'), "Error: failed: <error>"),
    ],
)
def test_a_template_as_it_reads(wording, words):
    """Placeholders become <names>, what is optional is written out, fields follow the message."""
    assert step_wording(entry(wording)).words == words


def test_the_newest_words_are_shown():
    """A spelling that later versions gave up is not shown when there is another."""
    old = Wording(anchor="x", message="old", since={"kubelet": "<1.21"})
    new = Wording(anchor="x", message="new", since={"kubelet": ">=1.21"})
    assert step_wording(entry(old, new)).words == "new"
    assert step_wording(entry(old)).words == "old"


def test_the_words_of_a_block_device():
    """In the mode block the words of mapping are shown where there are some."""
    mounted, mapped = Wording(anchor="x", message="TearDown done"), Wording(anchor="x", message="UnmapVolume done")
    assert step_wording(entry(mounted, mapped)).words == "TearDown done"
    assert step_wording(entry(mounted, mapped), mapped=True).words == "UnmapVolume done"


def test_rules_that_watch_a_step():
    """A step names the rules whose sentence speaks of its events."""
    page = EXPLAINER.page(EXPLAINER.topics["unstage"], "fs")
    (released,) = (step for step in page.steps if step.step.name == "released")
    assert "csi-nodeunstage-missing" in released.rules
    assert "multi-attach" not in released.rules


def test_a_rule_leads_to_its_steps():
    """A rule is told as `rules show` does, with the steps its events belong to; an id is as good as a name."""
    page = EXPLAINER.rule("kv301")
    assert page == EXPLAINER.rule("csi-nodeunstage-missing")
    assert ("unstage", "released") in page.steps
    assert "unstage: released" in rule_text(page)
    assert page.text in rule_text(page)
    assert rule_json(page)["id"] == "KV301"
    assert EXPLAINER.rule("no-such-rule") is None


def test_an_unknown_mode():
    """A mode that a topic does not have is refused with those it has."""
    with pytest.raises(UsageError, match=r"unstage has no mode 'rwx'; choose from fs, block"):
        EXPLAINER.page(EXPLAINER.topics["unstage"], "rwx")
    with pytest.raises(UsageError, match=r"detach has no mode 'fs'; it has none"):
        EXPLAINER.page(EXPLAINER.topics["detach"], "fs")


def test_the_list_of_topics():
    """Without a name all topics are listed with their modes."""
    text = topics_text(EXPLAINER.topics.values())
    assert all(name in text for name in EXPLAINER.topics)
    assert "(fs, block)" in text
    assert len(topics_json(list(EXPLAINER.topics.values()))["topics"]) == len(EXPLAINER.topics)


def test_a_line_and_what_to_think_of_it():
    """A line's page has its event, its names, and the rules whose conditions it meets."""
    (page,) = EXPLAINER.lines(TextInput("line", DELETE), pytest.fail)
    text = line_text(page)
    assert "Event      DELETE (pod.deleted)" in text
    assert "pod=shop/web-0" in text
    assert "Benign     no (not on the list of known benign lines)" in text
    assert "kubelet-restarted-while-terminating" in page.rules
    assert line_json(page)["events"][0]["refs"] == [{"kind": "pod", "value": "shop/web-0"}]


def test_a_rule_looks_only_at_what_meets_its_conditions():
    """Of the many failed unmounts a rule looks at those with its error."""
    line = (
        b'E0312 08:15:00.100000    2201 nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/csi/'
        b'csi.example.org^vol-1 podName:1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01 nodeName:}" failed. No retries permitted '
        b"until 2024-03-12 08:15:21.6 +0000 UTC m=+199.1 (durationBeforeRetry 500ms). Error: UnmountVolume.TearDown "
        b'failed for volume "data" (UniqueName: "kubernetes.io/csi/csi.example.org^vol-1") pod '
        b'"1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01" (UID: "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01") : %s'
    )
    (busy,) = EXPLAINER.lines(TextInput("line", line % b"remove /x/mount: device or resource busy"), pytest.fail)
    (absent,) = EXPLAINER.lines(
        TextInput("line", line % b"driver name d not found in the list of registered CSI drivers"), pytest.fail
    )
    assert "unmount-device-busy" in busy.rules
    assert "csi-driver-not-registered-teardown" not in busy.rules
    assert "csi-driver-not-registered-teardown" in absent.rules


def test_a_harmless_line_has_a_reason_and_a_limit():
    """A line that is known to be harmless says why, and when it is not."""
    (page,) = EXPLAINER.lines(
        TextInput("line", b"E0312 08:15:00.1 2201 kubelet.go:1] pleg has yet to be successful"), pytest.fail
    )
    assert page.benign.name == "pleg-not-yet"
    assert "Exception: it lasts longer" in " ".join(line_text(page).split())
    assert line_json(page)["benign"]["name"] == "pleg-not-yet"
