"""The clause at the end of an error is quoted whole: what a colon in it only separates a key from its value stays."""

from __future__ import annotations

import pytest

from kvdiag.anatomy.clause import innermost_clause


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("Error: not found", "Error: not found"),
        ("volume vol-1: not found", "volume vol-1: not found"),
        ("no such image: shop/web: not found", "no such image: shop/web"),
        ('"Unable to flush the chain" error="exit status 1"', "Unable to flush the chain: exit status 1"),
        (
            "Unknown switch: (null)\nwidget v0.4\nUsage:\n  widget [-a]\n  -d dry run, do not create",
            "Unknown switch: (null)",
        ),
        ("a: yaml: line 16: mapping values are not allowed here", "yaml: line 16: mapping values are not allowed here"),
        (
            "a: at line 16: mapping values are not allowed in this context",
            "mapping values are not allowed in this context",
        ),
        (
            "b: the size is exceeded, recBytes: 865, fileSize(9) = 3",
            "the size is exceeded, recBytes: 865, fileSize(9) = 3",
        ),
        ("b: the volume is not ready: attached: false", "the volume is not ready: attached: false"),
        (
            "b: the two are not the same.  cpu: /, memory: /system.slice/kubelet.service",
            "the two are not the same. cpu: /, memory: /system.slice/kubelet.service",
        ),
        ('failed to start: unknown policy: "static"', 'unknown policy: "static"'),
        (
            "EC2: AttachVolume, https response error StatusCode: 400, RequestID: 5b0c, api error Incorrect: vol-1 is gone",
            "AttachVolume, api error Incorrect: vol-1 is gone",
        ),
        (
            "StatusCode: 403, RequestID: A, HostID: b=, api error A: User: arn:1 is not authorized to perform: b on resource: c",
            "arn:1 is not authorized to perform: b on resource: c",
        ),
        (
            "a, error: invalid configuration: a must be less than b and more than c, path: &TypeMeta{Kind:,APIVersion:,}",
            "a must be less than b and more than c",
        ),
        (
            "a: Precondition failed: UID in precondition: 1f0c3a52-8d7b, UID in object meta: ",
            "UID in precondition: 1f0c3a52-8d7b, UID in object meta",
        ),
        ("b: exit status: 865: the program printed nothing at all", "the program printed nothing at all"),
    ],
)
def test_what_is_no_wrapper_stays(text, clause):
    """The line of a YAML file and a number of a list stay; what wraps the error does not."""
    assert innermost_clause(text) == clause
