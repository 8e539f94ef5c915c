"""A time is asked for in which nothing was logged."""

import pytest

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
