"""Whole timelines of the sample incidents, and that they do not depend on how their logs came."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Iterable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

import pytest

from kvdiag.analysis.case import Case
from kvdiag.base.clock import HOUR
from kvdiag.history.correlate.entities import look_up
from kvdiag.history.views.timeline import build_timeline
from kvdiag.model.options import Options
from kvdiag.model.report import Finding
from kvdiag.model.timeline import History
from kvdiag.model.values import SubjectKind
from kvdiag.report import RenderOptions
from kvdiag.report.timeline import timeline_writer
from tests.wrappers import journal_json, journal_short, journal_short_iso, klog_only, logs, shifted

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "sample-logs"
SUBJECTS = [
    ("hostpath-driver-lost-state", "volume", "pvc-3126ba07-e71e-4ea5-bf21-3bdb0bd507e4"),
    ("hostpath-driver-lost-state", "pod", "default/db-0"),
    ("hostpath-inline-republished", "pod", "default/inl-0"),
    ("hostpath-inline-republished", "pod", "default/inl-1"),
    ("hostpath-inline-republished", "pod", "default/r-0"),
    ("containerd-killed", "pod", "default/p1"),
    ("containerd-killed", "node", "worker-1"),
    ("sandbox-never-removed", "pod", "96e82e7f-e534-477b-9f84-4f0ac2a92786"),
    ("inline-volume-orphaned", "pod", "ci/runner-4kx9z"),
    ("detach-without-unstage", "volume", "pvc-123e2ece-5035-4d30-bfb4-6d6daf5516ee"),
    ("driver-removed-before-pod", "pod", "analytics/reports-0"),
    ("healthy-csi-volume", "pod", "default/web-0"),
    ("healthy-csi-volume", "pod", "default/cache-0"),
    ("healthy-csi-volume-containerd-2.1", "pod", "default/web-0"),
    ("containerd-killed", "pod", "default/p2"),
    ("containerd-killed", "pod", "default/p3"),
    ("containerd-killed", "pod", "default/p4"),
    ("containerd-killed", "pod", "default/q-0"),
    ("containerd-killed", "volume", "pvc-b739f1f9-e170-4b25-b56c-e6ea2e48aad3"),
    ("hostpath-inline-republished", "volume", "pvc-1c09e90a-26ae-4a19-9093-b321d0982bb1"),
    ("kubelet-no-runtime-endpoint", "node", "this node"),
    ("healthy-csi-volume", "volume", "pvc-e8c15aee-38f9-4c3f-99a3-283622e98962"),
    ("healthy-csi-volume", "volume", "data"),
    ("healthy-csi-volume-containerd-2.1", "pod", "default/cache-0"),
    ("healthy-csi-volume-containerd-2.1", "volume", "pvc-e261810f-bd53-4f83-bab8-e797981c9325"),
    ("healthy-containerd-json", "pod", "default/web-0"),
    ("healthy-containerd-json", "pod", "default/cache-0"),
    ("healthy-containerd-json", "volume", "pvc-4dc27f0d-bfed-42b5-be68-47bc7377e591"),
    ("healthy-journald", "pod", "default/j-0"),
    ("healthy-journald", "volume", "pvc-aa32b405-f6ce-4d59-bc54-eee027e3d00c"),
]
DATA = ROOT / "tests" / "data"
# Recorded on a healthy node while each pod had one fault, up to the moment at which these states were seen from outside:
# what the pod showed, and the state, the part it is in and what it waits for that say the same.
TRUTH = {
    "default/img-0": ("ErrImagePull", "BACKOFF", "image pull", "its image"),
    "default/img-1": ("InvalidImageName", "SYNC", "to running", "its image"),
    "default/cm-0": ("ContainerCreating", "SYNC", "volumes", "volumes to be mounted"),
    "default/sec-0": ("ContainerCreating", "SYNC", "volumes", "volumes to be mounted"),
    "default/host-0": ("ContainerCreating", "SYNC", "volumes", "volumes to be mounted"),
    "default/pvc-0": ("ContainerCreating", "SYNC", "volumes", "volumes to be mounted"),
    "default/env-0": ("CreateContainerConfigError", "SYNC", "to running", "its configuration"),
    "default/cmd-0": ("CrashLoopBackOff", "BACKOFF", "back-off", "the next try to start its container"),
    "default/crash-0": ("CrashLoopBackOff", "BACKOFF", "back-off", "the next try to start its container"),
    "default/hook-0": ("CrashLoopBackOff", "BACKOFF", "back-off", "the next try to start its container"),
    "default/live-0": ("CrashLoopBackOff", "BACKOFF", "back-off", "the next try to start its container"),
    "default/oom-0": ("CrashLoopBackOff", "BACKOFF", "back-off", "the next try to start its container"),
    "default/init-0": ("Init:CrashLoopBackOff", "BACKOFF", "back-off", "the next try to start its container"),
    "default/ready-0": ("Running, not ready", "RUNNING", "ready", "its containers to be ready"),
    "default/eph-0": ("Error, evicted", "FINISHED", "", ""),
    "kube-system/static-0-worker-1": ("Running", "RUNNING", "", ""),
}
# Recorded in other clusters: sandboxes that could not be made for minutes, and a driver that lost its state, a pod that
# crashes and one without its config map in one journal.
RECORDED = [
    ("microshift", "pod", "default/smoke1"),
    ("journald", "pod", "default/j-0"),
    ("journald", "pod", "default/cm-0"),
    ("journald", "pod", "default/crash-0"),
    ("journald", "volume", "pvc-aa32b405-f6ce-4d59-bc54-eee027e3d00c"),
]
VOLATILE = ("source", "line", "text")
CASE = "hostpath-driver-lost-state"
TWO = SUBJECTS[:2]


def of_each(subjects: list[tuple[str, str, str]]) -> pytest.MarkDecorator:
    """A test for each of these subjects, named after it."""
    return pytest.mark.parametrize(("case", "kind", "ref"), subjects, ids=[" ".join(one[1:]) for one in subjects])


def options_of(case: str) -> list[str]:
    return json.loads((SAMPLES / case / "expected.json").read_text("utf-8")).get("options", [])


def years_of(case: str) -> list[str]:
    """The options that a timeline takes too."""
    words = options_of(case)
    return words[words.index("--year") : words.index("--year") + 2] if "--year" in words else []


def read(paths: Iterable[Path], **options: object) -> tuple[History, list[Finding]]:
    """The history of logs, and what is found in it."""
    case = Case(Options(paths=tuple(map(str, paths)), **options))
    history = case.read().history
    return history, case.findings(history)


@cache
def judged(folder: Path, *years: str) -> tuple[History, list[Finding]]:
    """That of a folder, read once for the timelines of all its subjects."""
    return read([folder], year=int(years[-1]) if years else None)


def printed(told: tuple[History, list[Finding]], kind: str, ref: str, output: str) -> str:
    """What `kvdiag timeline` prints of a subject, 100 characters wide."""
    history, findings = told
    views = [build_timeline(one, history, findings) for one in look_up(history, SubjectKind(kind), ref)]
    out = io.StringIO()
    timeline_writer(output)(views, out, RenderOptions(width=100))
    return out.getvalue()


def text_of(folder: Path, kind: str, ref: str, *years: str) -> str:
    """A timeline of a folder as text."""
    return printed(judged(folder, *years), kind, ref, "text")


Story = list[dict]


def story(kind: str, ref: str, told: tuple[History, list[Finding]]) -> Story:
    """The rows of a timeline without the places of its lines, and the state it ends in."""
    views = json.loads(printed(told, kind, ref, "json"))
    rows = [{key: value for key, value in row.items() if key not in VOLATILE} for one in views for row in one["rows"]]
    return [*rows, {"state": [one["state"] for one in views]}]


def stories(paths: Iterable[Path], **options: object) -> tuple[Story, ...]:
    """Those of the two subjects whose logs are carried, cut and shuffled, from one reading."""
    told = read(paths, **options)
    return tuple(story(kind, ref, told) for _, kind, ref in TWO)


@of_each(SUBJECTS)
def test_the_whole_timeline(golden, case, kind, ref):
    """A timeline is what was read and checked when its golden file was written."""
    told = text_of(SAMPLES / case, kind, ref, *years_of(case))
    golden(f"timelines/{case}-{kind}-{ref.replace('/', '.').replace(' ', '-')}.txt", told)


@pytest.mark.parametrize(("case", "kind", "ref"), [SUBJECTS[0], SUBJECTS[1], SUBJECTS[6], SUBJECTS[9]])
def test_the_command_prints_it(kvdiag, golden, case, kind, ref):
    """The command, which keeps of a log only what it needs, prints that timeline."""
    done = kvdiag("timeline", kind, ref, f"sample-logs/{case}", *years_of(case), COLUMNS="100")
    golden(f"timelines/{case}-{kind}-{ref.replace('/', '.').replace(' ', '-')}.txt", done.stdout)


@pytest.mark.parametrize("ref", TRUTH)
def test_the_timeline_of_a_failing_pod(golden, ref):
    """Each pod's timeline is what was read and checked against its fault when its golden file was written."""
    golden(f"timelines/pod-failures-pod-{ref.replace('/', '.')}.txt", text_of(DATA / "pod-failures", "pod", ref))


