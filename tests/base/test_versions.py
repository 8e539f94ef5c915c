"""Versions as components print them, and ranges of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.errors import PatternError
from kvdiag.base.versions import contains, format_range, intersection, is_subset, read_range, read_version, write_range


@pytest.mark.parametrize(
    ("text", "upstream", "tail", "vendor"),
    [
        ("v1.29.3", (1, 29, 3), "", False),
        ("1.7.2-0ubuntu1", (1, 7, 2), "-0ubuntu1", True),
        ("1.6.20~ds1", (1, 6, 20), "~ds1", True),
        ("v1.28.9+k3s1", (1, 28, 9), "+k3s1", True),
        ("v1.30.8-eks-2d5f260", (1, 30, 8), "-eks-2d5f260", True),
        ("v1.27.3-gke.100", (1, 27, 3), "-gke.100", True),
        ("1.6.24-3.1.el9", (1, 6, 24), "-3.1.el9", True),
        ("v1.32.0-rc.1", (1, 32, 0), "-rc.1", False),
        ("v2.0", (2, 0, 0), "", False),
        (" v1.2.3\n", (1, 2, 3), "", False),
    ],
)
def test_a_printed_version(text, upstream, tail, vendor):
    """The upstream part and what a vendor appended are told apart."""
    version = read_version(text)
    assert version is not None
    assert (version.upstream, version.tail, version.vendor) == (upstream, tail, vendor)


@pytest.mark.parametrize("text", ["", "unknown", "v", "1", "devel"])
def test_no_version(text):
    """What has no number of a release is no version."""
    assert read_version(text) is None


@pytest.mark.parametrize(
    ("span", "inside", "outside"),
    [
        ("<1.29.13", ["1.0", "1.29.12"], ["1.29.13", "1.30"]),
        ("<=1.29.13", ["1.29.13"], ["1.29.14"]),
        ("<=1.26", ["1.26.0", "1.26.99"], ["1.27.0"]),
        (">1.26", ["1.27.0"], ["1.26.0", "1.26.99"]),
        (">1.26.3", ["1.26.4"], ["1.26.3"]),
        (">=1.27", ["1.27.0", "2.0.0"], ["1.26.99"]),
        ("1.27", ["1.27.0", "1.27.9"], ["1.26.9", "1.28.0"]),
        ("=1.27.2", ["1.27.2"], ["1.27.1", "1.27.3"]),
        ("==1.27.2", ["1.27.2"], ["1.27.3"]),
        ("1", ["1.0.0", "1.99.9"], ["0.9.0", "2.0.0"]),
        ("v1.27.2", ["1.27.2"], ["1.27.3"]),
        (">=1.22 <1.27", ["1.22.0", "1.26.15"], ["1.21.9", "1.27.0"]),
        (">= 1.22, < 1.27", ["1.22.0", "1.26.15"], ["1.21.9", "1.27.0"]),
        ("<1.29.13 || >=1.30 <1.30.9", ["1.29.12", "1.30.8"], ["1.29.13", "1.29.99", "1.30.9"]),
    ],
)
def test_a_range_holds(span, inside, outside):
    """A range holds the versions that its comparators name, a release without its patch being all of its patches."""
    held = read_range(span)
    assert [text for text in inside if not contains(held, read_version(text))] == []
    assert [text for text in outside if contains(held, read_version(text))] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty version range in ''; write for example '>=1.22 <1.27'"),
        ("1.2 ||", "empty version range in '1.2 ||'"),
        (">=banana", "cannot read '>=banana' in the version range '>=banana'"),
        ("<1.27 ~1.2", "cannot read '~1.2' in the version range '<1.27 ~1.2'"),
        (">= banana", "cannot read '>=banana' in the version range"),
        ("1.2.3.4", "cannot read '1.2.3.4'"),
        (">=1.30 <1.20", "no version lies in '>=1.30 <1.20'"),
        ("1.2 || >2 <1", "no version lies in '>2 <1'"),
    ],
)
def test_no_range(text, problem):
    """What is no range, or holds no version, is refused at its place."""
    with pytest.raises(PatternError) as error:
        read_range(text, "f.yaml:2:9")
    assert str(error.value).startswith(f"f.yaml:2:9: {problem}")


def test_the_caret_stands_under_the_faulty_word():
    """In a range of several comparators the faulty one is pointed at."""
    with pytest.raises(PatternError) as error:
        read_range("<1.27 ~1.2", "f:1:1")
    assert str(error.value).split("\n")[1:] == ["    <1.27 ~1.2", "          ^^^^"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (">=1.22 <1.27", "1.22–1.26"),
        (">=1.22 <1.23", "1.22"),
        (">=1.27", "≥ 1.27"),
        (">=1.27.2", "≥ 1.27.2"),
        ("<1.35", "< 1.35"),
        ("1.27.2", "1.27.2"),
        (">=1.26.3 <1.27", "1.26.3 – < 1.27"),
        (">=1.20 <2.0", "1.20 – < 2.0"),
        ("<1.29.13 || >=1.30 <1.30.9", "< 1.29.13 or 1.30 – < 1.30.9"),
        (">=0.0.0", "any version"),
    ],
)
def test_a_range_for_people(text, said):
    """A range is told as people write it."""
    assert format_range(read_range(text)) == said


@pytest.mark.parametrize(
    ("inner", "outer", "whole"),
    [
        (">=1.22 <1.27", "<1.27", True),
        (">=1.22 <1.28", "<1.27", False),
        (">=1.26 <1.28", "<1.27 || >=1.27 <1.30", True),
        (">=1.26 <1.28", "<1.27 || >=1.27.1 <1.30", False),
        (">=1.22 <1.27", "<1.24 || <1.30", True),
    ],
)
def test_within(inner, outer, whole):
    """A range lies in another when each of its versions does, in however many pieces the other is written."""
    assert is_subset(read_range(inner), read_range(outer)) is whole


def test_an_empty_range_is_within_nothing():
    """What no version is in proves nothing."""
    assert not is_subset((), read_range(">=1.0"))


triples = st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(0, 20))
comparators = st.tuples(st.sampled_from([">=", "<=", ">", "<", "="]), triples).map(
    lambda pair: pair[0] + ".".join(map(str, pair[1]))
)
ranges = st.lists(comparators, min_size=1, max_size=4).map(" || ".join).filter(lambda text: "<0.0.0" not in text)
versions = triples.map(lambda triple: read_version(".".join(map(str, triple))))


@given(ranges)
def test_a_range_is_written_as_it_is_read(text):
    """What is written of a range is read as the same range."""
    span = read_range(text)
    assert read_range(write_range(span)) == span


@given(ranges, ranges, versions)
def test_intersection_holds_what_both_hold(one, other, version):
    """A version is in the intersection just when it is in both."""
    left, right = read_range(one), read_range(other)
    assert contains(intersection(left, right), version) == (contains(left, version) and contains(right, version))


@given(ranges, ranges)
def test_an_intersection_is_within_both(one, other):
    """What two ranges have in common lies in each of them."""
    both = intersection(read_range(one), read_range(other))
    assert not both or (is_subset(both, read_range(one)) and is_subset(both, read_range(other)))
