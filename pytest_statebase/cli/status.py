"""`pytest-statebase status`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import StatebaseError
from .ages import age_text
from .output import BOLD, DIM, GREEN, RED, YELLOW, Style, columns, counted, say, say_lines, warn, wrapped
from .project import find_project
from .targets import cassette_files, shown

if TYPE_CHECKING:
    from ..report.terminal import Line
    from .health import Health, Runs


@click.command("status")
@click.argument("paths", nargs=-1, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--results",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A file that --statebase-results wrote; give several for when each cassette was last red.",
)
@click.option("--json", "as_json", is_flag=True, help="Everything as one JSON mapping.")
def command(paths: tuple[Path, ...], results: tuple[Path, ...], as_json: bool) -> None:
    """Tell how cassettes stand.

    One line a cassette: size, age, seal, owner, the last results, and below it what its plan lacks. PATHS are
    cassettes or directories, by default those of the ini key statebase_cassettes. Cassettes that were red in the
    last results come first, then those whose plan or seal lacks something, then the oldest. Of the calls in the
    last results, `answ` is the share that the recording answered, `auth` that of the plan's answers, and `flag`
    that of the answers to look at: stale, repeated or moved ones.

    Exit code 1 where a cassette cannot be read; the others are told all the same.
    """
    from .health import Results

    known = Results(results) if results else None
    found, broken = _read(paths)
    for health in found:
        health.runs = known.of(health.path) if known else None
    found.sort(key=lambda health: health.urgency)
    if as_json:
        say(json.dumps(_as_json(found, broken), indent=2))
    else:
        say_lines(_table(found, columns(), with_results=known is not None))
        for path, error in broken:
            warn(f"broken  {_one_line(path, error)}")
        say_lines(_totals(found, len(broken), with_results=known is not None))
    if broken:
        raise click.exceptions.Exit(1)


def _read(paths: tuple[Path, ...]) -> tuple[list[Health], list[tuple[Path, StatebaseError]]]:
    from .health import health_of

    found: list[Health] = []
    broken: list[tuple[Path, StatebaseError]] = []
    for path in cassette_files(paths or find_project().cassettes):
        try:
            found.append(health_of(path))
        except StatebaseError as error:
            broken.append((path, error))
    return found, broken


def _one_line(path: Path, error: StatebaseError) -> str:
    where = error.where or shown(path)
    return f"{where}: {error.what}".replace("\n", " ")


_HEAD = ("turns", "calls", "age", "seal")
_WIDTHS = (5, 5, 6, 4)
_RUN_HEAD = ("last red", "answ", "auth", "flag")
_RUN_WIDTHS = (10, 4, 4, 4)


def _table(found: list[Health], width: int, *, with_results: bool) -> Iterator[Line]:
    if not found:
        return
    heads, widths = (_HEAD + _RUN_HEAD, _WIDTHS + _RUN_WIDTHS) if with_results else (_HEAD, _WIDTHS)
    owner = min(max(len("owner"), *(len(health.owner or "-") for health in found)), 16)
    left = width - sum(column + 2 for column in widths) - owner - 2
    name = max(min(max(len("cassette"), *(len(health.name) for health in found)), left), 12)
    cells = [_padded(head, column) for head, column in zip(heads, widths, strict=True)]
    yield [("  ".join(["cassette".ljust(name), *cells, "owner"]), DIM)]
    for health in found:
        line: Line = [(_cut(health.name, name).ljust(name), BOLD)]
        for (text, style), column in zip(_cells(health, with_results), widths, strict=True):
            line.append(("  " + _padded(text, column), style))
        yield [*line, (f"  {_cut(health.owner or '-', owner)}", {})]
        for note, style in _notes(health):
            for text in wrapped(note, width - 4):
                yield [("    " + text, style)]


def _padded(text: str, width: int) -> str:
    """Numbers to the right, as their heads."""
    return text.rjust(width)


def _cut(text: str, width: int) -> str:
    """A long name without its middle: names of imported sessions differ at their ends."""
    if len(text) <= width:
        return text
    end = (width - 1) // 3
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


def _cells(health: Health, with_results: bool) -> Iterator[tuple[str, Style]]:
    yield f"{health.turns:,}", {}
    yield f"{health.calls:,}", {}
    yield "?" if health.days is None else f"{health.days:,} d", {}
    yield ("yes", GREEN) if health.sealed else ("no", YELLOW)
    if with_results:
        runs = health.runs
        yield _last_red(runs)
        for share in (runs.share("answered"), runs.share("authored"), runs.flagged) if runs else (None,) * 3:
            yield "-" if share is None else f"{share:.0%}", {}


def _last_red(runs: Runs | None) -> tuple[str, Style]:
    if runs is None:
        return "not run", DIM
    if runs.red:
        return "now", {**RED, **BOLD}
    if not runs.ever_red:
        return "never", GREEN
    return (f"{runs.last_red:%Y-%m-%d}" if runs.last_red else "earlier"), {}


def _notes(health: Health) -> Iterator[tuple[str, Style]]:
    if health.unproven:
        turns = ", ".join(map(str, health.unproven))
        yield f"failing turn{'s' if len(health.unproven) > 1 else ''} without expect: {turns}", YELLOW
    if health.accepted:
        yield f"accepted: turn{'s' if len(health.accepted) > 1 else ''} {', '.join(map(str, health.accepted))}", DIM
    if health.runs is not None and health.runs.from_siblings[0]:
        yield _gain(health.runs), DIM
    if health.gate != "block":
        yield f"gate: {health.gate}", DIM


def _gain(runs: Runs) -> str:
    found, misses = runs.from_siblings
    return f"stubs_from answered {found:,} of {counted(misses, 'call')} that the record does not know"


def _place(where: str) -> str:
    path, _, rest = where.partition(".yaml:")
    return f"{shown(path + '.yaml')}:{rest}" if rest else where


def _endings(found: list[Health]) -> Iterator[Line]:
    """The known entries near their end, each once: one of a `statebase.yaml` holds for many cassettes."""
    for one, cassettes in Counter(one for health in found for one in health.expiring).items():
        left = one.left or 0
        told = "expires today" if left == 0 else f"expire{'s' if left > 0 else 'd'} {age_text(-left)}"
        place = f"  {_place(one.where)}" + (f", for {counted(cassettes, 'cassette')}" if cassettes > 1 else "")
        yield [(f"known {one.name} {told}", YELLOW if left >= 0 else RED), (place, DIM)]


def _totals(found: list[Health], broken: int, *, with_results: bool) -> Iterator[Line]:
    turns, calls = sum(health.turns for health in found), sum(health.calls for health in found)
    ages = [health.days for health in found if health.days is not None]
    parts = [counted(len(found), "cassette"), counted(turns, "turn"), counted(calls, "call")]
    if ages:
        span = f" to {age_text(min(ages))}" if min(ages) != max(ages) else ""
        parts.append(f"recorded {age_text(max(ages))}{span}")
    yield []
    yield [(", ".join(parts), BOLD), (f", {broken:,} broken" if broken else "", RED)]
    if with_results:
        yield [(_results_text(found), {})]
    lacks = [
        (sum(len(health.unproven) for health in found), "failing turn without expect", "failing turns without expect"),
        (sum(not health.sealed for health in found), "record without a seal", "records without a seal"),
        (sum(not health.owner for health in found), "without owner", "without owner"),
    ]
    told = ", ".join(f"{number:,} {one if number == 1 else many}" for number, one, many in lacks if number)
    if told:
        yield [(told, {})]
    yield from _endings(found)


def _results_text(found: list[Health]) -> str:
    from .health import Runs

    runs = [health.runs for health in found if health.runs is not None]
    red = sum(one.red for one in runs)
    both = Runs(calls=sum((one.calls for one in runs), Counter()))
    told = f"last results: {red:,} red, {len(runs) - red:,} green, {len(found) - len(runs):,} not run"
    shares = {"answered": both.share("answered"), "authored": both.share("authored"), "flagged": both.flagged}
    calls = ", ".join(f"{share:.0%} {name}" for name, share in shares.items() if share is not None)
    gain = f"; {_gain(both)}" if both.from_siblings[0] else ""
    return told + (f"; of {counted(both.total, 'call')} {calls}" if calls else "") + gain


def _as_json(found: list[Health], broken: list[tuple[Path, StatebaseError]]) -> dict[str, Any]:
    return {
        "cassettes": [_one_as_json(health) for health in found],
        "broken": [{"path": shown(path), "error": str(error)} for path, error in broken],
        "totals": {
            "cassettes": len(found),
            "turns": sum(health.turns for health in found),
            "calls": sum(health.calls for health in found),
            "red": sum(health.is_red for health in found),
            "unsealed": sum(not health.sealed for health in found),
            "unproven": sum(len(health.unproven) for health in found),
            "broken": len(broken),
        },
    }


def _one_as_json(health: Health) -> dict[str, Any]:
    row: dict[str, Any] = {
        "path": shown(health.path),
        "session": health.session,
        "title": health.title,
        "turns": health.turns,
        "calls": health.calls,
        "recorded_at": health.recorded.isoformat() if health.recorded else None,
        "age_days": health.days,
        "sealed": health.sealed,
        "failing": health.failing,
        "failing_without_expect": health.unproven,
        "accepted": health.accepted,
        "owner": health.owner,
        "gate": health.gate,
        "known": [{"name": one.name, "days_left": one.left, "where": one.where} for one in health.known],
    }
    runs = health.runs
    if runs is not None:
        row["last_run"] = {
            "red": runs.red,
            "at": runs.at.isoformat() if runs.at else None,
            "last_red": runs.last_red.isoformat() if runs.last_red else None,
            "calls": runs.total,
            "answered": runs.share("answered"),
            "authored": runs.share("authored"),
            "siblings": runs.share("sibling"),
            "flagged": runs.flagged,
        }
    return row
