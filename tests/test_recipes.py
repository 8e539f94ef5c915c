"""CONTRIBUTING's recipes hold: what they say is all that has to be done, in a copy of the sources."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.runner import Server

ROOT = Path(__file__).parents[1]
POD = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"


class Checkout:
    """A copy of the sources that a contributor works on."""

    def __init__(self, folder: Path) -> None:
        """Copies them."""
        self.folder = folder
        self._environment = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
        self._server: Server | None = None
        for name in ("kvdiag", "patterns"):
            shutil.copytree(ROOT / name, folder / name)  # bytecode too, if it is kept: it is of the same dates

    def write(self, name: str, text: str) -> Path:
        """Add a file."""
        path = self.folder / name
        path.write_text(text, "utf-8")
        return path

    def change(self, name: str, old: str, new: str) -> None:
        """Put something in the place of a text that is there once."""
        text = (self.folder / name).read_text("utf-8")
        assert text.count(old) == 1, f"{name} does not say {old!r} once"
        (self.folder / name).write_text(text.replace(old, new), "utf-8")

    def run(self, *arguments: object) -> str:
        """Run the command of the copy; give what it wrote."""
        if self._server is None:
            self._server = Server(self.folder, self._environment)
        code, out, said = self._server.run([*map(str, arguments)], b"", self.folder, self._environment)
        assert code == 0, out + said
        return out.decode()

    def stop(self) -> None:
        """End what runs."""
        if self._server is not None:
            self._server.stop()


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Give a copy of the sources in which all recipes were followed."""
    sources = Checkout(tmp_path_factory.mktemp("sources") / "checkout")
    for name, text in ADDED.items():
        sources.write(name, text)
    for name, old, new in CHANGED:
        sources.change(name, old, new)
    yield sources
    sources.stop()


RULE = f"""
id: KV999
name: toy-was-lost
title: A toy was lost
severity: medium
status: stable
role: cause
per: pod
breaks: [pod.end]
events:
  lost: {{anchor: Toy lost, line: 'Toy lost" pod="{{pod}}" podUID="{{pod_uid}}"', component: kubelet}}
when: at least 2 lost
counts: lost
says: Pod {{pod}} lost its toy {{count}} times.
cause: Nobody held it.
fix:
  - text: Look under the bed.
not-when: [It is found at once.]
references: [https://kubernetes.io/docs/]
tests:
  - name: lost twice
    log: |
      I0312 08:15:00.100000    2201 toy.go:1] "Toy lost" pod="shop/web-0" podUID="{POD}"
      I0312 08:16:00.100000    2201 toy.go:1] "Toy lost" pod="shop/web-0" podUID="{POD}"
    finds: {{shop/web-0: confirmed}}
  - name: lost once
    log: |
      I0312 08:15:00.100000    2201 toy.go:1] "Toy lost" pod="shop/web-0" podUID="{POD}"
    not-when: 1
    finds: {{}}
"""


def test_a_signature(checkout):
    """One file under patterns/: it is listed, linted, tested, found and shown."""
    assert "toy-was-lost" in checkout.run("rules", "list")
    checkout.run("rules", "lint")
    checkout.run("rules", "test", "toy-was-lost")
    line = f'I0312 08:{{}}:00.100000    2201 toy.go:1] "Toy lost" pod="shop/web-0" podUID="{POD}"\n'
    log = checkout.write("kubelet.log", line.format(15) + line.format(16))
    assert "Pod shop/web-0 lost its toy 2 times." in checkout.run("analyze", "--year", 2024, log)
    assert "Look under the bed." in checkout.run("explain", "toy-was-lost")


TOPIC = """
topic: toys
title: How a toy is put away
says: A toy goes into its box.
steps:
  - {name: boxed, by: kubelet, does: It puts the toy into the box., shows: [volume.unstage.started]}
"""


def test_a_topic(checkout):
    """One file under patterns/topics/: it is among the topics and has a page."""
    assert "A toy goes into its box." in checkout.run("explain", "toys")


OUTPUT = '''
"""A report as the names of its rules."""

from typing import TextIO

from kvdiag.report import RenderOptions
from kvdiag.report.report_text import ReportText


def write(report: ReportText, stream: TextIO, options: RenderOptions) -> None:
    """One line a failure, and one a note."""
    for found in (report.failures, report.notes):
        stream.writelines(f"toy {finding.rule}\\n" for finding in found)
'''


