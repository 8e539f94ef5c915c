"""Generate docs/event-kinds.md: `python -m tools.event_kinds > docs/event-kinds.md`."""

from __future__ import annotations

import sys

from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.events.names import PLACEHOLDERS
from kvdiag.events.template import compile_wording
from kvdiag.events.vocabulary import EVENTS, Vocabulary, read_vocabulary
from kvdiag.model.vocabulary import Entry


def kinds_page(vocabulary: Vocabulary) -> str:
    """Return docs/event-kinds.md: every kind with who prints it, from which -v on, what it names, what it means."""
    lines = [
        "# Event kinds",
        "",
        "Generated from `patterns/events/` by `python -m tools.event_kinds > docs/event-kinds.md`. A rule names",
        "its events by these kinds. *From -v* is the klog verbosity below which the absence of the line means nothing;",
        "*poll* marks lines that repeat while nothing changes; timelines show the *label*.",
    ]
    thing = ""
    for entry in sorted(vocabulary.kinds.values(), key=lambda entry: entry.kind):
        if (first := entry.kind.partition(".")[0]) != thing:
            thing = first
            lines += [
                "",
                f"## {thing}",
                "",
                "| kind | label | says | from -v | names and values | meaning |",
                "|---|---|---|---|---|---|",
            ]
        notes = [entry.about, *(["*poll*"] if entry.poll else []), *(["*node*"] if entry.scope == "node" else [])]
        values = ", ".join(_values_of(entry))
        printed_by = ", ".join(entry.components) or "any"
        lines.append(
            f"| `{entry.kind}` | {entry.label} | {printed_by} | {entry.verbosity} | {values} | {'; '.join(notes)} |"
        )
    return "\n".join(lines) + "\n"


def _values_of(entry: Entry) -> list[str]:
    names = [name for wording in entry.wordings for name in compile_wording(wording).names]
    return sorted(set(names), key=list(PLACEHOLDERS).index)


if __name__ == "__main__":
    sys.stdout.write(kinds_page(read_vocabulary(builtin_patterns() / EVENTS)))
