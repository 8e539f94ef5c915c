"""Rules with `cause-from`: which error is read, what fills the texts, and which step comes first."""

from __future__ import annotations

import pytest

from kvdiag.model.error_anatomy import ErrorAnatomy
from kvdiag.model.event import Event
from kvdiag.model.record import Origin
from kvdiag.model.rule import Fix, Selector
from kvdiag.rules.causes import ReadCause, cause_values, errors_of, read_cause, with_check
from kvdiag.rules.distribution import default_dialect
from kvdiag.rules.fill import headings, sentence
from kvdiag.rules.selection import part_of
from tests.patterns import library
from tests.rules.one_rule import one_rule

DIALECT = default_dialect()
RULE = one_rule(events={"failed": Selector("failed", ("a.failed",))}, cause_from=("failed",))


def event(time: int, kind: str, text: str, **attrs: str) -> Event:
    """Give an event of kubelet with an error."""
    values = {"error": text, **attrs} if text else attrs
    return Event(time, kind, "kubelet", (), values, Origin("kubelet.log", time), "node-a", (text.encode(),), time)


def test_the_strongest_error_of_the_named_events():
    """Errors of other events and of other times are not read."""
    events = [
        event(1, "a.failed", "dial tcp 192.0.2.1:80: connect: connection refused"),
        event(5, "a.failed", "context deadline exceeded"),
        event(6, "b.failed", "write /srv/b: no space left on device"),
        event(7, "a.failed", "open /srv/a: permission denied"),
        event(99, "a.failed", "write /srv/c: no space left on device"),
    ]
    read = read_cause(errors_of(RULE, part_of(RULE, events).selected, 4, 50)).anatomy
    assert read is not None
    assert read.object == "/srv/a"


def test_the_most_frequent_of_equal_causes():
    """Of errors that are as strong, the cause that is most frequent is chosen, whatever it names."""
    events = [
        event(1, "a.failed", "dial tcp 192.0.2.1:80: connect: connection refused"),
        *(event(number, "a.failed", f"open /srv/{number}: permission denied") for number in (2, 3)),
    ]
    read = read_cause(errors_of(RULE, part_of(RULE, events).selected, 0, 50)).anatomy
    assert read is not None
    assert read.object == "/srv/2"
    again = [event(number, "a.failed", "dial tcp 192.0.2.1:80: connect: connection refused") for number in (4, 5)]
    read = read_cause(errors_of(RULE, part_of(RULE, [*events, *again]).selected, 0, 50)).anatomy
    assert read is not None
    assert read.object == "192.0.2.1:80"


def test_the_file_that_printed_an_error_is_no_operation():
    """A query of the runtime would make a missing socket one that is already gone; remote_runtime.go asks for more."""
    error = "dial unix /run/portgate/agent.sock: connect: no such file or directory"
    line = f'E0312 08:00:00.000000    2201 remote_runtime.go:193] "RunPodSandbox failed" err="{error}"'
    read = read_cause([event(1, "a.failed", line, error=error)]).anatomy
    assert read is not None
    assert (read.names_cause, read.object) == (True, "/run/portgate/agent.sock")


def test_the_record_may_say_more_of_the_same_object():
    """The words in front of a part decide: os/exec looked for the file itself, so no interpreter is missing."""
    part = "stat /app/run.sh: no such file or directory: unknown"
    line = f'OCI runtime create failed: starting container process caused: exec: "/app/run.sh": {part}'
    read = read_cause([event(1, "a.failed", line, error=part)]).anatomy
    assert read is not None
    assert read.sentence.startswith("the container has no file /app/run.sh")


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("open /data/lock: no space left on device", "open /data/lock: no space left on device"),
        ('Get "http://192.0.2.7:80/": dial tcp 192.0.2.7:80: connect: connection refused', "192.0.2.7:80: no program"),
        ("calico/node is not ready: BGP not established with 192.0.2.8", "there is no BGP session of Calico"),
    ],
)
def test_the_answer_of_a_program_to_a_probe_is_quoted(answer, says):
    """What it says is of what it serves; only what kubelet met itself, and Calico's own words, name a cause."""
    line = f"Warning  Unhealthy  5s  kubelet  Readiness probe failed: {answer}"
    read = read_cause([event(1, "a.failed", "", message=answer)._replace(texts=(line.encode(),))]).anatomy
    assert read is not None
    assert says in read.sentence
    assert bool(read.check) == (says != answer)


