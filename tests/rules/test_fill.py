"""Texts and commands are filled with the finding's own names, so that a command can be run as it is shown."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.clock import SECOND
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.model.event import Event, Ref
from kvdiag.model.record import Origin
from kvdiag.model.rule import Fix
from kvdiag.model.timeline import Entity
from kvdiag.model.values import SubjectKind
from kvdiag.rules.distribution import LogWindow, default_dialect
from kvdiag.rules.fill import (
    LONGEST_VALUE,
    SLOT_WORDS,
    command,
    fixed_words,
    fixes,
    headings,
    sentence,
    slot_values,
    slots_of,
    texts_of,
)
from kvdiag.rules.library import load_rule_store
from tests.rules.one_rule import one_rule

RULES = load_rule_store([builtin_patterns()])
SLOT = re.compile(r"\{([a-z][a-z0-9_]*)\}")
HOSTILE = [
    "a b",
    "it's",
    'say "x"',
    "$(touch /tmp/x)",
    "`id`",
    "a;b",
    "a\nb",
    "-rf",
    "*",
    "~",
    "\\",
    "{pod}",
    "/var/lib/kubelet/pods/../../x",
    "/pods/x\u202ey",
    "a|b&c>d",
]


def event(second, refs=(), **attrs):
    """Give an event that names these things and says these values."""
    return Event(
        second * SECOND, "k", "", tuple(Ref(*ref) for ref in refs), attrs, Origin("log", second), "", (b"",), 0
    )


def slots(rule):
    """Give the slots of all texts of a rule."""
    return {slot for _, text in texts_of(rule) for slot in slots_of(text)}


SLOTS = sorted(slot for rule in RULES for slot in slots(rule))


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_in_no_command(name):
    """Whatever a log calls a thing: what does not look like it fills no command, and the step says which it was."""
    wanted = sorted(set(SLOTS))
    told = [fix for slot in wanted for fix in fixes(umount(slot), {slot: name}, default_dialect())]
    assert [(fix.run, fix.withheld) for fix in told] == [
        ("", f"no command: the {SLOT_WORDS.get(slot, slot.replace('_', ' '))} in the log has an unexpected form")
        for slot in wanted
    ]


def umount(slot):
    """Give a rule whose only step is a command with this slot."""
    return one_rule(fix=(Fix("Look.", f"umount {{{slot}}}"),))


def commands():
    """Every command of every rule, as plain systemd has it, with its slots."""
    for rule in RULES:
        for fix in rule.fix:
            run = default_dialect().expand(fix.run)
            yield run, sorted(set(SLOT.findall(run)))


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """Give a function that has a shell run lines where it finds no program, and gives what they left or printed."""
    folder = tmp_path_factory.mktemp("shell")

    def run(lines):
        script = "command_not_found_handle() { :; }\n" + "\n".join(lines)
        done = subprocess.run(
            ["/bin/bash", "-c", script],
            capture_output=True,
            cwd=folder,
            env={"PATH": "/nowhere"},
            check=False,
            timeout=60,
        )
        return [path.name for path in folder.iterdir()], b"pwned" in done.stdout + done.stderr

    return run


EFFECTS = ["$(>a)", "`>b`", "';>c;'", '";>d;"', "x\n>e\n", "x;>f", "x&>g", "x|>h", "$(echo pwned)", "x' ; echo pwned #"]


LONGEST_TITLE = 8  # words, and a heading has 12 besides its names (test_lint)
PLAIN = {"attacher-listvolumes-deadline", "etcd-slow", "provision-no-topology"}


def test_titles_are_short_and_name_the_object():
    """Every built-in title fits on a line; a finding adds its object, but for rules whose lines name none."""
    assert [rule.name for rule in RULES if fixed_words(rule.title) > LONGEST_TITLE] == []
    assert {rule.name for rule in RULES if not rule.heading} == PLAIN


UID = "6fe0f8b2-1111-4222-8333-944445555666"


@pytest.mark.parametrize(
    ("text", "said", "filled"),
    [
        ("Multi-Attach: {volume}", {"volume": f"pvc-{UID}"}, "Multi-Attach: pvc-6fe0f8b2…"),
        ("OOMKilled: {pod}", {"pod": f"ci/run-{UID}"}, f"OOMKilled: ci/run-{UID}"),
        ("No space: {image}", {"image": "r/a@sha256:" + "0123456789ab" * 5}, "No space: r/a@sha256:0123456789ab…"),
        ("Down[[ on {node}]]", {"node": "w-1"}, "Down on w-1"),
        ("Down[[ on {node}]]", {"node": "this node"}, "Down"),
        ("Down[[ on {node}]]", {}, "Down"),
        ("{node} is down", {"node": "this node"}, ""),
        ("No {device}", {"device": "x" * 101}, ""),
        ("No {device}", {"device": "x" * 100}, f"No {'x' * 100}"),
        ("No {device}", {"device": "a\nb {pod}", "pod": "p"}, "No a b {pod}"),
        ("", {"pod": "p"}, ""),
        ("Down[[: {cause}]]", {"cause_clause": f"it stopped: {'why ' * 50}"}, "Down: it stopped"),
        ("Down[[: {cause}]]", {"cause_clause": f"a is gone; b is gone: {'why ' * 50}"}, "Down: a is gone; b is gone"),
        ("Down[[: {cause}]]", {"cause_clause": f"it says “a: b”: {'why ' * 50}"}, "Down: it says “a: b”"),
        ("Down[[: {cause}]]", {"cause_clause": "why " * 51}, "Down"),
        (
            "Down[[: {cause}]]",
            {"cause_clause": f"no such file: “{'why ' * 50}a: b”"},
            f"Down: no such file: “… {'why ' * 44}a: b”",
        ),
        (
            "Down[[: {cause}]]",
            {"cause_clause": f"{'gone ' * 25}today: “{'why ' * 50}a: b”"},
            f"Down: {'gone ' * 25}today",
        ),
        ("Down[[: {cause}]]", {"cause_clause": f"CNI plug-in flannel: {'why ' * 50}"}, "Down"),
        (
            "Down[[: {cause}]]",
            {"cause_clause": f"CSI driver a.b: c is gone: {'why ' * 50}"},
            "Down: CSI driver a.b: c is gone",
        ),
    ],
)
def test_a_heading(text, said, filled):
    """Long ids are shortened but in the names of pods; what must be named and is not leaves no heading."""
    assert headings(text, said)[0] == filled


@pytest.mark.parametrize(
    ("text", "subject", "row"),
    [
        ("Not unmounted[[: {volume}]]", "data", "Not unmounted"),
        ("Not unmounted: {volume}", "data", ""),
        ("Not unmounted[[: {volume}]]", "other", "Not unmounted: data"),
    ],
)
def test_a_heading_beside_the_subject(text, subject, row):
    """The second heading has no name that is the subject's: a row shows that already."""
    assert headings(text, {"volume": "data"}, subject) == ("Not unmounted: data", row)


