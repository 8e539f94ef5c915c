"""The imports, the places of guest packages and the limits of size hold for every module, read from its syntax tree."""

from __future__ import annotations

import ast
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

from kvdiag.report import REPORTS, TEXT
from kvdiag.report.timeline import TIMELINES

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "kvdiag").rglob("*.py"))

# Which packages each package may import besides itself; all others are forbidden.
MAY_IMPORT = {
    "base": set(),
    "model": set(),
    "anatomy": {"base", "model", "safe"},
    "inputs": {"base", "model"},
    "safe": {"base", "inputs"},
    "formats": {"base", "model", "inputs"},
    "events": {"base", "model", "formats"},
    "history": {"base", "model", "inputs", "safe", "formats", "events"},
    "rules": {"base", "model", "inputs", "formats", "events", "history", "anatomy"},
    "explain": {"base", "model", "inputs", "safe", "events", "history"},
    "report": {"base", "model", "safe", "formats", "history"},
    "analysis": {
        *("base", "model", "inputs", "safe", "formats", "events", "history", "anatomy", "rules", "explain", "report"),
    },
    "fleet": {"base", "model", "safe", "events", "history", "rules", "report", "analysis"},
    "agents": {"base", "model", "safe", "explain", "report", "analysis"},
    "cli": {
        *("base", "model", "inputs", "safe", "events", "history", "rules", "explain", "report", "analysis"),
        *("fleet", "agents"),
    },
    "__init__": {"analysis"},
    "__main__": {"cli"},
}
# What depends on nothing and may be asked for from everywhere.
FREE = {"kvdiag.__version__"}

GUESTS = {
    "typer": ("cli/",),
    "rich": ("cli/progress.py", "report/overview.py", "report/screen.py"),
    "pyparsing": ("rules/grammar.py",),
    "dateutil": ("base/clock.py",),
    "jinja2": ("report/page/render.py",),
    "markupsafe": ("report/page/render.py",),
    "yaml": ("base/yamlread.py", "report/yamltext.py"),
    "hyperscan": ("inputs/scan/hyper.py",),
    "backports": ("inputs/compressed.py",),
    "mcp": ("agents/server.py",),
    "mcp_types": ("agents/server.py",),
    "pydantic": ("agents/server.py",),
    "pyarrow": ("fleet/schema.py", "fleet/merge.py", "fleet/questions.py"),
    "duckdb": ("fleet/questions.py",),
    "fsspec": ("fleet/remote.py",),
    "distributed": ("fleet/dask_engine.py",),
}
MOST_LINES = 400
MOST_LINES_OF_A_FUNCTION = 40


@cache
def tree_of(module: Path) -> ast.Module:
    """Parse a module once for all tests."""
    return ast.parse(module.read_text(encoding="utf-8"))


@cache
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


def test_imports():
    """A module imports only its own package and those that its package may import."""
    assert not [f"{module}: {name}" for module in MODULES for name in _forbidden(module)]


def _forbidden(module: Path) -> list[str]:
    """Give what a module imports from a package that is not named for its own."""
    allowed = MAY_IMPORT[room(module)] | {room(module)}
    return [
        name
        for name in sorted(imported(module) - FREE)
        if name.startswith("kvdiag.") and (name.split(".")[1] if leads_inside(name) else "__init__") not in allowed
    ]


def test_each_allowed_import_is_one():
    """The table allows nothing that no module needs, and no package leads to itself over others."""
    there: dict[str, set[str]] = {name: set() for name in MAY_IMPORT}
    for module in MODULES:
        names = {name for name in imported(module) - FREE if name.startswith("kvdiag.")}
        there[room(module)] |= {name.split(".")[1] if leads_inside(name) else "__init__" for name in names}
    assert {name: rooms - {name} for name, rooms in there.items()} == MAY_IMPORT
    TopologicalSorter(MAY_IMPORT).prepare()


# Packages with more than MOST_PUBLIC public modules, and how many they have.
WIDE = {
    "model": 14,
    "inputs": 18,
    "formats": 18,
    "base": 13,
    "events": 15,
    "history": 23,
    "rules": 20,
    "report": 16,
    "analysis": 16,
    "fleet": 12,
}
MOST_PUBLIC = 10


