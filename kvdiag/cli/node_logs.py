"""Node log query: `kubectl get --raw /api/v1/nodes/NODE/proxy/logs/?query=kubelet&sinceTime=…` → a file.

kubelet answers with what `journalctl --utc --output=short-precise` prints of a unit, and ends after 30 s wherever it is
then; an answer that was cut so goes on from its last line. `untilTime` is never asked for: kubelet's journal reader
gives journalctl the beginning in its place. A service that has no unit is looked for as a file of that name below
/var/log, which takes no time. Alpha in 1.27, beta from 1.30 behind enableSystemLogQuery, GA in 1.36.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO, NamedTuple
from urllib.parse import quote, urlencode

from kvdiag.base.errors import UsageError
from kvdiag.base.regex import lazy_regex

CHUNK = 1 << 20
CUT_AFTER = 25  # seconds: kubelet stops at 30
MOST_ANSWERS = 60
LATE = timedelta(minutes=1)
FILES = frozenset({"kern", "messages", "syslog", "dmesg"})  # names of files below /var/log, which take no time
_REASON = lazy_regex(rb"Error from server \((\w+)\)")
_REFUSED = lazy_regex(
    rb"\s*(?:options present and query resolved to log files for|log not found for|error getting log for|"
    rb"error: journal output not available|failed to get logging cmd|-- No entries --\s*$)"
)
_LISTING = lazy_regex(rb"\s*(?:<!doctype html>\s*)?(?:<meta [^>]{0,99}>\s*)?<pre>")
_STAMP = lazy_regex(rb"(?m)^([A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d)\.\d{6} (?=[^\n]*\n?\Z)")

ADVICE = {
    "Forbidden": "you may not read nodes/proxy; ask for `get` on nodes/proxy, or read it on the node",
    "NotFound": "there is no such node",
    "Unauthorized": "the API server does not know you; see `kubectl auth whoami`",
    "MethodNotAllowed": "kubelet's log endpoint is off (enableSystemLogHandler)",
}
OFF = "kubelet's node log query is off or older than 1.27 (enableSystemLogQuery, feature gate NodeLogQuery)"


class Kubectl(NamedTuple):
    """The program with the options that say which cluster; `now` and what is asked for are UTC."""

    options: tuple[str, ...] = ()
    program: str = "kubectl"

    def fetch(self, node: str, service: str, since: datetime, out: Path) -> bool:
        """Write a service's log since then; False when the node has none. Raises UsageError when it cannot be had."""
        with out.open("wb+") as file:
            for _ in range(MOST_ANSWERS):
                begun = time.monotonic()
                size = self._answer(node, service, since, file)
                if time.monotonic() - begun < CUT_AFTER or not size:
                    break
                since = _last(out, since)
        return out.stat().st_size > 0

    def _answer(self, node: str, service: str, since: datetime, file: IO[bytes]) -> int:
        """Append one answer; give its size. An answer that says that there is no such log is of no size."""
        query = {"query": service} | ({} if service in FILES else {"sinceTime": since.strftime("%Y-%m-%dT%H:%M:%SZ")})
        path = f"/api/v1/nodes/{quote(node, safe='')}/proxy/logs/?{urlencode(query)}"
        command = [self.program, *self.options, "get", "--raw", path, "--request-timeout=60s"]
        begins = file.tell()
        with tempfile.TemporaryFile() as stderr:
            try:
                code = subprocess.run(  # noqa: S603 (no shell; names were looked at)
                    command, stdin=subprocess.DEVNULL, stdout=file, stderr=stderr, check=False
                ).returncode
            except OSError as error:
                raise UsageError(f"{self.program} cannot be run: {error.strerror or error}") from None
            stderr.seek(0)
            if code:
                raise UsageError(f"node {node}, {service}: {_why(stderr.read(CHUNK))}{debug(node)}")
        return _log_size(file, begins, node)


def _log_size(file: IO[bytes], begins: int, node: str) -> int:
    """How much of an answer is a log: what is none is told, or taken away again."""
    ends = file.seek(0, os.SEEK_END)
    file.seek(begins)
    head = file.read(CHUNK)
    if _LISTING.match(head):
        raise UsageError(f"node {node}: {OFF}{debug(node)}")
    if _REFUSED.match(head):
        ends = file.truncate(begins)
    file.seek(ends)
    return ends - begins


def _why(stderr: bytes) -> str:
    reason = _REASON.search(stderr)
    words = stderr.decode("utf-8", "replace").strip().splitlines()
    last_line = words[-1] if words else "kubectl failed"
    return ADVICE.get(reason[1].decode(), last_line) if reason else last_line


def debug(node: str) -> str:
    """The other way to a node's logs, for the end of a message."""
    return f"\non the node itself: kubectl debug node/{node} -it --image=busybox -- chroot /host journalctl -u kubelet"


def _last(out: Path, since: datetime) -> datetime:
    """When the last line was written, for the next answer; the second before counts twice and is read once."""
    with out.open("rb") as file:
        file.seek(max(0, out.stat().st_size - (64 << 10)))
        found = _STAMP.search(file.read())
    if found is None:
        return datetime.now(UTC)
    last = datetime.strptime(f"{since.year} {found[1].decode()}", "%Y %b %d %H:%M:%S").replace(tzinfo=UTC)
    return last if last >= since - LATE else last.replace(year=since.year + 1)


def collect(kubectl: Kubectl, node: str, services: Sequence[str], since: datetime, folder: Path) -> list[str]:
    """Write the logs of a node into a folder of its own; give the services that it has none of.

    Raises UsageError when no log can be had.
    """
    folder.mkdir(parents=True, exist_ok=True)
    missing = []
    for service in services:
        out = folder / f"{service}.log"
        if not kubectl.fetch(node, service, since, out):
            out.unlink()
            missing.append(service)
    if len(missing) == len(services):
        raise UsageError(
            f"node {node}: no log of {', '.join(services)} since {since:%Y-%m-%d %H:%M:%S} UTC{debug(node)}"
        )
    return missing