@pytest.mark.parametrize("name", EFFECTS)
def test_nothing_runs(shell, name):
    """Every command of every rule with a name that would write a file, were it looked into."""
    lines = [line for run, wanted in commands() if (line := command(run, dict.fromkeys(wanted, name)))]
    assert shell(lines) == ([], False)


def test_the_shell_would_have_told(tmp_path):
    """The trap is one: such a name, unquoted, leaves a file."""
    script = f"echo {EFFECTS[0]}"
    subprocess.run(["/bin/bash", "-c", script], cwd=tmp_path, env={"PATH": "/nowhere"}, check=True, capture_output=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@given(st.data())
def test_any_name_is_one_word_or_in_no_command(data):
    """There is no name that becomes two words, an option, or a part of another."""
    slot = data.draw(st.sampled_from(SLOTS))
    name = data.draw(st.one_of(st.text(max_size=40), st.text("abc-0/.:^$`'\" \n;&|<>(){}*~\\", max_size=40)))
    line = command(f"run {{{slot}}} -x", {slot: name})
    if name and line:
        assert shlex.split(line) == ["run", name, "-x"]
        assert not name.startswith("-")


@pytest.mark.parametrize(
    ("text", "said", "filled"),
    [
        ("umount {staging_path}", {}, "umount '<staging_path>'"),
        ("umount {staging_path}", {"staging_path": ""}, "umount '<staging_path>'"),
        (
            "kubectl get -o jsonpath='{.spec.drivers[*].name}' {node}",
            {"node": "n"},
            "kubectl get -o jsonpath='{.spec.drivers[*].name}' n",
        ),
        ("", {}, ""),
    ],
)
def test_a_slot_of_a_command_that_nobody_knows_stays_visible(text, said, filled):
    """A command with an unknown name cannot be run by mistake; braces that are no slot stay."""
    assert command(text, said) == filled


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("Volume {volume} of {pod} on {device}", "Volume data of a pod on ?"),
        ("{volume} was on {to_node} while it was on {from_node}", "data was on one node while it was on another node"),
        ("{volume}[[ of pod {pod}]] is stuck", "data is stuck"),
        ("{volume}[[ on {node}]] is stuck", "data on n1 is stuck"),
        ("{volume}[[ on {node} of {pod}]].", "data."),
        ("nothing to fill ", "nothing to fill"),
        ("{Volume} {} {volume!r}", "{Volume} {} {volume!r}"),
    ],
)
def test_sentences(text, filled):
    """A slot nobody knows becomes `?`, or its optional part is left out."""
    assert sentence(text, {"volume": "data", "node": "n1", "pod": ""}) == filled