def test_several_errors_with_a_cause():
    """Each error that names a cause by itself is in the sentence, with how often it was reported."""
    unknown, full = "mount: unknown filesystem type 'widgetfs'", "write /srv/a: no space left on device"
    events = [
        event(1, "a.failed", unknown)._replace(count=9, ends=5),
        event(6, "a.failed", "timed out"),
        event(7, "a.failed", full),
    ]
    read = read_cause(errors_of(RULE, part_of(RULE, events).selected, 0, 50))
    assert read.anatomy is not None
    assert read.anatomy.primitive == "FSTYPE_UNKNOWN"
    said = sentence("{cause}", cause_values(read, full))
    assert said.startswith(f"{read.anatomy.sentence} (9 times); ")
    assert said.endswith(" (once)")
    alone = read_cause(errors_of(RULE, part_of(RULE, events[:2]).selected, 0, 50))
    assert sentence("{cause}", cause_values(alone, unknown)) == read.anatomy.sentence


def test_no_error():
    """A rule without `cause-from`, and one whose events have not happened, has no cause."""
    failed = event(5, "a.failed", "open /srv/a: permission denied")
    without = one_rule(events=RULE.events)
    assert errors_of(without, part_of(without, [failed]).selected, 0, 9) == ()
    assert read_cause(errors_of(RULE, part_of(RULE, []).selected, 0, 9)) == ReadCause()
    assert cause_values(ReadCause(), "text") == {}


def test_an_event_without_an_error_is_read_as_a_line():
    """Of an event that has no error the line is read."""
    plain = event(5, "a.failed", "")._replace(texts=(b"mount: unknown filesystem type 'widgetfs'",))
    read = read_cause(errors_of(RULE, part_of(RULE, [plain]).selected, 0, 9)).anatomy
    assert read is not None
    assert read.primitive == "FSTYPE_UNKNOWN"


def test_texts():
    """A sentence has the cause, or the whole error if there is none; a heading then has the last clause."""
    strong = ReadCause(ErrorAnatomy(strength=3, sentence="x is full"))
    weak = ReadCause(ErrorAnatomy(strength=1, sentence="timed out"))
    assert sentence("fails: {cause}", cause_values(strong, "a: b")) == "fails: x is full"
    assert sentence("fails: {cause}", cause_values(weak, "a: timed out")) == "fails: a: timed out"
    assert headings("fails[[: {cause}]]", cause_values(weak, "a: timed out"))[0] == "fails: timed out"
    assert headings("fails[[: {cause}]]", {})[0] == "fails"


def test_first_step():
    """The check becomes the first step; a step of the rule with the same command is moved."""
    rule = one_rule(fix=(Fix("Read.", "cat x"), Fix("List.", "{host} ls -l /srv")))
    dialect = default_dialect()
    new = with_check(rule, ErrorAnatomy(check="{host} df -h /srv"), dialect).fix
    assert [fix.run for fix in new] == ["{host} df -h /srv", "cat x", "{host} ls -l /srv"]
    moved = with_check(rule, ErrorAnatomy(check="ls -l /srv"), dialect).fix
    assert [fix.text for fix in moved] == ["List.", "Read."]
    assert with_check(rule, ErrorAnatomy(), dialect).fix == rule.fix


