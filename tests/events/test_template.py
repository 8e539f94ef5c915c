"""A template finds its values at any depth of escaping, in any order of fields, in linear time."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvdiag.base.errors import PatternError
from kvdiag.events.template import compile_wording
from kvdiag.model.vocabulary import Wording
from tests import patterns

PATTERNS = Path(__file__).parents[2] / "patterns" / "events"
UID = "5b0c7a1e-2f4d-4c8e-9a63-0d1e2f3a4b5c"


def values(message, line, anchor, fields=None):
    """Match one wording against a line, as the recogniser does, and name the values."""
    matcher = compile_wording(Wording(anchor=anchor, message=message, fields=fields or {}, place="x.yaml:1:1"))
    at = line.find(anchor.encode())
    found = matcher.match(line, at) if at >= 0 else None
    return found if found is None else dict(zip(matcher.names, found, strict=True))


VOLUME = 'SetUp done for volume "{spec_name}" (UniqueName: "{unique_name}") pod "{_}" (UID: "{pod_uid}")'
SAID = 'SetUp done for volume "pvc-1" (UniqueName: "k/csi/d^h") pod "web-0" (UID: "u") '


@pytest.mark.parametrize(
    "line",
    [
        f"I0715 x.go:1] {SAID}",
        'I0715 x.go:1] "' + SAID.replace('"', '\\"') + '" pod="shop/web-0"',
        '{"log":"I0715 x.go:1] \\"' + SAID.replace('"', '\\\\\\"') + '\\" pod=\\"shop/web-0\\""}',
    ],
    ids=["plain", "klog", "klog in JSON"],
)
def test_quotes_at_any_depth(line):
    """The same text gives the same names, raw, quoted by klog, and nested in JSON."""
    found = values(VOLUME, line.encode(), "SetUp done", {"pod": "pod"})
    assert found["spec_name"] == b"pvc-1"
    assert found["unique_name"] == b"k/csi/d^h"
    assert found["pod_uid"] == b"u"
    assert found["pod"] == (None if line.startswith("I0715 x.go:1] S") else b"shop/web-0")


@pytest.mark.parametrize(
    "fields",
    [
        'err="bad \\"thing\\" pod=\\"no/no\\"" pod="shop/web-0" podUID="u"',
        'podUID="u" pod="shop/web-0" err="bad \\"thing\\" pod=\\"no/no\\""',
        'pod="shop/web-0" logger="x y" podUID=u err="bad \\"thing\\" pod=\\"no/no\\"" more=&{a b}',
        'status={Phase:Running Labels:[a]} pod="shop/web-0" podUID="u" err="bad \\"thing\\" pod=\\"no/no\\""',
    ],
)
def test_order_of_fields_does_not_matter(fields):
    """Fields are found in any order, and never inside the value of another."""
    found = values(
        'It failed"',
        f'E0715 x.go:1] "It failed" {fields}'.encode(),
        "It failed",
        {"error": "err", "pod": "pod", "pod_uid": "podUID"},
    )
    assert found["pod"] == b"shop/web-0"
    assert found["pod_uid"] == b"u"
    assert b"bad" in found["error"]


def test_missing_fields_are_none():
    """A field that the line lacks is None; the others are found."""
    assert values('Done"', b'"Done" podUID=u', "Done", {"pod": "pod", "pod_uid": "podUID"}) == {
        "pod": None,
        "pod_uid": b"u",
    }


@pytest.mark.parametrize(
    ("line", "value"),
    [
        (b'msg="shim gone" id=abc namespace=k8s.io', b"abc"),
        (b'msg="shim gone" error="x id=no" id=abc', b"abc"),
        (b'{"id":"abc","level":"info","msg":"shim gone","time":"t"}', b"abc"),
    ],
)
def test_logrus_fields(line, value):
    """Fields of logrus are found, also where JSON writes them before the message."""
    assert values("shim gone", line, "shim gone", {"container_id": "id"})["container_id"] == value


@pytest.mark.parametrize(
    ("message", "line", "found"),
    [
        ('kept[[ (so "{outer_name}")]] for {node}', b'kept (so "x") for n1', {"outer_name": b"x", "node": b"n1"}),
        ('kept[[ (so "{outer_name}")]] for {node}', b"kept for n1", {"outer_name": None, "node": b"n1"}),
        ("kept {{Id:{driver},}}", b"kept {Id:d,}", {"driver": b"d"}),
        ("kept ...path [{path}]", b"kept and kept path [/a b]", None),
        ("kept ...path [{path}]", b"kept and kept path [/a]", {"path": b"/a"}),
        ("kept &X", rb"kept \u0026X", {}),
        ("kept: {error}", b"kept: all the rest, yes", {"error": b"all the rest, yes"}),
        ('kept"', b"kept on", None),
        ("was kept", b"xx was kept", {}),
        ("was kept", b"is kept", None),
        ('"kept"', b'x "kept"', {}),
        ('"kept"', b"xkept", None),
        ("] was kept", b"x.go:1] was kept", {}),
        ("] was kept", b"was kept", {}),  # pasted without klog's header
        ("] was kept", b"so it was kept", None),
        ("] kept: {error}", b"kept: gone", {"error": b"gone"}),
        ("] kept: {error}", b"app: kept: gone", None),
        ("{driver} was kept", b"disk was kept", {"driver": b"disk"}),
        ("kept {image}: output", b"kept reg:5000/app:1.2: output", {"image": b"reg:5000/app:1.2"}),
        ("kept {image}: output", b"kept reg:5000/app:1.2", None),
        ("{image}: was kept", b"reg:5000/app:1.2: was kept", {"image": b"reg:5000/app:1.2"}),
        ('kept {image}, "x"', rb'kept a,b, \"x\"', {"image": b"a,b"}),
        ("kept {image} so", b"kept a b so", None),  # a blank ends a value by itself
    ],
)  # fmt: skip
def test_syntax(message, line, found):
    """Optional parts, braces, `...`, the end of klog's header and values before the anchor mean what they say."""
    assert values(message, line, "kept") == found


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("", "the message is empty"),
        ("gone", "the anchor 'kept' is not part of the message's text"),
        ("kept {eror}", "unknown placeholder 'eror'; did you mean 'error'"),
        ("kept {driver", "'{' is no placeholder"),
        ("kept }", "'}' is no placeholder"),
        ("kept [[a [[b]] c]]", "an optional part inside another"),
        ("kept [[a", "'[[' is not closed"),
        ("kept a]]", "']]' closes nothing"),
        ("kept {driver}{node}", "a value must be followed by text"),
        ("kept ...{node}", "'...' must be followed by text"),
        ("kept {node} {node}", "the placeholder 'node' is used twice"),
    ],
)
def test_faults(message, problem):
    """A faulty template is refused with its place and what is wrong with it."""
    with pytest.raises(PatternError) as caught:
        compile_wording(Wording(anchor="kept", message=message, place="x.yaml:3:5"))
    assert str(caught.value).startswith("x.yaml:3:5: ")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "junk", [b'"', b"\\", b'\\"', b" a=", b' a="', b" a={", b" ", b"[[", b"x", b' (UID: "', b' pod "']
)
def test_hostile_lines_take_no_time(junk):
    """No wording needs more than linear time on a line made to hurt it: what is quadratic in these would not end."""
    vocabulary = patterns.vocabulary()
    for index, wording in enumerate(vocabulary.wordings):
        line = junk * 200 + wording.anchor.encode() + junk * 1_000
        vocabulary.matcher(index).match(line, line.find(wording.anchor.encode()))