def test_a_filled_value_is_not_filled_again():
    """A name that looks like a slot stays what it is."""
    assert sentence("{a}", {"a": "{b}", "b": "no"}) == "{b}"
    assert command("{a}", {"a": "{b}", "b": "no"}) == ""


def test_a_log_cannot_flood_a_sentence():
    """A value of any length is cut in a sentence, and fills a command whole or not at all."""
    long = "x" * (LONGEST_VALUE + 1)
    assert sentence("{error}", {"error": long}) == "x" * LONGEST_VALUE + "…"
    assert command("{volume_handle}", {"volume_handle": long}) == long
    assert command("{volume_handle}", {"volume_handle": "x" * 5000}) == ""


def test_values():
    """A text may speak of the subject's names, of what its lines said last, and of how often and how long."""
    entity = Entity(kind=SubjectKind.VOLUME, key="k", name="data", ids={"pod": "shop/web-0", "driver": "d"})
    told = [
        event(1, [("pod_uid", "u1"), ("driver", "other")], error="first", backoff="500ms"),
        event(2, [("pod_uid", "u2")], error="second", backoff="1s"),
        event(3, error="", backoff="1s"),
    ]
    said = slot_values(entity, told, 3, SECOND, 64 * SECOND)
    assert said == {
        "text": "second",
        "resources": "",
        "errors": "first; second",
        "pod": "shop/web-0",
        "driver": "d",
        "volume": "data",
        "pod_uid": "u2",
        "error": "second",
        "backoff": "1s",
        "count": "3",
        "span": "1m3s",
        "often": "3 times over 1m3s",
        "ladder": "500ms 1s",
    }


@pytest.mark.parametrize(
    ("count", "ends", "often"), [(1, 0, "once"), (1, 9, "at least once"), (2, 0, "2 times"), (2, 9, "2 times over 9s")]
)
def test_often(count, ends, often):
    """`{often}` reads well for one and for many."""
    entity = Entity(kind=SubjectKind.POD, key="k", name="n")
    assert slot_values(entity, [], count, 0, ends * SECOND)["often"] == often


