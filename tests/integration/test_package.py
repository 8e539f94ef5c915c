"""What is handed out: the versions it asks for and is installed with, and what the built distributions hold."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from itertools import product
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.integration.test_pythons import others

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
ASKED = [Requirement(text) for text in (*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["fast"])]
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
LOCK = ROOT / "requirements.lock"
SAMPLE = "sample-logs/sandbox-never-removed"
HOME = "https://github.com/example/kvdiag"
MCP_CLIENT = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
MCP_BEGIN = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": MCP_CLIENT}
ENVIRONMENTS = [
    {"python_version": python, "python_full_version": f"{python}.1", "platform_machine": machine}
    | {"sys_platform": system, "platform_system": {"linux": "Linux", "darwin": "Darwin"}[system]}
    for python, machine, system in product(
        ("3.11", "3.12", "3.13", "3.14"), ("x86_64", "aarch64", "arm64", "ppc64le"), ("linux", "darwin")
    )
]


def lowest(requirement: Requirement) -> tuple[str, str, str]:
    """Give a requirement's name, the oldest version that it admits, and the condition under which it is needed."""
    (bound,) = (one.version for one in requirement.specifier if one.operator in {">=", "=="})
    return requirement.name, bound, str(requirement.marker or "")


def test_the_lowest_versions_are_those_that_are_tested():
    """Each lower bound stands in lowest.txt, with which `make lowest` runs."""
    lines = (ROOT / "lowest.txt").read_text("utf-8").splitlines()
    tested = [lowest(Requirement(line)) for line in lines if line and not line.startswith("#")]
    assert tested == list(map(lowest, ASKED))


def locked(lock: Path = LOCK) -> dict[str, tuple[Requirement, list[str]]]:
    """Give each requirement of a lock file by its name, with what stands behind it."""
    text = "\n".join(line for line in lock.read_text("utf-8").splitlines() if not line.lstrip().startswith("#"))
    found = {}
    for line in filter(None, map(str.strip, text.replace("\\\n", " ").splitlines())):
        said, *behind = re.split(r"\s+(?=--)", line)
        requirement = Requirement(said)
        found[canonicalize_name(requirement.name)] = (requirement, behind)
    return found


@pytest.mark.parametrize("lock", sorted(ROOT.glob("requirements*.lock")), ids=lambda lock: lock.stem)
def test_the_lock_pins_each_requirement_with_its_hashes(lock):
    """One version of each, and nothing behind it but SHA-256 hashes: no address, and no other option of pip."""
    for requirement, behind in locked(lock).values():
        assert re.fullmatch(r"==[0-9][0-9A-Za-z.]*", str(requirement.specifier))
        assert behind
        assert all(HASH.fullmatch(one) for one in behind)
        assert requirement.url is None


@pytest.mark.parametrize("extra", ["dask", "fleet", "mcp"])
def test_the_lock_of_an_optional_part_has_what_it_asks_for(extra):
    """Each release is one that pyproject.toml admits, also of what kvdiag itself needs; the locks agree."""
    pinned = locked(ROOT / f"requirements-{extra}.lock")
    for asked in map(Requirement, [*PROJECT["dependencies"], *PROJECT["optional-dependencies"][extra]]):
        (version,) = pinned[canonicalize_name(asked.name)][0].specifier
        assert version.version in asked.specifier
    for other in ROOT.glob("requirements-*.lock"):
        for name, (requirement, _) in locked(other).items():
            assert name not in pinned or pinned[name][0].specifier == requirement.specifier


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: asked.name)
def test_the_lock_is_within_the_bounds(asked):
    """What pyproject.toml asks for is pinned to a version that it admits, wherever it asks for it."""
    pinned, _ = locked()[canonicalize_name(asked.name)]
    (version,) = pinned.specifier
    assert version.version in asked.specifier
    for environment in ENVIRONMENTS:
        if asked.marker is None or asked.marker.evaluate(environment):
            assert pinned.marker is None or pinned.marker.evaluate(environment)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """Give the folder of a wheel and an sdist that were just built."""
    folder = tmp_path_factory.mktemp("built")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder]  # the sdist, and the wheel from it
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True, timeout=120)
    return folder


