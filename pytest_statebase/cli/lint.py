"""`pytest-statebase lint`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import StatebaseError
from .output import BOLD, DIM, GREEN, YELLOW, columns, counted, say, say_lines, warn, wrapped
from .project import find_project
from .redaction import use_redaction
from .targets import cassette_files, shown

if TYPE_CHECKING:
    from ..audit.lint import Finding
    from ..report.terminal import Line

RULES = ("reasoning", "vague", "secret", "email", "phone", "card", "iban", "retention")


@click.command("lint")
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option("--strict", is_flag=True, help="Exit code 1 where anything is found.")
@click.option("--skip", multiple=True, type=click.Choice(RULES), help="Leave a rule out; may be given several times.")
@click.option("--json", "as_json", is_flag=True, help="Everything as one JSON mapping.")
def command(paths: tuple[Path, ...], strict: bool, skip: tuple[str, ...], as_json: bool) -> None:
    """Check what is missing in cassettes, and what should not be in them.

    Found are turns, updates and rollbacks without a reasoning or with one that says nothing, secrets, addresses of
    e-mail, numbers of phones, cards and bank accounts, and recordings that are kept beyond their `retention`. No value
    is printed. PATHS are cassettes or directories, by default those of the ini key statebase_cassettes.

    Exit code 1 where a cassette cannot be read, and with --strict where anything is found.
    """
    from ..audit.lint import lint
    from ..cassette import load_cassette
    from ..report.times import recorded_at
    from .ages import now

    use_redaction()
    found: list[Finding] = []
    broken: list[str] = []
    files = cassette_files(paths or find_project().cassettes)
    for path in files:
        try:
            cassette = load_cassette(shown(path))
            moment = recorded_at(cassette.ledger)
            own = lint(cassette, now().date(), moment.date() if moment else None)
        except StatebaseError as error:
            broken.append(f"{error.where or shown(path)}: {error.what}".replace("\n", " "))
            continue
        found += [finding for finding in own if finding.rule not in skip]
    if as_json:
        say(json.dumps(_as_json(found, broken, len(files)), indent=2))
    else:
        say_lines(_lines(found, len(files), columns()))
    for told in broken if not as_json else ():
        warn(f"broken  {told}")
    if broken or (strict and found):
        raise click.exceptions.Exit(1)


def _lines(found: list[Finding], cassettes: int, width: int) -> Iterator[Line]:
    path: Path | None = None
    for finding in sorted((one for one in found if not one.bare), key=lambda one: str(one.path)):
        if finding.path != path:
            path = finding.path
            yield [(shown(path), BOLD)]
        line = f"{finding.line}" if finding.line is not None else ""
        for number, text in enumerate(wrapped(finding.text, width - 19)):
            yield [
                (f"  {'' if number else line:>5} ", DIM),
                (f"{'' if number else finding.rule:<10} ", YELLOW),
                (text, {}),
            ]
    bare = sum(finding.bare for finding in found)
    if bare:
        told = f"{counted(bare, 'session')} record{'s' if bare == 1 else ''} no reasoning at all, as chat logs do."
        yield [(told, YELLOW), ("  (--skip reasoning)", DIM)]
    counts = Counter(finding.rule for finding in found)
    told = ", ".join(f"{number:,} {rule}" for rule, number in counts.most_common())
    yield [(f"{counted(cassettes, 'cassette')}: ", BOLD), (told or "nothing found", {} if told else GREEN)]


def _as_json(found: list[Finding], broken: list[str], cassettes: int) -> dict[str, Any]:
    rows = [{"rule": one.rule.value, "path": shown(one.path), "line": one.line, "text": one.text} for one in found]
    return {"cassettes": cassettes, "findings": rows, "broken": broken}
