"""What CI systems run of ours does what it says: the action's steps, the hook's command, the image's user."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from junitparser import JUnitXml

from kvdiag import __version__

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")


@pytest.fixture
def checked(tmp_path):
    """Give the function that runs the action's check as a runner does, with kvdiag installed where it expects it."""
    program = tmp_path / "kvdiag" / "bin" / "kvdiag"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m kvdiag "$@"\n', "utf-8")
    program.chmod(0o755)
    step = ACTION["runs"]["steps"][1]

    def run(**inputs: str) -> subprocess.CompletedProcess[str]:
        given = {name: said.get("default", "") for name, said in ACTION["inputs"].items()} | inputs
        said = {name: INPUT.sub(lambda found: given[found[1]], value) for name, value in step["env"].items()}
        inside = {
            "RUNNER_TEMP": str(tmp_path),
            "GITHUB_ACTIONS": "true",
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "PYTHONPATH": str(ROOT),
        }
        (tmp_path / "output").unlink(missing_ok=True)
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        environment = os.environ | inside | said
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    return run


def test_the_action(checked, tmp_path):
    """It checks each path, one a line; fails from the severity that is asked for; writes SARIF."""
    paths = "sample-logs/hostpath-driver-lost-state\n\nsample-logs/healthy-csi-volume\n"
    done = checked(paths=paths, **{"fail-on": "high", "sarif": str(tmp_path / "x.sarif")})
    assert (done.returncode, done.stdout[:15]) == (0, "::warning file="), done.stderr
    assert json.loads((tmp_path / "x.sarif").read_text("utf-8"))["version"] == "2.1.0"
    assert checked(paths=paths, **{"fail-on": "medium"}).returncode == 1
    assert "$(id)" in checked(paths="$(id)").stderr  # a path is never a command


def test_an_unreadable_input_hides_nothing(checked, tmp_path):
    """One run writes annotations, SARIF and summary, and sets the outputs, also if a log is empty."""
    (tmp_path / "empty.log").touch()
    sarif = tmp_path / "x.sarif"
    paths = f"   sample-logs/containerd-killed  \n{tmp_path}/empty.log\n"
    done = checked(paths=paths, **{"fail-on": "critical", "sarif": str(sarif)})
    assert done.returncode == 3
    assert "empty.log" in done.stderr
    assert done.stdout.count("::warning file=") == 2
    assert json.loads(sarif.read_text("utf-8"))["runs"][0]["results"]
    assert "2 failures found" in (tmp_path / "summary").read_text("utf-8")
    assert (tmp_path / "output").read_text("utf-8") == f"count=2\nworst=medium\nsarif={sarif}\n"


def test_the_action_expands_patterns(checked, tmp_path):
    """`*` and `**` name files; a blank within a path divides nothing; what matches nothing is said."""
    folder = tmp_path / "node 1" / "deep"
    folder.mkdir(parents=True)
    log = ROOT / "sample-logs/kubelet-no-runtime-endpoint/kubelet.log"
    (folder / "kubelet.log").write_bytes(log.read_bytes())
    for pattern in ("**/*.log", "node 1/*/kubelet.*", "node 1"):
        done = checked(paths=f"{tmp_path}/{pattern}", **{"fail-on": "never"})
        assert (done.returncode, done.stdout.count("::error file=")) == (0, 1), (pattern, done.stderr)
    missing = checked(paths=f"{tmp_path}/none*.log\nsample-logs/containerd-killed", **{"fail-on": "never"})
    assert (missing.returncode, missing.stdout.count("::warning file=")) == (3, 2)
    assert "none*.log" in missing.stderr


def test_the_action_installs_itself(tmp_path):
    """What it installs is the checkout of the action, where its check expects it."""
    step = ACTION["runs"]["steps"][0]
    assert step["env"] == {"KVDIAG_SOURCE": "${{ github.action_path }}"}
    environment = os.environ | {"RUNNER_TEMP": str(tmp_path), "KVDIAG_SOURCE": str(ROOT)}
    shell(step["run"], tmp_path, environment, "bash", "--noprofile", "--norc", "-eo", "pipefail")
    program = tmp_path / "kvdiag/bin/kvdiag"
    assert "$RUNNER_TEMP/kvdiag/bin/kvdiag" in ACTION["runs"]["steps"][1]["run"]
    log = ROOT / "sample-logs/kubelet-no-runtime-endpoint"
    done = subprocess.run([program, "check", log], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "kubelet-runtime-endpoint-missing" in done.stdout) == (1, True), done.stderr


def shell(script: str, folder: Path, environment: dict[str, str], *program: str, code: int = 0) -> str:
    """Run a script in a folder; return what it printed."""
    command = [*program, "-c", script]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def example(language: str, heading: str) -> str:
    """Give the example under a heading of docs/ci.md."""
    section = (ROOT / "docs/ci.md").read_text("utf-8").partition(f"\n## {heading}\n")[2]
    return section.partition(f"```{language}\n")[2].partition("```\n")[0]


