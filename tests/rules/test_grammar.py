"""The language of `when`: every construct, what binds tighter, and what is said of a sentence that is none."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvdiag.base.clock import DAY, HOUR, MINUTE, SECOND
from kvdiag.base.errors import PatternError
from kvdiag.model.rule import Absent, All, AnyOf, Chain, ChainStep, Not
from kvdiag.rules.grammar import WORDS, names_in, positive_names, read_condition
from kvdiag.rules.rule_page import format_condition

KNOWN = frozenset({"a", "b", "c", "failed", "no_more"})
A, B, C = Chain((ChainStep("a"),)), Chain((ChainStep("b"),)), Chain((ChainStep("c"),))
AN_EVENT = "expected an event name, 'at least', 'no', 'not' or a bracket"
THE_END = "expected 'then', 'and', 'or' or the end"


def read(text):
    """Read a sentence that stands at a known place."""
    return read_condition(text, KNOWN, "f.yaml:3:7")


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("a", A),
        ("no_more", Chain((ChainStep("no_more"),))),
        ("a then b", Chain((ChainStep("a"), ChainStep("b")))),
        ("a then b then c within 5m", Chain((ChainStep("a"), ChainStep("b"), ChainStep("c")), 5 * MINUTE)),
        ("a within 250ms", Chain((ChainStep("a"),), SECOND // 4)),
        ("at least 3 a", Chain((ChainStep("a", 3),))),
        ("a lasting 2h", Chain((ChainStep("a", 1, 2 * HOUR),))),
        ("at least 3 a lasting 1d then b", Chain((ChainStep("a", 3, DAY), ChainStep("b")))),
        ("at least 3 a lasting 30s within 1m", Chain((ChainStep("a", 3, 30 * SECOND),), MINUTE)),
        ("at least 3 different pod a", Chain((ChainStep("a", 3, different="pod"),))),
        ("no a", Absent("a")),
        ("no a between b and c", Absent("a", after="b", before="c")),
        ("no a after b", Absent("a", after="b")),
        ("no a after b within 30s", Absent("a", after="b", within=30 * SECOND)),
        ("no a after b until end", Absent("a", after="b", to_end=True)),
        ("no a before b", Absent("a", before="b")),
        ("no a before b within 5m", Absent("a", before="b", within=5 * MINUTE)),
        ("not a", Not(A)),
        ("not not a", Not(Not(A))),
        ("not (a then b)", Not(Chain((ChainStep("a"), ChainStep("b"))))),
        ("a and b", All((A, B))),
        ("a and b and c", All((A, B, C))),
        ("a or b", AnyOf((A, B))),
        ("a or b and c", AnyOf((A, All((B, C))))),
        ("a and b or c", AnyOf((All((A, B)), C))),
        ("(a or b) and c", All((AnyOf((A, B)), C))),
        ("not a and b", All((Not(A), B))),
        ("no a between b and c and c", All((Absent("a", after="b", before="c"), C))),
        ("a and no b after a until end or c", AnyOf((All((A, Absent("b", after="a", to_end=True))), C))),
        ("  a\n  then b\n", Chain((ChainStep("a"), ChainStep("b")))),
    ],
)
def test_a_sentence_becomes_a_condition(text, condition):
    """Each construct is read as the condition it stands for; `and` binds tighter than `or`, `not` tighter than both."""
    assert read(text) == condition


@pytest.mark.parametrize(
    ("text", "problem", "column", "width"),
    [
        ("", f"{AN_EVENT}, found 'the end of the sentence'", None, 0),
        ("a b", f"{THE_END}, found 'b'", 2, 1),
        ("a then", "expected an event name, found 'the end of the sentence'", 6, 1),
        ("a then then b", "expected an event name, found 'then'", 7, 1),
        ("a then (b or c)", "expected an event name, found '(b'", 7, 1),
        ("then a", f"{AN_EVENT}, found 'then'", 0, 1),
        ("a or", f"{AN_EVENT}, found 'the end of the sentence'", 4, 1),
        ("a and and b", f"{AN_EVENT}, found 'and'", 6, 1),
        ("not", f"{AN_EVENT}, found 'the end of the sentence'", 3, 1),
        ("Failed", f"{AN_EVENT}, found 'Failed'", 0, 1),
        ("5 a", f"{AN_EVENT}, found '5'", 0, 1),
        ("at most 3 a", "expected 'least', found 'most'", 3, 1),
        ("at least a", "expected a count, found 'a'", 9, 1),
        ("at least 0 a", "expected a count, found '0'", 9, 1),
        ("a within 5", "expected a duration such as 30s or 5m, found '5'", 9, 1),
        ("a within 0s", "expected a duration such as 30s or 5m, found '0s'", 9, 1),
        ("a lasting", "expected a duration such as 30s or 5m, found 'the end of the sentence'", 9, 1),
        ("a within 5m then b", f"{THE_END}, found 'then'", 12, 1),
        ("no", "expected an event name, found 'the end of the sentence'", 2, 1),
        ("no no a", "expected an event name, found 'no'", 3, 1),
        ("no a between b", "expected 'and', found 'the end of the sentence'", 14, 1),
        ("no a between b and", "expected an event name, found 'the end of the sentence'", 18, 1),
        ("no a after b until c", "expected 'end', found 'c'", 19, 1),
        ("no a before b until end", f"{THE_END}, found 'until'", 14, 1),
        ("no a within 5m", f"{THE_END}, found 'within'", 5, 1),
        ("(a then b", "found 'the end of the sentence'", 9, 1),
        ("a)", f"{THE_END}, found ')'", 1, 1),
        ("a and faild", "unknown event 'faild'; did you mean 'failed'?", 6, 5),
        ("not (a then faild)", "unknown event 'faild'; did you mean 'failed'?", 12, 5),
        ("no a after faild", "unknown event 'faild'; did you mean 'failed'?", 11, 5),
        ("a and zzz", "unknown event 'zzz'; known are a, b, c, failed, no_more", 6, 3),
    ],
)
def test_what_is_no_sentence(text, problem, column, width):
    """An error names the place in the file, what was expected and what stands there, and points at it with a caret."""
    with pytest.raises(PatternError) as error:
        read(text)
    first, *caret = str(error.value).split("\n")
    assert first.startswith("f.yaml:3:7: ")
    assert first.endswith(problem)
    assert caret == ([] if column is None else [f"    {text}", "    " + " " * column + "^" * width])


def test_names_in_reading_order():
    """Every name is given as often and in the order as it is read."""
    assert list(names_in(read("a then b and not (c or no a between b and failed)"))) == [
        "a",
        "b",
        "c",
        "a",
        "b",
        "failed",
    ]


def test_positive_names():
    """What an absence or a `not` speaks of need not have happened."""
    assert list(positive_names(read("(a then b) or (c and no failed after c within 1m and not no_more)"))) == [
        "a",
        "b",
        "c",
    ]


names = st.sampled_from(sorted(KNOWN))
spans = st.integers(1, 10_000).flatmap(lambda n: st.sampled_from([n * 1000, n * SECOND, n * MINUTE, n * HOUR, n * DAY]))


def built(kind: type, *values: st.SearchStrategy, **more: st.SearchStrategy) -> st.SearchStrategy:
    """Only with what is given: of a tuple `builds` makes up the fields that have a default, too."""
    return st.tuples(st.tuples(*values), st.fixed_dictionaries(more)).map(lambda given: kind(*given[0], **given[1]))


steps = st.builds(ChainStep, names, st.integers(1, 999), st.just(0) | spans, st.just("") | names)
chains = st.builds(Chain, st.lists(steps, min_size=1, max_size=4).map(tuple), st.just(0) | spans)
absences = (
    built(Absent, names)
    | built(Absent, names, after=names, before=names)
    | built(Absent, names, after=names, within=st.just(0) | spans)
    | built(Absent, names, after=names, to_end=st.sampled_from([True]))
    | built(Absent, names, before=names, within=st.just(0) | spans)
)
several = {"min_size": 2, "max_size": 3}
conditions = st.recursive(
    chains | absences,
    lambda inner: (
        st.builds(Not, inner)
        | built(All, st.lists(inner, **several).map(tuple))
        | built(AnyOf, st.lists(inner, **several).map(tuple))
    ),
    max_leaves=6,
)


@given(conditions)
def test_what_is_said_is_read_again(condition):
    """A condition told in words is read as the same condition."""
    assert read(format_condition(condition)) == condition


@given(st.lists(st.sampled_from([*sorted(WORDS), *sorted(KNOWN), "5m", "3", "(", ")", "x"]), max_size=8).map(" ".join))
def test_any_words_are_read_or_refused(text):
    """Whatever is written, it is a condition over known names, or an error of ours."""
    with contextlib.suppress(PatternError):
        assert set(names_in(read(text))) <= KNOWN