@of_each(RECORDED)
def test_the_timeline_of_a_recorded_incident(golden, case, kind, ref):
    """These timelines, too, are what was read and checked against what was done to the subjects."""
    golden(f"timelines/{case}-{kind}-{ref.replace('/', '.')}.txt", text_of(DATA / case, kind, ref))


def test_the_state_reached_is_the_true_one(kvdiag):
    """Each pod is in the state that was seen from outside, and waits for what its fault keeps from it."""
    told = json.loads(kvdiag("pods", "--slow", "-o", "json", DATA / "pod-failures").stdout)["items"]
    now = {item["name"]: (item["state"], item["now"] or {"name": "", "waits_for": ""}) for item in told}
    reached = {name: (state, part["name"], part["waits_for"]) for name, (state, part) in now.items()}
    assert reached == {name: row[1:] for name, row in TRUTH.items()}


@of_each([one for one in SUBJECTS if one[0].startswith("healthy")])
def test_a_healthy_life_has_no_illegal_step(kvdiag, case, kind, ref):
    """Every step of a healthy subject follows from the one before it, and nothing found marks a row."""
    (told,) = json.loads(kvdiag("timeline", kind, ref, f"sample-logs/{case}", "-o", "json").stdout)
    assert all(row["legal"] for row in told["rows"])
    assert not any(row["marks"] for row in told["rows"])


