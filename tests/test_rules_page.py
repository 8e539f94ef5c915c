"""docs/rules.md: every key and placeholder is in it, its examples can be read, and its tutorial does what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from kvdiag.events.names import PLACEHOLDERS
from kvdiag.rules.grammar import __doc__ as grammar
from kvdiag.rules.schema import KEYS
from kvdiag.rules.selectors import LINE_KEYS, RESERVED_KEYS
from tests.conftest import run_kvdiag

PAGE = Path(__file__).parents[1] / "docs" / "rules.md"
TEXT = PAGE.read_text("utf-8")
BLOCK = re.compile(r"^```(\w*) ?([\w./-]*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LISTED = re.compile(r"(<!-- placeholders: [^\n]*-->\n)(.*?)\n<!-- end -->", re.DOTALL)


def listed() -> str:
    """Give the placeholders as the page lists them: those that name something, and the values."""
    naming = [f"`{name}`" for name, one in PLACEHOLDERS.items() if one.kind]
    values = [f"`{name}`" for name, one in PLACEHOLDERS.items() if not one.kind]
    return f"- {' '.join(naming)}\n- {' '.join(sorted(values))}"


def test_every_key_is_told():
    """Each key of a rule, of an event and of a raw line stands on the page."""
    for key in (*KEYS, *LINE_KEYS, *RESERVED_KEYS):
        assert re.search(rf"^\s*{key}:|`{key}[`:]", TEXT, re.MULTILINE), key


def test_the_first_rule_fits_on_a_screen():
    """The page begins with a whole rule of at most 30 lines; `tests/test_readme.py` lints and tests it."""
    body = BLOCK.search(TEXT)[3]
    assert TEXT.index("<!-- rule: ") < TEXT.index(body) < TEXT.index("## All keys")
    assert len(body.splitlines()) <= 30


def test_every_placeholder_is_told(pytestconfig):
    """All placeholders are listed; `--update` writes them anew."""
    if pytestconfig.getoption("--update"):
        PAGE.write_text(LISTED.sub(lambda found: f"{found[1]}{listed()}\n<!-- end -->", TEXT), "utf-8")
    else:
        (found,) = LISTED.finditer(TEXT)
        assert found[2] == listed()


def test_the_grammar_is_told():
    """The language of `when` stands on the page as the module has it."""
    rules = [line for line in (grammar or "").splitlines() if ":=" in line or line.startswith("  ")]
    assert len(rules) > 5
    assert [line for line in rules if line not in TEXT] == []


def test_the_tutorial(tmp_path):
    """Its files are written and its commands run in turn; each prints what is shown, where `…` stands for anything."""
    tutorial = TEXT[TEXT.index("## Tutorial") : TEXT.index("## Harmless lines")]
    ran = 0
    for language, name, body in BLOCK.findall(tutorial):
        if name:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(body, "utf-8")
        elif language == "console":
            for step in re.split(r"^\$ kvdiag ", body, flags=re.MULTILINE)[1:]:
                command, _, shown = step.partition("\n")
                done = run_kvdiag(*shlex.split(command), cwd=tmp_path)
                assert fits(shown, done.stdout + done.stderr), done.stdout + done.stderr
                ran += 1
    assert ran == 6


def fits(shown: str, printed: str) -> bool:
    """Whether a text is as shown, but for spaces at the ends of lines."""
    pattern = ".*".join(re.escape(part) for part in shown.rstrip().split("…"))
    text = "\n".join(line.rstrip() for line in printed.rstrip().splitlines())
    return re.fullmatch(pattern, text, re.DOTALL) is not None
