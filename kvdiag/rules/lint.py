"""What a signature must have beyond being readable: tests that find and that do not, kinds that exist, bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kvdiag.errors import PatternError
from kvdiag.model.rule import Absent, All, AnyOf, Chain, Condition, Not, Rule
from kvdiag.model.vocabulary import Entry
from kvdiag.regex import lazy_regex
from kvdiag.rules.capabilities import capabilities
from kvdiag.rules.capability_lint import faults
from kvdiag.rules.distribution import plain, unknown_placeholders
from kvdiag.rules.fill import quoted_slots, slots
from kvdiag.rules.grammar import names_in, positive_names
from kvdiag.yamlread import suggestion

ALWAYS_KNOWN = {"count", "span", "often", "ladder", "lasted", "name", "namespace"}
CHANGES = (
    "rm ",
    "umount",
    "systemctl re",
    "systemctl stop",
    "systemctl start",
    "pkill ",
    "mv ",
    "kubectl delete",
    "crictl rm",
    "crictl stop",
    "lvremove",
    "reboot",
    "kill ",
    "swapoff",
    "chattr ",
    "mount ",
    "multipath -f",
    "aa-disable",
    "docker rm",
    "crictl pull",
    *(f"kubectl {verb}" for verb in ("annotate", "cordon", "drain", "label", "patch", "rollout", "scale", "taint")),
)
_IN_NAMESPACE = lazy_regex(r"^kubectl -n \S+ ")


def lint(rule: Rule, entries: Mapping[str, Entry], names: frozenset[str]) -> Iterator[PatternError]:
    """Every fault of one rule; `names` are all rules there are, for `explains`."""
    yield from (PatternError(rule.place, problem) for problem in _problems(rule, entries, names))


def _problems(rule: Rule, entries: Mapping[str, Entry], names: frozenset[str]) -> Iterator[str]:
    yield from _kinds(rule, entries)
    yield from _sentence(rule)
    yield from _tests(rule)
    yield from _texts(rule, entries)
    yield from faults(rule, capabilities())
    for name in (*rule.explains, *rule.never_explains):
        if name not in names:
            yield f"explains {name!r}, but there is no such rule{suggestion(name, names)}"


def _kinds(rule: Rule, entries: Mapping[str, Entry]) -> Iterator[str]:
    for selector in rule.events.values():
        for kind in selector.kinds:
            if kind not in entries:
                yield f"{selector.name}: no event kind is called {kind!r}{suggestion(kind, entries)}"
        said = {name for kind in selector.kinds if kind in entries for name in spoken(entries[kind])}
        for name in selector.where:
            if said and name not in said:
                yield f"{selector.name}: its lines say nothing of {name!r}{suggestion(name, said)}"


def _sentence(rule: Rule) -> Iterator[str]:
    by = rule.healed.by if rule.healed else ()
    used = {*names_in(rule.when), *rule.shows, *rule.follows, *by, rule.counts}
    yield from (f"the event {name!r} is named but never used" for name in rule.events if name not in used)
    bound = set(positive_names(rule.when))
    if not bound:
        yield "the sentence names nothing that must have happened; an absence alone is no finding"
    for name in rule.proof.by if rule.proof else ():
        if name not in bound:
            yield f"the proof {name!r} is nothing that the sentence asks to have happened"
    for name in set(rule.alarm) - bound:
        yield f"the alarm {name!r} is nothing that the sentence asks to have happened"
    for absent, measured in _bounded(rule.when, frozenset(bound)):
        open_end = absent.after and not absent.before and not absent.within and not absent.to_end
        if open_end:
            said = f"no {absent.name} after {absent.after}"
            yield f"'{said}' has no bound; say 'within 5m', or 'until end' if that is meant"
        for side in (absent.after, absent.before):
            if side and side not in measured:
                yield f"'no {absent.name}' is measured from {side!r}, which the sentence does not ask to have happened"


def _bounded(condition: Condition, bound: frozenset[str]) -> Iterator[tuple[Absent, frozenset[str]]]:
    """Each absence with the names it may be measured from: those that must have happened, or what is denied with it."""
    match condition:
        case Absent():
            yield condition, bound
        case Not(term):
            yield from _bounded(term, bound | frozenset(positive_names(term)))
        case All(terms) | AnyOf(terms):
            for term in terms:
                yield from _bounded(term, bound)
        case Chain():
            return


def _tests(rule: Rule) -> Iterator[str]:
    if not any(test.finds for test in rule.tests):
        yield "no test finds anything; give a log in which the signature is found"
    if all(test.finds for test in rule.tests):
        yield "no test is a near miss; give a log that looks alike and must find nothing (finds: {})"


def _texts(rule: Rule, entries: Mapping[str, Entry]) -> Iterator[str]:
    known = (
        ALWAYS_KNOWN
        | _ids(rule)
        | {n for s in rule.events.values() for k in s.kinds if k in entries for n in spoken(entries[k])}
    )
    for slot in sorted(slots(rule) - known):
        yield f"the slot {{{slot}}} is filled by nothing{suggestion(slot, known)}"
    for text in (rule.says, rule.cause, *rule.collect, *(part for fix in rule.fix for part in fix)):
        yield from (f"no distribution defines {unknown}" for unknown in unknown_placeholders(text))
    for fix in rule.fix:
        if not fix.after and _IN_NAMESPACE.sub("kubectl ", plain().say(fix.run).strip()).startswith(CHANGES):
            yield f"'{fix.run}' changes the node; say under 'after' what must be true before it is run"
        for slot in quoted_slots(fix.run):
            yield f"the slot {{{slot}}} of '{fix.run}' stands in quotes; it is quoted when it is filled"


def _ids(rule: Rule) -> set[str]:
    """The names every subject of the kind has, or that can be computed for it."""
    pod = {"pod", "pod_uid", "pod_name", "namespace", "node"}
    volume = {
        "volume",
        "volume_handle",
        "driver",
        "unique_name",
        "spec_name",
        "staging_path",
        "attachment",
        "target_path",
    }
    more = {"pod": pod, "volume": volume | pod | {"outer_name"}, "driver": {"driver", "node"}, "node": {"node"}}
    return more.get(str(rule.per), pod | {"sandbox", "sandbox_id", "container", "container_id"})


def spoken(entry: Entry) -> set[str]:
    """Every placeholder of an entry's wordings, and the names that those imply."""
    import re

    said = {p for w in entry.wordings for p in (*re.findall(r"\{(\w+)\}", w.message), *w.fields)}
    implied = {
        "unique_name": {"volume_handle", "driver", "pod_uid", "outer_name"},
        "target_path": {"pod_uid", "spec_name"},
        "staging_path": {"driver", "spec_name"},
        "pod": {"pod_name"},
        "pods": {"pod"},
        "error": {"target_path", "pod_uid", "spec_name"},
    }
    said |= {name for place in said for name in implied.get(place, ())}
    said |= {"pod", "pod_uid", "pod_name", "namespace"} if entry.is_within else set()
    said |= {"component"} | ({"functions", "goroutine", "state"} if entry.kind == "runtime.panicked" else set())
    return said if entry.wordings else set(GRPC_SAYS)


GRPC_SAYS = (
    "volume_handle", "target_path", "staging_path", "driver", "node", "error", "ephemeral", "pod_uid", "pod_name",
    "namespace", "spec_name", "version", "from_node", "to_node", "reason", "state", "container_name",
    "sandbox_id", "container_id",
)  # fmt: skip
