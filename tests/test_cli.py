"""The commands as users, scripts and CI meet them: exit codes, filters, options, and where output goes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from kvdiag import __version__
from kvdiag.rules.template import FAMILIES

ROOT = Path(__file__).parents[1]
LOST = ROOT / "sample-logs" / "hostpath-driver-lost-state"
KILLED = ROOT / "sample-logs" / "containerd-killed"
DETACHED = ROOT / "sample-logs" / "detach-without-unstage"
STUCK = ROOT / "sample-logs" / "sandbox-never-removed"
SHORT = ROOT / "sample-logs" / "kubelet-no-runtime-endpoint"
HEALTHY = ROOT / "sample-logs" / "healthy-containerd-json"
VOLUME = "pvc-3126ba07-e71e-4ea5-bf21-3bdb0bd507e4"
HANDLE = "6e5ffeb2-e522-11f1-bf22-8aeaacff18fb"
POD_UID = "0d5936eb-62b9-4a42-a53b-6986b4cfbefc"
ALL = ["csi-nodeunpublish-state-lost", "unmount-device-busy", "pod-stuck-terminating-volumes"]


@pytest.fixture
def report(kvdiag):
    """Give the function that analyses and gives the JSON report."""

    def analyse(*arguments: object) -> dict:
        done = kvdiag("analyze", "-o", "json", *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return analyse


def rules(report: dict) -> list[str]:
    """Give the rules of a report's findings, in their order."""
    return [finding["rule"] for finding in report["findings"]]


# exit codes


@pytest.mark.parametrize(
    ("threshold", "code"), [("never", 0), ("info", 1), ("low", 1), ("medium", 1), ("high", 0), ("critical", 0)]
)
def test_fail_on(threshold, code, kvdiag):
    """Exit 1 means a finding at or above the threshold; the report is the same whatever the threshold."""
    done = kvdiag("analyze", "--fail-on", threshold, LOST)
    assert done.returncode == code
    assert ALL[0] in done.stdout


def test_findings_alone_fail_nothing(kvdiag):
    """Without --fail-on findings are a result, not a failure."""
    assert kvdiag("analyze", SHORT).returncode == 0


def test_fail_on_counts_only_what_is_shown(kvdiag):
    """A finding that was filtered out does not fail a check."""
    assert kvdiag("analyze", "--fail-on", "info", "--volume", "pvc-other", LOST).returncode == 0


def test_nothing_found(kvdiag):
    """A healthy log gives exit 0 and says that nothing was found."""
    done = kvdiag("analyze", "--fail-on", "info", HEALTHY)
    assert done.returncode == 0
    assert done.stdout.startswith("No known failure found.")
    assert done.stderr == ""


# filters


def test_a_pod_that_no_line_names(kvdiag):
    """A name that is not in the logs is wrong usage, and a name that is near it is offered."""
    done = kvdiag("analyze", "--pod", "db", LOST)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "kvdiag: --pod db: no pod of that name in these logs; did you mean default/db-0?\n"


def test_a_filter_leaves_explained_lines_explained(kvdiag):
    """What a finding about another pod explains is no error without a reason."""
    whole, part = (
        json.loads(kvdiag("analyze", "-o", "json", *more, LOST).stdout) for more in ((), ("--volume", "pvc-other"))
    )
    assert part["findings"] == []
    assert part["errors"] == whole["errors"]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["-n", "default"], ALL),
        (["--namespace", "kube-system"], []),
        (["--pod", "default/db-0"], ALL),
        (["--pod", "db-0"], ALL),
        (["--pod", POD_UID], ALL),
        (["--volume", VOLUME], ALL),
        (["--volume", HANDLE], ALL),
        (["--volume", "pvc-other"], []),
        (["--node", "worker-1"], ALL),
        (["--node", "worker-2"], []),
        (["--severity", "medium"], ALL[:1]),
        (["--severity", "critical"], []),
        (["--rule", "KV310"], ALL[:1]),
        (["--rule", "csi-nodeunpublish-state-lost"], ALL[:1]),
        (["--rule", "KV110", "--rule", "unmount-device-busy"], ALL[1:]),
        (["--rule", "KV601"], []),
        (["--since", "2026-11-20T20:41:38Z"], []),
        (["--since", "2026-11-20T20:00:00Z"], ALL),
        (["--until", "2026-11-20T20:39:05Z"], []),
        (["--until", "2026-11-20T22:00:00Z"], ALL),
        (["--since", "2026-11-20T21:30:00+01:00", "--until", "2026-11-20T22:00:00Z"], ALL),
    ],
)
def test_filters(arguments, found, report):
    """Each option leaves only the findings it names."""
    assert rules(report(*arguments, LOST)) == found


