"""What a finding rests on is explained, what an entry takes is harmless, when it says so; the rest is neither."""

from __future__ import annotations

import pytest

from kvdiag.analysis.analyze import analyze
from kvdiag.explain import benign
from kvdiag.explain.benign import Benign
from kvdiag.model.options import Options
from kvdiag.model.vocabulary import Wording
from tests.conftest import SAMPLES
from tests.errorlines import klog

STARTED = klog('server.go:487] "Kubelet version" kubeletVersion="v1.29.2"', "08:00:00", "I")
SAMPLE = SAMPLES / "hostpath-driver-lost-state"
REGISTERED = 'kubelet_node_status.go:76] "Successfully registered node" node="worker-1"'


def entry(**when: object) -> Benign:
    """Give an entry of harmless lines."""
    wording = Wording(anchor="The widget", message="The widget", place="")
    return Benign(name="widget", why="It is.", unless="never", wordings=(wording,), **when)


@pytest.fixture
def harmless(errors_of, monkeypatch):
    """Give the function that counts the lines an entry takes."""

    def counted(text: str, **when: object) -> int:
        monkeypatch.setattr("kvdiag.analysis.analyze.known_benign", lambda: (entry(**when),))
        said = errors_of(kubelet=text)
        assert said.benign + sum(group.count for group in said.groups) == said.lines
        return said.benign

    return counted


def widget(at: str = "08:00:30", name: str = "one") -> str:
    """Give a line that the entry takes."""
    return klog(f'a.go:1] "The widget" name="{name}"', at)


@pytest.mark.parametrize(
    ("text", "when", "count"),
    [
        (widget() * 5, {}, 5),
        (widget("08:00:30") + widget("08:00:31"), {"most": 2}, 2),
        (widget("08:00:30") + widget("08:00:31") + widget("08:00:32"), {"most": 2}, 0),
        (widget(name="one") + widget(name="two") + widget(name="three"), {"most": 2}, 3),
        (STARTED + widget("08:00:30") + widget("08:03:00"), {"start": 60_000_000}, 1),
        (widget("08:00:30"), {"start": 60_000_000}, 0),
        (klog('a.go:1] "The gadget"'), {}, 0),
        (widget("08:00:30") + klog(REGISTERED, "08:01:00", "I"), {"until": "node.registered"}, 1),
        (klog(REGISTERED, "08:01:00", "I") + widget("08:01:30"), {"until": "node.registered"}, 0),
        (widget("08:00:30") + klog(REGISTERED, "08:31:00", "I"), {"until": "node.registered"}, 0),
    ],
)
def test_harmless_when_the_entry_says_so(harmless, text, when, count):
    """So often, so soon after a start, before that event; a line outside of it is an error as any other."""
    assert harmless(text, **when) == count


def test_what_a_finding_rests_on():
    """The busy directory is the finding's, whatever wait stands in the line."""
    said = analyze(Options(paths=(str(SAMPLE),))).errors
    assert said.explained == 8
    assert [group.explained_by for group in said.known if group.explained_by] == ["csi-nodeunpublish-state-lost"]
    assert not any("device or resource busy" in group.message for group in said.groups)
    assert said.lines == said.explained + said.benign + sum(group.count for group in said.groups)


def test_copies_of_a_line_are_explained_with_it(tmp_path):
    """A log that is given twice doubles each figure."""
    log = (SAMPLE / "kubelet.log").read_bytes()
    once, twice = (tmp_path / name for name in ("once", "twice"))
    for folder, names in ((once, ["a"]), (twice, ["a", "b"])):
        folder.mkdir()
        for name in names:
            (folder / f"kubelet-{name}.log").write_bytes(log)
    one, two = (analyze(Options(paths=(str(folder),))).errors for folder in (once, twice))
    assert (two.lines, two.explained, two.benign) == (2 * one.lines, 2 * one.explained, 2 * one.benign)


def test_the_cache_keeps_what_an_entry_says():
    """An entry from the cache fits what the file's fits."""
    kept = benign.known_benign()
    assert len(kept) > 10
    assert all(one.matchers and one.why and one.unless for one in kept)


DOWN = 'rpc error: code = Unavailable desc = connection error: desc = \\"transport: dial unix /run/a.sock: connect: connection refused\\"'
RUNTIME_DOWN = [
    klog(f'remote_runtime.go:294] "ListPodSandbox with filter from runtime service failed" err="{DOWN}"', at, "E")
    for at in ("08:00:00", "08:00:30", "08:01:00", "08:02:00")
]


