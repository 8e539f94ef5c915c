"""Examples for the help of each command: a purpose and the command for it."""

from __future__ import annotations

from collections.abc import Mapping

Example = tuple[str, str]

EXAMPLES: Mapping[str, tuple[Example, ...]] = {
    "analyze": (
        ("The root cause in the logs of a node", "kvdiag analyze kubelet.log containerd.log csi-driver.log"),
        ("In a must-gather, a sosreport or any other bundle", "kvdiag analyze must-gather.tar.gz"),
        (
            "On the node itself, of the last two hours",
            "journalctl -u kubelet -u containerd --since -2h | kvdiag analyze",
        ),
        ("Only what concerns a pod", "kvdiag analyze --pod shop/web-0 logs/"),
        ("As a page to send to others", "kvdiag analyze -o html --output-file report.html logs/"),
        ("As it happens", "journalctl -f -u kubelet | kvdiag analyze --follow"),
    ),
    "check": (
        ("Fail a job on findings that are high or critical", "kvdiag check collected-logs/"),
        ("From medium on, and as JUnit", "kvdiag check --fail-on medium -o junit --output-file kvdiag.xml logs/"),
        ("Accept what is found today", "kvdiag check --write-baseline baseline.json logs/"),
        ("Fail on what is new since then", "kvdiag check --baseline baseline.json logs/"),
    ),
    "timeline": (
        ("What happened to a pod", "kvdiag timeline pod shop/web-0 logs/"),
        (
            "To a volume, by the name of its PV, its handle or the beginning of either",
            "kvdiag timeline pvc-3126ba07 logs/",
        ),
        ("With every retry and each line's message", "kvdiag timeline --raw -v pod shop/web-0 logs/"),
        ("For Perfetto", "kvdiag timeline -o trace --output-file trace.json node worker-1 logs/"),
    ),
    "compare": (
        ("Why one pod came up and the other did not", "kvdiag compare shop/web-0 shop/web-1 logs/"),
        ("A log from before an upgrade with one from after it", "kvdiag compare before.log after.log"),
    ),
    "pods": (
        ("Pods that failed or wait for a minute or more", "kvdiag pods --stuck logs/"),
        ("Where the time of their start went", "kvdiag pods --slow --sort since logs/"),
        ("For a spreadsheet", "kvdiag pods -o csv logs/"),
    ),
    "volumes": (
        ("Volumes of a driver that are stuck", "kvdiag volumes --stuck --driver ebs.csi.aws.com logs/"),
        ("With Secrets, ConfigMaps and other local volumes", "kvdiag volumes --all logs/"),
    ),
    "errors": (
        ("Which errors nothing explains", "kvdiag errors logs/"),
        ("Also those that are known to be harmless", "kvdiag errors --show-benign logs/"),
    ),
    "parse": (
        (
            "The places that print most errors",
            "kvdiag parse kubelet.log | jq -r 'select(.level == \"error\") | .caller' | sort | uniq -c",
        ),
    ),
    "events": (("The kinds of events in a log", "kvdiag events kubelet.log | jq -r .kind | sort | uniq -c"),),
    "collect": (
        ("The last day of this node, to pass on", "kvdiag collect --redact node.tar.gz"),
        (
            "Only the logs that would confirm the findings of a report",
            "kvdiag collect --for report.json --redact more.tar.gz",
        ),
        (
            "Into a bucket, in a pod where the node is mounted",
            "kvdiag collect --root /host --day 2026-11-20 s3://support/bundles/cluster=eu-1/node=worker-3.tar.gz",
        ),
    ),
    "redact": (
        ("A log without passwords, tokens and keys", "kvdiag redact --output-file clean.log kubelet.log"),
        ("Logs without names too, alike in all of them", "kvdiag redact --anonymize --output-folder clean logs/"),
    ),
    "explain": (
        ("All topics", "kvdiag explain"),
        ("How a block volume is mounted, and which line shows each step", "kvdiag explain --block volume-lifecycle"),
        ("What a rule looks for, and what to do", "kvdiag explain csi-nodeunpublish-state-lost"),
        ("What the lines of a log mean", "tail kubelet.log | kvdiag explain -"),
    ),
    "mcp": (("Serve the logs below a folder to an agent", "kvdiag mcp --root /srv/bundles"),),
    "completion": (
        ("In this shell", "source <(kvdiag completion bash)"),
        ("In each fish", "kvdiag completion fish > ~/.config/fish/completions/kvdiag.fish"),
    ),
    "fleet run": (
        ("The bundles of a cluster, on all cores", "kvdiag fleet run bundles/ --out results/"),
        (
            "From object storage and back",
            "kvdiag fleet run s3://support/case-4711 --out s3://support/case-4711-results",
        ),
    ),
    "fleet report": (
        ("What most nodes have in common", "kvdiag fleet report results/"),
        ("One day as a page to pass on", "kvdiag fleet report results/ --day 2026-11-20 -o html > fleet.html"),
    ),
    "fleet compare": (
        ("What is new since the day before", "kvdiag fleet compare results/"),
        ("What is new since another run", "kvdiag fleet compare results-1.29/ results-1.30/"),
    ),
    "fleet status": (("Which nodes are done", "kvdiag fleet status results/"),),
    "fleet compact": (("Few large files in place of many small ones", "kvdiag fleet compact results/"),),
    "fleet sql": (("Nodes by rule", "kvdiag fleet sql results/ 'SELECT rule, count(*) FROM findings GROUP BY ALL'"),),
    "rules list": (
        ("All rules", "kvdiag rules list"),
        ("Those that a message fits", "kvdiag rules list --search 'device or resource busy'"),
    ),
    "rules show": (("By name or id", "kvdiag rules show KV310"),),
    "rules lint": (("Your own rules and events", "kvdiag rules lint my-rules/"),),
    "rules test": (("One of your rules", "kvdiag rules test --patterns my-rules/ my-own"),),
    "rules new": (("A rule about volumes", "kvdiag rules new csi-my-driver-hangs --family csi --patterns my-rules/"),),
    "node": (
        ("The last hour of a node", "kubectl kvdiag node worker-1"),
        ("Of several nodes, and keep their logs", "kubectl kvdiag node worker-1 worker-2 --since -3h --save logs/"),
    ),
}