@pytest.mark.parametrize(
    ("backoff", "often"),
    [
        ("500ms", "once"),
        ("1s", "once, after at least 1 other try"),
        ("2m2s", "once, after at least 8 other tries"),
        ("?", "once"),
    ],
)
def test_a_backoff_shows_earlier_tries(backoff, often):
    """The wait after a failure shows how often kubelet had tried before: it begins with 500 ms and doubles."""
    entity = Entity(kind=SubjectKind.POD, key="k", name="n")
    assert slot_values(entity, [event(1, backoff=backoff)], 1, 0, 0)["often"] == often


def test_a_span_of_less_than_a_millisecond_is_none():
    """What is told twice at once is told without a span."""
    entity = Entity(kind=SubjectKind.POD, key="k", name="n")
    assert slot_values(entity, [], 2, 0, 900)["often"] == "2 times"


def test_a_value_of_many_lines_is_one_line_of_a_sentence():
    """The lines and columns of a value are joined."""
    assert sentence("it said {error}.", {"error": "no\n  more   words"}) == "it said no more words."


def test_fixes_and_their_slots():
    """Text and guard of a fix are sentences, its command is one for the shell; lint sees the slots of all texts."""
    rule = one_rule(
        says="{pod}",
        cause="{node}",
        fix=(Fix(text="On {node}.", run="umount {target_path}", after="{volume} is unused"),),
    )
    path = "/var/lib/kubelet/pods/1/volumes/x/mount"
    assert list(fixes(rule, {"node": "n 1", "target_path": path, "volume": "v"}, default_dialect())) == [
        Fix(text="On n 1.", run=f"umount {path}", after="v is unused")
    ]
    assert slots(rule) == {"pod", "node", "target_path", "volume"}


ATTACHER = (
    "kubectl get pods -A --no-headers -o custom-columns=NS:.metadata.namespace,POD:.metadata.name,SPEC:.spec"
    " | grep -F -e csi-attacher | while read -r ns pod _; do"
    ' kubectl logs -n "$ns" "$pod" --all-containers --ignore-errors --prefix --timestamps; done'
)


@pytest.mark.parametrize(
    ("run", "after", "said", "command", "withheld"),
    [
        ("umount {staging_path}", "unused", {}, "", "no command: no staging path was found in these logs"),
        ("kubectl cordon {from_node}", "sure", {"from_node": "(node of a.log)"}, "", "no command: no old node was found in these logs"),
        ("findmnt {staging_path}", "", {}, "findmnt --list --output TARGET,SOURCE", ""),
        ("kubectl describe node {node}", "", {"node": "this node"}, "kubectl get nodes", ""),
        ("{host} ls -l {device}", "", {}, "", "no command: no device was found in these logs"),
        ("{logs:attacher}", "", {"since_time": "2026-07-01T00:00:00Z"}, ATTACHER.replace("; done", " --since-time=2026-07-01T00:00:00Z; done"), ""),
        ("{logs:attacher}", "", {}, ATTACHER, ""),
        ("kubectl get pods -A --field-selector spec.nodeName={node}", "", {}, "kubectl get pods -A", ""),
        ("kubectl get pods --field-selector spec.nodeName={node}", "", {"node": "n1"}, "kubectl get pods --field-selector spec.nodeName=n1", ""),
    ],
)  # fmt: skip
def test_no_command_has_a_value_that_the_logs_do_not_show(run, after, said, command, withheld):
    """A command that only reads becomes the one that finds the value; one that changes something is left out."""
    (step,) = fixes(one_rule(fix=(Fix("Do.", run, after),)), said, default_dialect())
    assert (step.run, step.withheld) == (command, withheld)


def test_the_one_pod_that_the_lines_name_is_in_the_commands():
    """A finding of a node or volume names the pod of its lines; where they name two, no command does."""
    entity = Entity(SubjectKind.NODE, "n1", "n1", {"node": "n1"})
    web, db = event(1, [("pod", "shop/web-0")]), event(2, [("pod", "shop/db-0")])
    said = slot_values(entity, [web, web, event(3)], 2, 0, 0)
    assert command("kubectl get pod -n {namespace} {pod_name}", said) == "kubectl get pod -n shop web-0"
    said = slot_values(entity, [web, db], 2, 0, 0)
    assert {"namespace", "pod_name"}.isdisjoint(said)


