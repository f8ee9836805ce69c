"""The report as one HTML page that opens from disk and asks nobody for anything.

The page has no script. Its policy allows its own style sheet alone, and every text is escaped by Jinja2.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .results import replace_file
from .rows import Row
from .view import build_view
from .viewmodel import ShortTurn

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = Path(__file__).parent / "templates"


def render_html(rows: Sequence[Row], run: Mapping[str, Any]) -> str:
    """The page, as text that UTF-8 can hold.

    rows, run: as `results.read_results` gives them, or rows of `result_to_row` and what is known of the run.
    """
    style = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
    template = _environment().get_template("report.html.j2")
    page = template.render(view=build_view(rows, run), style=style, policy=_policy(style))
    return page.encode("utf-8", "backslashreplace").decode("utf-8")


def write_html(path: str | Path, rows: Sequence[Row], run: Mapping[str, Any]) -> None:
    """Write the page to `path`, atomically; its directory is made where it is missing."""
    replace_file(path, render_html(rows, run).encode("utf-8"))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["short"] = lambda turn: isinstance(turn, ShortTurn)
    environment.filters["number"] = "{:,}".format
    return environment


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