def test_hide_possible(kvdiag, tmp_path):
    """--hide-possible leaves only what is confirmed."""
    log = (LOST / "kubelet.log").read_text("utf-8").splitlines(keepends=True)
    busy = next(number for number, line in enumerate(log) if "device or resource busy" in line)
    (tmp_path / "kubelet.log").write_text("".join(log[busy : busy + 3]), "utf-8")
    verdicts = [
        [
            finding["verdict"]
            for finding in json.loads(kvdiag("analyze", "-o", "json", option, tmp_path).stdout)["findings"]
        ]
        for option in ("--show-possible", "--hide-possible")
    ]
    assert "possible" in verdicts[0]
    assert verdicts[1] == [verdict for verdict in verdicts[0] if verdict == "confirmed"]


# what the logs do not say


def test_year(report):
    """--year places lines without a year, and the report says that it was told."""
    found = report("--year", "2024", DETACHED)
    assert {finding["begins"][:4] for finding in found["findings"]} == {"2024"}
    assert any("year 2024 as given" in entry["clock"] for entry in found["inputs"])


def test_zone(report):
    """--tz moves lines without a zone to UTC."""
    here, east = (report("--year", "2024", "--tz", zone, DETACHED) for zone in ("UTC", "+08:00"))
    assert here["findings"][0]["begins"] == "2024-09-17T10:02:17.920339Z"
    assert east["findings"][0]["begins"] == "2024-09-17T02:02:17.920339Z"


def test_zone_by_name(report):
    """--tz takes a name too."""
    found = report("--year", "2024", "--tz", "Asia/Shanghai", DETACHED)
    assert found["findings"][0]["begins"] == "2024-09-17T02:02:17.920339Z"


def test_component(report):
    """--component tells a version, and the defect is judged by it."""
    affected, fixed = (report("--year", "2023", "--component", f"containerd={v}", STUCK) for v in ("1.6.15", "1.6.25"))
    said = [
        [bug for finding in found["findings"] for bug in finding["bugs"] if bug["component"] == "containerd"]
        for found in (affected, fixed)
    ]
    assert [bug["status"] for bug in said[0]] == ["affected"]
    assert [bug["status"] for bug in said[1]] != ["affected"]
    assert {"component": "containerd", "version": "1.6.15", "how": "option"} in affected["versions"]


# looks


def test_colour(kvdiag):
    """Colour is for terminals: none in a pipe, some with FORCE_COLOR, none with NO_COLOR or --no-color."""
    assert "\x1b[" not in kvdiag("analyze", SHORT).stdout
    assert "\x1b[" in kvdiag("analyze", SHORT, FORCE_COLOR="1").stdout
    assert "\x1b[" not in kvdiag("analyze", SHORT, FORCE_COLOR="1", NO_COLOR="1").stdout
    assert "\x1b[" not in kvdiag("analyze", "--no-color", SHORT, FORCE_COLOR="1").stdout


def test_colour_changes_no_word(kvdiag):
    """Without its colours a coloured report is the plain one."""
    coloured = kvdiag("analyze", SHORT, FORCE_COLOR="1").stdout
    assert re.sub("\x1b\\[[0-9;]*m", "", coloured) == kvdiag("analyze", SHORT).stdout


def test_width(kvdiag):
    """Prose keeps within COLUMNS; a title, a command that is there to be copied and a long name may be longer."""
    lines = kvdiag("analyze", LOST, COLUMNS="60").stdout.splitlines()
    prose = [line for line in lines if not re.match(r" [A-Z]+  | +\$ ", line) and " " in line.strip()]
    assert [line for line in prose if len(line) > 60] == []


def test_quiet(kvdiag):
    """-q leaves the findings and drops what was read; without any it says so in one line, and what that rests on."""
    full, quiet = kvdiag("analyze", LOST).stdout, kvdiag("analyze", "-q", LOST).stdout
    assert "Read 4 logs: " in full
    assert "Read 4 logs: " not in quiet
    assert ALL[0] in quiet
    nothing = kvdiag("analyze", "-q", "sample-logs/healthy-csi-volume", COLUMNS="60").stdout
    assert re.fullmatch(
        r"No failure found in 4 logs in sample-logs/healthy-csi-volume: \d+ lines, \S+ \S+ to \S+ UTC\n", nothing
    )