def files(folder: str, *kinds: str) -> set[str]:
    """Give the files below a folder of the project, as paths from its root."""
    found = (path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix in kinds)
    return {path.relative_to(ROOT).as_posix() for path in found}


def test_the_built_wheel_holds_the_package_alone(built):
    """The package with its rules and their tests, its types, its licence and its manual; no samples, nothing at the top."""
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    about = f"kvdiag-{wheel.name.split('-')[1]}.dist-info"
    rules = {f"kvdiag/{name}" for name in files("patterns", ".yaml", ".log")}
    described = {f"{about}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")}
    package = {
        name
        for name in files("kvdiag", ".py", ".typed", ".json", ".html", ".css", ".js")
        if not name.startswith("kvdiag/patterns/")
    }
    assert {"kvdiag/py.typed", "kvdiag/report/page/page.html"} <= package
    manual = f"kvdiag-{wheel.name.split('-')[1]}.data/data/share/man/man1/kvdiag.1"
    assert names == package | rules | described | {manual}


def test_the_built_wheel_works_where_nothing_else_is(built, tmp_path):
    """Installed into a fresh environment it finds in a sample, with its own rules, what the checkout finds."""
    (wheel,) = built.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True, timeout=120)
    python = tmp_path / "venv/bin/python"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install", "--quiet"]
    subprocess.run([*pip, "--no-index", "--no-deps", wheel], check=True, timeout=120)
    site = next((tmp_path / "venv/lib").glob("python3.*/site-packages"))
    # What it needs is what is installed here; paths in a .pth file do not bring the .pth files behind them.
    (site / "needs.pth").write_text(sysconfig.get_path("purelib") + "\n", "utf-8")
    done = run([tmp_path / "venv/bin/kvdiag"], tmp_path)
    where = [python, "-c", "import kvdiag; print(kvdiag.__file__)"]
    assert str(site) in subprocess.run(where, cwd=tmp_path, capture_output=True, check=True).stdout.decode()
    assert done == run([sys.executable, "-m", "kvdiag"], ROOT)
    assert b'"findings"' in done
    assert (tmp_path / "venv/share/man/man1/kvdiag.1").is_file()


INSTALLERS = {
    "pipx": (["pipx", "install"], {"PIPX_HOME": "home", "PIPX_BIN_DIR": "bin", "PIPX_MAN_DIR": "man"}),
    "uv": (["uv", "tool", "install"], {"UV_TOOL_DIR": "home", "UV_TOOL_BIN_DIR": "bin"}),
}


@pytest.mark.parametrize(("installer", "kind"), [("pipx", "*.whl"), ("pipx", "*.tar.gz"), ("uv", "*.whl")])
def test_the_built_packages_can_be_installed(built, tmp_path, installer, kind):
    """By pipx and `uv tool`, in folders of their own with what kvdiag needs; both programs are there and work."""
    (package,) = built.glob(kind)
    words, folders = INSTALLERS[installer]
    environment = {**os.environ, "HOME": str(tmp_path)} | {name: str(tmp_path / at) for name, at in folders.items()}
    environment["PIPX_DEFAULT_PYTHON"] = environment["UV_PYTHON"] = sys.executable
    command = [sys.executable, "-m", *words, package]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    assert {path.name for path in (tmp_path / "bin").iterdir()} == {"kvdiag", "kubectl-kvdiag"}
    assert run([tmp_path / "bin/kvdiag"], tmp_path) == run([sys.executable, "-m", "kvdiag"], ROOT)
    if installer == "pipx":
        assert (tmp_path / "man/man1/kvdiag.1").is_file()