def test_public_modules():
    """Of a package others import what its `PUBLIC` names: no other module, and no module is named in vain."""
    for package in MAY_IMPORT.keys() - {"__init__", "__main__"}:
        public = set(import_module(f"kvdiag.{package}").PUBLIC)
        prefix = f"kvdiag.{package}."
        used = {
            whole.removeprefix(prefix)
            for module in MODULES
            if room(module) != package
            for name in imported(module)
            for whole in modules_in(name)
            if whole.startswith(prefix)
        }
        assert used == public, f"kvdiag/{package}/__init__.py: PUBLIC names the modules that other packages import"
        assert len(public) <= WIDE.get(package, MOST_PUBLIC), f"{package} has too many public modules"


# By reason, what is imported when it is used and not when kvdiag starts; the figures are what that spares a start.
LAZY = {
    "for errors that a rule or nothing explains: 5 ms": (
        "anatomy.conditions",
        "anatomy.decode",
        "anatomy.error",
    ),
    "reads YAML, which a filled cache spares": (
        "anatomy.data_file",
        "base.decode",
        "base.yamlread",
        "events.event_file",
        "history.lifecycles.schema",
        "rules.capability_file",
        "rules.schema",
        "rules.selectors",
    ),
    "needs an extra": (
        "agents.server",
        "fleet.bundles",
        "fleet.compact",
        "fleet.compare",
        "fleet.cross_node",
        "fleet.dask_engine",
        "fleet.fleetrun",
        "fleet.local_engine",
        "fleet.merge",
        "fleet.overview",
        "fleet.page",
        "fleet.places",
        "fleet.progress",
        "fleet.questions",
        "fleet.remote",
    ),
    "after the limits of a process are set": (
        "analysis.analyze",
        "analysis.case",
        "base.clock",
        "fleet.rows",
        "fleet.shared",
        "model.event",
    ),
    "after the signal handlers are set": (
        "base.errors",
        "cli.app",
        "cli.completion",
        "cli.config",
        "cli.fast",
        "cli.main",
    ),
    "after the form of the command is known": (
        "cli.analysis",
        "model.options",
    ),
    "for an error message": ("safe.clean",),
    "`import kvdiag` alone, and the command, need none of it": ("analysis.library",),
    "for files beside the logs: 11 ms": (
        "events.snapshots.outputs",
        "events.snapshots.readers",
        "history.ingest.snapshots",
    ),
    "for an option: 1 to 13 ms": (
        "analysis.baselines",
        "analysis.follow",
        "analysis.line_context",
        "history.views.lanes",
    ),
    "for an output: 1 to 3 ms": (
        "report.changes",
        "report.json_report",
        "report.report_text",
    ),
    "for an output: rich, jinja2, yaml, 26 to 75 ms": (
        "report.errors",
        "report.page.render",
        "report.yamltext",
    ),
    "for such an input: 4 to 9 ms": (
        "inputs.archives",
        "inputs.journalfile",
    ),
    "for gRPC lines: 1 ms": ("events.rpc_calls",),
}


def test_lazy_imports():
    """A function imports a module of kvdiag only where `LAZY` has the reason, and each reason is still needed."""
    lazy = {
        whole.removeprefix("kvdiag.")
        for module in MODULES
        for name in inside_functions(module)
        for whole in modules_in(name)
    }
    assert lazy == {name for names in LAZY.values() for name in names}


def inside_functions(module: Path) -> set[str]:
    """Give the full names that the functions of a module import."""
    return {
        f"{node.module}.{alias.name}"
        for function in ast.walk(tree_of(module))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kvdiag")
        for alias in node.names
    }


def leads_inside(name: str) -> bool:
    """Whether the name leads to a module or package of kvdiag, and not into `kvdiag/__init__.py`."""
    path = ROOT / name.replace(".", "/")
    return len(name.split(".")) > 2 or path.is_dir() or path.with_suffix(".py").is_file()


def test_guests_stay_in_their_rooms():
    """Each guest package is imported in its own room only, so that it can be exchanged there."""
    wrong = []
    for module in MODULES:
        here = module.relative_to(ROOT / "kvdiag").as_posix()
        guests = {name.split(".")[0] for name in imported(module)} & GUESTS.keys()
        wrong += [f"{here}: {guest}" for guest in guests if not here.startswith(GUESTS[guest])]
    assert not wrong