def test_each_log_is_listed_when_asked_for(kvdiag):
    """-v lists what was read, log by log."""
    short, full = kvdiag("analyze", LOST).stdout, kvdiag("analyze", "-v", LOST).stdout
    assert "csi-attacher.log: 81 lines" in full
    assert "csi-attacher.log: 81 lines" not in short


def test_verbose(kvdiag):
    """-v tells more than the short report."""
    full, verbose = kvdiag("analyze", LOST).stdout, kvdiag("analyze", "-v", LOST).stdout
    assert len(verbose) > len(full)
    assert "https://github.com/kubernetes-csi/csi-driver-host-path/issues/457" in verbose


@pytest.mark.parametrize("output", ["text", "json"])
def test_output_file(output, kvdiag, tmp_path):
    """--output-file takes the report and leaves standard output empty."""
    path = tmp_path / "report"
    done = kvdiag("analyze", "-o", output, "--output-file", path, SHORT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert path.read_text("utf-8") == kvdiag("analyze", "-o", output, SHORT).stdout


def test_short_form_says_the_same(kvdiag):
    """The form that starts without typer gives the report that the long one gives."""
    for output in ("text", "json"):
        short, long = kvdiag("analyze", "-o", output, SHORT), kvdiag("analyze", f"--output={output}", SHORT)
        assert (short.stdout, short.stderr, short.returncode) == (long.stdout, long.stderr, long.returncode)
    for level in ("never", "high", "critical", "none"):
        short, long = kvdiag("analyze", "--fail-on", level, SHORT), kvdiag("analyze", f"--fail-on={level}", SHORT)
        assert (short.stdout, short.stderr, short.returncode) == (long.stdout, long.stderr, long.returncode)


def test_same_twice(kvdiag):
    """The same logs give the same report, to the byte."""
    assert kvdiag("analyze", "-o", "json", LOST).stdout == kvdiag("analyze", "-o", "json", LOST).stdout


def test_the_zone_of_the_machine_does_not_matter(kvdiag):
    """A report does not depend on where it is made."""
    assert kvdiag("analyze", SHORT, TZ="EST+5").stdout == kvdiag("analyze", SHORT, TZ="Asia/Kolkata").stdout


def test_locale_does_not_matter(kvdiag):
    """A report is UTF-8 in a locale that is not."""
    assert kvdiag("analyze", SHORT, LC_ALL="C", PYTHONUTF8="0").stdout == kvdiag("analyze", SHORT).stdout


# the command itself


def test_version(kvdiag):
    """--version tells name and version."""
    assert kvdiag("--version").stdout == f"kvdiag {__version__}\n"


def test_script_and_module_are_one():
    """`kvdiag` and `python -m kvdiag` are the same command."""
    script = Path(sys.executable).with_name("kvdiag")
    if not script.exists():
        pytest.skip("not installed as a script")
    said = [
        subprocess.run([*command, "analyze", SHORT], capture_output=True, check=True, cwd=ROOT).stdout
        for command in ([script], [sys.executable, "-m", "kvdiag"])
    ]
    assert said[0] == said[1] != b""


@pytest.mark.parametrize("command", [[], ["analyze"], ["parse"], ["events"], ["rules"], ["rules", "new"]], ids=" ".join)
def test_help(command, kvdiag):
    """Each command has a help, by -h too."""
    done = kvdiag(*command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: ")
    assert kvdiag(*command, "-h").stdout == done.stdout


# parse and events


def test_parse(kvdiag):
    """Each record is one JSON object a line, with all fields, in the order of the files."""
    done = kvdiag("parse", LOST / "kubelet.log", LOST / "containerd.log")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert {tuple(record) for record in records} == {
        ("source", "line", "time", "component", "level", "caller", "message", "fields", "node", "truncated")
    }
    assert {record["level"] for record in records} <= {"debug", "info", "warning", "error", "fatal"}
    assert all(re.fullmatch(r"2026-11-20T\d\d:\d\d:\d\d\.\d{6}Z", record["time"]) for record in records)
    places = [(record["source"].endswith("containerd.log"), record["line"]) for record in records]
    assert places == sorted(places)


def test_parse_unquotes(kvdiag):
    """Message and values come without the quotes and escapes of the log."""
    line = b'I0312 08:15:20.000000 7 a.go:1] "It said \\"no\\"" pod="shop/web-0" err="a \\"b\\"" empty=""\n'
    (record,) = map(json.loads, kvdiag("parse", "--year", "2024", stdin=line).stdout.splitlines())
    assert record["message"] == 'It said "no"'
    assert record["fields"] == {"pod": "shop/web-0", "err": 'a "b"', "empty": ""}
    assert (record["time"], record["caller"], record["source"]) == ("2024-03-12T08:15:20.000000Z", "a.go:1", "stdin")


def test_parse_counts_what_analyze_counts(kvdiag, report):
    """`parse` gives as many records as the report says a log has."""
    (entry,) = report(HEALTHY / "csi-hostpath.log")["inputs"]
    assert len(kvdiag("parse", HEALTHY / "csi-hostpath.log").stdout.splitlines()) == entry["records"]


def test_events(kvdiag):
    """Each event is one JSON object a line, with its kind, names and place, in order of time over all files."""
    done = kvdiag("events", LOST)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    wanted = {"kind", "time", "refs", "attrs", "source", "line"}
    assert all(wanted <= event.keys() for event in events)
    assert all(re.fullmatch(r"[a-z]+(\.[a-z-]+){1,2}", event["kind"]) for event in events)
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)
    assert {Path(event["source"]).name for event in events} == {path.name for path in LOST.glob("*.log")}
    said = {event["kind"] for event in events}
    assert {"volume.stage.succeeded", "csi.nodeunpublish.not-published", "volume.unpublish.failed"} <= said


# rules


def test_rules_list_and_show(kvdiag):
    """Each rule that is listed can be shown, by id and by name."""
    rows = [line.split()[:3] for line in kvdiag("rules", "list", COLUMNS="200").stdout.splitlines()]
    assert len({row[0] for row in rows}) == len({row[2] for row in rows}) == len(rows) > 10
    shown = kvdiag("rules", "show", rows[0][0]).stdout
    assert shown == kvdiag("rules", "show", rows[0][2]).stdout
    assert rows[0][0] in shown


def test_rules_in_a_narrow_terminal(kvdiag):
    """A title that does not fit stands indented below its rule's name."""
    lines = kvdiag("rules", "list", COLUMNS="80").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert {line[:10] == " " * 10 for line in lines if not line.startswith("KV")} == {True}


def test_rules_as_yaml(kvdiag):
    """The list as YAML is the list as JSON."""
    as_json, as_yaml = (kvdiag("rules", "list", "--search", "nodeunpublish", "-o", o).stdout for o in ("json", "yaml"))
    assert yaml.safe_load(as_yaml) == json.loads(as_json)


def test_help_by_its_name(kvdiag):
    """`kvdiag help COMMAND` is `kvdiag COMMAND --help`."""
    assert kvdiag("help", "rules", "lint").stdout == kvdiag("rules", "lint", "--help").stdout
    assert kvdiag("help").stdout == kvdiag("--help").stdout


def test_rules_test(kvdiag):
    """The tests inside the rules pass, for all and for one."""
    done = kvdiag("rules", "test", "KV310", "pod-stuck-terminating-volumes")
    assert done.returncode == 0, done.stdout
    assert re.fullmatch(r"\d+ passed, 0 failed\n", done.stderr)


def test_new_rule(kvdiag, tmp_path):
    """A rule that was begun with `rules new` is listed, shown and read by an analysis."""
    mine = tmp_path / "mine"
    done = kvdiag("rules", "new", "volume-lost-its-way", "--patterns", mine, "--family", "volume")
    assert done.returncode == 0
    path = mine / "volume" / "volume-lost-its-way.yaml"
    assert str(path) in done.stdout
    assert "volume-lost-its-way" in kvdiag("rules", "list", "--patterns", mine).stdout
    assert "volume-lost-its-way" in kvdiag("rules", "show", "volume-lost-its-way", "--patterns", mine).stdout
    assert kvdiag("analyze", "--patterns", mine, "--rule", "volume-lost-its-way", HEALTHY).returncode == 0
    again = kvdiag("rules", "new", "volume-lost-its-way", "--patterns", mine, "--family", "volume")
    assert (again.returncode, "file exists" in again.stderr) == (2, True)


def test_a_path_alone_is_analyzed(kvdiag, tmp_path):
    """`kvdiag LOG` is `kvdiag analyze LOG`; a command comes before a file of its name, and what is neither is an error."""
    assert kvdiag(HEALTHY, "-q").stdout == kvdiag("analyze", HEALTHY, "-q").stdout != ""
    (tmp_path / "version").write_text("no log", "utf-8")
    assert kvdiag("version", cwd=tmp_path).stdout == kvdiag("version").stdout
    assert kvdiag("nosuch", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("family", FAMILIES)
def test_the_first_draft_of_each_family(kvdiag, tmp_path, family):
    """A new rule of a family asks for nothing but to be filled in: its kinds, names and capabilities exist."""
    assert kvdiag("rules", "new", "my-rule", "--patterns", tmp_path, "--family", family).returncode == 0
    faults = kvdiag("rules", "lint", tmp_path).stderr.splitlines()
    told = [line for line in faults if re.match(rf"{tmp_path}\S+:\d+:\d+: ", line)]
    assert told
    assert [line for line in told if "is text of the template" not in line] == []


def test_the_patterns_that_come_with_kvdiag_may_be_named(kvdiag):
    """In a checkout `--patterns patterns` adds nothing, also for a folder in it or one that is named twice."""
    for folder in (ROOT / "patterns", ROOT / "patterns" / "node"):
        for command in (["rules", "list"], ["rules", "test", "KV310"], ["analyze", HEALTHY]):
            done = kvdiag(*command, "--patterns", folder, "--patterns", folder)
            assert done.returncode == 0, done.stderr


def test_rule_that_fails_its_own_test(kvdiag, tmp_path):
    """A rule whose test wants what it does not give is told with its place, and exit 1."""
    text = (ROOT / "patterns" / "pod" / "pod-stuck-terminating-volumes.yaml").read_text("utf-8")
    text = text.replace("KV110", "KV198").replace("pod-stuck-terminating-volumes", "pod-waits")
    text = text.replace("finds: {}", "finds: {shop/web-0: confirmed}")
    (tmp_path / "pod-waits.yaml").write_text(text, "utf-8")
    done = kvdiag("rules", "test", "pod-waits", "--patterns", tmp_path)
    assert done.returncode == 1
    assert re.search(r"pod-waits\.yaml:\d+", done.stdout)
    assert "expected" in done.stdout


def test_cache_that_cannot_be_written(kvdiag, tmp_path):
    """A home that is read-only costs time, not the analysis."""
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    done = kvdiag("analyze", LOST, HOME=str(home), XDG_CACHE_HOME=str(home / "cache"))
    assert (done.returncode, done.stderr) == (0, "")
    assert os.listdir(home) == [] or os.access(home, os.W_OK)  # noqa: PTH208


def test_help_names_arguments_as_others_do(kvdiag):
    """An argument is told by its name and whether it may be left out or repeated, not by the type it becomes."""
    said = kvdiag("timeline", "--help").stdout
    assert re.search(r"^  \[KIND\]  +pod, volume", said, re.MULTILINE)
    assert re.search(r"^  \[PATH\]\.\.\.  +Files, folders", said, re.MULTILINE)
    assert "<list" not in said


@pytest.mark.parametrize(
    "words",
    [("rules", "list", "a\u202eb"), ("a\u202eb",), ("analyze", "--a\u202eb"), ("analyze", "--year", "a\u202eb")],
)
def test_what_was_typed_is_shown_harmless(kvdiag, words):
    """A message about what was typed shows none of the marks that turn a line around."""
    done = kvdiag(*words)
    assert done.returncode == 2
    assert "\u202e" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("pods",),
        ("volumes",),
        ("events",),
        ("timeline", "node", "worker-1"),
        ("compare", "default/db-0", "default/db-0"),
    ],
)
def test_a_time_may_be_asked_for(kvdiag, words):
    """Every command that reads a history can be told of which time; what is no time is said."""
    log = "sample-logs/hostpath-driver-lost-state"
    assert "--since: " in kvdiag(*words, log, "--since", "soon").stderr
    done = kvdiag(*words, log, "--until", "2026-11-20T20:39:20Z")
    assert "20:41" not in done.stdout + done.stderr
