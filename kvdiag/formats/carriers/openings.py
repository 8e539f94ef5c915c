r"""Patterns of the beginning of a log line, for carriers that count only if a log line follows.

    kubelet.log:21143:Nov 20 20:39:21 worker-1 kubelet[6175]: E1120 20:39:21.779765    6175 kubelet.go:2200] "Pod is…

`kubelet.log:21143:` might be any text; before a date or a klog header it is from grep.
"""

from __future__ import annotations

KLOG = rb"[IWEF]\d{4} \d\d:\d\d:\d\d"
# The beginning of a log line without carrier.
HEAD = (
    rb"(?:" + KLOG + rb'|time="|level=[a-z]|\{"|(?:[IWEF] )?[\w.\-]+\.go:\d+\] '
    rb"|(?:TRAC|DEBU|INFO|WARN|ERRO|FATA|PANI)\[\d)"
)
# Months: ASCII, with a dot (nov.), with an accent (févr.), a number and a sign (6月).
MONTH = rb"(?:[A-Za-z][A-Za-z\x80-\xff]{2,6}\.?|\d{1,2}[\x80-\xff]{2,6})"
TIMED = rb"(?:" + MONTH + rb" [ \d]?\d \d\d:\d\d:|\d{4}-\d\d-\d\dT\d\d:)"
# The beginning of a carrier that needs no proof of its own.
CARRIER = (
    rb"(?:"
    + TIMED
    + rb"|<\d{1,3}>|\S{2,12} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d|\d{9,10}\.\d{6} \S"
    + rb'|\[ {0,8}\d{1,9}\.\d{6}|\[pod/|\x1b\[|\x1e\{|data: \{|\{ {0,4}"[\w.@\-]{1,40}" ?:)'
)
_CERTAINLY = rb"(?:" + KLOG + rb'|time="\d{4}-)'
# A klog header after at most three words.
_SOON = rb"(?:\S{1,200}[ \t]{1,4}){0,3}\S{0,200}?" + _CERTAINLY
LINE = rb"(?:[ \t]{0,40}(?:" + HEAD + rb"|" + CARRIER + rb")|" + _SOON + rb")"
# A prefix: a bullet, brackets, a host, a number, a file, a time without a blank after it.
_MARK = (
    rb"(?:[*\-] {1,3}|[ \t]{1,40}|\[\S{1,80}(?: \S{1,80})?\] |[^\s={]{1,80}: |\d{1,7} ?[:|]? |[^\s={]{1,200}:"
    rb"|\xef\xbb\xbf|\d{4}-\d\d-\d\dT\S{9,25})"
)
# For text that may be prose: a carrier counts only if it contains a log line.
CERTAIN = (
    rb"(?:" + _MARK + rb"{0,2}" + _CERTAINLY + rb"|"
    + CARRIER + rb'[^\n]{0,1500}?(?:[IWEF]\d{4} \d\d:\d\d:\d\d|time=\\{0,8}"{1,8}\d))'
)  # fmt: skip
# A row of kubectl's events: the age next to its type or reason distinguishes it from prose.
EVENT = (
    rb"[ \t]{0,40}(?:(?:Normal|Warning)[ \t]{1,40}[A-Z]\w{1,80}[ \t]{1,40}(?:\d{1,5}[smhdy]|<)"
    rb"|\d{1,5}[smhdy][^\n]{1,300}?[ \t](?:Normal|Warning)[ \t]{1,40}[A-Z]|Failed\w{1,80}[ \t]{1,40}\d{1,5}[smhdy])"
)
# The rest of a row of events with absolute times, after the first time.
DATED_EVENT = (
    rb"(?:(?:\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d)|<none>)[ \t]+)?(?:Normal|Warning)[ \t]+[A-Z]\w{1,80}[ \t]"
    rb"|(?:[A-Z]{2,5}|[+-]\d{2,4})[ \t]+\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4} "
)
