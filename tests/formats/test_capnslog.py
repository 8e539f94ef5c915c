"""Lines of etcd before it used zap."""

import pytest

from kvdiag.formats.bodies.registry import is_head, read_body
from kvdiag.formats.carriers.peel import peel
from kvdiag.formats.timestamps import rfc3339
from kvdiag.model.values import Level

NOW = "2020-03-25 00:06:36.497449"


@pytest.mark.parametrize(
    ("line", "level", "caller", "message"),
    [
        (f"{NOW} C | etcdmain: listen tcp: no", Level.FATAL, "etcdmain", "listen tcp: no"),
        (f"{NOW} E | rafthttp: failed to dial 8e9e05c5", Level.ERROR, "rafthttp", "failed to dial 8e9e05c5"),
        (f"{NOW} W | etcdserver: apply took too long", Level.WARNING, "etcdserver", "apply took too long"),
        (f"{NOW} N | etcdserver/membership: set the version", Level.INFO, "etcdserver/membership", "set the version"),
        (f"{NOW} I | mvcc: restore", Level.INFO, "mvcc", "restore"),
        (f"{NOW} D | wal: cut", Level.DEBUG, "wal", "cut"),
        (f"2020-03-25T00:06:37.1Z stderr F {NOW} W | auth: simple token", Level.WARNING, "auth", "simple token"),
    ],
)
def test_read(line, level, caller, message):
    """Time, level, package and message are told apart, also behind a carrier; the time is UTC."""
    body = peel(line.encode()).body
    assert is_head(body)
    found = read_body(body)
    assert found is not None
    assert (found.format, found.level, found.caller, found.message) == ("capnslog", level, caller, message)
    assert found.stamp == rfc3339(NOW.encode())


@pytest.mark.parametrize(
    "line", [f"{NOW} X | etcdmain: a", f"{NOW} | a", f"{NOW} C etcdmain: a", "2020-03-25 C | a: b"]
)
def test_other_lines(line):
    """Without one of its levels and the bar it is none."""
    body = peel(line.encode()).body
    assert getattr(read_body(body), "format", None) != "capnslog"