def test_outputs_for_people_have_no_words_of_a_log():
    """What prints for a person is given text that may be shown, and cannot name a type that has other text."""
    texts = {module for kind, module in (*REPORTS.values(), *TIMELINES.values()) if kind == TEXT}
    raw = {"kvdiag.model." + name for name in ("report", "event", "error_groups", "record", "lifecycle", "timeline")}
    modules = [module for module in MODULES if name_of(module) in texts]
    assert len(modules) == len(texts)
    assert not [
        f"{module}: {name}" for module in modules for name in imported(module) if name.rpartition(".")[0] in raw
    ]


# Printers of one output beside others: each makes text of the values it gets, at once, and calls nothing else with them.
PRINTERS = {"kvdiag.report.inventory_tables": "Inventory", "kvdiag.report.comparison": "Comparison"}


def test_printers_have_no_words_of_a_log():
    """What prints an inventory or a comparison names its type only where the text of it is made."""
    for module in MODULES:
        if name_of(module) in PRINTERS:
            functions = [n for n in ast.walk(tree_of(module)) if isinstance(n, ast.FunctionDef)]
            naming = [one.name for one in functions if PRINTERS[name_of(module)] in annotations_of(one)]
            assert len(naming) == 1, f"{module}: {naming}"


def annotations_of(function: ast.FunctionDef) -> set[str]:
    """Give the names in the annotations of a function's parameters."""
    annotations = [one.annotation for one in (*function.args.args, *function.args.kwonlyargs) if one.annotation]
    return {node.id for one in annotations for node in ast.walk(one) if isinstance(node, ast.Name)}


def test_only_the_safe_package_makes_safe_text():
    """`SafeText(…)` is written where text is redacted and escaped, and nowhere else."""
    calls = [
        f"{module.relative_to(ROOT).as_posix()}"
        for module in MODULES
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "SafeText"
    ]
    assert set(calls) == {"kvdiag/safe/clean.py"}


def test_no_circles():
    """No module imports itself over others, not even for the type checker."""
    edges = {name_of(module): {whole for name in imported(module) for whole in modules_in(name)} for module in MODULES}
    sorter: TopologicalSorter[str] = TopologicalSorter(edges)
    sorter.prepare()


def name_of(module: Path) -> str:
    """Give the dotted name of a module."""
    parts = module.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def names() -> frozenset[str]:
    """Give the dotted names of all modules."""
    return frozenset(map(name_of, MODULES))


def modules_in(name: str) -> set[str]:
    """Give the module that an imported name is, or is in."""
    return {whole for whole in (name, name.rpartition(".")[0]) if whole in names() - {"kvdiag"}} - (
        {name.rpartition(".")[0]} if name in names() else set()
    )


def test_house_limits():
    """Modules and functions are short enough to be read at one go."""
    long = [str(module) for module in MODULES if len(module.read_text("utf-8").splitlines()) > MOST_LINES]
    for module in MODULES:
        functions = [n for n in ast.walk(tree_of(module)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
        long += [f"{module}: {one.name}" for one in functions if lines_of(one) > MOST_LINES_OF_A_FUNCTION]
    assert not long


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function from its first decorator to its end."""
    begins = min(part.lineno for part in (function, *function.decorator_list))
    return (function.end_lineno or 0) - begins + 1


def test_docstring():
    """Every module says in one sentence what it is for; a format opens with a real line, set in by four spaces."""
    wrong = []
    for module in MODULES:
        text = ast.get_docstring(tree_of(module), clean=False) or ""
        shows = room(module) != "formats" or module.name == "__init__.py" or "\n    " in text
        wrong += [] if text.split("\n")[0].strip() and shows else [str(module)]
    assert not wrong


@pytest.mark.parametrize("script", sorted((ROOT / "bench").glob("*.py")), ids=lambda path: path.stem)
def test_what_a_benchmark_imports_exists(script: Path):
    """The benchmarks and the fuzzer, which no other test runs, import names that exist; read, as an extra may lack."""
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in {"kvdiag", "tests", "tools"}:
            folder = ROOT / str(node.module).replace(".", "/")
            file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
            names = _top_names(file) | {path.stem for path in folder.glob("*.py")}
            assert {alias.name for alias in node.names} <= names


def _top_names(file: Path) -> set[str]:
    """The names that a module defines or imports outside of its functions and classes."""
    names: set[str] = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                names.add(name)
            case ast.Import(aliases) | ast.ImportFrom(_, aliases):
                names |= {alias.asname or alias.name for alias in aliases}
            case _:
                names |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return names
