"""The language of `when`: a sentence over the named events of one timeline.

condition := term {("and" | "or") term}                      "and" binds tighter than "or"
term      := absence | "not" term | "(" condition ")" | chain ["without recovery"]
chain     := step {"then" step} ["within" DURATION]
step      := ["at least" COUNT ["different" VALUE]] NAME ["lasting" DURATION] ["as" NAME]
absence   := "no" NAME [bound]
bound     := "between" NAME "and" NAME
           | "before" NAME ["within" DURATION]
           | "after" NAME ["within" DURATION | "until end"]

`as` gives the events of a step a second name, so that another step may match other events of the first name.
`without recovery` stands for `no R after NAME until end`, for each R in the rule's `recovers` and the last NAME.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from kvdiag.base.clock import parse_duration
from kvdiag.base.errors import PatternError
from kvdiag.base.identity_cache import cached_by_identity
from kvdiag.base.suggestions import suggestion
from kvdiag.model.rule import Absent, All, AnyOf, Chain, ChainStep, Condition, Not

if TYPE_CHECKING:
    import pyparsing as pp

LONGEST = 4_000
MOST_NESTED = 60  # brackets and `not`; each needs a dozen recursive calls of the parser
A_TERM = "an event name, 'at least', 'no', 'not' or a bracket"
WORDS = frozenset(["no", "not", "and", "or", "then", "within", "at", "least", "different", "lasting", "between"])
WORDS |= frozenset(["after", "before", "until", "end", "as", "without", "recovery"])
RECOVERY = "recovery"  # reserved word; the name of an absence until `_expand` replaces it
_ALIAS = re.compile(r"\b([a-z][a-z0-9_]*)(?: lasting \w+)? as ([a-z][a-z0-9_]*)")


def aliases(text: str) -> list[tuple[str, str]]:
    """Return each name that `as` adds in a condition, after the name that it is added to."""
    return _ALIAS.findall(" ".join(text.split()))


def read_condition(text: str, known: Collection[str], place: str, recovers: Sequence[str] = ()) -> Condition:
    """Parse `text`, whose names must be in `known`. Raise PatternError with `place`, a caret and a suggestion.

    `recovers` are the names whose absence `without recovery` requires.
    """
    import pyparsing as pp

    text = " ".join(text.split())
    if len(text) > LONGEST or text.count("(") + text.count("not ") > MOST_NESTED:
        raise PatternError(
            place, f"the condition is longer than {LONGEST} characters or has more than {MOST_NESTED} nested brackets"
        )
    try:
        condition: Condition = _grammar().parse_string(text, parse_all=True)[0]
    except pp.ParseBaseException as error:
        raise PatternError(place, _error_message(error, text), text, min(error.loc, len(text))) from None
    if RECOVERY in names_in(condition) and not recovers:
        raise PatternError(place, "'without recovery' needs the key 'recovers'", text, text.index("without recovery"))
    condition = _expand(condition, recovers)
    for name in names_in(condition):
        if name not in known:
            problem = f"unknown event {name!r}{suggestion(name, known)}"
            raise PatternError(place, problem, text, position(name, text), len(name))
    return condition


def _expand(condition: Condition, recovers: Sequence[str]) -> Condition:
    """Return the condition with an absence of each of the names instead of `without recovery`."""
    match condition:
        case Not(term):
            return Not(_expand(term, recovers))
        case AnyOf(terms):
            return AnyOf(tuple(_expand(term, recovers) for term in terms))
        case All(terms):
            expanded: list[Condition] = []
            for term in terms:
                if isinstance(term, Absent) and term.name == RECOVERY:
                    expanded.extend(term._replace(name=name) for name in recovers)
                else:
                    expanded.append(_expand(term, recovers))
            return All(tuple(expanded))
        case _:
            return condition


def clauses(condition: Condition, *, negated: bool = True) -> Iterator[Chain | Absent]:
    """Yield the chains and absences of a condition in reading order, those in negated terms only with `negated`."""
    match condition:
        case Not(term):
            yield from clauses(term) if negated else ()
        case All(terms) | AnyOf(terms):
            for term in terms:
                yield from clauses(term, negated=negated)
        case _:
            yield condition


def names_in(condition: Condition) -> Iterator[str]:
    """Yield every event name in the condition, in reading order."""
    for clause in clauses(condition):
        if isinstance(clause, Chain):
            yield from (step.name for step in clause.steps)
        else:
            yield from filter(None, (clause.name, clause.after, clause.before))


@cached_by_identity
def name_set(condition: Condition) -> frozenset[str]:
    """Return every event name in the condition."""
    return frozenset(names_in(condition))


def absences(condition: Condition) -> Iterator[Absent]:
    """Yield every absence in the condition, in reading order."""
    return (clause for clause in clauses(condition) if isinstance(clause, Absent))


def required_chains(condition: Condition) -> Iterator[Chain]:
    """Yield the chains of a condition that are not in negated terms."""
    return (clause for clause in clauses(condition, negated=False) if isinstance(clause, Chain))


def positive_names(condition: Condition) -> Iterator[str]:
    """Yield the names of events that must exist for the condition to hold."""
    return (step.name for chain in required_chains(condition) for step in chain.steps)


@cache
def _grammar() -> pp.ParserElement:
    import pyparsing as pp

    word = {w: pp.Suppress(pp.Keyword(w)) for w in WORDS}
    name = pp.Regex(rf"(?!(?:{'|'.join(sorted(WORDS))})\b)[a-z][a-z0-9_]*").set_name("an event name")
    count = pp.Regex(r"[1-9]\d{0,8}\b").set_name("a count").set_parse_action(lambda t: int(t[0]))
    span = pp.Regex(r"[1-9]\d{0,8}(?:ms|s|m|h|d)\b").set_name("a duration such as 30s or 5m")
    span.set_parse_action(lambda t: parse_duration(t[0]))

    different = pp.Opt(word["different"] - name.copy().set_name("what must differ, such as pod"), default="")
    least = pp.Opt(word["at"] - word["least"] - count + different, default=(1, ""))
    least.set_parse_action(lambda t: [tuple(t) if len(t) > 1 else t[0]])
    step = least + name + pp.Opt(word["lasting"] - span, default=0) + pp.Opt(word["as"] - name.copy(), default="")
    step.set_parse_action(lambda t: ChainStep(t[3] or t[1], t[0][0], t[2], t[0][1]))
    chain = pp.Group(step + (word["then"] - step)[...]) + pp.Opt(word["within"] - span, default=0)
    chain.set_parse_action(lambda t: Chain(tuple(t[0]), t[1]))

    between = word["between"] - name("after") - word["and"] - name("before")
    until_end = word["until"] - pp.Keyword("end")("to_end")
    after = word["after"] - name("after") + pp.Opt((word["within"] - span("within")) | until_end)
    before = word["before"] - name("before") + pp.Opt(word["within"] - span("within"))
    absent = word["no"] - name("name") + pp.Opt(between | after | before)
    absent.set_parse_action(_absent)
    condition = pp.Forward()
    term = pp.Forward()
    bracket = pp.Suppress("(") - condition - pp.Suppress(")")
    negation = (word["not"] - term).set_parse_action(lambda t: Not(_all(t)))
    unrecovered = chain + pp.Opt(pp.Keyword("without") - word["recovery"])
    unrecovered.set_parse_action(_unrecovered)
    term <<= (negation | absent | bracket | unrecovered).set_name(A_TERM)
    conjunction = term + (word["and"] - term)[...]
    conjunction.set_parse_action(_all)
    disjunction = conjunction + (word["or"] - conjunction)[...]
    disjunction.set_parse_action(lambda t: AnyOf(tuple(t)) if len(t) > 1 else t[0])
    condition <<= disjunction
    return condition


def _all(terms: pp.ParseResults) -> Condition:
    only: Condition = terms[0]
    return All(tuple(terms)) if len(terms) > 1 else only


def _unrecovered(tokens: pp.ParseResults) -> list[Condition]:
    chain: Chain = tokens[0]
    return [chain, *(Absent(RECOVERY, after=chain.steps[-1].name, to_end=True) for _ in tokens[1:])]


def _absent(tokens: pp.ParseResults) -> Absent:
    parsed = tokens.as_dict()
    return Absent(
        name=parsed["name"],
        after=parsed.get("after", ""),
        before=parsed.get("before", ""),
        within=parsed.get("within", 0),
        to_end="to_end" in parsed,
    )


def _error_message(error: pp.ParseBaseException, text: str) -> str:
    found = text[error.loc :].split(" ", 1)[0] if error.loc < len(text) else "the end of the sentence"
    expected = error.msg.lower().replace("keyword ", "").replace("end of text", "'then', 'and', 'or' or the end")
    return f"{expected}, found {found!r}"


def position(name: str, text: str) -> int:
    """Return the position of a name in a sentence; 0 if it is not there."""
    column = 0
    for piece in text.split(" "):
        if piece.strip("()") == name:
            return column + piece.index(name)
        column += len(piece) + 1
    return 0