def test_the_violated_edge_is_named(kvdiag):
    """A volume that is let go while still staged says which edge it broke."""
    done = kvdiag("timeline", "volume", SUBJECTS[9][2], "sample-logs/detach-without-unstage", *years_of(SUBJECTS[9][0]))
    assert "UNPUBLISHED → RELEASED without UNSTAGED" in done.stdout


@pytest.fixture(scope="module")
def whole() -> tuple[Story, ...]:
    """What the sample says, its files named in order."""
    return stories(sorted((SAMPLES / CASE).glob("*.log*")))


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_inputs_does_not_matter(whole, seed):
    """Files named in another order give the same timelines."""
    paths = sorted((SAMPLES / CASE).glob("*.log*"))
    assert stories(random.Random(seed).sample(paths, len(paths))) == whole  # noqa: S311


def test_a_split_log_gives_the_same_timeline(whole, tmp_path):
    """A kubelet log cut in two between records is the same log."""
    lines = (SAMPLES / CASE / "kubelet.log").read_bytes().splitlines(keepends=True)
    half = len(lines) // 2
    (tmp_path / "kubelet.log.1").write_bytes(b"".join(lines[:half]))
    (tmp_path / "kubelet.log").write_bytes(b"".join(lines[half:]))
    others = [path for path in sorted((SAMPLES / CASE).glob("*.log*")) if path.name != "kubelet.log"]
    assert stories([*tmp_path.iterdir(), *others]) == whole


def write(folder: Path, texts: dict[str, bytes]) -> list[Path]:
    """Write logs into a folder and give their paths."""
    for name, text in texts.items():
        (folder / name).write_bytes(text)
    return [folder / name for name in texts]


@pytest.mark.parametrize("hours", [-8, 3, 13])
def test_another_zone_gives_the_same_timeline(tmp_path, hours):
    """Logs of a node in another zone give the same timelines when --tz names the zone."""
    here = write(tmp_path, logs(CASE))
    told = stories(here, year=2026, zone=0)
    there = write(tmp_path, {name: shifted(text, CASE, hours) for name, text in logs(CASE).items()})
    assert stories(there, year=2026, zone=hours * HOUR) == told


@pytest.mark.parametrize("wrap", [journal_short, journal_short_iso, journal_json])
def test_what_carries_the_lines_does_not_matter(tmp_path, wrap):
    """The kubelet's log as the journal shows it gives the same steps, times and states."""
    lines = klog_only(logs(CASE)["kubelet.log"])
    bare = write(tmp_path, logs(CASE) | {"kubelet.log": lines})
    told = stories(bare, year=2026)
    wrapped = b"".join(wrap(line, CASE) + b"\n" for line in lines.splitlines())
    carried = write(tmp_path, logs(CASE) | {"kubelet.log": wrapped})
    assert [*map(steps, stories(carried, year=2026))] == [*map(steps, told)]


