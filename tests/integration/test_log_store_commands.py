"""The commands of docs/how-to/log-stores.md, run as they are by the real programs against servers of our own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.conftest import ROOT, run_kvdiag
from tests.test_log_stores import NODE, cloudwatch, dated, google

PAGE = (ROOT / "docs/how-to/log-stores.md").read_text("utf-8")
GROUP = "/aws/containerinsights/CLUSTER/dataplane"


def export(store: str, folder: Path, environment: dict[str, str], **words: str) -> None:
    """Run the command under a heading, with the words in capitals filled in, in a folder; nothing asks anybody else."""
    command = PAGE.partition(f"\n## {store}\n")[2].partition("```sh\n")[2].partition("kvdiag analyze")[0]
    for word, value in {"NODE": NODE, **words}.items():
        command = command.replace(word, value)
    environment = {**os.environ, "HOME": str(folder), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", **environment}
    done = subprocess.run(
        ["bash", "-euc", command], cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr


def rules(log: Path) -> set[str]:
    """Give the rules that kvdiag finds in a log."""
    report = json.loads(run_kvdiag("analyze", log, "-o", "json").stdout)
    return {finding["rule"] for finding in report["findings"]}


@pytest.fixture
def expected(tmp_path) -> set[str]:
    """Give the rules that kvdiag finds in the log that the stores hold."""
    (tmp_path / "kubelet.log").write_text("".join(f"{line}\n" for _, line in dated()), "utf-8")
    found = rules(tmp_path / "kubelet.log")
    assert "unmount-device-busy" in found
    return found


@pytest.mark.skipif(shutil.which("gcloud") is None, reason="no gcloud")
def test_gcloud(tmp_path, expected):
    """It asks for what the page says, and kvdiag reads what it prints."""
    asked = []

    class Logging(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps({"entries": json.loads(google(dated()))}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_words: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Logging) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        settings = {
            "CLOUDSDK_CONFIG": str(tmp_path / "config"),
            "CLOUDSDK_AUTH_DISABLE_CREDENTIALS": "true",
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING": f"http://127.0.0.1:{server.server_port}/",
        }
        export("Google Cloud", tmp_path, settings, PROJECT="example-1")
        server.shutdown()
    assert asked[0]["resourceNames"] == ["projects/example-1"]
    assert f'node_name="{NODE}"' in asked[0]["filter"]
    assert rules(tmp_path / f"{NODE}.json") == expected


@pytest.mark.skipif(shutil.which("aws") is None, reason="no aws")
def test_aws(tmp_path, expected):
    """It follows the pages of an answer, and kvdiag reads what it prints."""
    moto = pytest.importorskip("moto.server", reason="no moto")
    boto3 = pytest.importorskip("boto3", reason="no boto3")
    server = moto.ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    address = "http://{}:{}".format(*server.get_host_and_port())
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    session = boto3.Session(keys["AWS_ACCESS_KEY_ID"], keys["AWS_SECRET_ACCESS_KEY"], region_name="us-east-1")
    logs = session.client("logs", endpoint_url=address)
    stream = f"{NODE}-dataplane.systemd.kubelet.service"
    events = [
        {name: one[name] for name in ("timestamp", "message")} for one in json.loads(cloudwatch(dated()))["events"]
    ]
    try:
        logs.create_log_group(logGroupName=GROUP)
        logs.create_log_stream(logGroupName=GROUP, logStreamName=stream)
        for at in range(0, len(events), 500):
            logs.put_log_events(logGroupName=GROUP, logStreamName=stream, logEvents=events[at : at + 500])
        export("CloudWatch", tmp_path, keys | {"AWS_ENDPOINT_URL": address})
    finally:
        server.stop()
    exported = json.loads((tmp_path / f"{NODE}.json").read_text("utf-8"))
    assert len(exported["events"]) == len(events)
    assert rules(tmp_path / f"{NODE}.json") == expected


def test_the_query_of_elasticsearch_is_json():
    """The body of the search, between its quotes."""
    body = json.loads(PAGE.partition(" -d '")[2].partition("'")[0])
    assert body.keys() == {"size", "sort", "query"}