def test_the_mount_point_that_a_line_shows_is_in_the_commands():
    """Whatever kind of volume it is; where lines show two, none is chosen."""
    folder = "/var/lib/kubelet/pods/1f2e3d4c-0a1b-4c5d-8e6f-7a8b9c0d1e2f/volumes"
    entity = Entity(SubjectKind.NODE, "n1", "n1", {"node": "n1"})
    flex, csi = f"{folder}/acme~cifs/docs", f"{folder}/kubernetes.io~csi/pvc-1/mount"
    said = slot_values(entity, [event(1)._replace(texts=[f"umount: {flex}: target is busy".encode()])], 1, 0, 0)
    assert command("findmnt --mountpoint {target_path}", said) == f"findmnt --mountpoint '{flex}'"
    said = slot_values(entity, [event(1)._replace(texts=[f"{flex}: busy, {csi}: busy".encode()])], 1, 0, 0)
    assert "target_path" not in said


def test_the_volume_in_an_error_is_used_in_commands():
    """A provisioned volume that only the error names is the one that a command is about; of two volumes neither is."""
    one, two = (f"pvc-c83bb7b3-3c88-4472-ab65-5dd717bafdb{number}" for number in (8, 9))
    node = Entity(SubjectKind.NODE, "n1", "n1", {"node": "n1"})
    assert slot_values(node, [event(1, error=f"volume {one} is not ready")], 1, 0, 0)["spec_name"] == one
    assert "spec_name" not in slot_values(node, [event(1, error=f"{one} and {two} are not ready")], 1, 0, 0)


def test_a_step_says_what_the_list_is_for():
    """A command that lists the values of a missing slot is shown with the short command that they are for."""
    (step,) = fixes(one_rule(fix=(Fix("See it.", "kubectl describe node {node}", ""),)), {}, default_dialect())
    assert step.run == "kubectl get nodes"
    assert step.text.endswith("this lists all, for “kubectl describe node NODE”:")


def test_a_log_is_read_around_the_time_of_the_finding():
    """A command that reads the log of the last hour reads the hour before a finding whose time is known."""
    rule = one_rule(fix=(Fix("Read it.", "{journal:kernel since 1h} | grep -i oom", ""),))
    noon = 1_710_244_800 * SECOND
    (step,) = fixes(rule, {}, default_dialect(), LogWindow(noon, noon + 5 * SECOND))
    assert (
        step.run
        == "journalctl _TRANSPORT=kernel --since '2024-03-12 11:00:00 UTC' --until '2024-03-12 12:01:05 UTC' | grep -i oom"
    )
    (step,) = fixes(rule, {}, default_dialect(), LogWindow(noon, noon, is_local=True))
    assert "--since '2024-03-12 11:00:00' --until '2024-03-12 12:01:00'" in step.run
    (step,) = fixes(rule, {}, default_dialect())
    assert step.run == "journalctl -k --since=-1h | grep -i oom"


def test_the_node_that_an_error_names_is_in_the_commands():
    """The API server names kubelet by its user; where lines name two nodes, no command has one."""
    node = Entity(SubjectKind.POD, "k", "n")
    one, two = (
        event(1)._replace(texts=[f'User "system:node:{name}" cannot create resource "x"'.encode()]) for name in "ab"
    )
    assert slot_values(node, [one], 1, 0, 0)["node"] == "a"
    assert "node" not in slot_values(node, [one, two], 2, 0, 0)
    other = event(1)._replace(texts=[b'nodes "b" is forbidden: User "system:node:a" cannot patch it'])
    assert "node" not in slot_values(node, [other], 1, 0, 0)
