"""The innermost clause of an error: what the program at the end of the chain printed, in its own words."""

from __future__ import annotations

from collections.abc import Sequence

from kvdiag.anatomy.decode import without_callers
from kvdiag.base.regex import lazy_regex

LONGEST = 240  # characters of a quoted clause
LEAST_WORDS = 3  # of a clause that says something: `state: offline` names a value
SHORT = 28  # characters; a shorter clause is quoted with the one in front of it
_FIELDS = lazy_regex(
    r"\"? (?:pod|podUID|containerID|containerName|node|interval|sandboxID|podSandboxID|PodSandboxID|plugin|volumeName|"
    r"logger|numErrs|durationBeforeRetry|auditID)=[^\n]*\Z"
)
_LOGGED = lazy_regex(
    r"(?<=[\w.:)])\s{0,4}\""
    r"(?: {1,4}\"?(?!err)[A-Za-z][\w.-]{1,40}\"?=(?:\"[^\"\n]{0,200}\"|[^\s\"]{1,200})){1,12} {0,4}\Z"
)  # fields of a structured log behind that of the error
_CLASS = lazy_regex(r": (?:unknown|failed precondition|invalid argument|unavailable|already exists)\Z")  # of an error
_SAID_TWICE = lazy_regex(r"((?:[Nn]o such|not found|not exist|missing|[Ff]ail)[^\n]{0,160}): not found\Z")
_DESC = lazy_regex(r"rpc error: code = \w{1,24} desc = ?")
_NO_OUTPUT = lazy_regex(r"(?:,? {1,4}|\s{0,8})[Oo]utput: {0,4}\Z")  # of a program that printed nothing
_HNS = lazy_regex(r" \{\"Success\":false[^\n]{0,600}\Z")  # repeats the words before it
_DUMPED = lazy_regex(r"\(string\) \(len=\d{1,6}\) \"([^\"\n]{3,400})")  # a value that Go printed with all its fields
_JSON_MESSAGE = lazy_regex(
    r"\"(?:message|(?:error|error_description|detail)(?=\": ?\"[^\s\"]{1,60} ))\": ?\"([^\"\n]{4,400})\""
    r"(?:,? {0,4}\"\w{1,40}\": ?(?:\"[^\"\n]{0,200}\"|[\w.\[\]{}-]{1,80})){0,8}[\s}\])\"'.]{0,40}\Z"
)  # of a JSON body at the end, as cloud APIs answer; an error without a blank is a code, such as invalid_grant
_LINSTOR = lazy_regex(r"Message: '([^\n]{3,400}?)'; (?:Cause|Details|Correction|Reports): '")
_LONGHORN = lazy_regex(
    r"message=([^\n]{3,600}?)(?:, (?:code|detail)=[^\n]{0,200}?)?\] from \["
)  # of the body with which its API answers
_TONIC = lazy_regex(
    r"message: \"([^\n]{3,600}?)\", details: \[[^\]\n]{0,200}\], metadata: MetadataMap"
)  # a status of gRPC in Rust
_AZURE = lazy_regex(r"Code=\"\w{1,80}\" Message=\"([^\"\n]{4,400})\"")  # as autorest prints an error of Azure
_REQUEST = lazy_regex(r"(?: \(HTTP \d{3}\))? \(Request-ID: [\w-]{1,80}\)\Z")
_IN_BRACKETS = lazy_regex(
    r"(?:, err \(|\(error \")([^\n]{3,400}?)(?:\", ServerName \"[^\"\n]{0,253}\"(?:, IPAddresses [^\n]*)?)?\)\Z"
)  # behind values that Go printed with %v; of etcd's TLS
_OF_CONTAINER = lazy_regex(r", log: [^\n]*\Z")  # the last line of a container that RKE found not healthy
_EMPTY = lazy_regex(r"%!\w\(<nil>\)|\(?did not load config file, using default settings\.?")  # a nil error of Go; rbd
_HEADER = lazy_regex(
    r"\A(?:[A-Z]{4,5}: )?\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? (?:[\w.-]{1,80}\.go:\d{1,5}: )?"
    r"|\A.{0,40}\d\d:\d\d:\d\d\.\d{6} {1,8}\d{1,8} [\w.-]{1,80}\.go:\d{1,5}\] "
)  # of Go's log, and of klog, at the begin of a whole line
_USAGE = lazy_regex(r"(?<=\S)\s{1,8}[Uu]sage:\s(?s:.*)\Z")  # how a program is called, behind what it refused
_PREEMPTION = lazy_regex(r" preemption: [^\n]*\Z")  # of the scheduler: whether removing other pods would help
_CLOSING = lazy_regex(r"\s{0,40}[})\]]")  # the end of a printed value with many lines
_CALLED = lazy_regex(r" args: \[[^\]\n]{0,800}\](?:, ?|\Z)")  # how ceph-csi called a program
_NO_FILES = lazy_regex(
    r"parse_file: cannot open |Errors while parsing config file|unable to find a keyring on "
)  # what programs of Ceph print without a configuration; they go on
_FRAME = lazy_regex(
    r"\s*(?:(?:[\w.-]{1,100}/){1,12}[\w.-]{1,100}\.(?:\(\*?\w{1,80}\)\.)?[\w.]{1,80}(?:\(.{0,400}\))?"
    r"|(?:main|runtime)\.\w{1,60}(?:\(.{0,400}\))?|/\S{1,400}\.(?:go|s):\d{1,6}(?: \+0x[0-9a-f]{1,16})?)\Z"
)  # of the stack that zap prints below an error
_ENCODED = lazy_regex(r"\.? ?Encoded authorization failure message: \S{20,}[^\n]*")  # of EC2, for its own tool
_AWS = lazy_regex(
    r"https response error StatusCode: \d{1,3}, RequestID: ?[^,\n]{0,80}, (?:HostID: ?[^,\n]{0,200}, )?"
)  # of its SDK for Go, in front of its answer
_CONFIGURATION = lazy_regex(r", path: &TypeMeta\{Kind:\w{0,60},APIVersion:[\w./]{0,60},\}")  # kubelet means its content
_NOTED = lazy_regex(
    r": \d{4}/\d\d/\d\d [\d:.]{8,20} juicefs\[\d{1,8}\] <INFO>: (?:(?!<(?:WARNING|ERROR|FATAL)>)[^\n])*"
)
_ARGUMENTS = ("Mounting command:", "Mounting arguments:")  # lines that say how mount was called
_POWERSHELL = lazy_regex(r"(?m)([A-Z][A-Za-z]{1,30}-[A-Z]\w{1,60} : [^\n]{3,400})$")
_POWERSHELL_END = "FullyQualifiedErrorId"  # of the lines that PowerShell prints about an error
_FAILURE = lazy_regex(r"(?i)output:|fail|error|not |cannot|denied|refused|invalid|unable|unknown|unrecogni[sz]ed")
_SEPARATOR = lazy_regex(
    r"(?<!quota)(?<!, requested)(?<!, used)(?<!, limited)(?<!exceeded. Limit)(?<! for)"
    r"(?<! to perform)(?<! on resource)(?<!UID in precondition)(?<!UID in object meta): (?!\}|\d{1,12}, )"
    r"|\bcaused \"|\"? \"?err(?:or)?\"?=\""
)  # not within a quota, an answer of AWS IAM or a conflict, nor in a taint without a value: {example.org/a: }
_FIELD_NAME = lazy_regex(r"\" (?:err|error|output|stderr)=\"")  # between a message and its error in a line of logfmt
_YAML_LINE = lazy_regex(r"\byaml: line \d{1,8}: \Z")
_WORD = lazy_regex(r"[A-Za-z]{4}")
_PLAIN_WORD = lazy_regex(r"(?<!\S)(?:[A-Za-z]{2}[A-Za-z']{0,30}(?![^\s:,.;])|\"[^\"\s]{1,80}\")")
_ERRNO = lazy_regex(r"E(?!RROR)[A-Z]{3,15}")  # in front of its own text
_VALUE = lazy_regex(r"(?:(?:stat|lstat|open|mkdir|read|readdir) )?/\S+\Z|map\[|&?\{")  # a call or a dump
_ID = lazy_regex(r"[0-9a-f]{12,64}\Z")  # of a container or an image; alone it says nothing
_A_QUOTE = "'\"'"  # `Unmatched '"'`, as csh prints it
_EDGES = " \t\"'\n\\,.;"


