"""`kvdiag check` as CI runs it, and the options that a project sets once."""

from __future__ import annotations

import json

import pytest

from kvdiag.base.errors import UsageError
from kvdiag.cli.config import default_map, is_configured
from tests.conftest import SAMPLES

LOST = "sample-logs/hostpath-driver-lost-state"
STUCK = ("--until", "2026-11-20T20:41:00Z", LOST)
HEALTHY = "sample-logs/healthy-csi-volume"


def test_exit_codes(kvdiag, tmp_path):
    """High findings fail the check, lower ones do not; nor does a healthy log."""
    assert kvdiag("check", *STUCK).returncode == 1
    assert kvdiag("check", "--fail-on", "critical", *STUCK).returncode == 0
    assert kvdiag("check", LOST).returncode == 0
    assert kvdiag("check", "--fail-on", "medium", LOST).returncode == 1
    assert kvdiag("check", HEALTHY).returncode == 0
    assert kvdiag("check", tmp_path / "missing.log").returncode == 3
    assert kvdiag("check", "-o", "pdf", HEALTHY).returncode == 2


def test_a_line_a_finding(kvdiag):
    """What is printed fits the log of a job: a line a cause, and how it stands."""
    line, verdict = kvdiag("check", *STUCK).stdout.splitlines()
    assert line.startswith("HIGH      csi-nodeunpublish-state-lost  volume pvc-3126ba07-")
    assert line.endswith("(explains 2 more)")
    assert verdict.startswith("kvdiag: 1 failure found, worst: high")
    assert kvdiag("check", HEALTHY).stdout == "kvdiag: no failure found\n"


def test_inside_github_actions(kvdiag, tmp_path):
    """There annotations are the default; in what is printed for people commands are switched off."""
    summary = tmp_path / "summary.md"
    inside = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    assert kvdiag("check", *STUCK, **inside).stdout.startswith("::error file=")
    assert summary.read_text("utf-8").startswith("### kvdiag: 1 failure found, worst: high\n")
    first, *_, last = kvdiag("analyze", LOST, **inside).stdout.splitlines()
    assert first.startswith("::stop-commands::")
    assert last == f"::{first.removeprefix('::stop-commands::')}::"


def test_a_baseline_of_yesterday(kvdiag, tmp_path):
    """What was written into the baseline fails no check; what is new does."""
    baseline = tmp_path / "baseline.json"
    assert kvdiag("check", "--write-baseline", baseline, *STUCK).returncode == 0
    done = kvdiag("check", "--baseline", baseline, *STUCK)
    assert (done.returncode, done.stdout) == (0, "kvdiag: no failure found\n")
    assert "left out: 3 known from the baseline" in done.stderr
    kept = json.loads(baseline.read_text("utf-8"))
    kept["findings"] = [one for one in kept["findings"] if one["rule"] != "csi-nodeunpublish-state-lost"]
    baseline.write_text(json.dumps(kept), "utf-8")
    assert kvdiag("check", "--baseline", baseline, *STUCK).returncode == 1


def test_a_baseline_written_anew_keeps_what_is_known(kvdiag, tmp_path):
    """A baseline that is read and written in one run holds what it held, and what is new."""
    baseline = tmp_path / "baseline.json"
    kvdiag("check", "--write-baseline", baseline, *STUCK)
    before = baseline.read_text("utf-8")
    assert kvdiag("check", "--baseline", baseline, "--write-baseline", baseline, *STUCK).returncode == 0
    assert baseline.read_text("utf-8") == before
    assert len(json.loads(before)["findings"]) == 3


def test_a_users_rule_is_suppressed(kvdiag, tmp_path):
    """A suppression may name a rule of one's own, also where it finds nothing; without the rule it names none."""
    own = kvdiag("rules", "new", "my-own", "--family", "pod", "--patterns", tmp_path / "rules")
    assert own.returncode == 0
    known = tmp_path / "known.yaml"
    known.write_text("- {rule: my-own, reason: it is replaced, expires: 2099-01-01}", "utf-8")
    words = ("check", "--suppressions", known, HEALTHY)
    assert kvdiag(*words, "--patterns", tmp_path / "rules").returncode == 0
    assert kvdiag(*words).returncode == 2


@pytest.mark.parametrize("option", [("--baseline", "x"), ("--suppressions", "x"), ("-o", "sarif"), ("-o", "html")])
def test_what_does_not_go_with_follow(kvdiag, option):
    """It is refused, and not left out."""
    done = kvdiag("analyze", "--follow", *option, stdin=b"")
    assert (done.returncode, "with --follow" in done.stderr) == (2, True)


def test_suppressed(kvdiag, tmp_path):
    """A finding with a reason and an end fails no check until then."""
    known = tmp_path / "known.yaml"
    known.write_text("- {rule: KV310, reason: it is replaced, expires: 2099-01-01}", "utf-8")
    assert kvdiag("check", "--suppressions", known, *STUCK).returncode == 0
    known.write_text("- {rule: KV310, reason: it is replaced, expires: 2026-01-01}", "utf-8")
    done = kvdiag("check", "--suppressions", known, *STUCK)
    assert done.returncode == 1
    assert f"{known}:1:3: expired on 2026-01-01; KV310 counts again" in done.stderr


def test_set_once(kvdiag, tmp_path):
    """A file in the project sets options, the environment goes before it, the command line before both."""
    (tmp_path / "kvdiag.toml").write_text('fail-on = "critical"\n', "utf-8")
    logs = kvdiag.__globals__["ROOT"] / LOST
    words = ("check", "--until", STUCK[1], logs)
    assert kvdiag(*words, cwd=tmp_path).returncode == 0
    assert kvdiag(*words, "--fail-on", "high", cwd=tmp_path).returncode == 1
    assert kvdiag("analyze", logs, "--fail-on", "medium", cwd=tmp_path).returncode == 1
    assert kvdiag("analyze", logs, cwd=tmp_path).returncode == 0


