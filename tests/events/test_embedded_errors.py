"""Words inside an error: whom the line around them is about, and in whose log they count."""

from __future__ import annotations

import pytest

from kvdiag.events.embedded_errors import pod_around, trim_to_string
from kvdiag.formats.authors import Attribution, Byline

UID = "1f0c3a52-8d7b-4e6f-9a10-5b2c7d8e9f01"


@pytest.mark.parametrize(
    ("line", "names"),
    [
        (f'"CreatePodSandbox for pod failed" err="no" pod="shop/web-0" podUID="{UID}"', ["shop/web-0", UID]),
        (f'Error syncing pod {UID} ("web-0_shop({UID})"), skipping: no', ["shop/web-0", UID]),
        (f'MountVolume.SetUp failed for volume "a" pod "web-0" (UID: "{UID}") : no', [UID]),
        ('"Event listed" object="web-0" kind="Pod" type="Warning" message="no"', ["web-0"]),
        ('"Event listed" object="worker-1" kind="Node" type="Warning" message="no"', []),
        ('"two" pods="a" err="no" pod="shop/web-0" other pod="shop/web-1"', []),
        ("failed to destroy network: no", []),
    ],
)
def test_the_pod_around(line, names):
    """The pod of a line is named in many ways; where several are, none is taken."""
    assert [ref.value for ref in pod_around(line.encode())] == names


@pytest.mark.parametrize(
    ("before", "value", "words"),
    [
        ("Error: ", "no such file", "no such file"),
        ('err="Error: ', 'no such file" pod="shop/web-0"', "no such file"),
        ('err="Error: ', r'open \"a\": no" pod="shop/web-0"', 'open "a": no'),
        (r'err="for \"app\" with Error: ', r'\"open \\\"a\\\": no\"" pod="shop/web-0"', '"open "a": no"'),
        (r'err="patch \"{\\\"message\\\":\\\"Error: ', r'no\\\",\\\"reason\\\":\\\"x\\\"}\" for a"', "no"),
        ('status={"message":"Error: ', r'read a:1-\u003eb:2: no","reason":"x"}', "read a:1->b:2: no"),
        ("Error: ", 'exec: "/bin/x": no', 'exec: "/bin/x": no'),
        (
            'event="&Event{Message:Error: ',
            r'Get \"u\": no,Source:EventSource{Component:kubelet,}" err="x"',
            'Get "u": no',
        ),
        (r'err="failed: \"Error: ', r'fatal error: a\\n\\ngoroutine 1 [running]:\\nmain\"" x', "fatal error: a"),
        (r'err="failed: ', r'\"fatal error: a\\n\\ngoroutine 1 [running]:\\nmain\"" x', "fatal error: a"),
        ('err="Error: ', 'no\nmore" a=b', 'no\nmore" a=b'),
        (r'err="[a, with Error: ', r'\"no \\\"b\\\"\"]" pod="shop/web-0"', '"no "b""'),
        (r"C:\a Error: ", r"C:\new\table: no", r"C:\new\table: no"),
        ('"' * 3 + "Error: ", 'no" x', "no"),
    ],
)
def test_words_end_with_their_string(before, value, words):
    """What an error says ends where the string does in which it stands, however deep that is."""
    number, values = trim_to_string((1, (b"app", value.encode())), (before + value.partition("\n")[0]).encode())
    assert (number, values[0], values[1]) == (1, b"app", words.encode())


def test_words_that_do_not_end_the_line_stay():
    """A value with a literal of the wording behind it, none at all, and a line that is too long are left as they are."""
    assert trim_to_string((1, (b'a"b',)), b'x="a"b not found') == (1, (b'a"b',))
    assert trim_to_string((1, (b"a", None)), b"a") == (1, (b"a", None))
    assert trim_to_string((1, ()), b"a") == (1, ())
    assert trim_to_string((1, (b'a" b',)), b'"' + b"x" * 20_000 + b'a" b') == (1, (b'a" b',))


@pytest.mark.parametrize(
    ("by", "ident", "relays"),
    [
        (Attribution(), "kubelet", True),
        (Attribution(), "dockerd", True),
        (Attribution(), "kube-apiserver", False),
        (Attribution(Byline("", "app")), "", False),
        (Attribution(Byline("kubelet", "kubelet")), "", True),
        (Attribution(Byline("kube-controller-manager", "")), "", False),
    ],
)
def test_who_relays(by, ident, relays):
    """What stands in a container's own log or in one of the control plane is no error of the node."""
    assert by.may_relay(ident, b"failed to find plugin") is relays
