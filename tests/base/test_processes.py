"""Copies of this process work on tasks."""

import multiprocessing
import os
import signal
import time

import pytest

from kvdiag.base.processes import LostProcessError, Processes


def squared(number):
    """Give a square; the first take longer than those after them."""
    time.sleep(max(0, 5 - number) / 100)
    return number * number, os.getpid()


def killed(_task):
    """End as a process does that the kernel kills."""
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture
def of():
    """Start processes that are closed in the end."""
    started = []

    def start(count, run):
        started.append(Processes(count, run))
        return started[-1]

    yield start
    for one in started:
        one.close()


def test_results_come_in_the_order_of_the_tasks(of):
    """Whichever ends first."""
    processes, results = of(3, squared), []
    for number in range(processes.most_tasks):
        processes.give(number)
    for number in range(processes.most_tasks, 20):
        results.append(processes.take())
        processes.give(number)
    results += [processes.take() for _ in range(processes.most_tasks)]
    assert [square for square, _ in results] == [number * number for number in range(20)]
    assert len({pid for _, pid in results}) == 3
    assert os.getpid() not in {pid for _, pid in results}


def test_a_killed_process(of):
    """Its result is missing, which is known at once."""
    processes = of(1, killed)
    processes.give("task")
    with pytest.raises(LostProcessError):
        processes.take()


def test_a_closed_one_leaves_nothing(of):
    """Also one that is at work."""
    processes = of(2, lambda _task: time.sleep(600))
    processes.give("task")
    began = time.monotonic()
    processes.close()
    assert time.monotonic() - began < 60
    assert multiprocessing.active_children() == []
