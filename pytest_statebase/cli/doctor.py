"""`pytest-statebase doctor`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..errors import FileError
from .checked import Finding, State
from .output import BOLD, DIM, GREEN, RED, YELLOW, Style, columns, say, say_lines, wrapped
from .targets import shown

if TYPE_CHECKING:
    from ..report.terminal import Line

_STYLES: dict[State, Style] = {State.OK: GREEN, State.LOOK: YELLOW, State.MEND: {**RED, **BOLD}}


@click.command("doctor")
@click.argument(
    "directories", nargs=-1, metavar="[DIR]...", type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--json", "as_json", is_flag=True, help="Everything as one JSON mapping.")
def command(directories: tuple[Path, ...], as_json: bool) -> None:
    """Tell how a capture and a project stand, and what to do.

    DIR is a directory of journals, or a project; by default the project around the current directory with all journals
    in it. Of a capture are told the journals and their damaged lines, the turns that were kept and those that were not,
    what went wrong, who writes, the room on the disk and the modes of files; of a project its settings, the seals and
    HTTP recordings of its cassettes, and versions of packages. Nothing of what was captured is told, and no code of the
    project runs.

    Exit code 1 where something needs a hand.
    """
    found = [(place, list(findings)) for place, findings in _examined(directories)]
    states = Counter(finding.state for _, findings in found for finding in findings)
    if as_json:
        places = [{"place": shown(place), "findings": _as_json(findings)} for place, findings in found]
        say(json.dumps({"places": places, **{state.value: states[state] for state in State}}, indent=2))
    else:
        say_lines(_lines(found, states, columns()))
    if states[State.MEND]:
        raise click.exceptions.Exit(1)


def _examined(directories: tuple[Path, ...]) -> Iterator[tuple[Path, Iterator[Finding]]]:
    """Each place with what is found there."""
    from .checkcapture import check_capture, is_capture
    from .checkproject import check_project
    from .finding import find_sessions_in
    from .project import find_project

    if not directories:
        root = find_project().root
        yield root, check_project(root)
        found = dict.fromkeys(path for sort, path in find_sessions_in(root).places if sort == "journals")
        # Where nothing could be written, there may be no journal.
        usual = root / "captured"
        for path in found | (dict.fromkeys([usual]) if usual.is_dir() else {}):
            yield path, check_capture(path)
        return
    for path in directories:
        captures = is_capture(path)
        if captures:
            yield path, check_capture(path)
        if _is_project(path):
            yield path, check_project(path)
        elif not captures:
            remedy = "Give a directory of journals, or one with pytest's settings or cassettes."
            raise FileError("there is no capture and no project here", where=shown(path), remedy=remedy)


def _is_project(path: Path) -> bool:
    from .project import find_project

    has_cassettes = any(any(path.glob(pattern)) for pattern in ("*.session.yaml", "*.record.yaml"))
    return has_cassettes or (find_project(path).root == path.resolve() and find_project(path).ini is not None)


def _lines(found: list[tuple[Path, list[Finding]]], states: Counter[State], width: int) -> Iterator[Line]:
    for place, findings in found:
        yield [(shown(place), BOLD)]
        for finding in findings:
            for number, text in enumerate(wrapped(finding.what, width - 8)):
                label = "" if number else f"  {finding.state}"
                yield [(label.ljust(8), _STYLES[finding.state]), (text, {})]
            for text in wrapped(finding.do, width - 10) if finding.do else ():
                yield [(" " * 10 + text, DIM)]
        yield []
    told = f"{states[State.OK]:,} ok, {states[State.LOOK]:,} to look at, {states[State.MEND]:,} to mend"
    yield [(told, BOLD)]


def _as_json(findings: list[Finding]) -> list[dict[str, str]]:
    return [{"state": finding.state.value, "what": finding.what, "do": finding.do} for finding in findings]