def test_the_newest_first(tmp_path):
    """`journalctl -r` gives the same timelines, with repeats folded as they are in the order of time."""
    lines = [journal_short_iso(line, CASE) for line in klog_only(logs(CASE)["kubelet.log"]).splitlines()]
    told = []
    for order in (lines, lines[::-1]):
        paths = write(tmp_path, logs(CASE) | {"kubelet.log": b"".join(line + b"\n" for line in order)})
        told.append(stories(paths, year=2026))
    for oldest, newest in zip(*told, strict=True):
        forward, backward = (sorted(map(str, steps(one)[:-1])) for one in (oldest, newest))
        assert len(backward) == len(forward)
        assert oldest[-1] == newest[-1]
        assert repeats(newest) == repeats(oldest)


def repeats(told: Story) -> list[tuple]:
    """The rows that tell of several lines."""
    return [(row["kind"], row["repeats"]) for row in told[:-1] if row["repeats"]]


def steps(told: Story) -> list[tuple]:
    """What a carrier may not change; it may tell more, such as the node."""
    *rows, ends = told
    return [
        *((row["kind"], row["time"], row["state"], row["step"], row["legal"]) for row in rows),
        tuple(ends["state"]),
    ]


def test_a_prefix_and_other_names_find_the_same(whole):
    """A volume is found by its PV name, its handle, its unique name and the beginning of any of them."""
    names = [
        "pvc-3126",
        "6e5ffeb2-e522-11f1-bf22-8aeaacff18fb",
        "kubernetes.io/csi/hostpath.csi.k8s.io^6e5ffeb2-e522-11f1-bf22-8aeaacff18fb",
    ]
    for name in names:
        assert story("volume", name, judged(SAMPLES / CASE)) == whole[0]


def test_a_name_that_nothing_has(kvdiag):
    """A name nothing has is an error that says which there are."""
    done = kvdiag("timeline", "pod", "default/nobody", "sample-logs/hostpath-driver-lost-state")
    assert done.returncode == 2
    assert "default/db-0" in done.stderr


def test_a_file_where_a_name_is_asked_for(kvdiag):
    """Who gives the log alone is asked for a name, and told how to list them; a name beside it needs no kind."""
    log = "sample-logs/healthy-csi-volume/kubelet.log.gz"
    done = kvdiag("timeline", log)
    assert done.returncode == 2
    assert f"kvdiag timeline NAME {log}" in done.stderr
    assert kvdiag("timeline", "default/web-0", log).returncode == 0


def test_a_node_that_is_only_named(kvdiag, tmp_path):
    """A node of which a controller alone speaks is known by its name; the beginning of several names is said to be."""
    log = tmp_path / "kube-controller-manager.log"
    log.write_text(
        "".join(
            f'I1120 20:39:2{n}.779765       1 reconciler.go:359] "attacherDetacher.AttachVolume started" '
            f'volumeName="kubernetes.io/csi/csi.example.org^vol-{n}" nodeName="worker-{n}" '
            'scheduledPods=["shop/db-0"]\n'
            for n in (1, 2)
        )
    )
    done = kvdiag("timeline", "node", "worker-2", log)
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "node worker-2")
    done = kvdiag("timeline", "node", "work", log)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("'work': ambiguous prefix; matches worker-1, worker-2")


def test_raw_keeps_every_retry(kvdiag):
    """--raw tells each of the eight failed tries; otherwise the first two, with the count of the others."""
    folder = "sample-logs/hostpath-driver-lost-state"
    raw = kvdiag("timeline", "volume", "pvc-3126", folder, "--raw").stdout
    folded = kvdiag("timeline", "volume", "pvc-3126", folder).stdout
    assert len(re.findall("UnmountVolume.TearDown failed", raw)) == 8
    assert len(re.findall("UnmountVolume.TearDown failed", folded)) == 2
    assert "backoff 1s 2s 4s 8s 16s 32s 1m4s" in folded


def test_the_trace_is_what_viewers_read(kvdiag):
    """Each event of the trace has the fields its phase demands, and spans lie within the story."""
    done = kvdiag("timeline", "pod", "default/db-0", "sample-logs/hostpath-driver-lost-state", "-o", "trace")
    events = json.loads(done.stdout)["traceEvents"]
    assert {event["ph"] for event in events} == {"M", "X", "i"}
    for event in events:
        assert isinstance(event["pid"], int)
        assert isinstance(event["tid"], int)
        assert event["ph"] == "M" or event["ts"] > 0
        assert event["ph"] != "X" or event["dur"] > 0
        assert event["ph"] != "i" or event["s"] == "t"


