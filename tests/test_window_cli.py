"""A time is asked for in which nothing was logged."""

from datetime import UTC, datetime

import pytest

from kvdiag.analysis.finding_filters import at_last_day
from kvdiag.base.clock import moment, time_of_day
from kvdiag.model.options import Options

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
LOG = "sample-logs/driver-removed-before-pod"
COMMANDS = [["analyze"], ["pods"], ["volumes"], ["events"], ["timeline", "pod", "analytics/reports-0"]]
RUN = "these logs run from 2024-05-08T13:20:04Z to 2024-05-08T13:39:59Z"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("window", "name"),
    [
        (("--since", "2035-01-01"), "--since 2035-01-01T00:00:00Z"),
        (("--until", "2015-01-01"), "--until 2015-01-01T00:00:00Z"),
        (
            ("--since", "2015-01-01", "--until", "2016-01-01"),
            "--since 2015-01-01T00:00:00Z --until 2016-01-01T00:00:00Z",
        ),
    ],
)
def test_nothing_was_logged_then(kvdiag, command, window, name):
    """Each command says so, and when there was something; its exit code is that of what could not be read."""
    done = kvdiag(*command, LOG, *window)
    assert done.returncode == 3
    assert f"kvdiag: {name}: nothing was logged in that time; {RUN}\n" in done.stderr
    assert "No known failure" not in done.stdout


def test_two_logs_and_nothing_then(kvdiag):
    """A comparison of nothing with nothing is none."""
    done = kvdiag("compare", LOG, "sample-logs/healthy-journald", "--until", "2015-01-01")
    assert done.returncode == 3
    assert "nothing was logged in that time" in done.stderr


def test_nothing_known_was_logged_then(kvdiag, tmp_path):
    """A window between two events has lines, of which none may tell anything: that is said, and no fault."""
    log = tmp_path / "kubelet.log"
    lines = ('"Kubelet version" kubeletVersion="v1.30.4"', '"words"', '"Failed to run kubelet" err="x"')
    log.write_text("".join(f"I0312 0{n}:00:00.000000    4711 server.go:1] {line}\n" for n, line in enumerate(lines)))
    done = kvdiag("events", log, "--year", "2026", "--since", "2026-03-12T00:30Z", "--until", "2026-03-12T01:30Z")
    assert (done.returncode, done.stdout) == (0, "")
    assert "no recognized event in that time; these logs run from" in done.stderr


@pytest.mark.parametrize("window", [("--since", "2024-05-08T13:30Z"), ("--until", "2024-05-08T13:30Z"), ()])
def test_a_window_with_lines(kvdiag, window):
    """Nothing is said where something was logged."""
    done = kvdiag("pods", LOG, *window)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("clock", "stamp"), [("13:32", "2024-05-08T13:32:00Z"), ("13:32:30", "2024-05-08T13:32:30Z"), ("23:59", None)]
)
def test_a_time_without_a_date_is_on_the_last_day_of_the_logs(kvdiag, clock, stamp):
    """A time of day after the end of the logs is that of the day before, which leaves out nothing here."""
    events = kvdiag("events", LOG, "--since", clock).stdout
    assert events
    assert events == kvdiag("events", LOG, *(["--since", stamp] if stamp else [])).stdout
    all_events = kvdiag("events", LOG).stdout
    assert (len(events) < len(all_events)) is (stamp is not None)


@pytest.mark.parametrize(
    ("since", "until", "ends", "expected"),
    [
        ("23:50", None, "2026-11-21 00:30", ("2026-11-20 23:50", None)),
        ("23:50", "00:10", "2026-11-21 00:30", ("2026-11-20 23:50", "2026-11-21 00:10")),
        ("23:50", "00:10", "2026-11-21 00:05", ("2026-11-20 23:50", "2026-11-21 00:10")),
        ("08:00", "09:00", "2026-11-21 10:00", ("2026-11-21 08:00", "2026-11-21 09:00")),
    ],
)
def test_times_around_midnight(since, until, ends, expected):
    """Each time is the last one before the logs end, and the second is never before the first."""
    clocks = [None if one is None else time_of_day(one) for one in (since, until)]
    found = at_last_day(Options(since_clock=clocks[0], until_clock=clocks[1]), moment(ends, NOW))
    assert (found.since, found.until) == tuple(None if one is None else moment(one, NOW) for one in expected)
