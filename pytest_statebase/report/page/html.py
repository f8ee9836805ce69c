"""The report as one HTML page that opens from disk and asks nobody for anything.

What is plain HTML (the summary and the failures) reads without scripts; the page's own script shows everything. The
page's policy allows its own style sheet and scripts alone, and every text is escaped by Jinja2.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ..results import replace_file
from .limits import short_words
from .pagedata import page_data
from .view import anchors_of, build_view

if TYPE_CHECKING:
    from jinja2 import Environment

    from ..runs import Run

_TEMPLATES = Path(__file__).parent / "templates"
_SCRIPTS = (
    "base",
    "values",
    "query",
    "overview",
    "trend",
    "states",
    "rail",
    "session",
    "fork",
    "turn",
    "traces",
    "help",
    "main",
)
_STYLES = ("style", "overview", "trend", "session", "turn", "traces")
_BOOT = """\
"use strict";
if ("DecompressionStream" in window) {
  const { classList, dataset } = document.documentElement;
  classList.add("scripted");
  addEventListener("load", () => "begun" in dataset || classList.remove("scripted"));
}
"""
"""Before anything is drawn: what is plain is not shown where the script will show more, unless that is not there."""


@dataclass(frozen=True, slots=True)
class _Asset:
    """A style sheet or a script of the page."""

    name: str
    text: str
    href: str | None = None
    """Where the file lies beside the page; None where it stands in it."""

    @property
    def digest(self) -> str:
        """As a content policy names it."""
        return "'sha256-" + base64.b64encode(hashlib.sha256(self.text.encode("utf-8")).digest()).decode("ascii") + "'"


def render_html(made: Run, *, folder: str | None = None) -> str:
    """The page, as text that UTF-8 can hold.

    folder: where style sheet and scripts lie beside the page; None where they stand in it.
    """
    anchors = anchors_of(made.rows)
    short = _short(made)
    view = build_view(short, anchors)
    template = _environment().get_template("report.html.j2")
    page = template.render(
        view=view,
        data=page_data(short, anchors, view, made),
        assets={asset.name: asset for asset in _assets(folder)},
        policy=_policy(folder),
    )
    return page.encode("utf-8", "backslashreplace").decode("utf-8")


def _short(made: Run) -> Run:
    """The run with short words in its rows; those beside the base's results are the same ones."""
    short = {id(row): short_words(row) for row in made.rows}
    against = made.against and made.against.of_rows(lambda row: short.get(id(row)) or short_words(row))
    return replace(made, rows=[short[id(row)] for row in made.rows], against=against)


def write_html(path: str | Path, made: Run, assets: Literal["inline", "external"] = "inline") -> None:
    """Write the page to `path`, atomically; its directory is made where it is missing.

    assets: `external` puts style sheet and scripts into a directory beside it, `report-assets` for `report.html`.
    """
    target = Path(path)
    folder = f"{target.stem}-assets" if assets == "external" else None
    for asset in _assets(folder):
        if asset.href:
            replace_file(target.parent / asset.href, asset.text.encode("utf-8"))
    replace_file(target, render_html(made, folder=folder).encode("utf-8"))


def _assets(folder: str | None) -> list[_Asset]:
    texts = {"style.css": _style(), "boot.js": _BOOT, "app.js": _script()}
    return [_Asset(name, text, f"{folder}/{name}" if folder else None) for name, text in texts.items()]


@cache
def _style() -> str:
    """Without comments and blanks, as the script: every page holds them."""
    from rcssmin import cssmin

    return str(cssmin("".join((_TEMPLATES / f"{name}.css").read_text(encoding="utf-8") for name in _STYLES))) + "\n"


@cache
def _script() -> str:
    """One function of all scripts, so that none of their names is the page's.

    The last statement of a block needs no `;`, which the minifier leaves; no text of the scripts holds `;}`.
    """
    from rjsmin import jsmin

    texts = [(_TEMPLATES / "app" / f"{name}.js").read_text(encoding="utf-8") for name in _SCRIPTS]
    return '(() => {\n"use strict";\n' + str(jsmin("\n".join(texts))).replace(";}", "}") + "})();\n"


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
    environment.filters["number"] = "{:,}".format
    return environment


def _policy(folder: str | None) -> str:
    style, *scripts = _assets(folder)
    if folder:
        allowed = "script-src 'self' file:; style-src 'self' file:"
    else:
        allowed = f"script-src {' '.join(script.digest for script in scripts)}; style-src {style.digest}"
    return f"default-src 'none'; {allowed}; img-src data:; base-uri 'none'; form-action 'none'"
