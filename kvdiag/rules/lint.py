"""Check a readable rule: positive and negative tests, existing kinds, known slots, safe commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kvdiag.base.errors import PatternError
from kvdiag.base.regex import lazy_regex
from kvdiag.base.suggestions import suggestion
from kvdiag.events.template import template_fault
from kvdiag.model.rule import Rule
from kvdiag.model.values import SubjectKind
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.capabilities import capabilities, capability_faults
from kvdiag.rules.causes import CAUSE
from kvdiag.rules.distribution import default_dialect, unknown_placeholders
from kvdiag.rules.fill import fixed_words, quoted_slots, slots_of, texts_of
from kvdiag.rules.grammar import positive_names
from kvdiag.rules.lint_anatomy import lint_anatomy
from kvdiag.rules.lint_samples import LogSamples, unmatched
from kvdiag.rules.lint_sentence import lint_sentence
from kvdiag.rules.lint_truth import lint_truth
from kvdiag.rules.related_findings import EVERYTHING
from kvdiag.rules.selection import ANATOMY, CODE, TEXT, TEXTS
from kvdiag.rules.template import unfilled

ALWAYS_KNOWN = {"count", "span", "often", "ladder", "lasted", "name", "namespace", "resources", "errors", TEXT}
OF_POD = frozenset(
    ["pod", "pods", "pod_uid", "pod_name", "pod_metadata", "sandbox_id", "container_id", "cgroup", "error"]
) | {"target_path", "unique_name"}
OF_VOLUME = frozenset(["unique_name", "volume_handle", "spec_name", "pv_name", "outer_name", "attachment", "error"])
NAMED_BY = {
    SubjectKind.POD: OF_POD,
    SubjectKind.SANDBOX: OF_POD,
    SubjectKind.CONTAINER: OF_POD,
    SubjectKind.VOLUME: OF_VOLUME | {"target_path", "staging_path"},
    SubjectKind.DRIVER: frozenset(["driver", "unique_name", "staging_path", "error", "endpoint", "path"]),
}
"""By kind of subject the names and values of a line that identify it, directly or through another subject."""
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
MOST_WORDS = 12  # words of a heading, which must fit on two lines with its names
_DANGLING = lazy_regex(r"(?<![\w-])(on|of|in|at|from|to|by|with|for|that)\[\[ ?\{")
_IN_NAMESPACE = lazy_regex(r"^kubectl -n \S+ ")

Fault = tuple[str, str]  # the path of a key, such as `fix.0.run`, and the problem


def lint(
    rule: Rule, entries: Mapping[str, Entry], names: frozenset[str], samples: LogSamples | None = None
) -> list[PatternError]:
    """Return every fault of a rule with its place; `names` are those of all rules, for `explains`.

    With `samples`, globs and raw lines are compared with real log lines.
    """
    found = [PatternError(rule.place_of(path), problem) for path, problem in _faults(rule, entries, names)]
    found += [fault for entry in rule.lines for fault in map(template_fault, entry.wordings) if fault]
    found += lint_sentence(rule)
    found += (
        [PatternError(rule.place_of(path), problem) for path, problem in unmatched(rule, samples)] if samples else []
    )
    return found


def _faults(rule: Rule, entries: Mapping[str, Entry], names: frozenset[str]) -> Iterator[Fault]:
    yield from unfilled(rule)
    yield from _kinds(rule, entries)
    yield from _scope(rule, entries)
    yield from _tests(rule)
    yield from _texts(rule, entries)
    yield from lint_truth(rule, entries)
    yield from lint_anatomy(rule)
    yield from (("breaks", fault) for fault in capability_faults(rule, capabilities()))
    for number, name in enumerate(rule.never_explains):
        if name != EVERYTHING and name not in names:
            yield (
                f"never-explains.{number}",
                f"never explains {name!r}, but there is no such rule{suggestion(name, names)}",
            )
    for number, name in enumerate(rule.explains):
        if name not in names:
            yield f"explains.{number}", f"explains {name!r}, but there is no such rule{suggestion(name, names)}"


def _kinds(rule: Rule, entries: Mapping[str, Entry]) -> Iterator[Fault]:
    for selector in rule.events.values():
        path = f"events.{selector.name}"
        for number, kind in enumerate(selector.kinds):
            at = f"{path}.kind.{number}"
            if kind not in entries:
                yield at, f"{selector.name}: unknown event kind {kind!r}{suggestion(kind, entries)}"
            if kind in selector.kinds[:number]:
                yield at, f"{selector.name}: the kind {kind!r} is named twice"
        known = {name for kind in selector.kinds if kind in entries for name in value_names(entries[kind])}
        known |= {TEXT, CODE, *ANATOMY} if not TEXTS.isdisjoint(known) else set()
        for inner, where in selector.placed_conditions:
            for name in where if known else ():
                if name not in known:
                    yield (
                        f"{inner}.{name}",
                        f"{selector.name}: its lines say nothing of {name!r}{suggestion(name, known)}",
                    )


def _scope(rule: Rule, entries: Mapping[str, Entry]) -> Iterator[Fault]:
    """Yield a fault if no event of the rule can name the rule's subject: it would never be evaluated."""
    if rule.per not in NAMED_BY:
        return
    kinds = {kind for name in positive_names(rule.when) for kind in rule.events[name].kinds}
    known = [entries[kind] for kind in kinds if kind in entries]
    if known and all(NAMED_BY[rule.per].isdisjoint(value_names(entry)) for entry in known):
        yield "per", f"per {rule.per}, but no line of {', '.join(sorted(kinds))} identifies one; use 'per: node'"


