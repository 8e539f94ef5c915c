"""The floors, the guests' rooms and the house limits hold for every module, read from its syntax tree."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "kvdiag").rglob("*.py"))

# A module imports only from lower floors and from its own package.
FLOORS = (
    {"model", "errors", "regex"},
    {"yamlread", "clock", "cache", "versions", "inputs"},
    {"formats", "events", "evidence", "scan"},
    {"correlate"},
    {"rules", "explain"},
    {"report"},
    {"pipeline"},
    {"cli"},
    {"__init__", "__main__"},
)
# Packages of one floor do not import one another, except:
NEIGHBOURS = {
    ("events", "formats"),  # an event is recognised in the fields that a format read
    ("evidence", "events"),  # the names in a file's path are read as those in a line
    ("inputs", "clock"),  # the time a file was modified says which year its lines are of
}
# What depends on nothing and may be asked for from everywhere.
FREE = {"kvdiag.__version__"}

GUESTS = {
    "typer": ("cli/",),
    "rich": ("report/terminal.py", "cli/progress.py"),
    "pyparsing": ("rules/grammar.py", "formats/gostruct.py"),
    "dateutil": ("clock.py",),
    "yaml": ("yamlread.py",),
    "hyperscan": ("scan/hyper.py",),
    "backports": ("inputs/compressed.py",),
}
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 40

each_module = pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))


@cache
def tree_of(module: Path) -> ast.Module:
    """Parse a module once for all tests."""
    return ast.parse(module.read_text(encoding="utf-8"))


def imported(module: Path) -> set[str]:
    """Give the full names a module imports, those for the type checker included."""
    names = set()
    for node in ast.walk(tree_of(module)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def room(module: Path) -> str:
    """Give the package directly under kvdiag that a file belongs to, or the module if it stands alone."""
    return module.relative_to(ROOT / "kvdiag").with_suffix("").parts[0]


def floor(name: str) -> int:
    """Give the number of the floor of a room."""
    for number, rooms in enumerate(FLOORS):
        if name in rooms:
            return number
    raise AssertionError(f"kvdiag/{name} stands on no floor: give it one in FLOORS")


@each_module
def test_floors(module):
    """A module imports only lower floors, its own package, or a neighbour it may."""
    here = room(module)
    wrong = []
    for name in imported(module) - FREE:
        if name.split(".")[0] != "kvdiag":
            continue
        there = name.split(".")[1] if leads_inside(name) else "__init__"
        if floor(there) >= floor(here) and there != here and (here, there) not in NEIGHBOURS:
            wrong.append(name)
    assert not wrong, f"{here} (floor {floor(here)}) must not import {sorted(wrong)}"


def leads_inside(name: str) -> bool:
    """Whether the name leads to a module or package of kvdiag, and not into `kvdiag/__init__.py`."""
    path = ROOT / name.replace(".", "/")
    return len(name.split(".")) > 2 or path.is_dir() or path.with_suffix(".py").is_file()


@each_module
def test_guests_stay_in_their_rooms(module):
    """Each guest package is imported in its own room only, so that it can be exchanged there."""
    here = module.relative_to(ROOT / "kvdiag").as_posix()
    guests = {name.split(".")[0] for name in imported(module)} & GUESTS.keys()
    assert not [guest for guest in guests if not here.startswith(GUESTS[guest])]


@each_module
def test_house_limits(module):
    """Modules and functions are short enough to be read at one go."""
    assert len(module.read_text(encoding="utf-8").splitlines()) <= MOST_LINES
    functions = [n for n in ast.walk(tree_of(module)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    long = {
        function.name: lines_of(function) for function in functions if lines_of(function) > MOST_LINES_OF_A_FUNCTION
    }
    assert not long


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function from its first decorator to its end."""
    begins = min(part.lineno for part in (function, *function.decorator_list))
    return (function.end_lineno or 0) - begins + 1


@each_module
def test_docstring(module):
    """Every module says in one sentence what it is for; a format opens with a real line, set in by four spaces."""
    text = ast.get_docstring(tree_of(module), clean=False) or ""
    assert text.split("\n")[0].strip()
    if room(module) == "formats" and module.name != "__init__.py":
        assert "\n    " in text, "a module of formats/ shows a line of what it reads"
