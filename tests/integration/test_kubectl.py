"""`kubectl kvdiag node`, by the real kubectl, against an API server that serves recorded answers."""

from __future__ import annotations

import gzip
import json
import os
import shlex
import shutil
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from kvdiag.base import cache
from kvdiag.cli.node_logs import _drop_before
from tests.wrappers import journal_short

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on the PATH")
KUBELET = gzip.decompress((ROOT / "tests/data/pod-failures/kubelet.log.gz").read_bytes())
JOURNAL = b"".join(
    journal_short(line, "hostpath-driver-lost-state") + b"\n"
    for line in KUBELET.splitlines()[:1500]
    if line[:1] in b"IWEF"
)
LISTING = b'<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n<a href="syslog">syslog</a>\n</pre>\n'


REFUSAL = b"\noptions present and query resolved to log files for [kern]\ntry without specifying options\n"


def kern(form: str = "%b %e %H:%M:%S") -> bytes:
    """Give /var/log/kern.log with an OOM kill of 30 days, of 2 days, and of ten minutes ago; each tells its age."""
    killed = "rsyslog kernel: [1.5] Out of memory: Killed process 7 (of-{}) total-vm:9kB, anon-rss:1kB, file-rss:0kB, shmem-rss:0kB"
    ages = {"month": timedelta(days=30), "days": timedelta(days=2), "minutes": timedelta(minutes=10)}
    lines = (f"{datetime.now(UTC) - age:{form}} {killed.format(name)}\n" for name, age in ages.items())
    return "".join(lines).encode()


KERN, ISO = kern(), kern("%Y-%m-%dT%H:%M:%S")


class Api(BaseHTTPRequestHandler):
    """Answers as kubelet does behind an API server."""

    asked: list[str]

    def do_GET(self) -> None:
        """One answer by node and service."""
        url = urlsplit(self.path)
        if url.path == "/version":  # some kubectl chooses a version of itself by it
            self.answer(200, json.dumps({"major": "1", "minor": "32", "gitVersion": "v1.32.4"}).encode())
            return
        node, service = url.path.split("/")[4], parse_qs(url.query).get("query", [""])[0]
        Api.asked.append(f"{node} {service} {'sinceTime' in url.query} {'untilTime' in url.query}")
        code, body = {
            "off": (200, LISTING),
            "forbidden": (403, status("Forbidden", 'nodes "forbidden" is forbidden: User "dev" cannot get resource')),
            "gone": (404, status("NotFound", 'nodes "gone" not found')),
            "old": (404, status("NotFound", "the server could not find the requested resource")),
            "rsyslog": (200, kern() if service == "kern" and "sinceTime" not in url.query else REFUSAL),
        }.get(node, (200, JOURNAL if service == "kubelet" else f"\nlog not found for {service}\n".encode()))
        self.answer(code, body)

    def answer(self, code: int, body: bytes) -> None:
        """Send it."""
        self.send_response(code)
        self.send_header("Content-Type", "application/json" if code != 200 else "text/plain;charset=UTF-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        """Say nothing."""


def status(reason: str, message: str) -> bytes:
    """Give an error as an API server does."""
    code = {"Forbidden": 403, "NotFound": 404}[reason]
    said = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    return json.dumps(said | {"reason": reason, "code": code}).encode()


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment with a cluster that answers, and with this kvdiag as a plugin of kubectl."""
    Api.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    folder = tmp_path_factory.mktemp("kubectl")
    program = folder / "kubectl-kvdiag"
    code = "from kvdiag.cli.kubectl import run; run()"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c "{code}" "$@"\n', "utf-8")
    program.chmod(0o755)
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    (folder / "config").write_text(json.dumps(config), "utf-8")
    own = {"PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "KUBECONFIG": str(folder / "config")}
    yield os.environ | own | {"HOME": str(folder), "XDG_CACHE_HOME": str(cache.folder().parent)}
    server.shutdown()
    server.server_close()


def asked(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Run the plugin."""
    command = ["kubectl", "kvdiag", "node", *words]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def test_nodes_are_analysed(environment, tmp_path):
    """The logs of several nodes come at once, are analysed, and are kept where that is asked for."""
    done = asked(
        environment, "worker-1", "worker-2", "--since=2026-11-20T20:00:00Z", "--save", str(tmp_path), "-o", "json"
    )
    assert done.returncode == 0, done.stderr
    assert "node worker-1: no log of containerd, crio, kern" in done.stderr
    report = json.loads(done.stdout)
    assert {Path(one["source"]).parent.name for one in report["inputs"]} == {"worker-1", "worker-2"}
    assert "crashloop-app" in {one["rule"] for one in report["findings"]}
    assert sorted(path.name for path in tmp_path.rglob("*.log")) == ["kubelet.log"] * 2
    assert (tmp_path / "worker-1" / "kubelet.log").read_bytes() == JOURNAL
    assert "worker-1 kubelet True False" in Api.asked
    assert "worker-1 kern False False" in Api.asked


@pytest.mark.parametrize(
    ("node", "said"),
    [
        ("off", "node log query is off or older than 1.27"),
        ("forbidden", "you may not read nodes/proxy"),
        ("gone", "there is no such node; see `kubectl get nodes`"),
        ("old", "node log query is off or older than 1.27"),
    ],
)
def test_why_there_is_no_log(environment, node, said):
    """What keeps the logs from coming is said once, with the other way to them unless the node does not exist."""
    done = asked(environment, node)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count(said) == 1
    assert (f"kubectl debug node/{node} -it" in done.stderr) == (node != "gone")


def test_one_of_two(environment):
    """A node whose logs do not come takes nothing from the others."""
    done = asked(environment, "worker-1", "gone", "--since=2026-11-20T20:00:00Z", "-q")
    assert done.returncode == 3
    assert "there is no such node" in done.stderr
    assert done.stdout


def test_of_the_kernel_only_the_time_that_is_asked_for(environment, tmp_path):
    """Kubelet gives a file whole and refuses a time: older lines are removed, but for those another zone may explain."""
    done = asked(environment, "rsyslog", "--service", "kern", "--since=-1h", "--save", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "rsyslog kern False False" in Api.asked
    kept = (tmp_path / "rsyslog/kern.log").read_text("utf-8")
    assert (kept.count("\n"), "of-minutes" in kept) == (1, True)
    assert "of-minutes" in done.stdout


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (b"[  1.5] no time\n", b"[  1.5] no time\n"),
        (ISO, ISO.splitlines(keepends=True)[-1]),
        (KERN.splitlines(keepends=True)[0] * 2, b""),
        (b"Feb 29 00:00:00 n kernel: x\n" + KERN, KERN.splitlines(keepends=True)[-1]),
        (b"2026-99-99T00:00:00Z n kernel: x\nXyz 31 99:99:99 x\n" + ISO, ISO.splitlines(keepends=True)[-1]),
    ],
    ids=["none", "iso", "all", "leap", "no dates"],
)
def test_lines_before_a_time_are_removed(tmp_path, text, kept):
    """By their time, with a year or without; a file without times stays."""
    with (tmp_path / "kern.log").open("wb+") as file:
        file.write(text)
        _drop_before(file, datetime.now(UTC) - timedelta(hours=15))
    assert (tmp_path / "kern.log").read_bytes() == kept


@pytest.mark.parametrize("word", ["..", "a/b", "$(id)", "a b"])
def test_what_is_no_name(environment, word):
    """A name that is none is refused, and asked of nobody."""
    before = len(Api.asked)
    done = asked(environment, word)
    assert (done.returncode, len(Api.asked)) == (2, before)
