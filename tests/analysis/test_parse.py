"""`kvdiag parse` on inputs that hold many programs or many logs."""

from __future__ import annotations

from kvdiag.analysis.log_clocks import LogClocks
from kvdiag.analysis.parse import source_records
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.model.options import Options

K3S = """\
Nov 20 20:39:20 worker-1 k3s[811]: time="2026-11-20T20:39:20Z" level=info msg="Running kubelet --v=4"
Nov 20 20:39:21 worker-1 k3s[811]: I1120 20:39:21.779765     811 pod_workers.go:1251] "Processing pod event"
Nov 20 20:39:21 worker-1 k3s[811]: I1120 20:39:21.879765     811 attach_detach_controller.go:409] "Starting"
Nov 20 20:39:22 worker-1 k3s[811]: {"level":"info","ts":"2026-11-20T20:39:22.05Z","caller":"mvcc/kvstore_compaction.go:69","msg":"finished"}
Nov 20 20:39:22 worker-1 k3s[811]: I1120 20:39:22.179765     811 proxier.go:850] "Syncing iptables rules"
"""  # fmt: skip
ALL = """\
==> describe nodes <==
Name:               minikube
==> kubelet <==
I0715 03:49:33.850919    1432 kubelet.go:2168] "SyncLoop ADD"
I0715 03:49:34.850919    1432 other.go:1] words
==> kube-scheduler [3f2a9c] <==
I0715 03:40:00.000000       1 other.go:1] words
"""


def parsed(text):
    """Give name, line and component of each record."""
    records = source_records(TextInput("x.log", text.encode()), [].append, LogClocks(Options(paths=(), year=2026)))
    return [(record.origin.source, record.origin.line, record.component) for record in records]


def test_a_process_of_many_programs():
    """Each line of k3s is of the program whose source file it names, or of k3s itself."""
    components = [component for _, _, component in parsed(K3S)]
    assert components == ["k3s", "kubelet", "kube-controller-manager", "etcd", "kube-proxy"]


def test_many_logs_in_one():
    """Each section is a log of its own that is called after it; of tables there are no records."""
    assert parsed(ALL) == [
        ("x.log/kubelet", 4, "kubelet"),
        ("x.log/kubelet", 5, "kubelet"),
        ("x.log/kube-scheduler [3f2a9c]", 7, "kube-scheduler"),
    ]
