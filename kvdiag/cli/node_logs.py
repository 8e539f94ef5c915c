"""Node log query: `kubectl get --raw /api/v1/nodes/NODE/proxy/logs/?query=kubelet&sinceTime=…` → a file.

kubelet answers with the output of `journalctl --utc --output=short-precise` for a unit, and cuts it after 30 s; the
next request continues at the last line. `untilTime` is not used: kubelet's journal reader passes journalctl the begin
instead. For a service without a unit, kubelet answers with the whole file of that name below /var/log, and refuses a
request that also has a time: its older lines are removed here. Alpha in 1.27, beta from 1.30 behind
enableSystemLogQuery, GA in 1.36.
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

from kvdiag.base.clock import rfc3339
from kvdiag.base.errors import UsageError
from kvdiag.base.regex import lazy_regex

CHUNK = 1 << 20
CUT_AFTER = 25  # seconds; an answer that took longer was probably cut by kubelet, which stops at 30
MOST_ANSWERS = 60
LATE = timedelta(minutes=1)
FILES = frozenset({"kern", "messages", "syslog", "dmesg"})  # files below /var/log
ZONES = timedelta(hours=14)  # such a file has the node's local times: at most so far behind UTC or ahead of it
_REASON = lazy_regex(rb"Error from server \((\w+)\)")
_REFUSED = lazy_regex(
    rb"\s*(?:options present and query resolved to log files for|log not found for|error getting log for|"
    rb"error: journal output not available|failed to get logging cmd|-- No entries --\s*$)"
)
_NO_NODE = lazy_regex(rb"nodes \"[^\"\n]{1,253}\" not found")
_LISTING = lazy_regex(rb"\s*(?:<!doctype html>\s*)?(?:<meta [^>]{0,99}>\s*)?<pre>")
_STAMP = lazy_regex(rb"(?m)^([A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d)\.\d{6} (?=[^\n]*\n?\Z)")
_SYSLOG = lazy_regex(rb"([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) |(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)")

ADVICE = {
    "Forbidden": "you may not read nodes/proxy; ask for `get` on nodes/proxy, or read it on the node",
    "Unauthorized": "the API server does not know you; see `kubectl auth whoami`",
    "MethodNotAllowed": "kubelet's log endpoint is off (enableSystemLogHandler)",
}
OFF = "kubelet's node log query is off or older than 1.27 (enableSystemLogQuery, feature gate NodeLogQuery)"


class Kubectl(NamedTuple):
    """The kubectl program with options that select a cluster. All times are UTC."""

    options: tuple[str, ...] = ()
    program: str = "kubectl"

    def fetch(self, node: str, service: str, since: datetime, out: Path) -> bool:
        """Write a service's log; return False if the node has none. Raise UsageError if it cannot be fetched."""
        with out.open("wb+") as file:
            if service in FILES:
                self._answer(node, service, since, file)
                _drop_before(file, since - ZONES)
                return file.seek(0, os.SEEK_END) > 0
            for _ in range(MOST_ANSWERS):
                begun = time.monotonic()
                size = self._answer(node, service, since, file)
                if time.monotonic() - begun < CUT_AFTER or not size:
                    break
                since = _last(out, since)
        return out.stat().st_size > 0

    def _answer(self, node: str, service: str, since: datetime, file: IO[bytes]) -> int:
        """Append one answer; return its size, 0 if the answer says that there is no such log."""
        query = {"query": service} | ({} if service in FILES else {"sinceTime": rfc3339(since, "seconds")})
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
                raise UsageError(f"node {node}, {service}: {_why(node, stderr.read(CHUNK))}")
        return _log_size(file, begins, node)


def _log_size(file: IO[bytes], begins: int, node: str) -> int:
    """Return the size of the log in an answer. Remove an answer without a log; raise UsageError for a listing."""
    ends = file.seek(0, os.SEEK_END)
    file.seek(begins)
    head = file.read(CHUNK)
    if _LISTING.match(head):
        raise UsageError(f"node {node}: {OFF}{debug(node)}")
    if _REFUSED.match(head):
        ends = file.truncate(begins)
    file.seek(ends)
    return ends - begins


def _why(node: str, stderr: bytes) -> str:
    """Return why kubectl failed, and the next step: no way to the node itself if there is no such node."""
    reason = _REASON.search(stderr)
    words = stderr.decode("utf-8", "replace").strip().splitlines()
    last_line = words[-1] if words else "kubectl failed"
    if _NO_NODE.search(stderr):
        return "there is no such node; see `kubectl get nodes`"
    if reason and reason[1] == b"NotFound":
        return f"{OFF}{debug(node)}"
    return f"{ADVICE.get(reason[1].decode(), last_line) if reason else last_line}{debug(node)}"


def debug(node: str) -> str:
    """Return the alternative way to the node's logs, for the end of a message."""
    return f"\non the node itself: kubectl debug node/{node} -it --image=busybox -- chroot /host journalctl -u kubelet"


def _drop_before(file: IO[bytes], since: datetime) -> None:
    """Remove the lines before the first one of this time or later; none if no line has a time."""
    file.seek(0)
    at = begins = 0
    has_times = False
    for line in file:
        moment = _moment(line)
        has_times = has_times or moment is not None
        if moment is not None and moment >= since:
            begins = at
            break
        at += len(line)
    else:
        begins = at if has_times else 0
    read, written = begins, 0
    while begins and file.seek(read) and (chunk := file.read(CHUNK)):
        file.seek(written)
        read, written = read + len(chunk), written + file.write(chunk)
    if begins:
        file.truncate(written)


def _moment(line: bytes) -> datetime | None:
    """Return the time of a line of syslog, in the year that is not in the future."""
    found = _SYSLOG.match(line)
    latest = datetime.now(UTC) + ZONES
    try:
        if found is None:
            return None
        if found[2]:
            return datetime.fromisoformat(found[2].decode()).replace(tzinfo=UTC)
        moment = datetime.strptime(f"{latest.year} {found[1].decode()}", "%Y %b %d %H:%M:%S").replace(tzinfo=UTC)
        return moment if moment <= latest else moment.replace(year=latest.year - 1)
    except ValueError:  # no such date; also 29 February of another year than this one
        return None


def _last(out: Path, since: datetime) -> datetime:
    """Return the time of the last line. The next answer begins with the whole second, so no line is lost."""
    with out.open("rb") as file:
        file.seek(max(0, out.stat().st_size - (64 << 10)))
        found = _STAMP.search(file.read())
    if found is None:
        return datetime.now(UTC)
    last = datetime.strptime(f"{since.year} {found[1].decode()}", "%Y %b %d %H:%M:%S").replace(tzinfo=UTC)
    return last if last >= since - LATE else last.replace(year=since.year + 1)


def collect(kubectl: Kubectl, node: str, services: Sequence[str], since: datetime, folder: Path) -> list[str]:
    """Write the logs of a node into a folder; return the services without a log.

    Raise UsageError if there is no log at all.
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