def run(program: list[str | Path], cwd: Path) -> bytes:
    """Give the report on the sample as JSON, by a kvdiag that remembers nothing."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    environment["XDG_CACHE_HOME"] = str(cwd / "no-cache") if cwd != ROOT else os.devnull
    arguments = ["analyze", "-o", "json", "--fail-on", "never", ROOT / SAMPLE]
    done = subprocess.run(
        [*program, *arguments], cwd=cwd, env=environment, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


def test_the_built_sdist_holds_what_is_kept(built):
    """Every file of the repository is in it, so that whoever packages kvdiag can build it, and run all its tests."""
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {member.name.split("/", 1)[1] for member in archive.getmembers() if member.isfile()}
    assert {"requirements.lock", "lowest.txt", "LICENSE", ".ci/run", "docs/rules.md", "PKG-INFO"} <= names
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    kept = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, timeout=60)
    there = {name for name in kept.stdout.decode().split("\0") if name and (ROOT / name).exists()}
    assert there - names == set()
    assert names - there - {"PKG-INFO"} <= {name for name in names if (ROOT / name).exists()}


def test_the_built_sdist_can_be_tested(built, tmp_path):
    """Tests run from it, on the kvdiag that is in it. Which they are is of no account; they are quick ones."""
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    tests = ["tests/rules/test_library.py", "tests/rules/test_grammar.py"]
    where = "import kvdiag, sys, pytest; print(kvdiag.__file__); sys.exit(pytest.main(sys.argv[1:]))"
    arguments = ["-q", "-p", "no:cacheprovider", "-n", "0", "-k", "not built", *tests]
    environment = os.environ | {"PYTHONPATH": str(source)}
    program = [sys.executable, "-c", where, *arguments]
    done = subprocess.run(program, cwd=source, env=environment, capture_output=True, check=False, timeout=300)
    said = done.stdout.decode()
    assert done.returncode == 0, said
    assert said.startswith(str(source))
    assert re.search(r"\d\d passed", said)


@pytest.fixture(scope="module")
def single_file(tmp_path_factory) -> Path:
    """Give kvdiag.pyz as `make pyz` builds it."""
    pytest.importorskip("shiv", reason="no shiv builds kvdiag.pyz")
    subprocess.run(["make", "--no-print-directory", "pyz"], cwd=ROOT, check=True, capture_output=True, timeout=300)
    return Path(shutil.copy(ROOT / "dist/kvdiag.pyz", tmp_path_factory.mktemp("pyz")))


def test_the_single_file_works_where_nothing_else_is(single_file, tmp_path):
    """Any Python that kvdiag admits runs it without packages of its own, and finds what the checkout finds."""
    for python in {Path(sys.executable).resolve(), *others().values()}:
        environment = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
        command = [python, "-I", single_file, "analyze", "-o", "json", "--fail-on", "never", ROOT / SAMPLE]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stdout == run([sys.executable, "-m", "kvdiag"], ROOT)


@pytest.fixture(scope="module")
def krew(single_file) -> Path:
    """Give the manifest for krew, beside its archive."""
    (ROOT / "dist").mkdir(exist_ok=True)
    shutil.copy(single_file, ROOT / "dist/kvdiag.pyz")
    subprocess.run([sys.executable, "-m", "tools.krew", HOME], cwd=ROOT, check=True, timeout=60)
    return ROOT / "dist/kvdiag.yaml"


def test_krew_can_install_the_plugin(krew, tmp_path):
    """The manifest passes the checks of krew's validate.go; the archive is the one it names, and runs behind a link."""
    manifest = yaml.safe_load(krew.read_text("utf-8"))
    spec = manifest["spec"]
    assert (manifest["apiVersion"], manifest["kind"]) == ("krew.googlecontainertools.github.com/v1alpha2", "Plugin")
    assert re.fullmatch(r"[\w-]+", manifest["metadata"]["name"])
    assert krew.name == f"{manifest['metadata']['name']}.yaml"
    assert re.fullmatch(r"v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", spec["version"])
    assert spec["shortDescription"]
    assert "\n" not in spec["shortDescription"]
    (platform,) = spec["platforms"]
    assert "files" not in platform
    (selector,) = platform["selector"]["matchExpressions"]
    assert (selector["key"], selector["operator"]) == ("os", "In")
    assert set(selector["values"]) <= {"linux", "darwin", "windows"}
    packed = ROOT / "dist" / platform["uri"].rpartition("/")[2]
    assert platform["uri"].startswith(f"{HOME}/releases/download/{spec['version']}/")
    assert hashlib.sha256(packed.read_bytes()).hexdigest() == platform["sha256"]
    store, on_path = tmp_path / "store", tmp_path / "bin"
    on_path.mkdir()
    with tarfile.open(packed) as archive:
        archive.extractall(store, filter="data")
    assert {"LICENSE", platform["bin"]} <= {path.name for path in store.iterdir()}
    (on_path / "kubectl-kvdiag").symlink_to(store / platform["bin"])
    environment = {"HOME": str(tmp_path), "PATH": f"{on_path}:{os.environ['PATH']}", "KVDIAG_PYTHON": sys.executable}
    command = ["kubectl-kvdiag", "node", "--help"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().startswith("Usage: kubectl kvdiag node ")
    old = subprocess.run(command, env={**environment, "KVDIAG_PYTHON": "false"}, capture_output=True, check=False)
    assert (old.returncode, b"needs Python 3.11" in old.stderr) == (2, True)


@pytest.mark.skipif(shutil.which("kubectl-krew") is None, reason="no krew installs the plugin")
def test_krew_installs_the_plugin(krew, tmp_path):
    """Krew takes the manifest and the archive, and kubectl finds the plugin."""
    environment = os.environ | {"KREW_ROOT": str(tmp_path), "PATH": f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}"}
    archive = krew.with_name("kubectl-kvdiag.tar.gz")
    install = ["kubectl", "krew", "install", f"--manifest={krew}", f"--archive={archive}"]
    for command in (install, ["kubectl", "kvdiag", "node", "--help"]):
        done = subprocess.run(command, env=environment, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        assert done.returncode == 0, done.stderr.decode()
    assert b"Usage: kubectl kvdiag node " in done.stdout


def test_the_steps_of_the_image_install_kvdiag(tmp_path):
    """The RUN steps of the first stage, in a folder instead of a container: they install by hash, and kvdiag works.

    It works before the extras are installed, and with each of them.
    """
    text = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", "")
    text = text.replace(" --no-cache-dir", "")  # an image keeps no cache; this machine has one
    installs = f"{sys.executable} -m uv pip install --quiet --python /opt/kvdiag"
    text = text.replace('/opt/kvdiag/bin/pip install --require-hashes -r "req', f'{installs} --require-hashes -r "req')
    assert installs in text  # of the extras, which take pip three times as long
    stage = text.split("\nFROM ")[1]
    target, context = tmp_path / "opt", tmp_path / "src"
    ignored = shutil.ignore_patterns(".*", "tests", "sample-logs", "build", "dist", "bench", "__pycache__")
    shutil.copytree(ROOT, context, ignore=ignored)
    steps = [line[4:].replace("/opt/kvdiag", str(target)) for line in stage.splitlines() if line.startswith("RUN ")]
    assert len(steps) == 4
    expected = run([sys.executable, "-m", "kvdiag"], ROOT)
    for step, extras in [*((step, "") for step in steps), *((step, "mcp,fleet,dask") for step in steps[2:])]:
        command, env = ["bash", "-euc", step], {**os.environ, "EXTRAS": extras}
        done = subprocess.run(command, cwd=context, env=env, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        if step == steps[-1]:
            assert run([target / "bin/kvdiag"], tmp_path) == expected
    done = subprocess.run(
        [target / "bin/kvdiag", "mcp", "--root", ROOT / "sample-logs"],
        input=json.dumps(MCP_BEGIN).encode() + b"\n",
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert json.loads(done.stdout.splitlines()[0])["result"]["serverInfo"]["name"] == "kvdiag", done.stderr
    (tmp_path / "bundles/node-1").mkdir(parents=True)
    shutil.copy(ROOT / "sample-logs/healthy-csi-volume/kubelet.log.gz", tmp_path / "bundles/node-1")
    analyze = ["kvdiag", "fleet", "run", str(tmp_path / "bundles"), "--out", str(tmp_path / "results")]
    for command in (analyze, ["dask", "worker", "--version"]):
        done = subprocess.run([target / "bin" / command[0], *command[1:]], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
