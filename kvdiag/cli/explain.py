"""`kvdiag explain`: the expected sequence of events, a rule, or a log line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from kvdiag.analysis.explain import BLOCK, Explainer
from kvdiag.analysis.redact import Redactor
from kvdiag.base.errors import UsageError, check_choice, skip_faults
from kvdiag.cli.arguments import NoPager, NoRedact, PatternFolders, folders
from kvdiag.cli.outlet import Notes
from kvdiag.cli.pager import open_output
from kvdiag.explain.asjson import capability_json, line_json, rule_json, topic_json, topics_json, word_json
from kvdiag.explain.text import capability_text, line_text, rule_text, topic_text, topics_text, word_text
from kvdiag.history.ingest.blocks import Input
from kvdiag.history.ingest.log_reader import TextInput
from kvdiag.inputs.source import Source, Stdin
from kvdiag.report.jsontext import json_text
from kvdiag.safe.clean import clean

OUTPUTS = ("text", "json")
STDIN = "-"
Page = tuple[str, dict[str, Any]]


def command(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="TOPIC|RULE|LINE", help="What to explain; - reads lines from stdin.")
    ] = None,
    mode: Annotated[
        str, typer.Option(help="Kind of volume: fs, block, inline, rwx… (each topic lists its modes).")
    ] = "",
    block: Annotated[bool, typer.Option("--block", help="Same as --mode block.")] = False,
    output: Annotated[str, typer.Option("-o", "--output", help=f"{', '.join(OUTPUTS)}.")] = "text",
    patterns: PatternFolders = None,
    no_pager: NoPager = False,
    no_redact: NoRedact = False,
) -> None:
    """Explain a topic, rule, capability, event, RPC, reason or line."""
    check_choice("-o", output, OUTPUTS)
    if block and mode not in {"", BLOCK}:
        raise UsageError(f"--block and --mode {mode} contradict each other")
    explainer = Explainer(folders(patterns))
    notes = Notes()
    pages = _pages(explainer, words or [], mode or (BLOCK if block else ""), notes, is_redacted=not no_redact)
    is_followed = words == [STDIN]  # print a page for each line as soon as it is read
    with open_output(None, output, no_pager=no_pager or is_followed) as (stream, _):
        for number, (text, values) in enumerate(pages):
            shown = ("\n" if number else "") + _safe(text)
            stream.write(json_text(values, redact=not no_redact) if output == "json" else shown)
            if is_followed:
                stream.flush()
    raise typer.Exit(notes.exit_code)


def _pages(explainer: Explainer, words: list[str], mode: str, notes: Notes, *, is_redacted: bool) -> Iterator[Page]:
    """Yield the pages for the words as text and as values: all topics, a topic, a rule, a word, or lines."""
    if not words:
        topics = list(explainer.topics.values())
        yield topics_text(topics), topics_json(topics)
    elif words == [STDIN]:
        yield from _lines(explainer, None, notes, is_redacted=is_redacted)
    elif topic := explainer.topic("-".join(words)):
        page = explainer.page(topic, mode)
        yield topic_text(page), topic_json(page)
    elif rule := explainer.rule(words[0]) if len(words) == 1 else None:
        yield rule_text(rule), rule_json(rule)
    elif capability := explainer.capability(words[0]) if len(words) == 1 else None:
        yield capability_text(capability), capability_json(capability)
    elif word := explainer.word(words[0]) if len(words) == 1 else None:
        yield word_text(word), word_json(word)
    elif _is_line(words):
        yield from _lines(explainer, " ".join(words), notes, is_redacted=is_redacted)
    else:
        raise explainer.unknown(" ".join(words))


def _is_line(words: list[str]) -> bool:
    """Return whether the words are a log line: names have no spaces, and no topic has four words."""
    return len(words) > 3 or any(" " in word for word in words)


def _lines(explainer: Explainer, line: str | None, notes: Notes, *, is_redacted: bool) -> Iterator[Page]:
    """Yield the pages for the given line, or for those of standard input."""
    source: Input = Source(STDIN, None, notes, given=Stdin(), is_named=True)
    if line is not None:
        source = TextInput("line", line.encode("utf-8", "surrogateescape"))
    with skip_faults(source.name, notes):
        for page in explainer.lines(source, notes, Redactor().lines if is_redacted else list):
            yield line_text(page), line_json(page)


def _safe(text: str) -> str:
    return clean(text, redact=False, newlines=True)
