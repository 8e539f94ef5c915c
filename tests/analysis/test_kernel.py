"""What the kernel says stands in the timelines of those it befell."""

from __future__ import annotations

from kvdiag.analysis.case import load_patterns, read_history
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.history.views.timeline import build_timeline
from kvdiag.model.options import Options
from kvdiag.model.values import SubjectKind

UID, BOX = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01", "3f2a9c71" * 8
CGROUP = f"/kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice/cri-containerd-{BOX}.scope"
JOURNAL = f"""\
Jul 15 03:49:10 worker-1 kubelet[1432]: I0715 03:49:10.000000    1432 pod_workers.go:970] "Pod is being synced for the first time" pod="shop/web-0" podUID="{UID}"
Jul 15 03:49:12 worker-1 kernel: nfs: server 192.0.2.10 not responding, still trying
Jul 15 03:49:20 worker-1 kernel: oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg={CGROUP},task_memcg={CGROUP},task=java,pid=38287,uid=0
Jul 15 03:49:21 worker-1 kubelet[1432]: I0715 03:49:21.000000    1432 pod_workers.go:970] "Pod is being synced for the first time" pod="shop/web-1" podUID="{UID.replace("1f0c", "2f0c")}"
"""


def story(kind, key):
    """Give kind of event, and whether it is another's, of each row of a subject's story."""
    options = Options(paths=(), year=2026)
    history = read_history([TextInput("journal.log", JOURNAL.encode())], load_patterns(options), options).history
    told = build_timeline(history.timelines[kind, key], history, ())
    return [(row.transition.event.kind, row.foreign) for row in told.rows]


def test_an_oom_kill_stands_with_its_pod_and_container():
    """The cgroup tells whose process it was: the event is the pod's and the container's own."""
    assert ("kernel.oom-kill", False) in story(SubjectKind.POD, UID)
    assert story(SubjectKind.CONTAINER, BOX)[-1] == ("kernel.oom-kill", False)


def test_what_befell_the_node_stands_beside():
    """A server that does not answer is told between the events of every pod of the node; another pod's end is not."""
    other = story(SubjectKind.POD, UID.replace("1f0c", "2f0c"))
    assert ("kernel.nfs.silent", True) in other
    assert "kernel.oom-kill" not in {kind for kind, _ in other}