def innermost_clause(text: str) -> str:
    """Return the last clause of a flat text; empty if it has no words."""
    for words in (_CALLED, _OF_CONTAINER, _NOTED, _ENCODED, _AWS, _CONFIGURATION, _USAGE):
        text = words.sub("", text)
    text = without_callers(text)
    text = next(reversed(_DUMPED.findall(text)), _EMPTY.sub("", _HEADER.sub("", text)))
    text = next(iter(_IN_BRACKETS.findall(text)), text)
    for answer in (_LINSTOR, _LONGHORN, _TONIC, _AZURE, _JSON_MESSAGE):
        text = _REQUEST.sub("", next(reversed(answer.findall(text)), text))
    before, _, ending = text.rpartition("\n")
    ending = _HNS.sub("", _PREEMPTION.sub("", _LOGGED.sub("", _FIELDS.sub("", ending))))
    text = _without_edges(_NO_OUTPUT.sub("", f"{before}\n{ending}"))
    text = _SAID_TWICE.sub(r"\1", _CLASS.sub("", text))
    last = _DESC.split(text)[-1] or text
    errors, end, _ = last.rpartition(_POWERSHELL_END)
    last = next(iter(_POWERSHELL.findall(errors)), last) if end else last
    lines = [line for line in last.split("\n") if line.strip()]
    lines = [line for line in lines if not _says_nothing(line)] or lines
    line = next((one for one in reversed(lines) if _FAILURE.search(one)), lines[-1] if lines else "")
    parts = [_without_edges(part) for part in _SEPARATOR.split(line)]
    parts = [part for part in parts if len(part) > 3 or part.isdigit() or part == "EOF"]
    parts = [part for part in parts if not _ERRNO.fullmatch(part)] or parts
    while len(parts) > 1 and len(parts[-1]) < 12 and parts[-1] != "EOF" and not _WORD.search(parts[-1]):
        last = parts.pop()
        if last.isdigit():  # `statuscode: 503`
            parts[-1] = f"{parts[-1]}: {last}"
    if not parts:
        return ""
    if place := _YAML_LINE.search(line[: max(0, line.rfind(parts[-1]))]):
        parts[-1] = place[0] + parts[-1]
    return _bounded(_FIELD_NAME.sub(": ", _with_words(line, parts)))