@pytest.mark.parametrize(
    ("line", "explained"),
    [
        (klog(f'eviction_manager.go:282] "The widgets were not counted" err="failed to count: {DOWN}"', "08:01:10", "E"), True),
        (klog(f'eviction_manager.go:282] "The widgets were not counted" err="failed to count: {DOWN}"', "08:31:10", "E"), False),
        (klog('a.go:1] "The widgets were not sent" err="dial tcp 192.0.2.1:6443: connect: connection refused"', "08:01:10", "E"), False),
    ],
)  # fmt: skip
def test_what_ends_in_the_same_cause_is_explained_too(errors_of, line, explained):
    """Other layers tell the error of a lower one at that time; the same last word of another error is no such end."""
    said = errors_of(kubelet="".join(RUNTIME_DOWN) + line)
    assert any("widgets" in group.message for group in said.groups) is not explained
    assert "runtime-unavailable" in {group.explained_by for group in said.known}


UNKNOWN = "rpc error: code = Unimplemented desc = unknown service runtime.v1alpha2.RuntimeService"


@pytest.mark.parametrize(
    ("words", "explained"),
    [
        (f"Get runtime version failed: {UNKNOWN}", True),
        ("Get runtime version failed: rpc error: code = Unknown desc = the widget is broken", False),
        ("Get runtime version failed: rpc error: code = DeadlineExceeded desc = context deadline exceeded", False),
    ],
)
def test_a_grpc_error_is_the_same_in_the_words_of_each_caller(errors_of, words, explained):
    """Callers put their own words in front of one gRPC error; one that says only who waited may be of another call."""
    failed = klog(f"remote_runtime.go:85] Version from runtime service failed: {UNKNOWN}", "08:00:00", "E")
    end = klog(f"server.go:265] failed to run Kubelet: failed to create kubelet: {UNKNOWN}", "08:00:01", "F")
    said = errors_of(kubelet=failed + klog(f"kuberuntime_manager.go:196] {words}", "08:00:00", "E") + end)
    assert any("Get runtime version" in group.message for group in said.groups) is not explained


EVENTS = """\
Events:
  Type     Reason   Age                From     Message
  ----     ------   ----               ----     -------
  Warning  Failed   3m (x4 over 5m)    kubelet  Failed to pull image "registry.example.org/app:1": {reason}
  Warning  Failed   3m (x4 over 5m)    kubelet  Error: ErrImagePull
  Warning  Failed   3m (x6 over 5m)    kubelet  Error: ImagePullBackOff
"""


@pytest.mark.parametrize(
    ("reason", "tries", "left"),
    [
        (
            'Get "https://registry.example.org/v2/": dial tcp: lookup registry.example.org: no such host',
            "x4 over 5m",
            0,
        ),
        ("the widget is not ready", "x4 over 5m", 0),
        ("the widget is not ready", "x2 over 1m", 3),
    ],
)
def test_events_without_the_reason_of_a_pull(errors_of, reason, tries, left):
    """They are explained by what explains the event that has the reason; if nothing does, all of them are listed."""
    events = EVENTS.format(reason=reason).replace("x4 over 5m", tries)
    assert len(errors_of(events=events).groups) == left


def test_another_pull_that_fails_is_listed(errors_of):
    """The event with another reason is not explained by that of another image."""
    other = EVENTS.format(reason='Get "https://a/v2/": dial tcp: lookup a: no such host') + (
        '  Warning  Failed   3m (x4 over 5m)    kubelet  Failed to pull image "registry.example.org/b:1": odd widget\n'
    )
    assert [group.message for group in errors_of(events=other).groups if "odd widget" in group.message]


@pytest.mark.parametrize("carrier", ["", "Mar 12 08:00:00 node-a kubelet[2201]: "])
@pytest.mark.parametrize("end", ["\n: [", ": ["])
def test_the_error_below_a_value_of_several_lines(errors_of, carrier, end):
    """Kubelet prints a CNI configuration in front of its error: the lines of both are one error, which a rule explains."""
    head = carrier + klog("cni.go:202] Error validating CNI config list {", "08:00:00", "W").rstrip()
    below = (
        f'    "name": "net",\n    "plugins": [\n        {{\n            "type": "portmap"\n        }}\n    ]\n}}{end}'
    )
    error = 'failed to find plugin "portmap" in path [/opt/cni/bin/]]'
    text = "\n".join([head, *(carrier + line for line in (below + error).split("\n"))]) + "\n"
    said = errors_of(kubelet=text + klog('a.go:1] "No gadget"', "08:00:01"))
    assert (said.lines, said.explained) == (2, 1)
    assert [group.count for group in said.groups] == [1]