@of_each([("containerd-killed", "pod", "default/p2"), ("containerd-killed", "volume", "pvc-b739f1f9"), SUBJECTS[1]])
def test_the_spans_of_a_lane_nest(kvdiag, case, kind, ref):
    """In one lane of the trace a span holds another or ends before it begins; viewers draw nothing else."""
    done = kvdiag("timeline", kind, ref, f"sample-logs/{case}", "-o", "trace")
    spans = [e for e in json.loads(done.stdout)["traceEvents"] if e["ph"] == "X"]
    spans = sorted((e["tid"], e["ts"], -e["dur"]) for e in spans)
    crossing = [
        (one, other)
        for one in spans
        for other in spans
        if one < other and one[0] == other[0] and one[1] - one[2] > other[1] and one[1] - one[2] < other[1] - other[2]
    ]
    assert spans
    assert not crossing


def is_own(link: str) -> bool:
    """Whether it leads to a place of the page, or to what a rule refers to."""
    return link.startswith(("#", "https://github.com/"))


class Page(HTMLParser):
    """Counts rows, and notes tags that are left open or come from elsewhere."""

    VOID = frozenset({"meta", "link", "br", "img", "input"})

    def __init__(self) -> None:
        """Nothing read yet."""
        super().__init__()
        self.open: list[str] = []
        self.rows = 0
        self.foreign: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what opens."""
        self.rows += tag == "tr" and ("id", f"r-1-{self.rows + 1}") in attrs
        self.foreign += [value for name, value in attrs if name in {"src", "href"} and value and not is_own(value)]
        self.foreign += [tag] if tag in {"iframe", "object"} else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """What closes is what opened last."""
        assert self.open.pop() == tag


def test_the_page_stands_alone(kvdiag):
    """The HTML page closes every tag, loads nothing, and has a row for each row of the JSON."""
    words = ["timeline", "pod", "default/db-0", "sample-logs/hostpath-driver-lost-state", "-o"]
    page = Page()
    page.feed(kvdiag(*words, "html").stdout)
    (told,) = json.loads(kvdiag(*words, "json").stdout)
    assert page.open == []
    assert page.foreign == []
    assert page.rows == len(told["rows"])


def test_a_hostile_name_is_shown_and_does_nothing(kvdiag, tmp_path):
    """Markup in a pod's error is text on the page."""
    line = (
        'E0312 08:15:20.101500    2201 pod_workers.go:951] "Error syncing pod, skipping" '
        r'err="<script>alert(1)</script><img src=x onerror=alert(2)>" pod="default/web-0" '
        'podUID="1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"\n'
    )
    (tmp_path / "kubelet.log").write_text(line)
    done = kvdiag("timeline", "pod", "default/web-0", tmp_path, "-o", "html")
    assert "&lt;script&gt;" in done.stdout
    page = Page()
    page.feed(done.stdout)
    assert page.foreign == []


def test_compare_names_where_they_part(kvdiag, golden):
    """Of two pods that ended in one outage, one finished and one waited; the comparison says after which step."""
    done = kvdiag("compare", "default/inl-0", "default/r-0", "sample-logs/hostpath-inline-republished")
    golden("hostpath-inline-republished-compare.txt", done.stdout)


def test_compare_of_two_logs(kvdiag):
    """Two logs are compared by the kinds of events that only one has."""
    folders = ("sample-logs/healthy-csi-volume", "sample-logs/detach-without-unstage")
    told = json.loads(kvdiag("compare", *folders, "-o", "json").stdout)
    assert told["parted_left"] or told["parted_right"]
    assert {told["left"], told["right"]} == set(folders)


def test_what_explains_a_symptom_is_named(kvdiag):
    """Timeline, inventory and comparison name the cause of a symptom, and the command that tells of it."""
    rule, lost = "csi-nodeunpublish-state-lost", "sample-logs/hostpath-driver-lost-state"
    said = kvdiag("timeline", "default/db-0", lost).stdout
    assert re.search(rf"\n◆ pod-stuck-terminating-volumes: .*\n  because of {rule} on volume pvc-", said, re.DOTALL)
    assert said.endswith(f"    $ kvdiag explain {rule}\n")
    (finding,) = json.loads(kvdiag("timeline", "default/db-0", lost, "-o", "json").stdout)[0]["findings"]
    assert finding["because"]["rule"] == rule
    assert rule in kvdiag("timeline", "default/db-0", lost, "-o", "html").stdout
    assert kvdiag("pods", lost).stdout.endswith(f"\n\n$ kvdiag explain {rule}\n")
    (row,) = json.loads(kvdiag("pods", lost, "-o", "json").stdout)["items"]
    assert row["causes"] == [rule]
    said = kvdiag("compare", "default/inl-0", "default/r-0", "sample-logs/hostpath-inline-republished").stdout
    assert f"    because of {rule} on volume data: " in said
    assert f"\n    $ kvdiag explain {rule}\n" in said
