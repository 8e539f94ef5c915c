"""Check that a finding claims no more than its lines show.

A gRPC code is matched as a code; a node's event is bounded in time; every failure has its success under `healed`; a
long list of exceptions is no proof; no step needs what the fault makes impossible; a text that names a file system or
driver has its words in the lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from kvdiag.anatomy.conditions import texts_of_causes
from kvdiag.model.rule import All, AnyOf, Chain, Condition, Rule, Selector
from kvdiag.model.values import GRPC_CODES, SubjectKind
from kvdiag.model.vocabulary import Entry
from kvdiag.rules.grammar import positive_names
from kvdiag.rules.stretches import try_names

Fault = tuple[str, str]  # the path of a key, such as `fix.0.run`, and the problem

CODES = "|".join(GRPC_CODES[1:])  # of errors
_BARE_CODE = re.compile(rf"(?<![\w.])(?<!code = )(?<!code: )({CODES})(?![\w])")
SUCCESSES: Mapping[str, frozenset[str]] = {
    "mounted": frozenset({"volume.stage", "volume.publish", "volume.map", "csi.nodestage", "csi.nodepublish"}),
    "unmounted": frozenset({"volume.unpublish", "volume.unstage", "csi.nodeunpublish", "csi.nodeunstage"}),
    "attached": frozenset({"volume.attach", "csi.controllerpublish"}),
    "detached": frozenset({"volume.detach", "csi.controllerunpublish"}),
}
"""Groups of operations: a success of one shows that the others of its group work again."""
MOST_EXCEPTIONS = 6
"""Refused globs of a name that still counts as proof. A longer list shows that the lines have many causes."""
_NODES = frozenset({"node", "from_node"})
_QUOTES = ("{error}", "{text}", "{message}", "{cause}")  # slots that quote the line, or the cause in it
_ANYTHING = frozenset({"*", "?*", "*?*"})
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
PRODUCT_WORDS: Mapping[str, tuple[str, ...]] = {
    "ext4": ("ext4", "jbd2"),
    "XFS": ("xfs",),
    "btrfs": ("btrfs",),
    "ZFS": ("zfs",),
    "NFS": ("nfs", "rpc.statd", ":/"),  # a device such as server:/export
    "SMB": ("smb", "cifs", "mount error("),  # mount.cifs; mount.ceph prints "mount error 13 = "
    "CIFS": ("cifs", "mount error("),
    "CephFS": ("ceph",),
    "Ceph": ("ceph", "rbd"),
    "RBD": ("rbd",),
    "GlusterFS": ("gluster",),
    "FUSE": ("fuse", "ransport endpoint is not connected", "sidecar container"),  # the last is of gcsfuse
    "iSCSI": ("iscsi",),
    "NVMe": ("nvme",),
    "LVM": ("lvm", "lvcreate", "lvchange"),
    "multipath": ("multipath", "lun serial"),
    "EBS": ("ebs",),
    "EFS": ("efs", "127.0.0.1"),  # its mounts go to stunnel on the node
    "AWS": ("aws",),
    "Azure": ("azure",),
    "vSphere": ("vsphere",),
    "Longhorn": ("longhorn", "ready for workloads", "is not ready, couldn't attach volume"),  # longhorn-manager's words
    "Mayastor": ("mayastor", "nvme"),
    "Portworx": ("portworx", "pxd"),
    "Trident": ("trident",),
    "NVIDIA": ("nvidia", "nvml"),
    "Docker": ("docker",),
    "CRI-O": ("crio", "cri-o", "layer not known"),  # the last is of containers/storage
    "AppArmor": ("apparmor",),
    "SELinux": ("selinux", "relabel"),
}
"""File systems, protocols and drivers that a text may name; the events must contain one of the words."""
_DRAINED = re.compile(r"\bdrain", re.IGNORECASE)


def lint_truth(rule: Rule, entries: Mapping[str, Entry]) -> Iterator[Fault]:
    """Yield every fault that lets a rule claim more than its lines show."""
    yield from _bare_codes(rule)
    yield from _unbounded_events(rule, entries)
    yield from _unhealed(rule)
    yield from _unproven(rule)
    yield from _impossible(rule)
    yield from _unmatched_products(rule, entries)


def _bare_codes(rule: Rule) -> Iterator[Fault]:
    for selector in rule.events.values():
        for where in selector.conditions:
            for name, globs in where.items():
                for glob in globs if name in {"error", "text", "message", "reason"} else ():
                    if found := _BARE_CODE.search(glob):
                        problem = (
                            f"{glob!r} matches the word {found[1]!r} anywhere; as a gRPC code it is 'code = {found[1]}'"
                        )
                        yield f"events.{selector.name}.{name}", problem


def _unbounded_events(rule: Rule, entries: Mapping[str, Entry]) -> Iterator[Fault]:
    """Yield a fault for node events that a rule about another subject accepts at any time."""
    if rule.per is SubjectKind.NODE or not _NODES.isdisjoint(rule.same):
        return
    for name in _unbounded_names(rule.when):
        selector = rule.events[name]
        known = [entries[kind] for kind in selector.kinds if kind in entries]
        if (
            known
            and all(entry.scope == "node" for entry in known)
            and not any("node" in w for w in selector.conditions)
        ):
            problem = f"{name!r} is an event of the node and may be hours away; put it in a chain with 'within'"
            yield "when", problem


def _unbounded_names(condition: Condition, *, is_beside: bool = False) -> Iterator[str]:
    """Yield the names without a time bound: steps of longer chains, and steps next to other terms."""
    match condition:
        case Chain(steps, within):
            loose = (step for step in steps if not within and not step.lasting and (is_beside or len(steps) > 1))
            yield from (step.name for step in loose)
        case All(terms):
            are_many = len([term for term in terms if any(positive_names(term))]) > 1
            for term in terms:
                yield from _unbounded_names(term, is_beside=is_beside or are_many)
        case AnyOf(terms):
            for term in terms:
                yield from _unbounded_names(term, is_beside=is_beside)
        case _:
            return


def _unhealed(rule: Rule) -> Iterator[Fault]:
    """Yield a fault for operations whose failure counts but whose success does not heal the fault."""
    if not rule.healed:
        return
    by = {kind for name in rule.healed.by for kind in rule.events[name].kinds}
    failed = {kind for name in try_names(rule) for kind in rule.events[name].kinds}
    for what, operations in SUCCESSES.items():
        broken = sorted(f"{one}.failed" for one in operations if f"{one}.failed" in failed)
        if broken and not any(f"{one}.succeeded" in by for one in operations):
            yield (
                "recovers",
                f"{', '.join(broken)} counts, but no event under 'recovers' shows that the volume was {what}",
            )


def _unproven(rule: Rule) -> Iterator[Fault]:
    """Yield a fault for names that match whatever is left after many refused errors."""
    proven = set(rule.proof.by) if rule.proof else set()
    for name in dict.fromkeys(positive_names(rule.when)):
        selector = rule.events[name]
        globs = [glob for where in selector.conditions for named in where.values() for glob in named]
        patterns = [glob for glob in globs if glob not in _ANYTHING]
        refused = [glob for glob in patterns if glob.startswith("!")]
        is_rest = len(refused) > MOST_EXCEPTIONS and len(refused) == len(patterns)
        if is_rest and (rule.proof is None or name in proven) and not _repeats(rule):
            problem = (
                f"{name!r} refuses {len(refused)} other errors, so it is no proof; name what proves it under 'proof'"
            )
            yield f"events.{name}", problem


def _repeats(rule: Rule) -> bool:
    """Return whether the rule only says that a step fails, which the line itself shows."""
    return "*" in rule.never_explains or rule.role == "symptom" or any(slot in rule.says for slot in _QUOTES)


def lint_look_alikes(rule: Rule, names: frozenset[str]) -> Iterator[Fault]:
    """Yield every `not-when` entry without a test. One that names another rule is tested with that rule's tests."""
    shown = {number for test in rule.tests for number in test.look_alikes}
    for number, text in enumerate(rule.look_alikes, start=1):
        if number not in shown and names.isdisjoint(rules_in(text)):
            problem = f"no test shows that the rule is silent then; give a near miss with 'not-when: {number}'"
            yield f"not-when.{number - 1}", problem
    for number, test in enumerate(rule.tests):
        for one in test.look_alikes:
            if one > len(rule.look_alikes):
                yield f"tests.{number}.not-when", f"there is no entry {one} under 'not-when'"
            elif any("info" not in verdict.split() for verdict in test.finds.values()):
                yield (
                    f"tests.{number}.not-when",
                    "a test with 'not-when' must find nothing, or a finding of severity info",
                )


