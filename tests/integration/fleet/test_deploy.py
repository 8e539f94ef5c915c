"""The manifests of deploy/: valid for Kubernetes, confined, and what they run does what they say."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvdiag.cli.app import command
from tests.conftest import ROOT

kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="the schemas of Kubernetes are not installed")

FILES = sorted((ROOT / "deploy").glob("*.yaml"))
OBJECTS = [(file.name, one) for file in FILES for one in yaml.safe_load_all(file.read_text("utf-8"))]
NAMES = [f"{file}: {one['kind']} {one['metadata']['name']}" for file, one in OBJECTS]


def pods() -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Return each object with a pod, and the spec of the pod."""
    found = []
    for _, one in OBJECTS:
        spec = one.get("spec", {})
        spec = spec.get("jobTemplate", {"spec": spec})["spec"]
        if "template" in spec:
            found.append((one["metadata"]["name"], spec, spec["template"]["spec"]))
    return found


PODS = pytest.mark.parametrize(("name", "spec", "pod"), pods(), ids=[name for name, *_ in pods()])


@pytest.mark.parametrize("version", ["1.31", kubernetes_validate.latest_version()])
@pytest.mark.parametrize("thing", [one for _, one in OBJECTS], ids=NAMES)
def test_each_object_is_valid(thing, version):
    """By the schemas of Kubernetes, without a field that they do not have."""
    kubernetes_validate.validate(thing, version, strict=True)


def test_the_schemas_refuse_what_is_wrong():
    """A condition without a status and a misspelled field are refused, so that the test above can fail."""
    job = next(one for _, one in OBJECTS if one["kind"] == "Job")
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    for wrong in ({"podFailurePolicy": {"rules": [rule]}}, {"backofLimit": 3}):
        with pytest.raises(kubernetes_validate.ValidationError):
            kubernetes_validate.validate(job | {"spec": job["spec"] | wrong}, "1.31", strict=True)


@PODS
def test_each_pod_is_confined(name, spec, pod):
    """No token, no capability, nothing written but in its own volume, with requests and limits for disk too."""
    accounts = {one["metadata"]["name"] for _, one in OBJECTS if one["kind"] == "ServiceAccount"}
    assert pod["serviceAccountName"] in accounts
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["securityContext"].get("runAsNonRoot") or name == "kvdiag-collector"
    assert all(volume.get("emptyDir", {"sizeLimit": 1}).get("sizeLimit") for volume in pod["volumes"])
    for container in pod["containers"]:
        confined = container["securityContext"]
        assert confined["readOnlyRootFilesystem"] is True
        assert confined["allowPrivilegeEscalation"] is False
        assert confined["capabilities"] == {"drop": ["ALL"]}
        assert {"cpu", "memory", "ephemeral-storage"} <= container["resources"]["requests"].keys()
        assert {"memory", "ephemeral-storage"} <= container["resources"]["limits"].keys()
        for mount in container["volumeMounts"]:
            assert mount.get("readOnly") or mount["name"] == "tmp"
    if "podFailurePolicy" in spec or pod.get("restartPolicy") == "Never":
        codes = [rule.get("onExitCodes", {}).get("values") for rule in spec["podFailurePolicy"]["rules"]]
        assert [2] in codes
        assert pod["restartPolicy"] == "Never"


def scripts() -> list[tuple[str, str]]:
    return [(name, one["args"][0]) for name, _, pod in pods() for one in pod["containers"] if "args" in one]


@pytest.mark.parametrize(("name", "script"), scripts(), ids=[name for name, _ in scripts()])
def test_each_command_exists(name, script):
    """What the pods run is a command of kvdiag with options that it has."""
    (line,) = re.findall(r"kvdiag ((?:fleet|collect) [^|\n]+)", script)
    words, here = shlex.split(line), command()
    context = here.make_context("kvdiag", words.copy(), resilient_parsing=True)
    for word in words:
        found = here.get_command(context, word) if hasattr(here, "get_command") else None
        if found is None:
            break
        here = found
    options = {option for parameter in here.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options
    assert name


@pytest.mark.parametrize("name", ["kvdiag-nightly", "kvdiag-fleet", "kvdiag-dask"])
@pytest.mark.parametrize(("code", "ends_with"), [(0, 0), (2, 2), (3, 0), (137, 137)])
def test_a_job_is_done_if_the_run_took_place(tmp_path, name, code, ends_with):
    """Exit code 3, of bundles that could not be judged, is success; wrong usage and a crash are not."""
    script = dict(scripts())[name]
    for program, text in (("kvdiag", f"exit {code}"), ("python3", "exit 0")):
        (tmp_path / program).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / program).chmod(0o755)
    environment = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    assert subprocess.run(["sh", "-c", script], env=environment, check=False, timeout=60).returncode == ends_with