@pytest.mark.parametrize(
    ("anatomy", "texts"),
    [
        (ErrorAnatomy(primitive="ENOENT", strength=2), ["always", "missing"]),
        (ErrorAnatomy(primitive="ENOSPC", strength=3), ["always", "full"]),
        (ErrorAnatomy(primitive="EIO", strength=3), ["always"]),
        (ErrorAnatomy(), ["always", "missing", "full"]),
        (None, ["always", "missing", "full"]),
    ],
)
def test_steps_for_a_cause(anatomy, texts):
    """A step for some causes is left out where the error names another, and kept where it names none."""
    steps = (Fix("always"), Fix("missing", causes=("ENOENT",)), Fix("full", causes=("ENOSPC", "EDQUOT")))
    rule = with_check(one_rule(fix=steps), anatomy, default_dialect())
    assert [fix.text for fix in rule.fix] == texts


@pytest.mark.parametrize(
    ("operations", "logs"),
    [
        (("detach",), "{logs:controller}"),
        (("provision", "snapshot"), "{logs:controller}"),
        (("attach", "stage"), "{logs:driver}"),
        (("publish",), "{logs:driver}"),
        ((), "{logs:driver}"),
    ],
)
def test_whose_log_a_step_reads(operations, logs):
    """The pods of the node plug-in have no line of a call to the controller."""
    rule = with_check(one_rule(fix=(Fix("Read.", "{logs:driver}"),)), ErrorAnatomy(operations=operations), DIALECT)
    assert [fix.run for fix in rule.fix] == [logs]


@pytest.mark.parametrize("rule", [rule for rule in library().rules if rule.cause_from], ids=lambda rule: rule.name)
def test_rules_show_the_cause(rule):
    """A rule that reads the cause names it in its sentence."""
    assert "{cause}" in rule.says
    assert set(rule.cause_from) <= set(rule.events)


def test_of_a_long_error_without_a_cause_its_end_is_shown():
    """A report would show the callers in front and cut off the reason; a structure at the end is no reason."""
    callers = "could not mount the widget of the shop: " * 9
    long = read_cause([event(1, "a.failed", f"{callers}the widget does not like its name")])
    assert (
        cause_values(long, f"{callers}the widget does not like its name")["cause"]
        == "the widget does not like its name"
    )
    structure = f'{callers}{{ kind: "Widget", code: Other }}'
    assert cause_values(read_cause([event(1, "a.failed", structure)]), structure)["cause"] == structure
    short = "widget: the widget does not like its name"
    assert cause_values(read_cause([event(1, "a.failed", short)]), short)["cause"] == short


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        ("rpc error: code = Internal desc = the array said no", "the array said no"),
        ("rpc error: code = Aborted desc = the array said no", "Aborted: the array said no"),
        ('plugin type="gate" name="net1" failed (add): no seat', "CNI plug-in gate: no seat"),
        (r"plugin type=\"gate\" name=\"net1\" failed (add): no seat", "CNI plug-in gate: no seat"),
        ('failed to "StartContainer" for "app" with RunContainerError: "no seat"', "RunContainerError of app: no seat"),
        (
            (
                'failed to "CreatePodSandbox" for "a_b(1)" with CreatePodSandboxError: '
                r'"Failed to create sandbox for pod \"a_b(1)\": rpc error: code = Unknown desc = no seat"'
            ),
            "CreatePodSandboxError: no seat",
        ),
        (
            (
                '[failed to "StartContainer" for "a" with CrashLoopBackOff: "back-off 5m0s", '
                'failed to "StartContainer" for "b" with RunContainerError: "no seat"]'
            ),
            "[CrashLoopBackOff of a: back-off 5m0s, RunContainerError of b: no seat]",
        ),
        (
            'failed to "KillContainer" for "a" with KillContainerError: "rpc error: code = Unknown desc = no seat',
            "KillContainerError of a: no seat",
        ),
        ("kubernetes.io/csi: attacher.MountDevice failed: rpc error: code = Internal desc = no seat", "no seat"),
        ('open "/run/x": the "array" said no', 'open "/run/x": the "array" said no'),
    ],
)
def test_an_error_is_shown_without_its_wrappers(error, shown):
    """Of gRPC only a code that says something stays; CNI plug-in, container and reason are named in few words."""
    assert cause_values(read_cause([event(1, "a.failed", error)]), error)["cause"] == shown
