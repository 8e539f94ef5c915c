"""The documents name what exists: words of the glossary, functions and imports of the architecture."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

from tests.test_architecture import MAY_IMPORT, MODULES, name_of, tree_of

DOCS = Path(__file__).parents[1] / "docs"
CLASS = re.compile(r"`([A-Z][A-Za-z]+)`")
FUNCTION = re.compile(r"`(kvdiag(?:\.\w+)+):(\w+)`")
PACKAGE = re.compile(r"^\| `(\w+)` \|[^|]*\|([\w, `]*)\|$", re.MULTILINE)


def text_of(page: str) -> str:
    """Give a page of the documents."""
    return (DOCS / page).read_text("utf-8")


def top_level_names(module: Path) -> list[str]:
    """Give what a module defines at its top: classes, functions and assigned names."""
    names = []
    for node in tree_of(module).body:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                names.append(name)
            case ast.Assign(targets=targets):
                names += [target.id for target in targets if isinstance(target, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
    return names


def test_a_term_that_names_a_class_has_exactly_one():
    """Each class of the glossary exists, and no other top-level name is spelled like it."""
    known = Counter(name for module in MODULES for name in top_level_names(module))
    assert {term: known[term] for term in CLASS.findall(text_of("glossary.md")) if known[term] != 1} == {}


def test_a_term_is_explained_once():
    """No term of the glossary has two definitions."""
    terms = Counter(re.findall(r"\*\*([^*]+)\*\*", text_of("glossary.md")))
    assert [term for term, times in terms.items() if times > 1] == []


def test_the_functions_of_the_architecture_exist():
    """Every `kvdiag.x.y:name` is defined at the top of that module."""
    modules = {name_of(module): module for module in MODULES}
    named = FUNCTION.findall(text_of("architecture.md"))
    assert named
    assert [f"{module}:{name}" for module, name in named if name not in defined_in(modules.get(module))] == []


def defined_in(module: Path | None) -> list[str]:
    """Give the names of a module, none when there is no such module."""
    return top_level_names(module) if module else []


def test_the_table_shows_what_may_be_imported():
    """The packages of the table, and what each may import, are those that the imports are tested against."""
    shown = {name: set(re.findall(r"\w+", allowed)) for name, allowed in PACKAGE.findall(text_of("architecture.md"))}
    assert shown == {name: allowed for name, allowed in MAY_IMPORT.items() if name not in {"__init__", "__main__"}}