def _with_words(line: str, parts: Sequence[str]) -> str:
    """Return the last part of a line with as many in front of it as it needs to say something."""
    end = line.rfind(parts[-1].partition(": ")[0])
    is_statement = len(parts[-1]) >= SHORT and " " in parts[-1]
    if len(parts) < 2 or (is_statement and not _ID.match(parts[-1]) and not _VALUE.match(parts[-1])):
        return parts[-1]
    for part in reversed(parts[:-1]):
        if (begin := line.rfind(part, 0, end)) < 0:
            return f"{parts[-2]}: {parts[-1]}"
        clause, end = _without_edges(line[begin:]), begin
        if len(_PLAIN_WORD.findall(clause)) >= LEAST_WORDS:
            break
    return clause


def _says_nothing(line: str) -> bool:
    if line.lstrip("> ").startswith(_ARGUMENTS):
        return True
    return any(words is not None for words in (_CLOSING.match(line), _NO_FILES.search(line), _FRAME.match(line)))


def _without_edges(part: str) -> str:
    """Return a clause without the marks around it; a quote that belongs to a quoted name in it stays."""
    if (whole := part.strip(" \t\n.")).endswith(_A_QUOTE):
        return whole.lstrip(_EDGES)
    bare = part.strip(_EDGES)
    if " '" in bare and "'" not in bare.rpartition(" '")[2] and part[part.find(bare) + len(bare) :].startswith("'"):
        return f"{bare}'"
    if not _is_quote_open(bare):
        return bare
    return f'"{bare}' if '"' in part[: part.find(bare)] else f'{bare}"'


def _is_quote_open(text: str) -> bool:
    """Return whether a quotation mark has no other; one between blanks stands for itself: `expects " or n`."""
    return (text.count('"') - text.count(' " ')) % 2 == 1


def clause_around(text: str, begin: int, end: int) -> str:
    """Return the clause in which the words at a place are."""
    begins = header.end() if (header := _HEADER.match(text)) else 0
    first = max(text.rfind(mark, max(0, begin - LONGEST), begin) + len(mark) for mark in (": ", "\n", " desc = "))
    first = first if begin and first > len(" desc = ") else max(begins, begin - LONGEST // 2)
    ends = [at for mark in (": ", "\n", '" pod=', "; ") if (at := text.find(mark, end, end + LONGEST)) >= 0]
    return _bounded(text[first : min(ends, default=min(len(text), end + LONGEST // 2))].strip(_EDGES + ":"))


def _bounded(text: str) -> str:
    line = " ".join(text.split()).rstrip(":")
    closing = line.count("]") - line.count("[")  # of a list whose begin is not in the clause
    line = line[: len(line) - min(closing, len(line) - len(line.rstrip("]")))] if closing > 0 else line
    line += '"' * (not line.endswith(_A_QUOTE) and _is_quote_open(line))  # its end was taken off as an edge
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"