def rules_in(text: str) -> set[str]:
    """Return the words of a text that may be names of rules."""
    return set(_NAME.findall(text))


def _impossible(rule: Rule) -> Iterator[Fault]:
    """Yield steps that wait for a drain although kubelet does not run."""
    if "kubelet.run" not in rule.breaks:
        return
    for number, fix in enumerate(rule.fix):
        if _DRAINED.search(fix.after):
            yield f"fix.{number}.after", "kubelet does not run, so no drain ends: its pods stay Terminating"


def _unmatched_products(rule: Rule, entries: Mapping[str, Entry]) -> Iterator[Fault]:
    """Yield file systems and drivers that a text names but that a proving branch of the condition does not require."""
    branches = rule.when.terms if isinstance(rule.when, AnyOf) else (rule.when,)
    proven = set(rule.proof.by) if rule.proof else set()
    events = {name: _selector_text(rule.events[name], entries) for name in positive_names(rule.when)}
    for key, text in (("title", rule.title), ("heading", rule.heading), ("says", rule.says)):
        for product, words in PRODUCT_WORDS.items():
            if not re.search(rf"(?<![\w-]){re.escape(product)}(?![\w-])", text):
                continue
            for branch in branches:
                names = list(dict.fromkeys(positive_names(branch)))
                is_doubted = rule.proof is not None and proven.isdisjoint(names)
                if not is_doubted and not any(word in events[name] for word in words for name in names):
                    listed = ", ".join(map(repr, names))
                    yield key, f"the text names {product}, but no line, value or component of {listed} does"


def _selector_text(selector: Selector, entries: Mapping[str, Entry]) -> str:
    """Return the words that identify an event's lines: conditions, kinds, components and wordings."""
    globs = (glob for where in selector.conditions for named in where.values() for glob in named if glob[:1] != "!")
    known = [entries[kind] for kind in selector.kinds if kind in entries]
    printed = ("\n".join((entry.component, *(one.anchor + one.message for one in entry.wordings))) for entry in known)
    causes = (text for where in selector.conditions for text in texts_of_causes(where.get("cause", ())))
    return "\n".join((*globs, *causes, *selector.kinds, *printed)).lower()