NESTED = {"kvdiag.toml": 'baseline = "ci/known.json"\npatterns = ["rules"]\n'}
OWN = {"pyproject.toml": "[tool.kvdiag]\nyear = 2024\nshow-possible = false\n"}


@pytest.mark.parametrize(
    ("files", "environment", "expected"),
    [
        ({}, {}, {}),
        ({"pyproject.toml": "[tool.other]\nx = 1\n"}, {}, {}),
        (OWN, {}, {"year": 2024, "show_possible": False}),
        (OWN, {"KVDIAG_YEAR": "2025", "KVDIAG_SCANNER": "stdlib"}, {"year": 2025, "show_possible": False}),
        (
            {},
            {"KVDIAG_PATTERNS": "a:b", "KVDIAG_SHOW_POSSIBLE": "true"},
            {"patterns": ["a", "b"], "show_possible": True},
        ),
        (NESTED, {}, {"baseline": "@/ci/known.json", "patterns": ["@/rules"]}),
    ],
)
def test_where_options_come_from(tmp_path, files, environment, expected):
    """Files above the folder one stands in count, and paths in them are theirs."""
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / ".git").mkdir()
    here = tmp_path / "a" / "b"
    here.mkdir(parents=True)
    wanted = json.loads(json.dumps(expected).replace("@", str(tmp_path)))
    assert default_map(environment, here) == ({"analyze": wanted, "check": wanted} if wanted else {})
    assert is_configured(environment, here) is bool(wanted)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fail_on = 'high'", "unknown key 'fail_on'; did you mean 'fail-on'?"),
        ("year = 'now'", "kvdiag.toml: year: a whole number is expected, not 'now'"),
        ("patterns = [1]", "patterns: a list of texts is expected, not [1]"),
        ("show-possible = 1", "show-possible: true or false is expected, not 1"),
        ("output = 3", "output: a text is expected, not 3"),
        ("= 3", "kvdiag.toml: Invalid statement"),
    ],
)
def test_what_cannot_be_set(tmp_path, text, said):
    """A key or value that means nothing is told with its file."""
    (tmp_path / "kvdiag.toml").write_text(text, "utf-8")
    with pytest.raises(UsageError) as caught:
        default_map({}, tmp_path)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("option", "text"),
    [("--suppressions", "- {rule: KV310, reason: it is replaced}"), ("--baseline", "[]")],
)
def test_a_broken_file_is_told_before_the_logs_are_read(kvdiag, tmp_path, option, text):
    """What is wrong with it is said although the log is not even there."""
    known = tmp_path / "known"
    known.write_text(text, "utf-8")
    done = kvdiag("check", option, known, tmp_path / "missing.log")
    assert done.returncode == 2
    assert str(known) in done.stderr
    assert "missing.log" not in done.stderr


@pytest.mark.parametrize(
    "command",
    [["analyze", "-v"], ["timeline", "-v", "default/db-0"], ["errors"], ["explain", "-"]],
    ids=str,
)
def test_no_command_of_a_runner_in_what_other_commands_print(kvdiag, tmp_path, command):
    """Where a runner reads the output, no line of a log is obeyed, at whatever width it is wrapped."""
    said = "::set-output name=x::pwn " * 8 + "##[add-mask]y"
    text = (SAMPLES / "hostpath-driver-lost-state" / "kubelet.log").read_text("utf-8")
    log = tmp_path / "kubelet.log"
    log.write_text(text.replace("device or resource busy", said), "utf-8")
    given = [] if command[-1] == "-" else [log]
    stdin = next(line for line in log.read_bytes().splitlines(keepends=True) if b"set-output" in line)
    lines = kvdiag(*command, *given, stdin=stdin, GITHUB_ACTIONS="true").stdout.splitlines()
    assert any("set-output" in line for line in lines[1:-1])
    assert lines[0].startswith("::stop-commands::")
    assert lines[-1] == f"::{lines[0].removeprefix('::stop-commands::')}::"
    assert lines[0] not in lines[1:]


def test_no_command_of_a_runner_in_followed_findings(kvdiag):
    """The lines of findings that are printed while a log grows are not obeyed either."""
    log = (SAMPLES / "hostpath-driver-lost-state" / "kubelet.log").read_bytes()
    lines = kvdiag("analyze", "--follow", "-o", "compact", stdin=log, GITHUB_ACTIONS="true").stdout.splitlines()
    assert len(lines) > 2
    assert lines[0].startswith("::stop-commands::")
    assert lines[-1] == f"::{lines[0].removeprefix('::stop-commands::')}::"


def test_one_run_writes_several_formats(kvdiag, tmp_path):
    """`--also` writes further formats of the same report into files; another form or format is refused first."""
    log = "sample-logs/hostpath-driver-lost-state"
    files = {name: tmp_path / f"report.{name}" for name in ("sarif", "json", "html")}
    also = [word for name, path in files.items() for word in ("--also", f"{name}={path}")]
    done = kvdiag("check", "-o", "compact", *also, log)
    assert done.stdout == kvdiag("check", "-o", "compact", log).stdout
    assert json.loads(files["sarif"].read_text("utf-8"))["version"] == "2.1.0"
    assert files["json"].read_text("utf-8") == kvdiag("analyze", "-o", "json", log).stdout
    assert 'id="data"' in files["html"].read_text("utf-8")
    for word, why in (("pdf=x", "unknown output"), ("json", "write FORMAT=FILE"), ("=x", "write FORMAT=FILE")):
        refused = kvdiag("analyze", "--also", word, log)
        assert (refused.returncode, why in refused.stderr) == (2, True)