@pytest.fixture(scope="module")
def released(tmp_path_factory) -> dict[str, str]:
    """Give an environment in which pip finds the kvdiag of this checkout as if it were on the index."""
    folder = tmp_path_factory.mktemp("index")
    build = [sys.executable, "-m", "hatchling", "build", "-d", str(folder), "-t", "wheel"]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    links = f"{os.environ.get('PIP_FIND_LINKS', '')} {folder}".strip()
    return os.environ | {"PIP_FIND_LINKS": links, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


@pytest.fixture
def job(tmp_path) -> Path:
    """Give the folder of a job: logs of a sick node and a log that cannot be read."""
    logs = tmp_path / "job/collected-logs"
    logs.mkdir(parents=True)
    log = ROOT / "sample-logs/kubelet-no-runtime-endpoint/kubelet.log"
    (logs / "kubelet.log").write_bytes(log.read_bytes())
    return tmp_path / "job"


def test_the_example_for_gitlab(released, job, tmp_path):
    """Its lines, run as GitLab's runner runs them, write both reports; its form is GitLab's."""
    (tmp_path / ".gitlab-ci.yml").write_text(text := example("yaml", "GitLab"), "utf-8")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.gitlab-ci"]
    done = subprocess.run([*command, tmp_path / ".gitlab-ci.yml"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    of_job = yaml.safe_load(text)["kvdiag"]
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "image"], check=True)
    environment = released | {"PATH": f"{tmp_path / 'image/bin'}{os.pathsep}{os.environ['PATH']}"}
    said = shell("\n".join(of_job["script"]), job, environment, "bash", "-eo", "pipefail", code=1)
    assert "kubelet-runtime-endpoint-missing" in said
    reports = of_job["artifacts"]["reports"]
    (issue,) = json.loads((job / reports["codequality"]).read_text("utf-8"))
    assert issue["severity"] == "blocker"
    assert JUnitXml.fromfile(str(job / reports["junit"])).failures == 1


def test_the_example_for_jenkins(released, job):
    """Its steps, run by `sh -xe` as Jenkins runs them, write the files that it publishes."""
    text = example("groovy", "Jenkins")
    (script,) = re.findall(r"sh '''(.*?)'''", text, re.DOTALL)
    (job / "collected-logs/empty.log").touch()
    shell(script, job, released, "sh", "-xe", code=1)
    published = re.findall(r"(?:junit|archiveArtifacts) '([^']+)'", text)
    assert published == ["kvdiag.xml", "kvdiag.md"]
    assert JUnitXml.fromfile(str(job / published[0])).failures == 1
    assert "kubelet-runtime-endpoint-missing" in (job / published[1]).read_text("utf-8")
    assert text.count("{") == text.count("}")


def release_step(job: str, word: str) -> str:
    """Give the script of the one step of a job of the release that has this word."""
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))
    (script,) = [step["run"] for step in release["jobs"][job]["steps"] if word in step.get("run", "")]
    return script


def test_a_release_is_of_the_version_of_its_tag():
    """Another tag ends the release before anything is built."""
    for tag, code in ((f"v{__version__}", 0), ("v9.9.9", 1)):
        environment = os.environ | {"GITHUB_REF_NAME": tag, "PYTHONPATH": str(ROOT)}
        shell(release_step("build", "GITHUB_REF_NAME"), ROOT, environment, "bash", "-e", code=code)


def test_a_release_gives_the_index_its_packages_alone(tmp_path):
    """Not the archive for krew, the single file, or the checksums."""
    (tmp_path / "dist").mkdir()
    packages = ["kvdiag-0.1.0-py3-none-any.whl", "kvdiag-0.1.0.tar.gz"]
    for name in [*packages, "kubectl-kvdiag.tar.gz", "kvdiag.pyz", "kvdiag.yaml", "kvdiag.cdx.json", "SHA256SUMS"]:
        (tmp_path / "dist" / name).touch()
    shell(release_step("index", "packages"), tmp_path, dict(os.environ), "bash", "-e")
    assert sorted(path.name for path in (tmp_path / "packages").iterdir()) == packages


def test_the_hook(kvdiag, tmp_path):
    """The hook's command passes our rules and refuses one that is broken."""
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    program, *words = hook["entry"].split()
    assert (program, hook["pass_filenames"]) == ("kvdiag", False)
    (tmp_path / "broken.yaml").write_text("id: 3\n", "utf-8")
    assert kvdiag(*words, "--patterns", tmp_path).returncode == 2


@pytest.mark.parametrize("kind", ["workflows", "actions"])
def test_the_files_for_github_are_valid(kind):
    """The workflows and the action have the form that GitHub asks for."""
    files = sorted((ROOT / ".github/workflows").glob("*.yml")) if kind == "workflows" else [ROOT / "action.yml"]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.github-{kind}", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_image():
    """Its user is not root, its base is pinned, and it runs kvdiag."""
    lines = (ROOT / "Containerfile").read_text("utf-8").splitlines()
    assert "USER 65532:65532" in lines
    assert all("@sha256:" in line for line in lines if line.startswith("ARG BASE"))
    assert 'ENTRYPOINT ["kvdiag"]' in lines
    assert lines.index("USER 65532:65532") > next(n for n, line in enumerate(lines) if line.startswith("RUN "))


def test_the_file_of_the_page_is_one(tmp_path):
    """The options that docs/ci.md shows can be set."""
    from kvdiag.cli.config import KEYS, default_map

    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    (tmp_path / "kvdiag.toml").write_text(page.partition("```toml\n")[2].partition("```")[0], "utf-8")
    assert default_map({}, tmp_path)["check"]["fail_on"] == "medium"
    listed = page.partition("Keys: ")[2].partition(".\n")[0]
    assert re.findall(r"`([^`]+)`", listed) == list(KEYS)
