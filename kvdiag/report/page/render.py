"""Render a template into one HTML file: every value is redacted and escaped when it is inserted.

The page's content security policy allows only the script and the style that come with kvdiag, by their hashes.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TextIO

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kvdiag.report import RenderOptions
from kvdiag.report.page.model import Page
from kvdiag.safe.clean import clean

HERE = Path(__file__).parent


def write_page(page: Page, stream: TextIO, options: RenderOptions) -> None:
    """Write the page; log text is redacted as the options say."""
    # Base64 cannot contain the end of an element.
    data = Markup(page.data)  # noqa: S704
    write_template("page.html", {"page": page, "data": data}, stream, redact=options.redact, script_name="script.js")


def write_template(
    name: str, values: Mapping[str, object], stream: TextIO, *, redact: bool = True, script_name: str
) -> None:
    """Render a template of this folder with these values, a script of this folder and the common style."""
    script = _file(script_name)

    def shown(value: object) -> object:
        return value if isinstance(value, Markup) else clean(str(value), redact=redact)

    environment = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        finalize=shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    style = _file("style.css")
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; base-uri 'none'"
    # Files that come with kvdiag: none of them contains the end of an element.
    assets = {"style": Markup(style), "script": Markup(script), "policy": Markup(policy)}  # noqa: S704
    stream.writelines(environment.get_template(name).generate({**values, **assets}))


@cache
def _file(name: str) -> str:
    return (HERE / name).read_text("utf-8")


def _hash(text: str) -> str:
    """Return the CSP source expression that allows this inline text."""
    return f"'sha256-{base64.b64encode(sha256(text.encode()).digest()).decode()}'"
