"""Events of the cluster as kubectl shows them: `get events`, also wide and with namespaces, and the end of `describe`.

    3m12s (x5 over 10m)   Warning   FailedMount   pod/web-0   MountVolume.SetUp failed for volume "data" : rpc error: …
      Warning  FailedMount  3m (x5 over 10m)  kubelet  MountVolume.SetUp failed for volume "data" : rpc error: …

A row tells how long ago it was and not when, so that it has no time; what it says is read like any message.
"""

from __future__ import annotations

from kvdiag.model.record import Body
from kvdiag.model.values import Level
from kvdiag.regex import regex

_AGE = rb"(?:<unknown>|<invalid>|(?:\d{1,5}[smhdy]){1,3})(?: \(x(?P<count>\d{1,9}) over (?P<over>[\dsmhdy]{1,12})\))?"
_REASON = rb"(?P<type>Normal|Warning)[ \t]+(?P<reason>[A-Z]\w{1,80})"
ROW = regex(
    rb"[ \t]*+(?:(?:(?P<namespace>[a-z0-9][-a-z0-9]{0,62}) +)?(?P<age>" + _AGE + rb") +" + _REASON
    + rb" +(?P<object>[a-z][a-z0-9.]{1,80}/\S{1,253}) +"
    rb"|" + _REASON.replace(b"?P<type>", b"?P<kind>").replace(b"?P<reason>", b"?P<cause>")
    + rb" +(?P<when>" + _AGE.replace(b"?P<count>", b"?P<times>").replace(b"?P<over>", b"?P<during>")
    + rb") +(?P<source>[a-z][\w.\-]{1,100}(?:, \S{1,253})?) +)(?P<rest>\S.*)"
)  # fmt: skip
_HEADING = regex(rb"(?:NAMESPACE +)?LAST SEEN +TYPE +REASON +|[ \t]*(?:Type +Reason +Age +From +|---- +------ +---- +)")
_COLUMNS = regex(rb" {2,}")
_NUMBER = regex(rb"\d{1,9}")
_SAME = {"kind": "type", "cause": "reason", "when": "age", "times": "count", "during": "over"}


def is_heading(line: bytes) -> bool:
    """Whether a line names the columns of such a table."""
    return _HEADING.match(line) is not None


def read(body: bytes) -> Body | None:
    """One row of either table; None for any other line."""
    found = ROW.match(body)
    if found is None:
        return None
    fields = {
        _SAME.get(name, name): value.decode("utf-8", "replace") for name, value in found.groupdict().items() if value
    }
    message = fields.pop("rest")
    columns = [column.decode("utf-8", "replace") for column in _COLUMNS.split(found["rest"].rstrip())]
    # wide: [subobject] source message first-seen count name
    if found["object"] and len(columns) >= 5 and _NUMBER.fullmatch(columns[-2].encode()):
        *before, message, fields["first_seen"], fields["count"], fields["name"] = columns
        fields["source"] = before[-1]
    level = Level.WARNING if fields["type"] == "Warning" else Level.INFO
    return Body(format="kubectl-event", level=level, message=message.rstrip(), fields=fields)
