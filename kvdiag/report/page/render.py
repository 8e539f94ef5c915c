"""The template with what it shows, as one file: whatever is put into it is made safe to show, then escaped.

Nothing may run or be loaded but the script and the style that come with kvdiag, which the page's policy names by hash.
"""

from __future__ import annotations

import base64
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TextIO

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kvdiag.report import RenderOptions
from kvdiag.report.clean import clean
from kvdiag.report.page.model import Page

HERE = Path(__file__).parent


def write_page(page: Page, stream: TextIO, options: RenderOptions) -> None:
    """The whole page; what it shows of a log is redacted as the options say."""

    def shown(value: object) -> object:
        return value if isinstance(value, Markup) else clean(str(value), redact=options.redact)

    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    template = environment.get_template("page.html")
    style, script = _file("style.css"), _file("script.js")
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'"
    # Our own files, and base64: none of them holds what ends an element.
    given = {"style": Markup(style), "script": Markup(script), "data": Markup(page.data)}  # noqa: S704
    stream.writelines(template.generate(page=page, policy=Markup(policy), **given))  # noqa: S704


@cache
def _file(name: str) -> str:
    return (HERE / name).read_text("utf-8")


def _hash(text: str) -> str:
    """The source expression that admits this text between two tags."""
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"