def test_an_output(checkout):
    """One module in report/ and one name: the command has the output, and its help names it."""
    sample = ROOT / "sample-logs/inline-volume-orphaned"
    found = json.loads(checkout.run("analyze", "-o", "json", sample))["findings"]
    assert checkout.run("analyze", "-o", "toy", sample).splitlines() == [
        f"toy {one['rule']}" for one in found if not one["explained_by"]
    ]
    assert "toy" in checkout.run("analyze", "--help")


FORMAT = r'''"""A format of a toy.

    @2026-11-20T20:39:21.5Z!warning!the kettle boils!room=kitchen
"""

import re

from kvdiag.formats.bodies.bodyformat import Format
from kvdiag.formats.bodies.logrus import level_of
from kvdiag.formats.timestamps import rfc3339
from kvdiag.model.record import Body

_LINE = re.compile(rb"@(\S+)!(\w+)!([^!]*)!(\w+)=(\w+)")


def read(body: bytes) -> Body | None:
    """One line."""
    found = _LINE.match(body)
    if found is None:
        return None
    time, level, message, key, value = found.groups()
    fields = {key.decode(): value.decode()}
    return Body("toy", rfc3339(time), level_of(level.decode()), message=message.decode(), fields=fields)


FORMAT = Format("toy", _LINE.match, read)
'''
FORMAT_LOG = """\
@2026-11-20T20:39:21.5Z!warning!the kettle boils!room=kitchen
and goes on boiling
2026-11-20T20:39:22.000000001Z stderr F @2026-11-20T20:39:22.5Z!info!the kettle is off!room=kitchen
"""


def test_a_format(checkout):
    """A module and its name in the list: lines of the format are records in every verb, bare and in a carrier."""
    log = checkout.write("toy.log", FORMAT_LOG)
    told = [json.loads(line) for line in checkout.run("parse", log).splitlines()]
    assert [(one["line"], one["time"], one["level"], one["message"]) for one in told] == [
        (1, "2026-11-20T20:39:21.500000Z", "warning", "the kettle boils"),
        (3, "2026-11-20T20:39:22.500000Z", "info", "the kettle is off"),
    ]
    assert told[0]["fields"] == {"room": "kitchen"}
    explained = json.loads(checkout.run("explain", "-o", "json", FORMAT_LOG.splitlines()[0]))
    assert (explained["format"], explained["message"]) == ("toy", "the kettle boils")
    (read,) = json.loads(checkout.run("analyze", "--fail-on", "never", "-o", "json", log))["inputs"]
    assert read["format"].endswith("toy")
    assert read["records"] == 2


EVENT = """\
component: kubelet
events:
  - kind: pod.painted
    label: pod painted
    about: the kubelet gave the pod another colour
    anchor: Pod was painted
    message: '"Pod was painted"'
    fields: {pod: pod, pod_uid: podUID}
    samples:
      - 'LINE'
"""
CAME = f'I0312 05:48:59.000000    4711 kubelet.go:2430] "SyncLoop ADD" source="api" pods=["shop/web-0({POD})"]'
PAINTED = (
    f'I0312 05:49:00.241725    4711 kubelet.go:77] "Pod was painted" pod="shop/web-0" podUID="{POD}" colour="blue"'
)


def test_an_event(checkout):
    """An entry in YAML: the event is counted, told in timelines by its label, and explained."""
    log = checkout.write("painted.log", f"{CAME}\n{PAINTED}\n")
    assert "pod.painted" in checkout.run("events", log)
    assert "pod painted" in checkout.run("timeline", "pod", "shop/web-0", log)
    assert "pod painted (pod.painted)" in checkout.run("explain", PAINTED)


# What the recipes say is to be written, and where a name is to be put.
ADDED = {
    "patterns/pod/toy-was-lost.yaml": RULE,
    "patterns/topics/toys.yaml": TOPIC,
    "patterns/events/paint.yaml": EVENT.replace("LINE", PAINTED),
    "kvdiag/report/toy.py": OUTPUT,
    "kvdiag/formats/bodies/toy.py": FORMAT,
}
CHANGED = [
    ("kvdiag/report/__init__.py", '    "text": ', '    "toy": (TEXT, "kvdiag.report.toy"),\n    "text": '),
    ("kvdiag/formats/bodies/registry.py", "    klog.FORMAT,\n", "    klog.FORMAT,\n    toy.FORMAT,\n"),
    ("kvdiag/formats/bodies/registry.py", "logrus, zap\n", "logrus, toy, zap\n"),
]