def _tests(rule: Rule) -> Iterator[Fault]:
    if not any(test.finds for test in rule.tests):
        yield "tests", "no test finds anything; give a log in which the signature is found"
    if all(test.finds for test in rule.tests):
        yield "tests", "no test is a near miss; give a log that looks alike and must find nothing (finds: {})"
    for number, test in enumerate(rule.tests):
        if test.name in {other.name for other in rule.tests[:number]}:
            yield f"tests.{number}.name", f"two tests are called {test.name!r}"


def _texts(rule: Rule, entries: Mapping[str, Entry]) -> Iterator[Fault]:
    known = (
        ALWAYS_KNOWN
        | _ids(rule)
        | {n for s in rule.events.values() for k in s.kinds if k in entries for n in value_names(entries[k])}
    )
    known |= {CAUSE} if rule.cause_from else set()
    if fixed_words(rule.heading) > MOST_WORDS:
        yield "heading", f"a heading has at most {MOST_WORDS} words besides the names in it"
    for path, text in texts_of(rule):
        for slot in sorted(slots_of(text) - known):
            yield path, f"the slot {{{slot}}} is unknown{suggestion(slot, known)}"
        yield from ((path, f"no distribution defines {unknown}") for unknown in unknown_placeholders(text))
        if dangling := _DANGLING.search(text):
            yield path, f"without its optional part the text has '{dangling[1]}' and nothing after it; put it inside"
    for number, fix in enumerate(rule.fix):
        if not fix.after and _IN_NAMESPACE.sub("kubectl ", default_dialect().expand(fix.run).strip()).startswith(
            CHANGES
        ):
            problem = f"'{fix.run}' changes the node; write under 'after' what must be true before it is run"
            yield f"fix.{number}.run", problem
        for slot in quoted_slots(fix.run):
            problem = f"the slot {{{slot}}} of '{fix.run}' is inside quotes; values are quoted when slots are filled"
            yield f"fix.{number}.run", problem


def _ids(rule: Rule) -> set[str]:
    """Return the names that every subject of the kind has or that can be derived for it."""
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


def value_names(entry: Entry) -> set[str]:
    """Return every placeholder of an entry's wordings, and the names derived from them."""
    import re

    names = {p for w in entry.wordings for p in (*re.findall(r"\{(\w+)\}", w.message), *w.fields)}
    implied = {
        "unique_name": {"volume_handle", "driver", "pod_uid", "outer_name"},
        "target_path": {"pod_uid", "spec_name"},
        "staging_path": {"driver", "spec_name"},
        "pod": {"pod_name"},
        "pods": {"pod"},
        "cgroup": {"pod_uid", "container_id"},
        "exit_code": {"signal", "duration"},
        "error": {"target_path", "pod_uid", "spec_name"},
    }
    names |= {name for place in names for name in implied.get(place, ())}
    names |= {"pod", "pod_uid", "pod_name", "namespace"} if entry.is_embedded else set()
    names |= {"component"} | ({"functions", "goroutine", "state"} if entry.kind == "runtime.panicked" else set())
    return names if entry.wordings else set(GRPC_VALUES)


GRPC_VALUES = (
    "volume_handle", "target_path", "staging_path", "driver", "node", "error", "ephemeral", "pod_uid", "pod_name",
    "namespace", "spec_name", "version", "from_node", "to_node", "reason", "state", "container_name",
    "sandbox_id", "container_id",
)  # fmt: skip
