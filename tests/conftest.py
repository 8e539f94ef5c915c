"""What several tests share: the real command in a process of its own, the sample logs, and `--update`."""

from __future__ import annotations

import gc
import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from kvdiag.analysis.analyze import analyze
from kvdiag.model.options import Options
from kvdiag.model.report import Report
from tests import runner
from tests.long import thinned

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "sample-logs"
LONG = 300  # lines
LOOKS = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GITHUB_ACTIONS", "LC_ALL", "LC_CTYPE", "LANG", "KVDIAG_PAGER", "PAGER")
# What is read once for all tests is not looked through for garbage again and again.
gc.freeze()
gc.set_threshold(100_000, 50, 1000)
# No test measures time: on a busy machine an example may take any. Examples are drawn alike on every run, so that what
# was green stays green until something changes; `make explore` draws others, and many more of them.
settings.register_profile("kvdiag", deadline=None, derandomize=True, max_examples=16)
settings.register_profile("explore", deadline=None, max_examples=5000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kvdiag")


for name, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(name) is signal.SIG_IGN:  # as `&` and nohup leave it; what tests start would inherit it
        signal.signal(name, usual)


def pytest_collection_finish() -> None:
    """Look through the thousands of tests no more than once."""
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update` writes golden files anew, to be read as a diff."""
    parser.addoption("--update", action="store_true", help="Write golden files anew instead of comparing with them.")


def pytest_unconfigure() -> None:
    """End what was started for the runs of the command."""
    runner.stop()


def run_kvdiag(
    *arguments: object, stdin: bytes = b"", cwd: Path = ROOT, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run the command as a user does, with nothing in the environment that changes its looks."""
    kept = {name: value for name, value in os.environ.items() if name not in LOOKS}
    variables = kept | {"PYTHONPATH": str(ROOT)} | environment
    words = [str(argument) for argument in arguments]
    start = started if runner.needs_start(environment) else runner.run
    code, out, said = start(words, stdin, cwd, variables)
    assert b"Traceback" not in said, said.decode(errors="replace")
    return subprocess.CompletedProcess(words, code, out.decode(), said.decode())


def started(words: list[str], stdin: bytes, cwd: Path, environment: dict[str, str]) -> tuple[int, bytes, bytes]:
    """Run the command in an interpreter of its own."""
    command = [sys.executable, "-m", "kvdiag", *words]
    done = subprocess.run(
        command, input=stdin, capture_output=True, cwd=cwd, env=environment, check=False, timeout=runner.PATIENCE
    )
    return done.returncode, done.stdout, done.stderr


@dataclass(frozen=True)
class Sample:
    """A folder of sample logs with what is expected of it, and the options that its README names."""

    folder: Path

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @cached_property
    def expected(self) -> dict[str, Any]:
        """expected.json."""
        return json.loads((self.folder / "expected.json").read_text("utf-8"))

    @property
    def options(self) -> list[str]:
        """Options that tell what the logs do not: a year, versions."""
        return self.expected.get("options", [])

    def asked(self, *paths: Path) -> Options:
        """The same options as values, for logs that say what the sample says."""
        words = iter(self.options)
        said = [(word, next(words)) for word in words]
        year = [int(value) for name, value in said if name == "--year"]
        of = dict(value.split("=") for name, value in said if name == "--component")
        assert len(year) + len(of) == len(said)
        return Options(paths=tuple(map(str, paths)), year=year[-1] if year else None, components=of)

    @property
    def logs(self) -> list[Path]:
        """The logs of the folder."""
        return sorted(path for path in self.folder.iterdir() if path.name.endswith((".log", ".log.gz")))

    def write_thinned(self, folder: Path) -> Path:
        """Write the logs, a very long one thinned; who is named is named still."""
        folder.mkdir()
        for path in self.logs:
            data = path.read_bytes()
            text = gzip.decompress(data) if path.suffix == ".gz" else data
            (folder / path.name.removesuffix(".gz")).write_bytes(thinned(text, 5) if text.count(b"\n") > LONG else text)
        return folder

    @cached_property
    def report(self) -> dict[str, Any]:
        """The JSON report about the folder."""
        return json.loads(run_kvdiag("analyze", "-o", "json", *self.options, self.folder.relative_to(ROOT)).stdout)


@cache
def samples() -> tuple[Sample, ...]:
    """All sample logs."""
    return tuple(Sample(folder) for folder in sorted(SAMPLES.iterdir()) if folder.is_dir())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `sample` is run for each folder of sample logs."""
    if "sample" in metafunc.fixturenames:
        metafunc.parametrize("sample", samples(), ids=lambda sample: sample.name)


@pytest.fixture
def kvdiag():
    """Give the function that runs the command in a process of its own; a traceback fails the test."""
    return run_kvdiag


@dataclass(frozen=True)
class Thinned:
    """The logs of a sample without most of what repeats, read once for all that ask."""

    options: Options

    @property
    def folder(self) -> Path:
        """Where they lie."""
        return Path(self.options.paths[0])

    @cached_property
    def report(self) -> Report:
        """What is found in them."""
        return analyze(self.options)


@pytest.fixture(scope="session")
def thinned_samples(tmp_path_factory) -> Callable[[Sample], Thinned]:
    """Give the function that thins a sample."""
    return cache(lambda sample: Thinned(sample.asked(sample.write_thinned(tmp_path_factory.mktemp("thin") / "logs"))))


@pytest.fixture
def thin(thinned_samples, sample) -> Thinned:
    """Give the sample's logs, thinned."""
    return thinned_samples(sample)


@pytest.fixture
def named_sample():
    """Give the function that gives a sample by its name."""
    return {sample.name: sample for sample in samples()}.__getitem__


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """Give the function that compares a text with a golden file, or writes it under `--update`."""

    def compare(name: str, text: str) -> None:
        path = ROOT / "tests" / "golden" / name
        if request.config.getoption("--update"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, "utf-8")
        assert text == path.read_text("utf-8"), f"{path.name} differs; if that is meant: pytest --update"

    return compare
