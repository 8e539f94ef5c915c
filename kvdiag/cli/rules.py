"""`kvdiag rules`: list, show, lint, test and create rules."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from kvdiag.analysis.explain import Explainer
from kvdiag.analysis.lint import check_patterns
from kvdiag.analysis.rule_mutants import problems, prove, summary
from kvdiag.analysis.rule_tests import failure, run_tests
from kvdiag.base.errors import PatternError, UsageError, check_choice
from kvdiag.base.pattern_folder import builtin_patterns
from kvdiag.cli.arguments import NoPager, PatternFolders, folders
from kvdiag.cli.help import PLAIN, Command
from kvdiag.cli.pager import open_output
from kvdiag.events.vocabulary import EVENTS, Vocabulary, load_vocabulary
from kvdiag.model.rule import Rule
from kvdiag.model.vocabulary import Entry
from kvdiag.report.jsontext import json_text
from kvdiag.report.yamltext import write_yaml
from kvdiag.rules.library import Library, load, load_rule_store
from kvdiag.rules.rule_page import show_rule
from kvdiag.rules.template import FAMILIES, new_rule
from kvdiag.safe.clean import clean

app = typer.Typer(help="List, show and test the rules, or write your own.", no_args_is_help=True, **PLAIN)

BROKEN = 2
LEAST_TITLE = 30  # columns; with fewer, a title is printed below its rule's name
OUTPUTS = ("text", "json", "yaml")
Which = Annotated[list[str] | None, typer.Argument(metavar="RULE", help="Ids or names; all rules when omitted.")]


@app.command("list", cls=Command)
def list_rules(
    patterns: PatternFolders = None,
    search: Annotated[
        str, typer.Option(help="Only rules that have this in name, title, cause or events, or that a message fits.")
    ] = "",
    output: Annotated[str, typer.Option("-o", "--output", help=f"{', '.join(OUTPUTS)}.")] = "text",
    no_pager: NoPager = False,
) -> None:
    """List rules: id, severity, name, title."""
    check_choice("-o", output, OUTPUTS)
    fitting = {fit.rule for fit in Explainer(folders(patterns)).fits(search)} if " " in search else set()
    rules = [rule for rule in load_rule_store([builtin_patterns(), *folders(patterns)]) if _has(rule, search, fitting)]
    document = {"rules": [_listed(rule) for rule in rules]}
    if output == "json":
        typer.echo(json_text(document, redact=False), nl=False)
    elif output == "yaml":
        write_yaml(document, sys.stdout, redact=False)
    else:
        with open_output(no_pager=no_pager) as (stream, style):
            stream.writelines(_table(rules, style.width))


def _has(rule: Rule, search: str, fitting: Collection[str]) -> bool:
    return rule.name in fitting or search.lower() in show_rule(rule).lower()


def _table(rules: list[Rule], columns: int) -> Iterator[str]:
    """Yield one line per rule; long titles are wrapped and indented."""
    longest = max((len(rule.name) for rule in rules), default=0)
    for rule in rules:
        head = f"{rule.id:6}  {rule.severity.label:8}  {rule.name:{longest}}  "
        indent = head if len(head) + LEAST_TITLE <= columns else f"{head.rstrip()}\n          "
        room = columns - (len(head) if indent == head else 10)
        lines = textwrap.wrap(rule.title, max(LEAST_TITLE, room)) or [""]
        margin = "\n" + " " * (len(head) if indent == head else 10)
        yield clean(f"{indent}{margin.join(lines)}".rstrip(), redact=False, newlines=True) + "\n"


def _listed(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "name": rule.name,
        "title": rule.title,
        "severity": rule.severity.label,
        "status": rule.status,
        "per": str(rule.per),
        "explains": list(rule.explains),
        "references": list(rule.references),
    }


@app.command("show", cls=Command)
def show(
    rule: Annotated[str, typer.Argument(help="Id or name.")],
    patterns: PatternFolders = None,
    no_pager: NoPager = False,
) -> None:
    """Show one rule in full: what it matches, why it happens, what to do."""
    rules = load_rule_store([builtin_patterns(), *folders(patterns)])
    page = clean(show_rule(_chosen(rules, [rule])[0]), redact=False, newlines=True)
    with open_output(no_pager=no_pager) as (stream, _):
        stream.write(page + "\n")


@app.command("lint", cls=Command)
def lint(
    dirs: Annotated[list[Path] | None, typer.Argument(metavar="DIR", help="Folders of your rules and events.")] = None,
    patterns: PatternFolders = None,
) -> None:
    """Check rules and events: syntax, event kinds, texts, missing tests, unmatched lines.

    With folders, check only these, against the built-in patterns; else check the built-in patterns.
    """
    user_folders = folders([*(dirs or ()), *(patterns or ())])
    library, faults = check_patterns(user_folders)
    _complain(faults)
    rules = len(library.rules)
    typer.echo(f"{rules} {'rule' if rules == 1 else 'rules'}, {len(faults)} faults", err=True)
    raise typer.Exit(BROKEN if faults else 0)


@app.command("test", cls=Command)
def test(
    which: Which = None,
    patterns: PatternFolders = None,
    mutants: Annotated[
        bool,
        typer.Option("--mutants", help="Run stories in all wordings, and find rule changes that no test detects."),
    ] = False,
) -> None:
    """Run the tests embedded in the rules."""
    library, lines = _library(folders(patterns), which or ())
    _complain(library.errors)
    vocabulary, chosen = (
        load_vocabulary(builtin_patterns() / EVENTS, lines, folders(patterns)),
        _chosen(library.rules, which),
    )
    try:
        good = _prove(chosen, vocabulary, named=bool(which)) if mutants else _try(chosen, vocabulary)
    except PatternError as fault:
        _complain([fault])
        raise typer.Exit(BROKEN) from None
    raise typer.Exit(BROKEN if library.errors else 0 if good else 1)


def _try(rules: list[Rule], vocabulary: Vocabulary) -> bool:
    results = [result for rule in rules for result in run_tests(rule, vocabulary)]
    failed = [result for result in results if not result.passed]
    _print_lines(map(failure, failed))
    typer.echo(f"{len(results) - len(failed)} passed, {len(failed)} failed", err=True)
    return not failed


def _prove(rules: list[Rule], vocabulary: Vocabulary, *, named: bool) -> bool:
    proofs = [prove(rule, vocabulary) for rule in rules]
    wrong = list(problems(proofs, named=named))
    _print_lines(wrong)
    typer.echo(summary(proofs), err=True)
    return not wrong


def _print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        typer.echo(clean(line, redact=False, newlines=True))


@app.command("new", cls=Command)
def new(
    name: Annotated[str, typer.Argument(help="Lower-case words joined by dashes: csi-nodeunstage-missing.")],
    folder: Annotated[Path, typer.Option("--patterns", metavar="DIR", help="Folder of your rules.")] = Path(),
    family: Annotated[str, typer.Option(help=", ".join(FAMILIES))] = "pod",
) -> None:
    """Create a rule file from a template."""
    check_choice("--family", family, FAMILIES, what="family")
    path = folder / family / f"{name}.yaml"
    if path.exists():
        raise UsageError(f"{path}: file exists")
    rule_folders = [folder] if folder != Path() else [path for name in FAMILIES if (path := Path(name)).is_dir()]
    is_user_rule = folder.resolve() != builtin_patterns().resolve()
    # Also beside files that are broken.
    used_ids = {rule.id for rule in load(rule_folders).rules} if rule_folders else set()
    used_ids |= {head.id for head in load_rule_store([builtin_patterns()]).summaries} if is_user_rule else set()
    text = new_rule(name, family, used_ids, is_user_rule=is_user_rule)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    typer.echo(f"{path}: fill it in, then run: kvdiag rules lint {folder}")


def _library(user_folders: Sequence[Path], which: Collection[str]) -> tuple[Library, list[Entry]]:
    """Return the rules with their tests, of the built-in ones only the requested ones; and the raw lines of all."""
    heads = load_rule_store([builtin_patterns()]).summaries if which else []
    chosen = {head.name for head in heads if head.id in which or head.name in which}
    library = load([builtin_patterns(), *user_folders], only=chosen if which else None)
    others = (head.lines for head in heads if head.name not in chosen)
    return library, list(chain(*others, *(rule.lines for rule in library.rules)))


def _chosen(rules: Sequence[Rule], which: list[str] | None) -> list[Rule]:
    if not which:
        return list(rules)
    by_name = {name: rule for rule in rules for name in (rule.id, rule.name)}
    for name in which:
        if name not in by_name:
            raise UsageError(f"unknown rule {name!r}; see `kvdiag rules list`")
    return [by_name[name] for name in which]


def _complain(faults: list[PatternError] | tuple[PatternError, ...]) -> None:
    for fault in faults:
        sys.stderr.write(f"{clean(str(fault), newlines=True)}\n")