def test_the_collector_ships_the_day_before(tmp_path):
    """Once at its start and then after each midnight, under the node's name; a failure does not end it."""
    script = dict(scripts())["kvdiag-collector"]
    (tmp_path / "kvdiag").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/asked\nexit 3\n')
    (tmp_path / "sleep").write_text(
        f'#!/bin/sh\necho "$1" >> {tmp_path}/slept\n[ $(wc -l < {tmp_path}/slept) -lt 2 ] || kill $PPID\n'
    )
    for program in ("kvdiag", "sleep"):
        (tmp_path / program).chmod(0o755)
    variables = {"BUNDLES": "s3://b/bundles", "CLUSTER": "eu-1", "NODE": "worker-3"}
    environment = variables | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["sh", "-c", script], env=environment, check=False, timeout=60, capture_output=True)
    asked = (tmp_path / "asked").read_text().splitlines()
    assert len(asked) == 2
    day = subprocess.run(["date", "-u", "-d", "yesterday", "+%F"], capture_output=True, text=True, check=True)
    where = f"s3://b/bundles/day={day.stdout.strip()}/cluster=eu-1/node=worker-3.tar.gz"
    assert asked[-1] == f"collect {where} --root /host --day {day.stdout.strip()} --redact"
    slept = int((tmp_path / "slept").read_text().splitlines()[0])
    assert 300 <= slept <= 86_400 + 300 + 3_600


@pytest.mark.skipif(find_spec("distributed") is None, reason="kvdiag[dask] is not installed")
@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl makes a key")
def test_dask_over_tls(tmp_path, monkeypatch):
    """With the commands and variables of dask.yaml and the key that it says to make; who has no key is refused."""
    from kvdiag.base.errors import UsageError
    from kvdiag.fleet import dask_engine
    from tests.integration.fleet.nodes import ADDED, write_node
    from tests.integration.fleet.test_run import ran

    (make,) = re.findall(r"^#\s+(openssl .*)", (ROOT / "deploy/dask.yaml").read_text("utf-8"), re.MULTILINE)
    subprocess.run(make.split(), cwd=tmp_path, check=True, capture_output=True)
    of_role = {name: pod["containers"][0] for name, _, pod in pods()}
    port = _free_port()

    def variables(name: str) -> dict[str, str]:
        plain = {one["name"]: one["value"].replace("/tls/", f"{tmp_path}/") for one in of_role[name]["env"]}
        return {name: value for name, value in plain.items() if name.startswith("DASK_")}

    started = []
    for name in ("kvdiag-scheduler", "kvdiag-worker"):
        words = " ".join(of_role[name]["command"]).replace("/tmp", str(tmp_path / "local"))  # noqa: S108 (in the pod)
        words = words.replace("kvdiag-scheduler", "127.0.0.1").replace("8786", str(port))
        environment = os.environ | variables(name) | {"PYTHONPATH": str(ROOT)}
        with (tmp_path / f"{name}.log").open("wb") as log:
            program = [sys.executable, "-m", *words.split()]
            started.append(subprocess.Popen(program, env=environment, stdout=log, stderr=log))
    address = f"tls://127.0.0.1:{port}"
    source = tmp_path / "logs"
    write_node(source, "node-1", [("00:00", ADDED)])
    driver = [sys.executable, "-m", "kvdiag", "fleet", "run", str(source), "--out", str(tmp_path / "out")]
    driver += ["--engine", "dask", "--scheduler", address]
    try:
        done = subprocess.run(
            driver, env=os.environ | variables("kvdiag-dask"), capture_output=True, text=True, check=False, timeout=300
        )
        assert done.returncode == 0, done.stderr
        assert "1 of 1 nodes done" in done.stderr
        monkeypatch.setattr(dask_engine, "PATIENCE", 5)
        for stranger in (address, address.replace("tls", "tcp")):
            with pytest.raises(UsageError, match="--scheduler"):
                ran(source, tmp_path / "none", partial(dask_engine.run_dask, scheduler=stranger))
    finally:
        for one in reversed(started):
            one.terminate()
        for one in started:
            one.wait(60)


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_every_manifest_is_documented():
    """docs/fleet.md leads to each file."""
    page = (ROOT / "docs" / "fleet.md").read_text("utf-8")
    assert not [file.name for file in FILES if f"deploy/{file.name}" not in page]
    assert Path(ROOT / "Containerfile").exists()
