"""What other tools run of ours: the plugin of Node Problem Detector, the toolset of HolmesGPT, the dashboard of Grafana."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import promql_parser
import pytest
import yaml

ROOT = Path(__file__).parents[2]
CONTRIB = ROOT / "contrib"
STUCK = "sample-logs/hostpath-driver-lost-state/kubelet.log"


@pytest.fixture
def with_kvdiag(tmp_path):
    """An environment in which `kvdiag` is this one."""
    program = tmp_path / "bin" / "kvdiag"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m kvdiag "$@"\n', "utf-8")
    program.chmod(0o755)
    return os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize(
    ("logs", "code", "said"),
    [
        (["sample-logs/kubelet-no-runtime-endpoint"], 1, "kubelet-runtime-endpoint-missing: node this node\n"),
        (["sample-logs/healthy-csi-volume"], 0, "no failure found\n"),
        (["missing.log"], 2, "kvdiag could not read the logs\n"),
    ],
)
def test_node_problem_detector(with_kvdiag, logs, code, said):
    """Exit code and message are those that Node Problem Detector takes: 0, 1 or 2, and at most 80 characters."""
    plugin = CONTRIB / "node-problem-detector" / "kvdiag.sh"
    done = subprocess.run([plugin, *logs], env=with_kvdiag, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, said, "")
    (line,) = done.stdout.splitlines()
    assert len(line) <= 80


def test_node_problem_detector_is_told_of_it():
    """Its configuration names a condition that the rule sets."""
    said = json.loads((CONTRIB / "node-problem-detector" / "kvdiag.json").read_text("utf-8"))
    assert said["rules"][0]["condition"] == said["conditions"][0]["type"]
    assert said["pluginConfig"]["max_output_length"] == 80


def test_node_problem_detector_reads_the_journal_of_the_node(with_kvdiag, tmp_path):
    """By its folder, as the machine id of a pod is another; what journalctl gives is checked."""
    (tmp_path / "journal").mkdir()
    log = ROOT / "sample-logs" / "kubelet-no-runtime-endpoint" / "kubelet.log"
    (tmp_path / "journalctl").write_text(f'#!/bin/sh\n[ "$1 $2" = "-D {tmp_path}/journal" ] && exec cat {log}\n')
    (tmp_path / "journalctl").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{with_kvdiag['PATH']}"
    environment = with_kvdiag | {"PATH": path, "KVDIAG_JOURNAL": str(tmp_path / "journal")}
    plugin = CONTRIB / "node-problem-detector" / "kvdiag.sh"
    done = subprocess.run([plugin], env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout[:28]) == (1, "kubelet-runtime-endpoint-mis")


def test_the_image_of_node_problem_detector():
    """What it copies from here exists, and the plugin is where the configuration says."""
    lines = (CONTRIB / "node-problem-detector" / "Containerfile").read_text("utf-8").splitlines()
    copied = [line.split()[-2:] for line in lines if line.startswith("COPY") and "--from" not in line]
    assert copied
    assert all((ROOT / source).is_file() for source, _ in copied)
    rules = json.loads((CONTRIB / "node-problem-detector" / "kvdiag.json").read_text("utf-8"))["rules"]
    assert rules[0]["path"] in [target for _, target in copied]
    assert "/config/kvdiag.json" in lines[-1]


def test_holmesgpt(with_kvdiag):
    """Each tool's command runs with values that HolmesGPT has quoted, and answers."""
    (toolset,) = yaml.safe_load((CONTRIB / "holmesgpt" / "kvdiag.yaml").read_text("utf-8"))["toolsets"].values()
    given = {"path": "sample-logs/hostpath-driver-lost-state", "subject": "default/db-0"}
    for tool in toolset["tools"]:
        words = given | ({"subject": "CrashLoopBackOff"} if "explain" in tool["name"] else {})
        command = re.sub(r"\{\{ (\w+) \}\}", lambda found, w=words: shlex.quote(w[found[1]]), tool["command"])
        assert "{{" not in command
        done = subprocess.run(
            ["sh", "-c", command], env=with_kvdiag, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert (done.returncode, bool(done.stdout)) == (0, True), done.stderr


def test_the_commands_of_the_skill(with_kvdiag):
    """Each command that the skill names answers about a sample."""
    text = (CONTRIB / "agent-skill/SKILL.md").read_text("utf-8")
    _, head, body = text.split("---\n", 2)
    assert yaml.safe_load(head).keys() == {"name", "description"}
    line = "remove /x: device or resource busy"
    given = {"PATH...": str(Path(STUCK).parent), "NS/NAME": "default/db-0", "NAME": "data", "RULE": "oom-kill"}
    commands = [found for found in re.findall(r"`(kvdiag [^`]*)`", body) if " " in found]
    assert len(commands) >= 9
    for command in commands:
        words = [given.get(word, word) for word in shlex.split(command.replace("LOG LINE", line))]
        done = subprocess.run(words, env=with_kvdiag, cwd=ROOT, capture_output=True, text=True, check=False)
        assert (done.returncode, bool(done.stdout)) == (0, True), (command, done.stderr)


def queries() -> dict[str, str]:
    """Give each panel's query for all nodes, by its title."""
    dashboard = json.loads((ROOT / "contrib/grafana/kvdiag.json").read_text("utf-8"))
    return {one["title"]: one["targets"][0]["expr"].replace("$node", ".+") for one in dashboard["panels"]}


def test_the_dashboard_asks_for_what_kvdiag_writes():
    """Each query is about metrics of `-o prometheus`, and all of these are shown."""
    command = [sys.executable, "-m", "kvdiag", "analyze", "--fail-on", "never", "-o", "prometheus"]
    written = subprocess.run(
        [*command, ROOT / "sample-logs/hostpath-driver-lost-state"], capture_output=True, check=True
    )
    metrics = {line.split()[2] for line in written.stdout.decode().splitlines() if line.startswith("# TYPE")}
    asked = {word for query in queries().values() for word in re.findall(r"kvdiag_\w+", query)}
    assert asked == metrics


def test_each_query_is_promql():
    """By the grammar of Prometheus."""
    for query in queries().values():
        promql_parser.parse(query)
    with pytest.raises(ValueError, match="unclosed"):
        promql_parser.parse(query[:-1])


@pytest.mark.parametrize("name", ["fleet", "kvdiag"])
def test_a_dashboard_can_be_laid_out(name):
    """Panels have ids of their own and do not overlap; each asks the data source that is chosen, with its own refId."""
    dashboard = json.loads((CONTRIB / f"grafana/{name}.json").read_text("utf-8"))
    chosen, *others = dashboard["templating"]["list"]
    source = {"type": chosen["query"], "uid": f"${{{chosen['name']}}}"}
    panels = dashboard["panels"]
    assert len({one["id"] for one in panels}) == len({one["title"] for one in panels}) == len(panels)
    cells = [
        (x, y)
        for grid in (one["gridPos"] for one in panels)
        for x in range(grid["x"], grid["x"] + grid["w"])
        for y in range(grid["y"], grid["y"] + grid["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert {x for x, _ in cells} == set(range(24))
    for one in [*others, *panels]:
        assert one["datasource"] == source
    for one in panels:
        assert one["description"]
        assert [target["refId"] for target in one["targets"]] == ["A"]
        assert one["targets"][0]["datasource"] == source
    asked = {found for one in panels for found in re.findall(r"\$(\w+)", json.dumps(one["targets"]))}
    assert asked - {"__timeFilter"} == {variable["name"] for variable in others}


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool runs the queries of the dashboard")
def test_prometheus_answers_the_queries_of_the_dashboard(tmp_path):
    """Of three nodes one has a cause, one a symptom alone, and one has not run for three hours."""
    found = 'kvdiag_findings{{instance="{}",rule="r",severity="{}",verdict="confirmed",role="{}"}}'
    series = {
        found.format("a", "high", "cause"): "1x240",
        found.format("b", "low", "symptom"): "1x240",
        **{f'kvdiag_last_run_timestamp_seconds{{instance="{node}"}}': "14300x240" for node in "ab"},
        'kvdiag_last_run_timestamp_seconds{instance="c"}': "3600x240",
        'kvdiag_unreadable_inputs{instance="a"}': "0x240",
        'kvdiag_unexplained_error_lines{instance="a"}': "2x240",
        'kvdiag_unexplained_error_lines{instance="b"}': "3x240",
    }
    labels = '{instance="a", rule="r", severity="high", verdict="confirmed"}'
    expected = {
        "Nodes with a failure": ("{}", 1),
        "Nodes without a run for two hours": ("{}", 1),
        "Nodes with inputs that could not be read": ("{}", 0),
        "Error lines that nothing explains": ("{}", 5),
        "Causes by severity": ('{severity="high"}', 1),
        "Nodes by cause": ('{rule="r"}', 1),
        "Causes now": (labels, 1),
    }
    tests = [
        {"expr": query, "eval_time": "4h", "exp_samples": [{"labels": expected[title][0], "value": expected[title][1]}]}
        for title, query in queries().items()
    ]
    given = [{"series": name, "values": values} for name, values in series.items()]
    text = {
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": given, "promql_expr_test": tests}],
    }
    (tmp_path / "tests.yaml").write_text(json.dumps(text), "utf-8")
    done = subprocess.run(["promtool", "test", "rules", tmp_path / "tests.yaml"], capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
